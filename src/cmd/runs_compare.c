/* runs compare: what differs between runs, and whether it matters. */
#include "cmd/runs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/layout.h"
#include "cmd/require.h"
#include "spec/figure.h"

#define COMPARE_RUNS    8              /* runs_table allows no more               */
#define COMPARE_METRICS 64

struct compare {
	const char *metric[COMPARE_METRICS];   /* keys in the order of the table      */
	size_t n_metrics;
	size_t n;                          /* runs                                    */
	struct store_run run[COMPARE_RUNS];
	struct store_table params[COMPARE_RUNS], metrics[COMPARE_RUNS];
};

/* Variance of an AUC, Hanley & McNeil 1982: with Q1 = A/(2-A), Q2 = 2A^2/(1+A),
 * [A(1-A) + (P-1)(Q1-A^2) + (N-1)(Q2-A^2)] / (P N). */
static double
auc_variance(double auc, double positives, double negatives)
{
	const double q1 = auc / (2 - auc), q2 = 2 * auc * auc / (1 + auc);

	if (!(positives >= 1) || !(negatives >= 1))
		return NAN;
	return (auc * (1 - auc) + (positives - 1) * (q1 - auc * auc) + (negatives - 1) * (q2 - auc
		* auc))
		/ (positives * negatives);
}

double
runs_auc_range(const struct store_run *a, const struct store_run *b)
{
	const double va = auc_variance(a->auc, a->valid_positives, a->valid_rows
		- a->valid_positives);
	const double vb = auc_variance(b->auc, b->valid_positives, b->valid_rows
		- b->valid_positives);

	return 1.96 * sqrt(va + vb);
}

/* The value of a parameter, NULL when the run has none of that key. */
static const char *
find_param(const struct store_table *table, const char *key)
{
	for (size_t i = 0; i < table->n_rows; i++)
		if (strcmp(table->cell[i * table->n_columns], key) == 0)
			return table->cell[i * table->n_columns + 1];
	return NULL;
}

/* A figure of the kept weights (epoch 0), NaN when there is none. */
static double
find_metric(const struct store_table *table, const char *key)
{
	enum { KEY, EPOCH, STEP, ROWS, VALUE };

	for (size_t i = 0; i < table->n_rows; i++) {
		char **row = table->cell + i * table->n_columns;
		double value;
		if (strcmp(row[KEY], key) == 0 && strcmp(row[EPOCH], "0") == 0)
			return row[VALUE] != NULL && number_double(row[VALUE], strlen(row[VALUE]),
				&value) ? value : NAN;
	}
	return NAN;
}

static int
is_seen_before(const struct compare *c, size_t run, const char *key)
{
	for (size_t k = 0; k < run; k++)
		if (find_param(&c->params[k], key) != NULL)
			return 1;
	return 0;
}

static int
same_text(const char *a, const char *b)
{
	return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

static enum rs_status
add_param(struct layout *l, const struct compare *c, const char *key)
{
	const char *first = find_param(&c->params[0], key);
	int differs = 0;

	for (size_t k = 1; k < c->n; k++)
		differs |= !same_text(first, find_param(&c->params[k], key));
	if (!differs)
		return RS_OK;
	RS_TRY(layout_cell(l, "%s", key));
	for (size_t k = 0; k < c->n; k++) {
		const char *value = find_param(&c->params[k], key);
		RS_TRY(layout_cell(l, "%s", value != NULL ? value : "-"));
	}
	return layout_cell(l, "*");
}

static enum rs_status
add_params(struct layout *l, const struct compare *c)
{
	for (size_t k = 0; k < c->n; k++)
		for (size_t i = 0; i < c->params[k].n_rows; i++) {
			const char *key = c->params[k].cell[i * c->params[k].n_columns];
			if (!is_seen_before(c, k, key))
				RS_TRY(add_param(l, c, key));
		}
	return RS_OK;
}

static enum rs_status
add_rows(struct layout *l, const struct compare *c)
{
	const struct store_run *first = &c->run[0], *last = &c->run[c->n - 1];
	char text[32];

	RS_TRY(layout_cell(l, "data.rows"));
	for (size_t k = 0; k < c->n; k++)
		RS_TRY(layout_cell(l, "%s", c->run[k].rows < 0 ? "-" : layout_count(text,
			c->run[k].rows)));
	if (first->rows <= 0 || last->rows < 0)
		return layout_cell(l, "%s", "");
	return layout_cell(l, "%+.1f%%", 100 * ((double)last->rows / (double)first->rows - 1));
}

static enum rs_status
add_status(struct layout *l, const struct compare *c)
{
	int differs = 0;

	RS_TRY(layout_cell(l, "status"));
	for (size_t k = 0; k < c->n; k++) {
		RS_TRY(layout_cell(l, "%s", c->run[k].status));
		differs |= strcmp(c->run[k].status, c->run[0].status) != 0;
	}
	return layout_cell(l, "%s", differs ? "*" : "");
}

/* "+0.0012   (45,840 rows; 95% range of the change -0.0008 .. +0.0031)" */
static enum rs_status
add_auc_change(struct layout *l, const struct store_run *a, const struct store_run *b)
{
	const double change = b->auc - a->auc, range = runs_auc_range(a, b);
	char rows[32];

	if (isnan(range))
		return layout_cell(l, "%+.4f", change);
	return layout_cell(l, "%+.4f   (%s rows; 95%% range of the change %+.4f .. %+.4f)", change,
		layout_count(rows, (int64_t)b->valid_rows), change - range, change + range);
}

static enum rs_status
add_metric(struct layout *l, const struct compare *c, const char *key)
{
	const struct store_run *last = &c->run[c->n - 1];
	const double before = find_metric(&c->metrics[0], key);
	const double after = find_metric(&c->metrics[c->n - 1], key);
	char text[32];

	RS_TRY(layout_cell(l, "%s", key));
	for (size_t k = 0; k < c->n; k++)
		RS_TRY(layout_cell(l, "%s", layout_figure(text, find_metric(&c->metrics[k], key),
			4)));
	if (isnan(before) || isnan(after))
		return layout_cell(l, "%s", "");
	if (strcmp(key, "valid.auc") == 0)
		return add_auc_change(l, &c->run[0], last);
	return layout_cell(l, "%+.4f", after - before);
}

#define VALID "valid."

const char *
runs_figure_name(const char *key)
{
	const char *const name = key + strlen(VALID);
	struct figure f;

	if (strncmp(key, VALID, strlen(VALID)) != 0)
		return NULL;
	return figure_parse(name, strlen(name), RS_EUSAGE, &f) == RS_OK && figure_better(&f) != 0
		? name : NULL;
}

static void
list_metric(struct compare *c, const char *key)
{
	size_t i = 0;

	while (i < c->n_metrics && strcmp(c->metric[i], key) != 0)
		i++;
	if (i == c->n_metrics && i < COMPARE_METRICS - 1)
		c->metric[c->n_metrics++] = key;
}

/* The usual figures, then what else has a better and a worse; counts are in the
 * brackets. */
static void
list_metrics(struct compare *c)
{
	list_metric(c, VALID "auc");
	list_metric(c, VALID "logloss");
	list_metric(c, VALID "mse");
	for (size_t k = 0; k < c->n; k++) {
		const struct store_table *const t = &c->metrics[k];

		for (size_t i = 0; i < t->n_rows; i++)
			if (runs_figure_name(t->cell[i * t->n_columns]) != NULL)
				list_metric(c, t->cell[i * t->n_columns]);
	}
	c->metric[c->n_metrics++] = "train.loss";
}

static int
any_has(const struct compare *c, const char *key)
{
	for (size_t k = 0; k < c->n; k++)
		if (!isnan(find_metric(&c->metrics[k], key)))
			return 1;
	return 0;
}

static enum rs_status
fill_table(struct layout *l, const struct compare *c)
{
	RS_TRY(layout_cell(l, "%s", ""));
	for (size_t k = 0; k < c->n; k++)
		RS_TRY(layout_cell(l, "%s", c->run[k].name));
	RS_TRY(layout_cell(l, "change"));
	RS_TRY(add_status(l, c));
	RS_TRY(add_params(l, c));
	RS_TRY(add_rows(l, c));
	for (size_t i = 0; i < c->n_metrics; i++)
		if (any_has(c, c->metric[i]))
			RS_TRY(add_metric(l, c, c->metric[i]));
	return RS_OK;
}

static enum rs_status
print_table(const struct compare *c)
{
	struct layout l;

	layout_init(&l, c->n + 2, 0);
	enum rs_status status = fill_table(&l, c);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static void
json_run(struct json *j, const struct compare *c, size_t k)
{
	const struct store_run *run = &c->run[k];

	json_open(j, NULL, '{');
	json_string(j, "run", run->name);
	json_string(j, "status", run->status);
	json_double(j, "rows", run->rows < 0 ? NAN : (double)run->rows);
	for (size_t i = 0; i < c->n_metrics; i++)
		json_double(j, c->metric[i], find_metric(&c->metrics[k], c->metric[i]));
	json_open(j, "params", '{');
	for (size_t i = 0; i < c->params[k].n_rows; i++)
		json_string(j, c->params[k].cell[i * 2], c->params[k].cell[i * 2 + 1]);
	json_close(j);
	json_close(j);
}

static enum rs_status
print_json(const struct compare *c)
{
	const struct store_run *first = &c->run[0], *last = &c->run[c->n - 1];
	const double change = last->auc - first->auc, range = runs_auc_range(first, last);
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_open(&j, "runs", '[');
	for (size_t k = 0; k < c->n; k++)
		json_run(&j, c, k);
	json_close(&j);
	json_double(&j, "auc_change", change);
	json_double(&j, "auc_change_low", change - range);
	json_double(&j, "auc_change_high", change + range);
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
check_requirements(const struct runs_call *call, const struct compare *c)
{
	const struct store_table *last = &c->metrics[c->n - 1];
	struct require_figure figure[COMPARE_METRICS];
	size_t n = 0;
	const char *text;

	for (size_t i = 0; i < c->n_metrics; i++) {
		const char *const name = runs_figure_name(c->metric[i]);

		if (name != NULL)
			figure[n++] = (struct require_figure){ name,
				find_metric(last, c->metric[i]) };
	}
	for (size_t i = 0; (text = argument_nth(call->a, "--require", i)) != NULL; i++)
		RS_TRY(require_check(text, figure, n));
	return RS_OK;
}

static enum rs_status
read_all(const struct runs_call *call, struct compare *c)
{
	for (c->n = 0; c->n < call->n_names; ) {
		const size_t k = c->n;
		RS_TRY(store_run_find(call->store, call->name[k], &c->run[k]));
		c->n++;
		RS_TRY(store_part(call->store, c->run[k].run, STORE_PARAMS, &c->params[k]));
		RS_TRY(store_part(call->store, c->run[k].run, STORE_METRICS, &c->metrics[k]));
	}
	list_metrics(c);
	return RS_OK;
}

enum rs_status
runs_compare(const struct runs_call *call)
{
	struct gate_condition condition;
	struct compare *c;
	const char *text;

	for (size_t i = 0; (text = argument_nth(call->a, "--require", i)) != NULL; i++)
		RS_TRY(require_parse(text, &condition));
	RS_TRY(memory_alloc(1, sizeof *c, &c));
	enum rs_status status = read_all(call, c);
	if (status == RS_OK)
		status = command_json(call->a) ? print_json(c) : print_table(c);
	if (status == RS_OK)
		status = check_requirements(call, c);
	for (size_t k = 0; k < c->n; k++) {
		store_run_free(&c->run[k]);
		store_table_free(&c->params[k]);
		store_table_free(&c->metrics[k]);
	}
	free(c);
	return status;
}
