/* Conditions that a candidate model must meet. */
#include "train/gate.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "spec/figure.h"

#define GATE_LEVEL 0.025           /* of each side                                */

static const struct { const char *text; enum gate_operator op; } operator_table[] = {
	{ ">=", GATE_GE }, { "<=", GATE_LE }, { ">", GATE_GT }, { "<", GATE_LT },
};
#define N_OPERATORS (sizeof operator_table / sizeof *operator_table)

/* Text that is read from its begin; blanks count nowhere. */
struct words { const char *text; size_t n; };

static void
trim(struct words *w)
{
	while (w->n > 0 && *w->text == ' ') {
		w->text++;
		w->n--;
	}
	while (w->n > 0 && w->text[w->n - 1] == ' ')
		w->n--;
}

/* 1: it began with the word, which is taken away. */
static int
take_word(struct words *w, const char *word)
{
	const size_t n = strlen(word);

	if (w->n < n || memcmp(w->text, word, n) != 0)
		return 0;
	w->text += n;
	w->n -= n;
	trim(w);
	return 1;
}

static enum rs_status
fail_bound(const char *text, const struct words *w)
{
	rs_fail(RS_EUSAGE, "condition '%s': '%.*s' is not a number", text, (int)w->n, w->text);
	return rs_hint("wanted a number, last or best(N), the last two also with + or - and a "
		"number, for instance 'auc>=last-0.005'");
}

/* "" or "-0.005" or "+ 0.01" behind a word. */
static enum rs_status
parse_offset(const char *text, struct words *w, double *out)
{
	*out = 0;
	if (w->n == 0)
		return RS_OK;
	const struct words all = *w;
	const char sign = *w->text;
	if (sign != '+' && sign != '-')
		return fail_bound(text, &all);
	w->text++;
	w->n--;
	trim(w);
	if (w->n == 0 || *w->text == '+' || *w->text == '-' || !number_double(w->text, w->n, out))
		return fail_bound(text, &all);
	if (sign == '-')
		*out = -*out;
	return RS_OK;
}

/* The "(24)" of best(24). */
static enum rs_status
parse_count(const char *text, struct words *w, size_t *out)
{
	const char *const end = w->n > 0 ? memchr(w->text, ')', w->n) : NULL;
	int64_t n = 0;

	if (end != NULL && take_word(w, "(")) {
		struct words digits = { w->text, (size_t)(end - w->text) };
		trim(&digits);
		if (!number_i64(digits.text, digits.n, &n))
			n = 0;
		w->n -= (size_t)(end + 1 - w->text);
		w->text = end + 1;
		trim(w);
	}
	if (n < 1 || n > GATE_BEST_MAX) {
		rs_fail(RS_EUSAGE, "condition '%s': best wants a number of periods from 1 to %d",
			text, GATE_BEST_MAX);
		return rs_hint("for instance best(24)");
	}
	*out = (size_t)n;
	return RS_OK;
}

static enum rs_status
parse_bound(const char *text, struct words *w, const struct figure *f,
	struct gate_condition *out)
{
	if (take_word(w, "last")) {
		out->against = GATE_LAST;
		return parse_offset(text, w, &out->offset);
	}
	if (take_word(w, "best")) {
		out->against = GATE_BEST;
		if (figure_better(f) == 0)
			return rs_fail(RS_EUSAGE, "condition '%s': %s has no best, neither more "
				"nor less of it is better", text, f->name);
		RS_TRY(parse_count(text, w, &out->best_of));
		return parse_offset(text, w, &out->offset);
	}
	out->against = GATE_CONSTANT;
	return number_double(w->text, w->n, &out->offset) ? RS_OK : fail_bound(text, w);
}

enum rs_status
gate_parse(const char *text, struct gate_condition *out)
{
	struct words w = { text, strcspn(text, "<>=") };
	struct figure figure;
	size_t i = 0;

	*out = (struct gate_condition){ .text = text };
	const char *const op = text + w.n;
	trim(&w);
	while (i < N_OPERATORS && strncmp(op, operator_table[i].text,
		strlen(operator_table[i].text)) != 0)
		i++;
	if (i == N_OPERATORS || w.n == 0)
		return rs_fail(RS_EUSAGE, "'%s' is no condition, wanted for instance 'auc>=0.75'",
			text);
	RS_TRY(figure_parse(w.text, w.n, RS_EUSAGE, &figure));
	snprintf(out->metric, sizeof out->metric, "%s", figure.name);
	out->op = operator_table[i].op;
	w.text = op + strlen(operator_table[i].text);
	w.n = strlen(w.text);
	trim(&w);
	return parse_bound(text, &w, &figure, out);
}

/* The z with a share `level` of the normal distribution above it. */
static double
normal_quantile(double level)
{
	double low = 0, high = 40;

	for (int i = 0; i < 80; i++) {
		const double middle = (low + high) / 2;

		if (erfc(middle / sqrt(2)) / 2 > level)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* Bonferroni: to be worse than the best of N figures is to be worse than one of them, so N
 * chances share the level of one. */
double
gate_quantile(const struct gate_condition *c)
{
	const size_t n = c->against == GATE_BEST && c->best_of > 1 ? c->best_of : 1;

	return normal_quantile(GATE_LEVEL / (double)n);
}

static double
or_zero(double x)
{
	return isnan(x) ? 0 : x;
}

int
gate_holds(const struct gate_condition *c, struct gate_figure candidate,
	struct gate_figure bound, double difference)
{
	double threshold = c->offset, variance = or_zero(candidate.variance);

	if (c->against != GATE_CONSTANT) {
		threshold += bound.value;
		variance = isnan(difference) ? variance + or_zero(bound.variance) : difference;
	}
	const double above = candidate.value - threshold;
	const double half = gate_quantile(c) * sqrt(variance);
	switch (c->op) {               /* NaN holds nowhere                           */
	case GATE_GE:
		return above + half >= 0;
	case GATE_GT:
		return above + half > 0;
	case GATE_LE:
		return above - half <= 0;
	default:
		return above - half < 0;
	}
}
