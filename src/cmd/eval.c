/* The command eval: metrics of a model on labelled rows. */
#include "cmd/command.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "cmd/eval_groups.h"
#include "cmd/layout.h"
#include "cmd/require.h"
#include "cmd/scorer.h"
#include "train/evaluate.h"

#define THREADS_MAX 4096

struct eval {
	const struct arguments *a;
	struct scorer *scorer;
	const char *by;
	enum evaluate_candidates candidates;
	struct text_list seen;         /* of --seen                                   */
	int is_mse;
	struct figure_list figures;    /* computed                                    */
	size_t n_shown;                /* the first of them; the rest is --require's  */
	struct metric_result result;
	struct evaluate_counts counts;
	struct eval_groups groups;
	struct metric_bin bin[METRIC_BINS];
	size_t n_bins;
};

/* The failure just recorded, of a metric's name in this option. */
static enum rs_status
option_failure(const char *option)
{
	struct rs_failure f;

	rs_failure_take(&f);
	rs_fail(RS_EUSAGE, "%s %s", option, f.text);
	return f.hint[0] != '\0' ? rs_hint("%s", f.hint) : RS_EUSAGE;
}

static enum rs_status
want_figure(struct eval *e, const char *option, const char *name, size_t n)
{
	struct figure f;

	if (figure_parse(name, n, RS_EUSAGE, &f) == RS_OK && figure_add(&e->figures, &f) == RS_OK)
		return RS_OK;
	return option_failure(option);
}

/* Conditions may name what --metrics does not; what is none is told before all the work. */
static enum rs_status
want_required(struct eval *e)
{
	const char *text;

	for (size_t i = 0; (text = argument_nth(e->a, "--require", i)) != NULL; i++) {
		struct gate_condition c;

		if (require_parse(text, &c) != RS_OK)
			return option_failure("--require");
		RS_TRY(want_figure(e, "--require", c.metric, strlen(c.metric)));
	}
	return RS_OK;
}

static enum rs_status
set_figures(struct eval *e, const struct settings *settings)
{
	const char *list = argument(e->a, "--metrics");

	if (list == NULL)
		figure_list_of(settings, &e->figures);
	while (list != NULL && *list != '\0') {
		const size_t n = strcspn(list, ",");
		RS_TRY(want_figure(e, "--metrics", list, n));
		list += n + (list[n] == ',');
	}
	e->n_shown = e->figures.n;
	if (argument_given(e->a, "--calibration"))
		RS_TRY(want_figure(e, "--calibration", "calibration", strlen("calibration")));
	return want_required(e);
}

static enum rs_status
set_candidates(struct eval *e, const struct settings *settings)
{
	const char *text = argument(e->a, "--candidates");
	int ranks = 0;

	if (text == NULL)
		e->candidates = settings->eval.candidates == EVAL_CATALOGUE ? EVALUATE_CATALOGUE
			: EVALUATE_ROWS;
	else if (strcmp(text, "rows") == 0)
		e->candidates = EVALUATE_ROWS;
	else if (strcmp(text, "catalogue") == 0)
		e->candidates = EVALUATE_CATALOGUE;
	else
		return rs_fail(RS_EUSAGE, "--candidates: '%s', wanted rows or catalogue", text);
	for (size_t i = 0; i < e->figures.n; i++)
		ranks |= figure_is_rank(&e->figures.item[i]);
	if (e->by == NULL || !ranks || e->candidates == EVALUATE_ROWS)
		return RS_OK;
	rs_fail(RS_EUSAGE, "--by: figures of the whole catalogue are not known by a field");
	return rs_hint("rank the rows with --candidates rows, or name other --metrics");
}

static enum rs_status
set_seen(struct eval *e)
{
	const char *file;
	size_t n = 0;

	while (argument_nth(e->a, "--seen", n) != NULL)
		n++;
	RS_TRY(memory_alloc(n + 1, sizeof *e->seen.item, &e->seen.item));
	for (; (file = argument_nth(e->a, "--seen", e->seen.n)) != NULL; e->seen.n++)
		RS_TRY(memory_strdup(file, &e->seen.item[e->seen.n]));
	return RS_OK;
}

static void
free_seen(struct eval *e)
{
	for (size_t i = 0; i < e->seen.n; i++)
		free(e->seen.item[i]);
	free(e->seen.item);
}

static enum rs_status
add_rows(struct eval *e, struct metric *metric, const struct scorer_rows *rows)
{
	const struct batch *b = rows->batch;

	RS_TRY(metric_add_batch(metric, b, rows->logit));
	if (b->B > 0 && rows->ids == NULL)
		return rs_fail(RS_EUSAGE, "--by: rows of this format have no column for '%s'",
			e->by);
	for (size_t i = 0; i < b->B; i++)
		RS_TRY(eval_groups_add(&e->groups, rows->ids->text + rows->ids->begin[i],
			rows->ids->end[i] - rows->ids->begin[i], b, i, rows->logit[i]));
	return RS_OK;
}

/* Without --by: all threads, in pieces of the loader. */
static enum rs_status
score_files(struct eval *e)
{
	const struct evaluate_options options = { .files = scorer_files(e->scorer),
		.figures = &e->figures, .candidates = e->candidates,
		.seen = e->seen.n > 0 ? &e->seen : NULL,
		.mask_nothing = argument_given(e->a, "--no-mask") };
	struct evaluation *evaluation;

	RS_TRY(evaluate_open(&options, &evaluation));
	const enum rs_status status = evaluate_run(evaluation, scorer_workers(e->scorer),
		scorer_model(e->scorer), &e->result, &e->counts);
	if (status == RS_OK)
		e->n_bins = metric_bins(evaluate_metric(evaluation), METRIC_BINS, e->bin);
	evaluate_close(evaluation);
	return status;
}

/* One pass in this thread, which keeps the text of the column beside the scores. */
static enum rs_status
score_groups(struct eval *e)
{
	struct scorer_rows rows;
	struct metric *metric;

	RS_TRY(metric_create(&metric));
	metric_set_real(metric, e->is_mse);
	metric_set_figures(metric, &e->figures);
	e->groups.is_real = e->is_mse;
	e->groups.figures = &e->figures;
	enum rs_status status;
	do {
		status = scorer_next(e->scorer, &rows);
		if (status == RS_OK)
			status = add_rows(e, metric, &rows);
	} while (status == RS_OK && rows.batch->B > 0);
	if (status == RS_OK)
		status = metric_result(metric, &e->result);
	if (status == RS_OK)
		e->n_bins = metric_bins(metric, METRIC_BINS, e->bin);
	metric_free(metric);
	e->counts.tally = *scorer_tally(e->scorer);
	memcpy(e->counts.unseen, scorer_unseen(e->scorer), sizeof e->counts.unseen);
	eval_groups_sort(&e->groups);
	if (status == RS_OK && e->result.rows == 0)
		return rs_fail(RS_EDATA, "no rows to evaluate");
	return status;
}

static double
negatives(const struct eval *e)
{
	return e->result.weight - e->result.positives;
}

static int
has_one_class(const struct eval *e)
{
	return !e->is_mse && (e->result.positives == 0 || negatives(e) == 0);
}

static void
warn_about(const struct eval *e)
{
	if (has_one_class(e) && figure_list_needs_classes(&e->figures))
		log_warn("one class only: %.0f positive and %.0f negative rows, so auc is not "
			"defined",
			e->result.positives, negatives(e));
	if (e->result.not_finite)
		log_warn("a score is not a finite number: figures of scores are n.a.; training "
			"with a lower train.learning_rate or train.clip_norm may help");
	if (metric_named(&e->result, "auc") < 0.5)
		log_warn("auc %.4f is below 0.5: worse than chance; are the labels swapped, "
			"or is it another column?", e->result.auc);
}

/* NaN: the rows were not scored. */
static double
unseen_share(const struct eval *e)
{
	if (isnan(e->result.mean_prediction))
		return NAN;
	return e->counts.unseen[1] == 0 ? 0 : (double)e->counts.unseen[0]
		/ (double)e->counts.unseen[1];
}

/* The loss comes first, next to that of the best constant. */
static enum rs_status
print_metrics(const struct eval *e)
{
	const size_t loss = figure_find(&e->figures, "logloss");
	const char *gap = "";
	char text[32];

	if (loss < e->n_shown) {
		RS_TRY(output_printf("logloss %s   (best constant %s)",
			layout_figure(text, e->result.logloss, 6),
			layout_figure((char[32]){ "" }, e->result.best_constant_loss, 6)));
		gap = "   ";
	}
	for (size_t i = 0; i < e->n_shown; i++) {
		if (i == loss)
			continue;
		RS_TRY(output_printf("%s%s %s", gap, e->figures.item[i].name,
			layout_figure(text, e->result.value[i], 6)));
		gap = "   ";
	}
	return output_printf("\n");
}

static enum rs_status
add_group_row(struct layout *l, const struct eval *e, const struct eval_group *group)
{
	struct metric_result r;
	char text[32], name[72];

	RS_TRY(metric_result(group->metric, &r));
	RS_TRY(layout_cell(l, "%s",
		group->n == 0 ? "(blank)" : rs_escape(name, group->text, group->n)));
	RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)group->rows)));
	for (size_t i = 0; i < e->n_shown; i++)
		RS_TRY(layout_cell(l, "%s", layout_figure(text, r.value[i], 4)));
	return layout_cell(l, "%s", !e->is_mse && isnan(r.auc) ? "one class only" : "");
}

static enum rs_status
fill_groups(struct layout *l, const struct eval *e)
{
	RS_TRY(layout_cell(l, "%s", e->by));
	RS_TRY(layout_cell(l, "rows"));
	for (size_t i = 0; i < e->n_shown; i++)
		RS_TRY(layout_cell(l, "%s", e->figures.item[i].name));
	RS_TRY(layout_cell(l, "%s", ""));
	for (size_t i = 0; i < e->groups.n_groups; i++)
		RS_TRY(add_group_row(l, e, &e->groups.group[i]));
	return RS_OK;
}

static enum rs_status
print_groups(const struct eval *e)
{
	struct layout l;

	layout_init(&l, 3 + e->n_shown, 1 << 1);
	enum rs_status status = fill_groups(&l, e);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static enum rs_status
fill_calibration(struct layout *l, const struct eval *e)
{
	static const char *const heading[] = { "decile", "rows", "predicted", "observed", "ratio" };
	char text[32];

	RS_TRY(layout_cells(l, heading));
	for (size_t i = 0; i < e->n_bins; i++) {
		const struct metric_bin *const b = &e->bin[i];
		RS_TRY(layout_cell(l, "%zu", i + 1));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)b->rows)));
		RS_TRY(layout_cell(l, "%s", layout_figure(text, b->mean_prediction, 4)));
		RS_TRY(layout_cell(l, "%s", layout_figure(text, b->mean_label, 4)));
		RS_TRY(layout_cell(l, "%s", layout_figure(text, b->mean_label != 0
			? b->mean_prediction / b->mean_label : NAN, 3)));
	}
	return RS_OK;
}

static enum rs_status
print_calibration(const struct eval *e)
{
	const struct metric_result *const r = &e->result;
	struct layout l;
	char ratio[32];

	RS_TRY(output_printf("predicted mean %.4f   observed %.4f   ratio %s\n",
		r->mean_prediction, r->mean_label, layout_figure(ratio, r->calibration, 3)));
	layout_init(&l, 5, 1 << 1);
	enum rs_status status = fill_calibration(&l, e);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static enum rs_status
print_text(const struct eval *e)
{
	const struct metric_result *r = &e->result;
	char rows[32], positives[32], skipped[32];

	RS_TRY(output_printf("rows %s", layout_count(rows, (int64_t)r->rows)));
	if (!e->is_mse)
		RS_TRY(output_printf("   positives %s", layout_count(positives,
			llround(r->positives))));
	RS_TRY(output_printf("   skipped %s",
		layout_count(skipped, (int64_t)e->counts.tally.skipped)));
	RS_TRY(isnan(unseen_share(e)) ? output_printf("\n")
		: output_printf("   unseen ids %.1f%%\n", 100 * unseen_share(e)));
	if (r->groups > 0)
		RS_TRY(output_printf("groups %s   of them left out %s\n",
			layout_count(rows, (int64_t)r->groups),
			layout_count(skipped, (int64_t)r->groups_left_out)));
	RS_TRY(print_metrics(e));
	if (argument_given(e->a, "--calibration"))
		RS_TRY(print_calibration(e));
	return e->by != NULL ? print_groups(e) : RS_OK;
}

static void
json_metrics(struct json *j, const struct eval *e, const struct metric_result *r)
{
	for (size_t i = 0; i < e->n_shown; i++)
		json_double(j, e->figures.item[i].name, r->value[i]);
}

static void
json_unasked(struct json *j, const struct eval *e, const char *name, double value)
{
	if (figure_find(&e->figures, name) >= e->n_shown)
		json_double(j, name, value);
}

static void
json_calibration(struct json *j, const struct eval *e)
{
	json_open(j, "calibration_table", '[');
	for (size_t i = 0; i < e->n_bins; i++) {
		json_open(j, NULL, '{');
		json_int(j, "rows", (int64_t)e->bin[i].rows);
		json_double(j, "weight", e->bin[i].weight);
		json_double(j, "mean_prediction", e->bin[i].mean_prediction);
		json_double(j, "mean_label", e->bin[i].mean_label);
		json_close(j);
	}
	json_close(j);
}

static enum rs_status
json_groups(struct json *j, const struct eval *e)
{
	json_open(j, "by", '[');
	for (size_t i = 0; i < e->groups.n_groups; i++) {
		struct metric_result r;
		RS_TRY(metric_result(e->groups.group[i].metric, &r));
		json_open(j, NULL, '{');
		json_string(j, "value", e->groups.group[i].text);
		json_int(j, "rows", (int64_t)e->groups.group[i].rows);
		json_metrics(j, e, &r);
		json_close(j);
	}
	json_close(j);
	return RS_OK;
}

static enum rs_status
fill_json(struct json *j, const struct eval *e)
{
	const struct metric_result *r = &e->result;

	json_open(j, NULL, '{');
	json_int(j, "rows", (int64_t)r->rows);
	json_metrics(j, e, r);
	json_double(j, "positives", r->positives);
	json_double(j, "negatives", negatives(e));
	json_int(j, "skipped", (int64_t)e->counts.tally.skipped);
	json_double(j, "unseen", unseen_share(e));
	if (r->groups > 0) {
		json_int(j, "groups", (int64_t)r->groups);
		json_int(j, "groups_left_out", (int64_t)r->groups_left_out);
	}
	if (argument(e->a, "--metrics") == NULL) {
		json_unasked(j, e, "mean_label", r->mean_label);
		json_unasked(j, e, "mean_prediction", r->mean_prediction);
		json_unasked(j, e, "calibration", r->calibration);
		json_unasked(j, e, "best_constant", r->best_constant);
		json_unasked(j, e, "best_constant_loss", r->best_constant_loss);
	}
	if (argument_given(e->a, "--calibration"))
		json_calibration(j, e);
	if (e->by != NULL)
		RS_TRY(json_groups(j, e));
	json_close(j);
	return output_printf("%s\n", json_text(j));
}

static enum rs_status
print_json(const struct eval *e)
{
	struct json j;

	json_init(&j);
	const enum rs_status status = fill_json(&j, e);
	json_free(&j);
	return status;
}

static enum rs_status
check_requirements(const struct eval *e)
{
	struct require_figure figure[FIGURE_MAX];
	const char *text;

	for (size_t i = 0; i < e->figures.n; i++)
		figure[i] = (struct require_figure){ e->figures.item[i].name,
			e->result.value[i] };
	for (size_t i = 0; (text = argument_nth(e->a, "--require", i)) != NULL; i++)
		RS_TRY(require_check(text, figure, e->figures.n));
	return RS_OK;
}

static enum rs_status
eval_with(struct eval *e)
{
	const struct settings *const settings = spec_settings(scorer_model(e->scorer)->spec);

	e->is_mse = settings->model.loss == LOSS_MSE;
	RS_TRY(set_figures(e, settings));
	RS_TRY(set_candidates(e, settings));
	RS_TRY(set_seen(e));
	RS_TRY(e->by != NULL ? score_groups(e) : score_files(e));
	warn_about(e);
	RS_TRY(command_json(e->a) ? print_json(e) : print_text(e));
	RS_TRY(output_flush());
	RS_TRY(check_requirements(e));
	if (e->counts.tally.skipped > 0 && !argument_given(e->a, "--ok-partial"))
		return rs_fail(RS_EPARTIAL, "%" PRIu64 " of %" PRIu64 " rows were skipped",
			e->counts.tally.skipped, e->counts.tally.read);
	return RS_OK;
}

static enum rs_status
eval_run(const struct arguments *a)
{
	struct eval e = { .a = a, .by = argument(a, "--by") };
	int64_t n_threads = 0;

	if (a->n_positional < 2)
		return rs_fail(RS_EUSAGE, "eval: wanted MODEL and DATA, got %zu",
			a->n_positional);
	RS_TRY(argument_int(a, "--threads", 0, THREADS_MAX, &n_threads));
	const struct scorer_options options = {
		.model = a->positional[0], .data = (const char *const *)a->positional + 1,
		.n_data = a->n_positional - 1, .purpose = PARSE_EVAL, .field = e.by,
		.n_threads = (size_t)n_threads,
	};
	RS_TRY(scorer_open(&options, &e.scorer));
	const enum rs_status status = eval_with(&e);
	eval_groups_free(&e.groups);
	free_seen(&e);
	scorer_close(e.scorer);
	return status;
}

static const struct command_option eval_option[] = {
	{ .name = "--metrics", .argument = "LIST", .dflt = "eval.metrics", .text =
		"comma-separated: auc, logloss, mse, gauc, hr@K, ndcg@K, mrr@K, "
		"recall@K, "
		"calibration, mean_label, mean_prediction, best_constant, "
		"best_constant_loss" },
	{ .name = "--by", .argument = "FIELD", .text =
		"print the metrics for each value of this field as well" },
	{ .name = "--candidates", .argument = "C", .dflt = "eval.candidates", .text =
		"what hr, ndcg, mrr and recall rank: rows, those of each group, or "
		"catalogue, all items (two_tower)" },
	{ .name = "--seen", .argument = "FILE", .repeats = 1, .text =
		"catalogue: the training rows whose items are not ranked for their group, "
		"instead of data.train" },
	{ .name = "--no-mask", .text = "catalogue: rank items of the training rows as well" },
	{ .name = "--require", .argument = "METRIC>=X", .repeats = 1,
		.text = "exit 1 unless this holds; >=, <=, > and < are known" },
	{ .name = "--calibration", .text =
		"print the mean prediction beside the mean label, overall and by deciles of "
		"the prediction" },
	{ .name = "--ok-partial", .text = "exit 0 although rows were skipped" },
	{ .name = NULL },
};

const struct command command_eval = {
	.name = "eval",
	.synopsis = "MODEL DATA|-... [--metrics LIST] [--candidates rows|catalogue] [--by FIELD] "
		"[--require METRIC>=X]... [--calibration]",
	.text = "Evaluate a model on labelled rows.",
	.option = eval_option,
	.run = eval_run,
};
