/* Conditions on figures that are there already. */
#include "cmd/require.h"

#include <math.h>
#include <string.h>

#include "spec/spec.h"

#define N_NAMES 32

enum rs_status
require_parse(const char *text, struct gate_condition *out)
{
	RS_TRY(gate_parse(text, out));
	if (out->against == GATE_CONSTANT)
		return RS_OK;
	rs_fail(RS_EUSAGE, "condition '%s': '%s' is known in training only", text,
		out->against == GATE_LAST ? "last" : "best");
	return rs_hint("compare with a number, or use train --require");
}

static enum rs_status
no_such_figure(const char *name, const struct require_figure *figure, size_t n)
{
	const char *names[N_NAMES];

	for (size_t i = 0; i < n && i < N_NAMES; i++)
		names[i] = figure[i].name;
	rs_fail(RS_EUSAGE, "there is no metric '%s' to require", name);
	if (n == 0)
		return RS_EUSAGE;
	const char *const near = spec_nearest(name, names, n < N_NAMES ? n : N_NAMES);
	return rs_hint("did you mean '%s'?", near != NULL ? near : figure[0].name);
}

enum rs_status
require_check(const char *text, const struct require_figure *figure, size_t n)
{
	const struct gate_figure nothing = { NAN, NAN };
	struct gate_condition c;
	size_t i = 0;

	RS_TRY(require_parse(text, &c));
	while (i < n && strcmp(figure[i].name, c.metric) != 0)
		i++;
	if (i == n)
		return no_such_figure(c.metric, figure, n);
	if (isnan(figure[i].value))
		return rs_fail(RS_EUNMET, "required %s, but %s is not defined", text, c.metric);
	if (!gate_holds(&c, (struct gate_figure){ figure[i].value, NAN }, nothing, NAN))
		return rs_fail(RS_EUNMET, "required %s, but %s is %.6f", text, c.metric,
			figure[i].value);
	return RS_OK;
}
