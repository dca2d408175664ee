/* Metrics over a whole evaluation: exact AUC by radix sort, sums in double. */
#include "train/metric.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "train/auc.h"
#include "train/groups.h"
#include "train/ranking.h"

#define METRIC_ROWS_MAX ((size_t)1 << 33)

struct metric {
	struct auc_row *row, *scratch;     /* [capacity]                              */
	struct auc_row *kept;              /* [n] row before it was sorted, or NULL   */
	uint32_t *group;                   /* [capacity] when figures of groups are wanted */
	size_t n, capacity;
	int    real;
	int    finite;             /* every score so far was                          */
	int    grouped;            /* a figure of groups is wanted                    */
	int    keeps_order;
	int    has_scores, has_groups, done;
	double weight, label, label2, prediction, loss, squares;
	struct groups groups;
	struct figure_list figures;
	struct metric_result result;       /* when done                               */
};

/* log(1 + exp(x)), finite for every finite x. */
static double
softplus(double x)
{
	return (x > 0 ? x : 0) + log1p(exp(-fabs(x)));
}

static double
sigmoid(double x)
{
	if (x >= 0)
		return 1 / (1 + exp(-x));
	const double e = exp(x);
	return e / (1 + e);
}

enum rs_status
metric_create(struct metric **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	metric_reset(*out);
	return RS_OK;
}

void
metric_free(struct metric *m)
{
	if (m == NULL)
		return;
	free(m->row);
	free(m->scratch);
	free(m->kept);
	free(m->group);
	groups_free(&m->groups);
	free(m);
}

void
metric_reset(struct metric *m)
{
	m->n = 0;
	m->finite = m->has_scores = m->has_groups = 1;
	m->done = 0;
	free(m->kept);
	m->kept = NULL;
	groups_clear(&m->groups);
	m->weight = m->label = m->label2 = m->prediction = m->loss = m->squares = 0;
}

void
metric_set_real(struct metric *m, int real)
{
	m->real = real;
}

void
metric_keep_order(struct metric *m)
{
	m->keeps_order = 1;
}

void
metric_set_figures(struct metric *m, const struct figure_list *figures)
{
	m->grouped = 0;
	m->figures.n = 0;
	if (figures == NULL)
		return;
	m->figures = *figures;
	for (size_t i = 0; i < figures->n; i++)
		m->grouped |= figure_needs_groups(&figures->item[i]);
}

/* *array: any T **, as realloc(). */
static enum rs_status
grow_array(size_t n, size_t size, void *array)
{
	void *old;

	memcpy(&old, array, sizeof old);
	void *const grown = realloc(old, n * size);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "no memory for the scores of %zu rows", n);
	memcpy(array, &grown, sizeof grown);
	return RS_OK;
}

static enum rs_status
reserve_rows(struct metric *m, size_t extra)
{
	if (extra > METRIC_ROWS_MAX - m->n)
		return rs_fail(RS_ERESOURCE, "more than %zu rows in one evaluation",
			METRIC_ROWS_MAX);
	if (m->n + extra <= m->capacity)
		return RS_OK;
	size_t capacity = m->capacity ? m->capacity : 4096;
	while (capacity < m->n + extra)
		capacity *= 2;
	RS_TRY(grow_array(capacity, sizeof *m->row, &m->row));
	if (m->grouped)
		RS_TRY(grow_array(capacity, sizeof *m->group, &m->group));
	m->capacity = capacity;
	free(m->scratch);
	m->scratch = NULL;
	return RS_OK;
}

static void
add_row(struct metric *m, float logit, double l, double w)
{
	const double z = logit, p = m->real ? z : sigmoid(z);

	m->row[m->n++] = (struct auc_row){ auc_key(logit), (float)l, (float)w };
	m->finite &= isfinite(logit) != 0;
	m->weight += w;
	m->label += w * l;
	m->label2 += w * l * l;
	m->prediction += w * p;
	m->loss += w * (softplus(z) - l * z);
	m->squares += w * (p - l) * (p - l);
}

enum rs_status
metric_add(struct metric *m, size_t n, const float *logit, const float *label, const float *weight)
{
	assert(!m->done);
	RS_TRY(reserve_rows(m, n));
	m->has_scores &= n == 0 || logit != NULL;
	m->has_groups &= n == 0;
	for (size_t i = 0; i < n; i++)
		add_row(m, logit != NULL ? logit[i] : 0, label[i], weight ? weight[i] : 1);
	return RS_OK;
}

enum rs_status
metric_add_batch(struct metric *m, const struct batch *batch, const float *logit)
{
	const int had_groups = m->has_groups;
	const size_t first = m->n;

	RS_TRY(metric_add(m, batch->B, logit, batch->label, batch->weight));
	m->has_groups = had_groups && (batch->B == 0 || batch->group != NULL);
	for (size_t b = 0; m->grouped && m->has_groups && b < batch->B; b++)
		RS_TRY(groups_add(&m->groups, batch->group[b], &m->group[first + b]));
	return RS_OK;
}

/* -p log p - (1-p) log(1-p) */
static double
entropy(double p)
{
	if (p < 0 || p > 1)
		return NAN;
	return p == 0 || p == 1 ? 0 : -p * log(p) - (1 - p) * log1p(-p);
}

static void
result_means(const struct metric *m, struct metric_result *out)
{
	out->rows = m->n;
	out->weight = m->weight;
	out->positives = m->label;
	out->auc = out->logloss = out->mse = NAN;
	out->mean_label = out->mean_prediction = out->calibration = NAN;
	out->best_constant = out->best_constant_loss = NAN;
	if (!(m->weight > 0))
		return;
	out->mean_label = out->best_constant = m->label / m->weight;
	if (m->real) {
		const double variance = m->label2 / m->weight - out->mean_label * out->mean_label;
		out->best_constant_loss = variance > 0 ? variance : 0;
	} else {
		out->best_constant_loss = entropy(out->mean_label);
	}
	if (!m->has_scores)
		return;
	out->mean_prediction = m->prediction / m->weight;
	out->calibration = m->label != 0 ? m->prediction / m->label : NAN;
	out->mse = m->squares / m->weight;
	out->logloss = m->real ? NAN : m->loss / m->weight;
}

static enum rs_status
result_groups(struct metric *m, struct metric_result *out)
{
	const struct ranking_rows rows = { m->n, m->groups.n, m->row, m->group };

	if (!m->grouped || !m->has_groups || !m->finite || !m->has_scores)
		return RS_OK;
	out->groups = m->groups.n;
	RS_TRY(ranking_figures(&rows, &m->figures, out->value, &out->groups_left_out));
	for (size_t i = 0; m->real && i < m->figures.n; i++)
		if (m->figures.item[i].kind == FIGURE_GAUC)
			out->value[i] = NAN;
	return RS_OK;
}

static enum rs_status
result_auc(struct metric *m, struct metric_result *out)
{
	if (m->n == 0 || !m->finite || !m->has_scores)
		return RS_OK;
	if (m->scratch == NULL)
		RS_TRY(memory_alloc(m->capacity, sizeof *m->scratch, &m->scratch));
	if (m->keeps_order) {
		RS_TRY(memory_alloc(m->n, sizeof *m->kept, &m->kept));
		memcpy(m->kept, m->row, m->n * sizeof *m->kept);
	}
	struct auc_row *const sorted = auc_sort(m->row, m->scratch, m->n);
	if (sorted != m->row) {
		m->scratch = m->row;
		m->row = sorted;
	}
	if (!m->real)
		out->auc = auc_of_sorted(m->row, m->n);
	return RS_OK;
}

/* Where a figure over all rows is in the result. */
static const struct { enum figure_kind kind; size_t offset; } row_figure[] = {
	{ FIGURE_AUC, offsetof(struct metric_result, auc) },
	{ FIGURE_LOGLOSS, offsetof(struct metric_result, logloss) },
	{ FIGURE_MSE, offsetof(struct metric_result, mse) },
	{ FIGURE_CALIBRATION, offsetof(struct metric_result, calibration) },
	{ FIGURE_MEAN_LABEL, offsetof(struct metric_result, mean_label) },
	{ FIGURE_MEAN_PREDICTION, offsetof(struct metric_result, mean_prediction) },
	{ FIGURE_BEST_CONSTANT, offsetof(struct metric_result, best_constant) },
	{ FIGURE_BEST_CONSTANT_LOSS, offsetof(struct metric_result, best_constant_loss) },
};

static void
name_figures(struct metric_result *out)
{
	for (size_t i = 0; i < out->figures.n; i++)
		for (size_t k = 0; k < sizeof row_figure / sizeof *row_figure; k++)
			if (row_figure[k].kind == out->figures.item[i].kind)
				memcpy(&out->value[i], (const char *)out + row_figure[k].offset,
					sizeof out->value[i]);
}

enum rs_status
metric_result(struct metric *m, struct metric_result *out)
{
	if (!m->done) {
		struct metric_result *const r = &m->result;

		memset(r, 0, sizeof *r);
		r->figures = m->figures;
		r->not_finite = !m->finite;
		for (size_t i = 0; i < FIGURE_MAX; i++)
			r->value[i] = NAN;
		result_means(m, r);
		RS_TRY(result_groups(m, r));
		RS_TRY(result_auc(m, r));
		name_figures(r);
		m->done = 1;
	}
	*out = m->result;
	return RS_OK;
}

static void
add_to_bin(struct metric_bin *bin, const struct auc_row *row, int real)
{
	const double w = row->weight;

	bin->rows++;
	bin->weight += w;
	bin->mean_label += w * row->label;
	bin->mean_prediction += w * metric_prediction(row, real);
}

size_t
metric_bins(const struct metric *m, size_t n_wanted, struct metric_bin *bin)
{
	size_t n = 0, i = 0;

	assert(m->done);
	if (!m->finite || !m->has_scores)
		return 0;
	for (size_t b = 1; b <= n_wanted && i < m->n; b++) {
		const size_t end = (size_t)((double)m->n * (double)b / (double)n_wanted + 0.5);

		if (end <= i)
			continue;
		bin[n] = (struct metric_bin){ 0 };
		for (; i < m->n && (i < end || m->row[i].key == m->row[i - 1].key); i++)
			add_to_bin(&bin[n], &m->row[i], m->real);
		if (bin[n].weight > 0) {
			bin[n].mean_label /= bin[n].weight;
			bin[n].mean_prediction /= bin[n].weight;
		}
		n++;
	}
	return n;
}

void
metric_rows(const struct metric *m, struct metric_rows *out)
{
	const int has_groups = m->grouped && m->has_groups && m->n > 0;

	*out = (struct metric_rows){
		.n = m->n, .row = m->kept != NULL ? m->kept : m->row,
		.n_groups = has_groups ? m->groups.n : 0, .group = has_groups ? m->group : NULL,
		.real = m->real, .finite = m->finite && m->has_scores,
	};
}

double
metric_prediction(const struct auc_row *row, int real)
{
	const double z = auc_score(row->key);

	return real ? z : sigmoid(z);
}

double
metric_logloss(const struct auc_row *row)
{
	const double z = auc_score(row->key);

	return softplus(z) - row->label * z;
}

double
metric_named(const struct metric_result *result, const char *name)
{
	const size_t i = figure_find(&result->figures, name);

	return i < result->figures.n ? result->value[i] : NAN;
}

double
metric_auc(size_t n, const float *score, const float *label, const float *weight)
{
	struct auc_row *const row = malloc((n ? n : 1) * sizeof *row);
	struct auc_row *const scratch = malloc((n ? n : 1) * sizeof *scratch);
	double auc = NAN;
	int finite = row != NULL && scratch != NULL;

	for (size_t i = 0; finite && i < n; i++) {
		row[i] = (struct auc_row){ auc_key(score[i]), label[i], weight ? weight[i] : 1 };
		finite = isfinite(score[i]) != 0;
	}
	if (finite)
		auc = auc_of_sorted(auc_sort(row, scratch, n), n);
	free(row);
	free(scratch);
	return auc;
}
