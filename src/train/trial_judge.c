/* The verdict on a candidate, and the words for it. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "train/ledger.h"
#include "train/trial_history.h"
#include "train/trial_influence.h"
#include "train/trial_private.h"

#define VERDICT_LIMIT ((size_t)1 << 20)

/* What a condition compares, found before anything is said. */
struct comparison {
	struct gate_condition condition;   /* best_of: figures that there were        */
	struct figure figure;
	const char *rows;                  /* "progressive", "valid", "holdout"       */
	const struct metric_result *result;        /* of the candidate's evaluation   */
	int      finite;                   /* its scores                              */
	struct gate_figure candidate, bound;
	double   difference;               /* variance; NaN: not paired               */
	int      has_bound;
	int64_t  of_period;                /* of the bound                            */
	size_t   n_past;
	int      holds;
};

/* --- figures ------------------------------------------------------------------------- */

static const char *
name_rows(enum gate_rows gate)
{
	return gate == GATE_VALID ? "valid" : gate == GATE_HOLDOUT ? "holdout" : "progressive";
}

static enum rs_status
fail_unknown(const struct gate_condition *c)
{
	rs_fail(RS_EUSAGE, "condition '%s': %s was not evaluated", c->text, c->metric);
	return rs_hint("name it in metrics of [eval] or require of [incremental]");
}

/* The candidate's figure of its own period. */
static void
take_period(const struct trial *t, size_t at, struct comparison *c)
{
	c->rows = name_rows(GATE_PROGRESSIVE);
	c->result = &t->progressive;
	c->finite = t->progressive_finite;
	c->candidate = (struct gate_figure){ NAN, NAN };
	if (t->progressive.rows > 0)
		c->candidate = t->period_figure[at];
}

/* Old and new on the gate's rows, and what is known of their difference. */
static enum rs_status
take_pair(const struct trial *t, struct comparison *c)
{
	struct trial_influence new, old = { .value = NAN };

	c->rows = name_rows(t->options.gate);
	c->result = &t->new.result;
	c->finite = t->new.scores.rows.finite;
	RS_TRY(trial_influence(&t->new.result, &t->new.scores, &c->figure, &new));
	enum rs_status status = RS_OK;
	if (t->old.evaluation != NULL)
		status = trial_influence(&t->old.result, &t->old.scores, &c->figure, &old);
	c->candidate = (struct gate_figure){ new.value, new.variance };
	if (status == RS_OK && !isnan(old.value)) {
		c->has_bound = 1;
		c->bound = (struct gate_figure){ old.value, old.variance };
		if (t->paired)
			c->difference = trial_influence_difference(&new, &old);
	}
	trial_influence_free(&new);
	trial_influence_free(&old);
	return status;
}

static enum rs_status
take_candidate(const struct trial *t, struct comparison *c)
{
	const size_t at = figure_find(&t->figures, c->figure.name);

	if (at == t->figures.n)
		return fail_unknown(&c->condition);
	if (t->new.evaluation != NULL) {
		RS_TRY(take_pair(t, c));
		/* Few rows are held out, so that a quiet hour may have none of a class; were
		 * that a refusal, no later period could be accepted. */
		if (!isnan(c->candidate.value) || t->options.gate != GATE_HOLDOUT
		    || t->progressive.rows == 0)
			return RS_OK;
		c->has_bound = 0;
		c->difference = NAN;
	}
	take_period(t, at, c);
	return RS_OK;
}

static void
set_bound(struct comparison *c, const struct trial_past *past)
{
	c->has_bound = 1;
	c->bound = past->figure;
	c->of_period = past->period;
	c->difference = NAN;
}

/* The model's own figure of the same rows, else of the newest period that has one. */
static void
find_last(const struct trial *t, struct comparison *c)
{
	struct trial_past past;

	if (!c->has_bound && trial_history_past(t->history, c->rows, c->figure.name, &past, 1) > 0)
		set_bound(c, &past);
}

/* The best of what is known of the last N accepted periods; the model's figure of the same
 * rows is that of the last, and takes part with its paired range. */
static enum rs_status
find_best(const struct trial *t, struct comparison *c)
{
	const int better = figure_better(&c->figure);
	struct trial_past *past;

	RS_TRY(memory_alloc(c->condition.best_of, sizeof *past, &past));
	c->n_past = trial_history_past(t->history, c->rows, c->figure.name, past,
		c->condition.best_of);
	for (size_t i = 0; i < c->n_past; i++)
		if (!c->has_bound || better * (past[i].figure.value - c->bound.value) > 0)
			set_bound(c, &past[i]);
	if (c->n_past == 0 && c->has_bound)
		c->n_past = 1;
	c->condition.best_of = c->n_past > 0 ? c->n_past : 1;
	free(past);
	return RS_OK;
}

/* There is nothing to compare with.  The first model may be without a figure when no rows
 * were there to score; any other that has none is refused.  So is one when the former model
 * could not be scored on the gate's rows. */
static int
holds_alone(const struct trial *t, const struct comparison *c)
{
	if (isnan(c->candidate.value))
		return !t->has_old && c->result->rows == 0;
	return !t->has_old || c->result != &t->new.result || t->old.evaluation != NULL;
}

static enum rs_status
compare(const struct trial *t, const struct gate_condition *condition, struct comparison *c)
{
	const char *const metric = condition->metric;

	*c = (struct comparison){ .condition = *condition, .difference = NAN,
		.of_period = LEDGER_NO_PERIOD };
	RS_TRY(figure_parse(metric, strlen(metric), RS_EUSAGE, &c->figure));
	RS_TRY(take_candidate(t, c));
	if (condition->against == GATE_LAST)
		find_last(t, c);
	else if (condition->against == GATE_BEST)
		RS_TRY(find_best(t, c));
	c->holds = condition->against != GATE_CONSTANT && !c->has_bound ? holds_alone(t, c)
		: gate_holds(&c->condition, c->candidate, c->bound, c->difference);
	return RS_OK;
}

/* --- words --------------------------------------------------------------------------- */

static const char *
period_text(int64_t period, char out[40])
{
	const time_t seconds = (time_t)period;
	struct tm tm;

	if (period == LEDGER_NO_PERIOD || gmtime_r(&seconds, &tm) == NULL
	    || strftime(out, 40, "the period %Y-%m-%dT%H:%MZ", &tm) == 0)
		return "an earlier run";
	return out;
}

/* Of what the candidate's figure is. */
static enum rs_status
tell_rows(const struct comparison *c, struct buffer *out)
{
	const char *const what = strcmp(c->rows, "valid") == 0 ? "rows of data.valid" :
		strcmp(c->rows, "holdout") == 0 ? "rows held out of the last accepted period"
			: "rows of the period, scored before they were trained";

	return buffer_printf(out, "%" PRIu64 " %s", c->result->rows, what);
}

static enum rs_status
tell_range(double middle, double half, struct buffer *out)
{
	if (isnan(half))
		return buffer_printf(out, " (compared exactly: no range is known)");
	return buffer_printf(out, " (95%% range %.6f .. %.6f)", middle - half, middle + half);
}

/* Why a figure has no value. */
static enum rs_status
tell_undefined(const struct comparison *c, struct buffer *out)
{
	const struct metric_result *const r = c->result;

	RS_TRY(buffer_printf(out, "%s is not defined: ", c->figure.name));
	if (r->rows == 0)
		return buffer_printf(out, strcmp(c->rows, "progressive") == 0
			? "there was no model to score the period with" : "no rows");
	RS_TRY(tell_rows(c, out));
	if (!c->finite)
		return buffer_printf(out, ", a score is not finite");
	if (figure_needs_classes(&c->figure) && r->positives == 0)
		return buffer_printf(out, ", no positives");
	if (figure_needs_classes(&c->figure) && r->positives == r->weight)
		return buffer_printf(out, ", no negatives");
	if (figure_needs_groups(&c->figure))
		return buffer_printf(out, r->groups == 0 ? ", which have no group"
			: ", no group with rows of both classes");
	return buffer_printf(out, ", and it is no figure of this loss");
}

static enum rs_status
tell_bound(const struct comparison *c, struct buffer *out)
{
	char period[40];

	RS_TRY(buffer_printf(out, " against %.6f of ", c->bound.value));
	if (c->condition.against == GATE_BEST && c->n_past > 1)
		RS_TRY(buffer_printf(out, "the best of %zu periods, ", c->n_past));
	if (!isnan(c->difference) || c->of_period == LEDGER_NO_PERIOD)
		return buffer_printf(out, "the current model");
	return buffer_printf(out, "%s", period_text(c->of_period, period));
}

static enum rs_status
tell(const struct comparison *c, struct buffer *out)
{
	const double z = gate_quantile(&c->condition);
	const double change = c->candidate.value - c->bound.value;
	const double both = isnan(c->bound.variance) ? c->candidate.variance
		: isnan(c->candidate.variance) ? c->bound.variance
		: c->candidate.variance + c->bound.variance;

	if (isnan(c->candidate.value))
		return tell_undefined(c, out);
	RS_TRY(buffer_printf(out, "%s is %.6f", c->figure.name, c->candidate.value));
	if (c->condition.against != GATE_CONSTANT && !c->has_bound && !c->holds)
		RS_TRY(buffer_printf(out, ", and that of the current model is not known"));
	if (c->condition.against != GATE_CONSTANT && c->has_bound) {
		RS_TRY(tell_bound(c, out));
		RS_TRY(buffer_printf(out, ", change %+.6f", change));
		RS_TRY(tell_range(change, z * sqrt(isnan(c->difference) ? both : c->difference),
			out));
	} else if (c->condition.against == GATE_CONSTANT) {
		RS_TRY(tell_range(c->candidate.value, z * sqrt(c->candidate.variance), out));
	}
	RS_TRY(buffer_printf(out, " on "));
	return tell_rows(c, out);
}

static enum rs_status
tell_condition(const struct comparison *c, struct buffer *out)
{
	if (out->n > 0)
		RS_TRY(buffer_printf(out, "; "));
	RS_TRY(buffer_printf(out, "%s %s: ", c->condition.text,
		!c->holds ? "fails" : c->condition.against != GATE_CONSTANT && !c->has_bound
		? "is passed over, nothing to compare with" : "holds"));
	return tell(c, out);
}

/* --- all conditions -------------------------------------------------------------------- */

static enum rs_status
fail_condition(const struct comparison *c)
{
	struct buffer text;

	buffer_init(&text, VERDICT_LIMIT);
	enum rs_status status = tell(c, &text);
	if (status == RS_OK)
		status = rs_fail(RS_EUNMET, "required %s, but %s", c->condition.text, text.data);
	buffer_free(&text);
	return status;
}

enum rs_status
trial_judge(const struct trial *t, const struct gate_condition *condition, size_t n,
	char **verdict)
{
	struct comparison c, failed = { .holds = 1 };
	struct buffer text;
	enum rs_status status = RS_OK;

	*verdict = NULL;
	buffer_init(&text, VERDICT_LIMIT);
	for (size_t i = 0; status == RS_OK && i < n; i++) {
		status = compare(t, &condition[i], &c);
		if (status == RS_OK)
			status = tell_condition(&c, &text);
		if (status == RS_OK && !c.holds && failed.holds)
			failed = c;
	}
	if (status == RS_OK && n == 0)
		status = buffer_printf(&text, "nothing was required");
	if (status != RS_OK) {
		buffer_free(&text);
		return status;
	}
	*verdict = text.data;
	return failed.holds ? RS_OK : fail_condition(&failed);
}
