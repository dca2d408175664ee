/* Figures as sums over rows or groups: variances, paired or not. */
#include "train/trial_influence.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/memory.h"
#include "train/ranking.h"

#define RADIX_BITS 11
#define RADIX_BINS (1u << RADIX_BITS)

/* Sums of weights, and of their squares, tell how many equal ones they are worth: Kish's
 * (sum w)^2 / sum w^2, n when all are 1. */
struct worth { double sum, squares; };

static void
add_worth(struct worth *w, double weight)
{
	w->sum += weight;
	w->squares += weight * weight;
}

static double
count_of(const struct worth *w)
{
	return w->squares > 0 ? w->sum * w->sum / w->squares : 0;
}

/* Makes of sum (x - mean)^2 / n^2 the unbiased sum (x - mean)^2 / (n (n-1)). */
static double
correction(const struct worth *w)
{
	const double n = count_of(w);

	return sqrt(n / (n - 1));
}

static enum rs_status
make_units(size_t n, struct trial_influence *out)
{
	out->n = n;
	return memory_alloc(n + 1, sizeof *out->unit, &out->unit);
}

static double
sum_of_squares(const struct trial_influence *i)
{
	double sum = 0;

	for (size_t k = 0; k < i->n; k++)
		sum += i->unit[k] * i->unit[k];
	return sum;
}

/* --- AUC --------------------------------------------------------------------------- */

static double
positive_part(const struct auc_row *row)
{
	return (double)row->weight * row->label;
}

static double
negative_part(const struct auc_row *row)
{
	return (double)row->weight * (1 - (double)row->label);
}

/* A score's key above a row's number, in the order of the scores. */
struct order { uint64_t *item, *scratch; };

static enum rs_status
sort_rows(const struct metric_rows *rows, struct order *out)
{
	RS_TRY(memory_alloc(rows->n + 1, sizeof *out->item, &out->item));
	RS_TRY(memory_alloc(rows->n + 1, sizeof *out->scratch, &out->scratch));
	for (size_t i = 0; i < rows->n; i++)
		out->item[i] = (uint64_t)rows->row[i].key << 32 | i;
	for (unsigned shift = 32; shift < 64; shift += RADIX_BITS) {
		size_t begin[RADIX_BINS + 1] = { 0 };

		for (size_t i = 0; i < rows->n; i++)
			begin[(out->item[i] >> shift & (RADIX_BINS - 1)) + 1]++;
		for (size_t b = 0; b < RADIX_BINS; b++)
			begin[b + 1] += begin[b];
		for (size_t i = 0; i < rows->n; i++)
			out->scratch[begin[out->item[i] >> shift & (RADIX_BINS - 1)]++]
				= out->item[i];
		uint64_t *const swap = out->item;
		out->item = out->scratch;
		out->scratch = swap;
	}
	return RS_OK;
}

/* What all rows are worth, and what those with lower scores are. */
struct classes { struct worth positive, negative; double positive_below, negative_below; };

/* DeLong, DeLong, Clarke-Pearson 1988, with midranks as Sun and Xu 2014: a positive row's
 * V10 is the share of negative rows below it, a negative row's V01 that of positive rows
 * above it, ties count half; var(AUC) = S10/m + S01/n, S the sample variances of V.  With
 * weights the shares, means and variances are weighted ones; a label between 0 and 1 is a
 * share of a positive and of a negative row, as in train/auc.h.  item [n] are the rows of one
 * score. */
static void
fill_tie(const struct metric_rows *rows, const uint64_t *item, size_t n, struct classes *c,
	struct trial_influence *out)
{
	const double P = c->positive.sum, N = c->negative.sum;
	const double p_factor = correction(&c->positive) / P;
	const double n_factor = correction(&c->negative) / N;
	double positive = 0, negative = 0;

	for (size_t i = 0; i < n; i++) {
		positive += positive_part(&rows->row[(uint32_t)item[i]]);
		negative += negative_part(&rows->row[(uint32_t)item[i]]);
	}
	const double v10 = (c->negative_below + negative / 2) / N - out->value;
	const double v01 = (P - c->positive_below - positive / 2) / P - out->value;
	for (size_t i = 0; i < n; i++) {
		const struct auc_row *const row = &rows->row[(uint32_t)item[i]];

		out->unit[(uint32_t)item[i]] = p_factor * positive_part(row) * v10
			+ n_factor * negative_part(row) * v01;
	}
	c->positive_below += positive;
	c->negative_below += negative;
}

static enum rs_status
fill_auc(const struct metric_rows *rows, struct classes *c, struct trial_influence *out)
{
	struct order order = { 0 };
	const enum rs_status status = sort_rows(rows, &order);

	for (size_t i = 0, end; status == RS_OK && i < rows->n; i = end) {
		for (end = i + 1; end < rows->n; end++)
			if (order.item[end] >> 32 != order.item[i] >> 32)
				break;
		fill_tie(rows, order.item + i, end - i, c, out);
	}
	free(order.item);
	free(order.scratch);
	return status;
}

/* Of fewer than two rows of a class there is no sample variance.  Whatever the scores, AUC
 * (1 - AUC) / min(m, n) is not exceeded (Birnbaum and Klose 1957). */
static enum rs_status
auc_influence(const struct metric_rows *rows, struct trial_influence *out)
{
	struct classes c = { .positive_below = 0 };

	for (size_t i = 0; i < rows->n; i++) {
		add_worth(&c.positive, positive_part(&rows->row[i]));
		add_worth(&c.negative, negative_part(&rows->row[i]));
	}
	const double m = count_of(&c.positive), n = count_of(&c.negative);
	if (rows->n > UINT32_MAX)
		return RS_OK;
	if (m < 1.5 || n < 1.5) {
		out->variance = out->value * (1 - out->value) / fmin(m, n);
		return RS_OK;
	}
	RS_TRY(make_units(rows->n, out));
	const enum rs_status status = fill_auc(rows, &c, out);
	if (status == RS_OK)
		out->variance = sum_of_squares(out);
	else
		trial_influence_free(out);
	return status;
}

/* --- means over rows ----------------------------------------------------------------- */

/* What row adds to a weighted mean, less the mean.  Of ratios and other functions of means
 * it is the linear term (delta method): calibration R = sum w p / sum w l moves by
 * w (p - R l) / sum w l, the entropy of the mean c by log((1-c)/c) (l - c). */
static double
residual(const struct metric_result *r, const struct figure *f, const struct metric_rows *rows,
	const struct auc_row *row)
{
	const double l = row->label, p = metric_prediction(row, rows->real), c = r->mean_label;

	switch (f->kind) {
	case FIGURE_LOGLOSS:
		return metric_logloss(row) - r->logloss;
	case FIGURE_MSE:
		return (p - l) * (p - l) - r->mse;
	case FIGURE_CALIBRATION:
		return (p - r->calibration * l) / c;
	case FIGURE_MEAN_PREDICTION:
		return p - r->mean_prediction;
	case FIGURE_BEST_CONSTANT_LOSS:
		if (rows->real)
			return (l - c) * (l - c) - r->best_constant_loss;
		return c > 0 && c < 1 ? (log1p(-c) - log(c)) * (l - c) : 0;
	default:
		return l - c;
	}
}

static enum rs_status
mean_influence(const struct metric_result *result, const struct metric_rows *rows,
	const struct figure *f, struct trial_influence *out)
{
	struct worth worth = { 0 };

	for (size_t i = 0; i < rows->n; i++)
		add_worth(&worth, rows->row[i].weight);
	if (count_of(&worth) < 1.5)
		return RS_OK;
	RS_TRY(make_units(rows->n, out));
	const double factor = correction(&worth) / worth.sum;
	for (size_t i = 0; i < rows->n; i++)
		out->unit[i] = factor * rows->row[i].weight
			* residual(result, f, rows, &rows->row[i]);
	out->variance = sum_of_squares(out);
	return RS_OK;
}

/* --- means over groups --------------------------------------------------------------- */

/* value [n_groups * stride] and weight [n_groups], NULL: 1; NaN are left out. */
struct group_figures { size_t n_groups, stride; const double *value, *weight; };

static enum rs_status
group_influence(const struct group_figures *g, struct trial_influence *out)
{
	struct worth worth = { 0 };

	for (size_t i = 0; i < g->n_groups; i++)
		if (!isnan(g->value[i * g->stride]))
			add_worth(&worth, g->weight != NULL ? g->weight[i] : 1);
	if (count_of(&worth) < 1.5)
		return RS_OK;
	RS_TRY(make_units(g->n_groups, out));
	const double factor = correction(&worth) / worth.sum;
	for (size_t i = 0; i < g->n_groups; i++) {
		const double value = g->value[i * g->stride];

		if (!isnan(value))
			out->unit[i] = factor * (g->weight != NULL ? g->weight[i] : 1)
				* (value - out->value);
	}
	out->variance = sum_of_squares(out);
	return RS_OK;
}

static enum rs_status
row_group_influence(const struct metric_rows *rows, const struct figure *f,
	struct trial_influence *out)
{
	const struct ranking_rows ranked = { rows->n, rows->n_groups, rows->row, rows->group };
	const struct figure_list list = { .n = 1, .item[0] = *f };
	double *value, *weight;

	if (rows->group == NULL || !rows->finite)
		return RS_OK;
	RS_TRY(ranking_groups(&ranked, &list, &value, &weight));
	const struct group_figures g = { rows->n_groups, 1, value,
		f->kind == FIGURE_GAUC ? weight : NULL };
	const enum rs_status status = group_influence(&g, out);
	free(value);
	free(weight);
	return status;
}

/* --- any of them --------------------------------------------------------------------- */

double
trial_influence_value(const struct metric_result *r, const struct figure *f)
{
	const size_t at = figure_find(&r->figures, f->name);

	if (at < r->figures.n)
		return r->value[at];
	switch (f->kind) {
	case FIGURE_AUC:
		return r->auc;
	case FIGURE_LOGLOSS:
		return r->logloss;
	case FIGURE_MSE:
		return r->mse;
	case FIGURE_CALIBRATION:
		return r->calibration;
	case FIGURE_MEAN_LABEL:
	case FIGURE_BEST_CONSTANT:
		return r->mean_label;
	case FIGURE_MEAN_PREDICTION:
		return r->mean_prediction;
	case FIGURE_BEST_CONSTANT_LOSS:
		return r->best_constant_loss;
	default:
		return NAN;
	}
}

enum rs_status
trial_influence(const struct metric_result *result, const struct evaluate_scores *scores,
	const struct figure *f, struct trial_influence *out)
{
	const struct retrieval_groups *const c = &scores->catalogue;
	const size_t at = figure_find(&c->list, f->name);

	*out = (struct trial_influence){ .value = trial_influence_value(result, f),
		.variance = NAN };
	if (!isfinite(out->value))
		return RS_OK;
	if (c->value != NULL && at < c->list.n)
		return group_influence(&(struct group_figures){ c->n_groups, c->list.n,
			c->value + at, NULL }, out);
	if (figure_needs_groups(f))
		return row_group_influence(&scores->rows, f, out);
	if (f->kind == FIGURE_AUC)
		return auc_influence(&scores->rows, out);
	return mean_influence(result, &scores->rows, f, out);
}

void
trial_influence_free(struct trial_influence *i)
{
	free(i->unit);
	i->unit = NULL;
}

double
trial_influence_difference(const struct trial_influence *a, const struct trial_influence *b)
{
	double sum = 0;

	if (a->unit == NULL || b->unit == NULL || a->n != b->n)
		return NAN;
	for (size_t i = 0; i < a->n; i++)
		sum += (a->unit[i] - b->unit[i]) * (a->unit[i] - b->unit[i]);
	return sum;
}
