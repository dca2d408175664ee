/* The trial of a candidate: scores before and after. */
#include "train/trial.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "train/ranks.h"
#include "train/trial_history.h"
#include "train/trial_influence.h"
#include "train/trial_private.h"

/* --- which figures ------------------------------------------------------------------- */

static void
add_figure(struct figure_list *list, const struct figure *f)
{
	if (list->n < FIGURE_MAX)
		(void)figure_add(list, f);
}

static void
add_name(struct figure_list *list, const char *name)
{
	struct figure f;

	if (figure_parse(name, strlen(name), RS_ESPEC, &f) == RS_OK)
		add_figure(list, &f);
}

/* What no rows can give would refuse every candidate. */
enum rs_status
trial_check_figure(const char *metric, const struct settings *s)
{
	const int has_groups = s->data.group[0] != '\0' || s->data.format == FORMAT_LISTS;
	struct figure f;

	RS_TRY(figure_parse(metric, strlen(metric), RS_EUSAGE, &f));
	if (figure_needs_groups(&f) && !has_groups) {
		rs_fail(RS_ESPEC, "'%s' is required, which is made of groups of rows, and there "
			"are none", metric);
		return rs_hint("name the column of the user in [data] group");
	}
	if (figure_needs_probabilities(&f) && s->model.loss == LOSS_MSE) {
		rs_fail(RS_ESPEC, "'%s' is required, which is no figure of loss = mse", metric);
		return rs_hint("for example mse<=last+0.01");
	}
	return RS_OK;
}

/* What is required, what evaluations of the spec give, and what a row tells anyway. */
static enum rs_status
choose_figures(const struct trial_options *o, const struct settings *s, struct figure_list *out)
{
	static const char *const of_rows[] = {
		"auc", "logloss", "mse", "calibration", "mean_label", "mean_prediction",
		"best_constant", "best_constant_loss",
	};
	struct gate_condition c;
	struct figure_list usual;
	int scores_rows = 0;

	for (size_t i = 0; i < o->n_conditions; i++) {
		RS_TRY(trial_check_figure(o->condition[i].metric, s));
		add_name(out, o->condition[i].metric);
	}
	for (size_t i = 0; i < s->incremental.require.n; i++) {
		RS_TRY(gate_parse(s->incremental.require.item[i], &c));
		add_name(out, c.metric);
	}
	figure_list_of(s, &usual);
	for (size_t i = 0; i < usual.n; i++)
		add_figure(out, &usual.item[i]);
	for (size_t i = 0; i < out->n; i++)
		scores_rows |= !figure_is_rank(&out->item[i]);
	for (size_t i = 0; scores_rows && i < sizeof of_rows / sizeof *of_rows; i++)
		add_name(out, of_rows[i]);
	return RS_OK;
}

/* --- which rows ---------------------------------------------------------------------- */

/* The first that there is; rows that a period held out come with the first accepted one. */
static enum gate_rows
choose_rows(const struct trial_options *o, const struct settings *s)
{
	const int has_held = o->held != NULL && o->held->n > 0;

	if (o->gate == GATE_VALID || (o->gate == GATE_AUTO && s->data.valid.n > 0))
		return GATE_VALID;
	if (o->gate != GATE_PROGRESSIVE && has_held)
		return GATE_HOLDOUT;
	if (o->gate == GATE_HOLDOUT)
		log_info("no accepted period has rows held out yet: the gate takes the period's "
			"own rows");
	return GATE_PROGRESSIVE;
}

static enum rs_status
prepare(struct trial *t, const struct settings *s)
{
	const char *const history = t->options.history != NULL ? t->options.history : "";

	RS_TRY(trial_history_check(history));
	RS_TRY(memory_strdup(history, &t->history));
	RS_TRY(choose_figures(&t->options, s, &t->figures));
	t->options.gate = choose_rows(&t->options, s);
	if (t->options.gate == GATE_VALID && s->data.valid.n == 0) {
		rs_fail(RS_ESPEC, "incremental.gate = valid, but there is no data.valid");
		return rs_hint("name it in [data], or take gate = auto");
	}
	return RS_OK;
}

enum rs_status
trial_open(const struct trial_options *options, const struct settings *settings,
	struct trial **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	(*out)->options = *options;
	const enum rs_status status = prepare(*out, settings);
	if (status != RS_OK) {
		trial_free(*out);
		*out = NULL;
	}
	return status;
}

void
trial_free(struct trial *t)
{
	if (t == NULL)
		return;
	evaluate_close(t->old.evaluation);
	evaluate_close(t->new.evaluation);
	free(t->history);
	free(t);
}

/* --- scores -------------------------------------------------------------------------- */

/* files NULL: data.valid of the model's spec.  Items of training rows are masked as the spec
 * says, but for rows of a period, which are of data.train themselves. */
static enum rs_status
score(const struct trial *t, const struct text_list *files, struct workers *w,
	const struct model *m, struct trial_run *out)
{
	const int of_period = files != NULL
		&& (files == t->options.rows || files == t->options.held);
	const struct evaluate_options options = {
		.files = files, .figures = &t->figures, .keep = 1, .may_be_empty = 1,
		.mask_nothing = of_period,
		.cache = of_period ? LOADER_CACHE_USE : LOADER_CACHE_MAKE,
	};

	RS_TRY(evaluate_open(&options, &out->evaluation));
	const enum rs_status status = evaluate_run(out->evaluation, w, m, &out->result, NULL);
	if (status != RS_OK) {
		evaluate_close(out->evaluation);
		out->evaluation = NULL;
		return status;
	}
	evaluate_scores(out->evaluation, &out->scores);
	return RS_OK;
}

static enum rs_status
keep_figures(struct trial *t, const struct trial_run *run)
{
	struct trial_influence influence;

	t->progressive = run->result;
	t->progressive_finite = run->scores.rows.finite;
	for (size_t i = 0; i < t->figures.n; i++) {
		RS_TRY(trial_influence(&run->result, &run->scores, &t->figures.item[i],
			&influence));
		t->period_figure[i] = (struct gate_figure){ influence.value, influence.variance };
		trial_influence_free(&influence);
	}
	return RS_OK;
}

static enum rs_status
score_period(struct trial *t, struct workers *w, const struct model *m)
{
	struct trial_run run = { .evaluation = NULL };

	if (t->options.rows == NULL || t->options.rows->n == 0)
		return RS_OK;
	RS_TRY(score(t, t->options.rows, w, m, &run));
	const enum rs_status status = keep_figures(t, &run);
	evaluate_close(run.evaluation);
	return status;
}

/* NULL: data.valid */
static const struct text_list *
gate_files(const struct trial *t)
{
	return t->options.gate == GATE_HOLDOUT ? t->options.held : NULL;
}

/* The file of the rows that were held out may have been taken away since. */
static enum rs_status
score_old(struct trial *t, struct workers *w, const struct model *m)
{
	const enum rs_status status = score(t, gate_files(t), w, m, &t->old);

	if (status != RS_ENOINPUT || t->options.gate != GATE_HOLDOUT)
		return status;
	if (ranks_lead(m->place))
		log_warn("the rows held out of the last accepted period are gone (%s): the gate "
			"takes the period's own rows", rs_failure()->text);
	t->options.gate = GATE_PROGRESSIVE;
	return RS_OK;
}

enum rs_status
trial_before(struct trial *t, struct workers *w, const struct model *m, int has_old)
{
	t->has_old = has_old;
	if (!has_old)
		return RS_OK;
	RS_TRY(score_period(t, w, m));
	return t->options.gate == GATE_PROGRESSIVE ? RS_OK : score_old(t, w, m);
}

enum rs_status
trial_before_other(struct trial *t, struct workers *w, const struct model *m,
	const struct text_list *valid)
{
	t->has_old = 1;
	return m != NULL && t->options.gate == GATE_VALID ? score(t, valid, w, m, &t->old) : RS_OK;
}

static int
same_rows(const struct metric_rows *a, const struct metric_rows *b)
{
	if (a->n != b->n || a->n_groups != b->n_groups)
		return 0;
	for (size_t i = 0; i < a->n; i++)
		if (a->row[i].label != b->row[i].label || a->row[i].weight != b->row[i].weight)
			return 0;
	return 1;
}

enum rs_status
trial_after(struct trial *t, struct workers *w, const struct model *m)
{
	if (t->options.gate == GATE_PROGRESSIVE)
		return RS_OK;
	RS_TRY(score(t, gate_files(t), w, m, &t->new));
	t->paired = t->old.evaluation != NULL
		&& same_rows(&t->old.scores.rows, &t->new.scores.rows);
	if (t->old.evaluation != NULL && !t->paired && ranks_lead(m->place))
		log_warn("the rows of the gate are others than before the training");
	return RS_OK;
}

const struct metric_result *
trial_progressive(const struct trial *t)
{
	return &t->progressive;
}

/* --- the line of the period ------------------------------------------------------------ */

static enum rs_status
print_period(const struct trial *t, struct buffer *out)
{
	if (t->progressive.rows == 0)
		return RS_OK;
	RS_TRY(trial_history_rows("progressive", t->progressive.rows, out));
	for (size_t i = 0; i < t->figures.n; i++)
		RS_TRY(trial_history_figure("progressive", t->figures.item[i].name,
			&t->period_figure[i], out));
	return RS_OK;
}

static enum rs_status
print_run(const struct trial *t, const char *rows, const struct trial_run *run,
	struct buffer *out)
{
	struct trial_influence i;

	if (run->evaluation == NULL)
		return RS_OK;
	RS_TRY(trial_history_rows(rows, run->result.rows, out));
	for (size_t k = 0; k < t->figures.n; k++) {
		RS_TRY(trial_influence(&run->result, &run->scores, &t->figures.item[k], &i));
		const struct gate_figure figure = { i.value, i.variance };
		trial_influence_free(&i);
		RS_TRY(trial_history_figure(rows, t->figures.item[k].name, &figure, out));
	}
	return RS_OK;
}

enum rs_status
trial_print(const struct trial *t, struct buffer *out)
{
	RS_TRY(trial_history_keep(t->history, t->options.period, out));
	RS_TRY(trial_history_begin(t->options.period, out));
	RS_TRY(print_period(t, out));
	RS_TRY(print_run(t, t->options.gate == GATE_HOLDOUT ? "holdout" : "valid", &t->new, out));
	return buffer_printf(out, "\n");
}
