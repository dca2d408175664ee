/* Figures of rows ranked within their groups. */
#include "train/ranking.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

/* One group, best score first, cut into blocks of equal scores. */
struct block { size_t above, n, relevant; };   /* rows before it, its own         */

struct ranking {
	size_t *begin;             /* [n_groups+1] of the rows of a group             */
	struct auc_row *row, *scratch;     /* [n] by group; [longest]                 */
	struct block *block;       /* [longest]                                       */
	size_t longest;
	double *gain;              /* [longest+1]                                     */
};

enum rs_status
ranking_gains(size_t n_max, double **out)
{
	RS_TRY(memory_alloc(n_max + 1, sizeof **out, out));
	for (size_t r = 1; r <= n_max; r++)
		(*out)[r] = (*out)[r - 1] + 1 / log2((double)r + 1);
	return RS_OK;
}

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Places of the block that are among the first k. */
static size_t
places(const struct block *b, size_t k)
{
	return k > b->above ? least(b->n, k - b->above) : 0;
}

static double
relevant_share(const struct block *b)
{
	return (double)b->relevant / (double)b->n;
}

static double
recall_of(const struct block *block, size_t n, size_t k, size_t relevant)
{
	double hits = 0;

	for (size_t i = 0; i < n && places(&block[i], k) > 0; i++)
		hits += relevant_share(&block[i]) * (double)places(&block[i], k);
	return hits / (double)relevant;
}

static double
ndcg_of(const struct block *block, size_t n, size_t k, size_t relevant, const double *gain)
{
	double dcg = 0;

	for (size_t i = 0; i < n && places(&block[i], k) > 0; i++)
		dcg += relevant_share(&block[i])
			* (gain[block[i].above + places(&block[i], k)] - gain[block[i].above]);
	return dcg / gain[least(k, relevant)];
}

/* The first block with a relevant row decides; `none` is the probability that a
 * random order of it has none in its first j places. */
static void
first_hit(const struct block *block, size_t n, size_t k, double *hr, double *mrr)
{
	size_t i = 0;
	double none = 1;

	*hr = *mrr = 0;
	while (i < n && block[i].relevant == 0)
		i++;
	if (i == n)
		return;
	const size_t s = block[i].n, p = block[i].relevant;
	for (size_t j = 0; j < places(&block[i], k) && none > 0; j++) {
		*mrr += none * (double)p / (double)(s - j) / (double)(block[i].above + j + 1);
		none *= s - j > p ? (double)(s - j - p) / (double)(s - j) : 0;
	}
	*hr = 1 - none;
}

/* rows ascending by score -> blocks descending; returns how many. */
static size_t
make_blocks(const struct auc_row *row, size_t n, struct block *block, size_t *relevant)
{
	size_t n_blocks = 0;

	*relevant = 0;
	for (size_t end = n; end > 0; ) {
		struct block b = { .above = n - end };
		const uint32_t key = row[end - 1].key;

		for (; end > 0 && row[end - 1].key == key; end--, b.n++)
			b.relevant += row[end - 1].label > 0;
		*relevant += b.relevant;
		block[n_blocks++] = b;
	}
	return n_blocks;
}

static double
group_figure(const struct ranking *r, const struct figure *f, size_t n_blocks, size_t n,
	size_t relevant)
{
	const size_t k = f->k > 0 ? least(f->k, n) : n;
	double hr, mrr;

	switch (f->kind) {
	case FIGURE_RECALL:
		return recall_of(r->block, n_blocks, k, relevant);
	case FIGURE_NDCG:
		return ndcg_of(r->block, n_blocks, k, relevant, r->gain);
	default:
		first_hit(r->block, n_blocks, k, &hr, &mrr);
		return f->kind == FIGURE_HR ? hr : mrr;
	}
}

static double
weight_of(const struct auc_row *row, size_t n)
{
	double weight = 0;

	for (size_t i = 0; i < n; i++)
		weight += row[i].weight;
	return weight;
}

/* Counting sort by group. */
static void
sort_by_group(struct ranking *r, const struct ranking_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++)
		r->begin[rows->group[i] + 1]++;
	for (size_t g = 0; g < rows->n_groups; g++) {
		if (r->begin[g + 1] > r->longest)
			r->longest = r->begin[g + 1];
		r->begin[g + 1] += r->begin[g];
	}
	for (size_t i = 0; i < rows->n; i++)
		r->row[r->begin[rows->group[i]]++] = rows->row[i];
	for (size_t g = rows->n_groups; g > 0; g--)
		r->begin[g] = r->begin[g - 1];
	r->begin[0] = 0;
}

static enum rs_status
prepare(struct ranking *r, const struct ranking_rows *rows)
{
	RS_TRY(memory_alloc(rows->n_groups + 1, sizeof *r->begin, &r->begin));
	RS_TRY(memory_alloc(rows->n + 1, sizeof *r->row, &r->row));
	sort_by_group(r, rows);
	RS_TRY(memory_alloc(r->longest + 1, sizeof *r->scratch, &r->scratch));
	RS_TRY(memory_alloc(r->longest + 1, sizeof *r->block, &r->block));
	return ranking_gains(r->longest, &r->gain);
}

/* What is done with the figures of a group, in the order of the groups; value [list->n] is
 * NULL for one that is left out. */
struct taker {
	void (*take)(struct taker *t, size_t group, double weight, const double *value);
	const struct figure_list *list;
	double value[FIGURE_MAX], weight;      /* sums                                */
	uint64_t n, n_left_out;
	double *each, *each_weight;            /* [n_groups, list->n], [n_groups]     */
};

static void
take_sums(struct taker *t, size_t group, double weight, const double *value)
{
	(void)group;
	if (value == NULL) {
		t->n_left_out++;
		return;
	}
	t->n++;
	t->weight += weight;
	for (size_t i = 0; i < t->list->n; i++)
		t->value[i] += t->list->item[i].kind == FIGURE_GAUC ? weight * value[i] : value[i];
}

static void
take_each(struct taker *t, size_t group, double weight, const double *value)
{
	const size_t n = t->list->n;

	t->each_weight[group] = value != NULL ? weight : 0;
	for (size_t i = 0; i < n; i++)
		t->each[group * n + i] = value != NULL ? value[i] : NAN;
}

static void
add_group(const struct ranking *r, size_t group, struct taker *t)
{
	const size_t n = r->begin[group + 1] - r->begin[group];
	const struct auc_row *const sorted = auc_sort(r->row + r->begin[group], r->scratch, n);
	size_t relevant;
	const size_t n_blocks = make_blocks(sorted, n, r->block, &relevant);
	const double auc = auc_of_sorted(sorted, n);
	double value[FIGURE_MAX] = { 0 };

	for (size_t i = 0; !isnan(auc) && i < t->list->n; i++)
		if (t->list->item[i].kind == FIGURE_GAUC)
			value[i] = auc;
		else if (figure_is_rank(&t->list->item[i]))
			value[i] = group_figure(r, &t->list->item[i], n_blocks, n, relevant);
	t->take(t, group, weight_of(sorted, n), isnan(auc) ? NULL : value);
}

static enum rs_status
each_group(const struct ranking_rows *rows, struct taker *t)
{
	struct ranking r = { 0 };
	const enum rs_status status = prepare(&r, rows);

	for (size_t g = 0; status == RS_OK && g < rows->n_groups; g++)
		add_group(&r, g, t);
	free(r.begin);
	free(r.row);
	free(r.scratch);
	free(r.block);
	free(r.gain);
	return status;
}

enum rs_status
ranking_figures(const struct ranking_rows *rows, const struct figure_list *list, double *value,
	uint64_t *n_left_out)
{
	struct taker sums = { .take = take_sums, .list = list };
	const enum rs_status status = each_group(rows, &sums);

	for (size_t i = 0; i < list->n; i++)
		if (list->item[i].kind == FIGURE_GAUC)
			value[i] = sums.n > 0 ? sums.value[i] / sums.weight : NAN;
		else if (figure_is_rank(&list->item[i]))
			value[i] = sums.n > 0 ? sums.value[i] / (double)sums.n : NAN;
	*n_left_out = sums.n_left_out;
	return status;
}

enum rs_status
ranking_groups(const struct ranking_rows *rows, const struct figure_list *list, double **value,
	double **weight)
{
	struct taker each = { .take = take_each, .list = list };

	*value = *weight = NULL;
	enum rs_status status = memory_alloc(rows->n_groups * list->n + 1, sizeof **value, value);
	if (status == RS_OK)
		status = memory_alloc(rows->n_groups + 1, sizeof **weight, weight);
	each.each = *value;
	each.each_weight = *weight;
	if (status == RS_OK)
		status = each_group(rows, &each);
	if (status != RS_OK) {
		free(*value);
		free(*weight);
		*value = *weight = NULL;
	}
	return status;
}
