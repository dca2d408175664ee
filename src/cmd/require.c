/* Conditions on metrics. */
#include "cmd/require.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "spec/spec.h"

#define N_NAMES 32

static int holds_ge(double a, double b) { return a >= b; }
static int holds_le(double a, double b) { return a <= b; }
static int holds_gt(double a, double b) { return a > b; }
static int holds_lt(double a, double b) { return a < b; }

static const struct require_operator {
	const char *text;
	int (*holds)(double a, double b);
} operator_table[] = {
	{ ">=", holds_ge }, { "<=", holds_le }, { ">", holds_gt }, { "<", holds_lt },
};

static const struct require_operator *
find_operator(const char *text)
{
	for (size_t i = 0; i < sizeof operator_table / sizeof operator_table[0]; i++)
		if (strncmp(text, operator_table[i].text, strlen(operator_table[i].text)) == 0)
			return &operator_table[i];
	return NULL;
}

static size_t
trimmed(const char *text, size_t n)
{
	while (n > 0 && text[n - 1] == ' ')
		n--;
	return n;
}

static enum rs_status
no_such_figure(const char *name, size_t n_name, const struct require_figure *figure, size_t n)
{
	const char *names[N_NAMES];
	char copy[64] = "";

	if (n_name < sizeof copy)
		memcpy(copy, name, n_name);
	for (size_t i = 0; i < n && i < N_NAMES; i++)
		names[i] = figure[i].name;
	rs_fail(RS_EUSAGE, "there is no metric '%.*s' to require", (int)n_name, name);
	const char *near = spec_nearest(copy, names, n < N_NAMES ? n : N_NAMES);
	return rs_hint("did you mean '%s'?", near != NULL ? near : figure[0].name);
}

enum rs_status
require_check(const char *text, const struct require_figure *figure, size_t n)
{
	const size_t at = strcspn(text, "<>=");
	const size_t n_name = trimmed(text, at);
	const struct require_operator *op = find_operator(text + at);
	double bound;

	if (op == NULL || n_name == 0)
		return rs_fail(RS_EUSAGE, "'%s' is no condition, wanted for instance 'auc>=0.75'",
			text);
	const char *number = text + at + strlen(op->text);
	number += strspn(number, " ");
	if (!number_double(number, trimmed(number, strlen(number)), &bound))
		return rs_fail(RS_EUSAGE, "condition '%s': '%s' is not a number", text, number);
	for (size_t i = 0; i < n; i++) {
		if (strlen(figure[i].name) != n_name || memcmp(figure[i].name, text, n_name) != 0)
			continue;
		if (isnan(figure[i].value))
			return rs_fail(RS_EUNMET, "required %s, but %s is not defined", text,
				figure[i].name);
		if (!op->holds(figure[i].value, bound))
			return rs_fail(RS_EUNMET, "required %s, but %s is %.6f", text,
				figure[i].name, figure[i].value);
		return RS_OK;
	}
	return no_such_figure(text, n_name, figure, n);
}
