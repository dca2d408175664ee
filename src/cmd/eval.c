/* The command eval: metrics of a model on labelled rows. */
#include "cmd/command.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "cmd/eval_groups.h"
#include "cmd/layout.h"
#include "cmd/require.h"
#include "cmd/scorer.h"
#include "train/evaluate.h"

#define THREADS_MAX 4096

static const struct eval_metric {
	const char *name;
	size_t offset;                 /* of struct metric_result                     */
	int    is_default;
} metric_table[] = {
	{ "auc", offsetof(struct metric_result, auc), 1 },
	{ "logloss", offsetof(struct metric_result, logloss), 1 },
	{ "mse", offsetof(struct metric_result, mse), 0 },
	{ "calibration", offsetof(struct metric_result, calibration), 0 },
	{ "mean_label", offsetof(struct metric_result, mean_label), 0 },
	{ "mean_prediction", offsetof(struct metric_result, mean_prediction), 0 },
	{ "best_constant", offsetof(struct metric_result, best_constant), 0 },
	{ "best_constant_loss", offsetof(struct metric_result, best_constant_loss), 0 },
};
#define N_METRICS (sizeof metric_table / sizeof metric_table[0])

struct eval {
	const struct arguments *a;
	struct scorer *scorer;
	const char *by;
	int is_mse;
	int wanted[N_METRICS];
	struct metric_result result;
	struct evaluate_counts counts;
	struct eval_groups groups;
};

static double
metric_value(const struct metric_result *result, size_t i)
{
	return *(const double *)((const char *)result + metric_table[i].offset);
}

static enum rs_status
want_metric(struct eval *e, const char *name, size_t n)
{
	const char *names[N_METRICS];

	for (size_t i = 0; i < N_METRICS; i++) {
		names[i] = metric_table[i].name;
		if (strlen(names[i]) == n && memcmp(names[i], name, n) == 0) {
			e->wanted[i] = 1;
			return RS_OK;
		}
	}
	char copy[64];
	snprintf(copy, sizeof copy, "%.*s", (int)n, name);
	rs_fail(RS_EUSAGE, "--metrics: there is no metric '%s'", copy);
	const char *near = spec_nearest(copy, names, N_METRICS);
	return near != NULL ? rs_hint("did you mean '%s'?", near) : RS_EUSAGE;
}

static enum rs_status
set_metrics(struct eval *e)
{
	const char *list = argument(e->a, "--metrics");

	for (size_t i = 0; i < N_METRICS; i++)
		e->wanted[i] = list == NULL && (metric_table[i].is_default
			|| (e->is_mse && strcmp(metric_table[i].name, "mse") == 0));
	while (list != NULL && *list != '\0') {
		const size_t n = strcspn(list, ",");
		RS_TRY(want_metric(e, list, n));
		list += n + (list[n] == ',');
	}
	return RS_OK;
}

static enum rs_status
add_rows(struct eval *e, struct metric *metric, const struct scorer_rows *rows)
{
	const struct batch *b = rows->batch;

	RS_TRY(metric_add(metric, b->B, rows->logit, b->label, b->weight));
	if (b->B > 0 && rows->ids == NULL)
		return rs_fail(RS_EUSAGE, "--by: rows of this format have no column for '%s'",
			e->by);
	for (size_t i = 0; i < b->B; i++)
		RS_TRY(eval_groups_add(&e->groups, rows->ids->text + rows->ids->begin[i],
			rows->ids->end[i] - rows->ids->begin[i], rows->logit[i], b->label[i],
			b->weight[i]));
	return RS_OK;
}

/* One pass in this thread, which keeps the text of the column beside the scores. */
static enum rs_status
score_groups(struct eval *e)
{
	struct scorer_rows rows;
	struct metric *metric;

	RS_TRY(metric_create(&metric));
	metric_set_real(metric, e->is_mse);
	enum rs_status status;
	do {
		status = scorer_next(e->scorer, &rows);
		if (status == RS_OK)
			status = add_rows(e, metric, &rows);
	} while (status == RS_OK && rows.batch->B > 0);
	if (status == RS_OK)
		status = metric_result(metric, &e->result);
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
	if (has_one_class(e))
		log_warn("one class only: %.0f positive and %.0f negative rows, so auc is not "
			"defined",
			e->result.positives, negatives(e));
	if (e->result.auc < 0.5)
		log_warn("auc %.4f is below 0.5: worse than chance; are the labels swapped, "
			"or is it another column?", e->result.auc);
}

static double
unseen_share(const struct eval *e)
{
	return e->counts.unseen[1] == 0 ? 0 : (double)e->counts.unseen[0]
		/ (double)e->counts.unseen[1];
}

static enum rs_status
print_metrics(const struct eval *e)
{
	const char *gap = "";
	char text[32];

	if (e->wanted[1])
		RS_TRY(output_printf("logloss %s   (best constant %s)",
			layout_figure(text, e->result.logloss, 6),
			layout_figure((char[32]){ "" }, e->result.best_constant_loss, 6)));
	if (e->wanted[1])
		gap = "   ";
	for (size_t i = 0; i < N_METRICS; i++) {
		if (!e->wanted[i] || i == 1)
			continue;
		RS_TRY(output_printf("%s%s %s", gap, metric_table[i].name,
			layout_figure(text, metric_value(&e->result, i), 6)));
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
	for (size_t i = 0; i < N_METRICS; i++)
		if (e->wanted[i])
			RS_TRY(layout_cell(l, "%s", layout_figure(text, metric_value(&r, i), 4)));
	return layout_cell(l, "%s", !e->is_mse && isnan(r.auc) ? "one class only" : "");
}

static enum rs_status
fill_groups(struct layout *l, const struct eval *e)
{
	RS_TRY(layout_cell(l, "%s", e->by));
	RS_TRY(layout_cell(l, "rows"));
	for (size_t i = 0; i < N_METRICS; i++)
		if (e->wanted[i])
			RS_TRY(layout_cell(l, "%s", metric_table[i].name));
	RS_TRY(layout_cell(l, "%s", ""));
	for (size_t i = 0; i < e->groups.n_groups; i++)
		RS_TRY(add_group_row(l, e, &e->groups.group[i]));
	return RS_OK;
}

static enum rs_status
print_groups(const struct eval *e)
{
	struct layout l;
	size_t n_columns = 3;

	for (size_t i = 0; i < N_METRICS; i++)
		n_columns += e->wanted[i] != 0;
	layout_init(&l, n_columns, 1 << 1);
	enum rs_status status = fill_groups(&l, e);
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
	RS_TRY(output_printf("   skipped %s   unseen ids %.1f%%\n",
		layout_count(skipped, (int64_t)e->counts.tally.skipped), 100 * unseen_share(e)));
	RS_TRY(print_metrics(e));
	if (argument_given(e->a, "--calibration"))
		RS_TRY(output_printf("predicted mean %.4f   observed %.4f   ratio %s\n",
			r->mean_prediction,
			r->mean_label, layout_figure(rows, r->calibration, 3)));
	return e->by != NULL ? print_groups(e) : RS_OK;
}

static void
json_metrics(struct json *j, const struct eval *e, const struct metric_result *r)
{
	for (size_t i = 0; i < N_METRICS; i++)
		if (e->wanted[i])
			json_double(j, metric_table[i].name, metric_value(r, i));
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
	if (argument(e->a, "--metrics") == NULL) {
		json_double(j, "mean_label", r->mean_label);
		json_double(j, "mean_prediction", r->mean_prediction);
		json_double(j, "calibration", r->calibration);
		json_double(j, "best_constant", r->best_constant);
		json_double(j, "best_constant_loss", r->best_constant_loss);
	}
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
	struct require_figure figure[N_METRICS];
	const char *text;

	for (size_t i = 0; i < N_METRICS; i++)
		figure[i] = (struct require_figure){ metric_table[i].name, metric_value(&e->result,
			i) };
	for (size_t i = 0; (text = argument_nth(e->a, "--require", i)) != NULL; i++)
		RS_TRY(require_check(text, figure, N_METRICS));
	return RS_OK;
}

static enum rs_status
eval_with(struct eval *e)
{
	struct model *m = scorer_model(e->scorer);

	e->is_mse = spec_settings(m->spec)->model.loss == LOSS_MSE;
	RS_TRY(set_metrics(e));
	if (e->by != NULL)
		RS_TRY(score_groups(e));
	else
		RS_TRY(evaluate_files(scorer_workers(e->scorer), m, scorer_files(e->scorer),
			&e->result, &e->counts));
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
		return rs_fail(RS_EUSAGE, "eval: wanted MODEL and DATA, got %zu arguments",
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
	scorer_close(e.scorer);
	return status;
}

static const struct command_option eval_option[] = {
	{ .name = "--metrics", .argument = "LIST", .dflt = "auc,logloss", .text =
		"comma-separated: auc, logloss, "
		"mse, calibration, mean_label, mean_prediction, best_constant, "
		"best_constant_loss" },
	{ .name = "--by", .argument = "FIELD", .text =
		"print the metrics for each value of this field as well" },
	{ .name = "--require", .argument = "METRIC>=X", .repeats = 1,
		.text = "exit 1 unless this holds; >=, <=, > and < are known" },
	{ .name = "--calibration", .text = "print the mean prediction beside the mean label" },
	{ .name = "--ok-partial", .text = "exit 0 although rows were skipped" },
	{ .name = NULL },
};

const struct command command_eval = {
	.name = "eval",
	.synopsis = "MODEL DATA|-... [--metrics LIST] [--by FIELD] [--require METRIC>=X]... "
		"[--calibration]",
	.text = "Evaluate a model on labelled rows.",
	.option = eval_option,
	.run = eval_run,
};
