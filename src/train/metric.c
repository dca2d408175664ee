/* Metrics over a whole evaluation: exact AUC by radix sort, sums in double. */
#include "train/metric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define METRIC_ROWS_MAX ((size_t)1 << 33)
#define RADIX_BITS      11
#define RADIX_BINS      (1u << RADIX_BITS)

struct metric_row {
	uint32_t key;              /* bits of the score, in order of the score        */
	float    label, weight;
};

struct metric {
	struct metric_row *row, *scratch;  /* [capacity]                              */
	size_t n, capacity;
	int    real;
	int    finite;             /* every score so far was                          */
	double weight, label, label2, prediction, loss, squares;
};

/* Order-preserving bits of a finite float; -0 and 0 are one score. */
static uint32_t
key_of(float score)
{
	const float positive_zero = score + 0.0f;
	uint32_t bits;

	memcpy(&bits, &positive_zero, sizeof bits);
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

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

/* Stable LSD radix sort of n rows by key, three passes; the result is in the
 * returned one of the two arrays. */
static struct metric_row *
sort_rows(struct metric_row *row, struct metric_row *scratch, size_t n)
{
	for (unsigned shift = 0; shift < 32; shift += RADIX_BITS) {
		size_t begin[RADIX_BINS + 1] = { 0 };

		for (size_t i = 0; i < n; i++)
			begin[((row[i].key >> shift) & (RADIX_BINS - 1)) + 1]++;
		for (size_t b = 0; b < RADIX_BINS; b++)
			begin[b + 1] += begin[b];
		for (size_t i = 0; i < n; i++)
			scratch[begin[(row[i].key >> shift) & (RADIX_BINS - 1)]++] = row[i];
		struct metric_row *const swap = row;
		row = scratch;
		scratch = swap;
	}
	return row;
}

/* U = sum over tie groups of pos (neg below + neg / 2);  AUC = U / (P N). */
static double
auc_of_sorted(const struct metric_row *row, size_t n)
{
	double u = 0, pos_total = 0, neg_total = 0;

	for (size_t i = 0; i < n; ) {
		const uint32_t key = row[i].key;
		double pos = 0, neg = 0;

		for (; i < n && row[i].key == key; i++) {
			pos += (double)row[i].weight * row[i].label;
			neg += (double)row[i].weight * (1 - (double)row[i].label);
		}
		u += pos * (neg_total + neg / 2);
		pos_total += pos;
		neg_total += neg;
	}
	return pos_total > 0 && neg_total > 0 ? u / (pos_total * neg_total) : NAN;
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
	free(m);
}

void
metric_reset(struct metric *m)
{
	m->n = 0;
	m->finite = 1;
	m->weight = m->label = m->label2 = m->prediction = m->loss = m->squares = 0;
}

void
metric_set_real(struct metric *m, int real)
{
	m->real = real;
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
	struct metric_row *const grown = realloc(m->row, capacity * sizeof *grown);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "no memory for the scores of %zu rows", capacity);
	m->row = grown;
	m->capacity = capacity;
	free(m->scratch);
	m->scratch = NULL;
	return RS_OK;
}

enum rs_status
metric_add(struct metric *m, size_t n, const float *logit, const float *label, const float *weight)
{
	RS_TRY(reserve_rows(m, n));
	for (size_t i = 0; i < n; i++) {
		const double z = logit[i], l = label[i], w = weight ? weight[i] : 1;
		const double p = m->real ? z : sigmoid(z);

		m->row[m->n + i] = (struct metric_row){ key_of(logit[i]), label[i], (float)w };
		m->finite &= isfinite(logit[i]) != 0;
		m->weight += w;
		m->label += w * l;
		m->label2 += w * l * l;
		m->prediction += w * p;
		m->loss += w * (softplus(z) - l * z);
		m->squares += w * (p - l) * (p - l);
	}
	m->n += n;
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
	out->mean_label = m->label / m->weight;
	out->mean_prediction = m->prediction / m->weight;
	out->calibration = m->label != 0 ? m->prediction / m->label : NAN;
	out->mse = m->squares / m->weight;
	out->best_constant = out->mean_label;
	if (m->real) {
		const double variance = m->label2 / m->weight - out->mean_label * out->mean_label;
		out->best_constant_loss = variance > 0 ? variance : 0;
		return;
	}
	out->logloss = m->loss / m->weight;
	out->best_constant_loss = entropy(out->mean_label);
}

enum rs_status
metric_result(struct metric *m, struct metric_result *out)
{
	result_means(m, out);
	if (m->real || m->n == 0 || !m->finite)
		return RS_OK;
	if (m->scratch == NULL)
		RS_TRY(memory_alloc(m->capacity, sizeof *m->scratch, &m->scratch));
	struct metric_row *const sorted = sort_rows(m->row, m->scratch, m->n);
	if (sorted != m->row) {
		m->scratch = m->row;
		m->row = sorted;
	}
	out->auc = auc_of_sorted(m->row, m->n);
	return RS_OK;
}

double
metric_auc(size_t n, const float *score, const float *label, const float *weight)
{
	struct metric_row *const row = malloc((n ? n : 1) * sizeof *row);
	struct metric_row *const scratch = malloc((n ? n : 1) * sizeof *scratch);
	double auc = NAN;
	int finite = row != NULL && scratch != NULL;

	for (size_t i = 0; finite && i < n; i++) {
		row[i] = (struct metric_row){ key_of(score[i]), label[i], weight ? weight[i] : 1 };
		finite = isfinite(score[i]) != 0;
	}
	if (finite)
		auc = auc_of_sorted(sort_rows(row, scratch, n), n);
	free(row);
	free(scratch);
	return auc;
}
