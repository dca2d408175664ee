/* The whole catalogue ranked for each group of the evaluation rows. */
#include "train/retrieval.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"
#include "data/catalogue.h"
#include "train/groups.h"
#include "train/ranking.h"
#include "train/ranks.h"
#include "train/seen.h"
#include "train/top.h"

struct retrieval {
	struct groups groups;
	struct groups items;           /* of rows with a label above 0                */
	struct batch users;            /* [n groups] the first row of each            */
	uint32_t *new_row;             /* [new_capacity]                              */
	size_t new_capacity;
	struct seen_pairs pairs;       /* (group, number in items)                    */
	int is_ready;
	size_t   *n_relevant;          /* [n groups] P                                */
	struct seen relevant;          /* numbers in the catalogue, those it has      */
	struct seen masked;
	struct figure_list figures;    /* of the last run                             */
	double   *value;               /* [n groups, figures.n] of it, or NULL        */
};

enum rs_status
retrieval_create(const struct schema *schema, struct retrieval **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	const enum rs_status status = batch_init(&(*out)->users, schema);
	if (status != RS_OK) {
		retrieval_free(*out);
		*out = NULL;
	}
	return status;
}

void
retrieval_free(struct retrieval *r)
{
	if (r == NULL)
		return;
	groups_free(&r->groups);
	groups_free(&r->items);
	batch_free(&r->users);
	free(r->new_row);
	free(r->pairs.item);
	free(r->n_relevant);
	seen_free(&r->relevant);
	seen_free(&r->masked);
	free(r->value);
	free(r);
}

int
retrieval_is_ready(const struct retrieval *r)
{
	return r->is_ready;
}

/* --- rows ------------------------------------------------------------------------ */

static enum rs_status
add_row(struct retrieval *r, const struct batch *batch, size_t b, size_t *n_new)
{
	const size_t n_before = r->groups.n;
	uint32_t group, item;

	RS_TRY(groups_add(&r->groups, batch->group[b], &group));
	if (r->groups.n > n_before)
		r->new_row[(*n_new)++] = (uint32_t)b;
	if (!(batch->label[b] > 0))
		return RS_OK;
	RS_TRY(groups_add(&r->items, batch->item[b], &item));
	return seen_add(&r->pairs, group, item);
}

enum rs_status
retrieval_add(struct retrieval *r, const struct batch *batch)
{
	size_t n_new = 0;

	assert(!r->is_ready);
	if (batch->B == 0)
		return RS_OK;
	if (batch->group == NULL || batch->item == NULL)
		return rs_fail(RS_ESPEC, "rows have no %s, so the catalogue cannot be ranked",
			batch->group == NULL ? "group" : "item");
	if (batch->B > r->new_capacity) {
		free(r->new_row);
		r->new_row = NULL;
		r->new_capacity = 0;
		RS_TRY(memory_alloc(batch->B, sizeof *r->new_row, &r->new_row));
		r->new_capacity = batch->B;
	}
	for (size_t b = 0; b < batch->B; b++)
		RS_TRY(add_row(r, batch, b, &n_new));
	return batch_gather(&r->users, batch, r->new_row, n_new);
}

/* Each group's items once; those of the catalogue by their number there. */
static enum rs_status
seal_relevant(struct retrieval *r, const struct catalogue *catalogue)
{
	struct seen_pairs found = { 0 };
	struct seen all;

	RS_TRY(memory_alloc(r->groups.n + 1, sizeof *r->n_relevant, &r->n_relevant));
	RS_TRY(seen_sort(&r->pairs, r->groups.n, &all));
	enum rs_status status = RS_OK;
	for (size_t g = 0; status == RS_OK && g < r->groups.n; g++) {
		r->n_relevant[g] = all.begin[g + 1] - all.begin[g];
		for (size_t i = all.begin[g]; status == RS_OK && i < all.begin[g + 1]; i++) {
			const uint64_t key = r->items.key[all.number[i]];
			const uint32_t number = catalogue_find(catalogue, key);
			if (number != CATALOGUE_NONE)
				status = seen_add(&found, (uint32_t)g, number);
		}
	}
	if (status == RS_OK)
		status = seen_sort(&found, r->groups.n, &r->relevant);
	seen_free(&all);
	free(found.item);
	return status;
}

/* Both lists ascend. */
static size_t
count_common(const struct seen *a, const struct seen *b, size_t group)
{
	size_t n = 0, k = b->begin[group];

	for (size_t i = a->begin[group]; i < a->begin[group + 1]; i++) {
		while (k < b->begin[group + 1] && b->number[k] < a->number[i])
			k++;
		n += k < b->begin[group + 1] && b->number[k] == a->number[i];
	}
	return n;
}

/* Rows that were trained on, scored again, would have figures near 0. */
static void
warn_masked(const struct retrieval *r)
{
	size_t n = 0, all = 0;

	for (size_t g = 0; g < r->groups.n; g++) {
		n += count_common(&r->relevant, &r->masked, g);
		all += r->n_relevant[g];
	}
	if (n > all / 10)
		log_warn("%zu of %zu relevant items are in the user's training rows and count as "
			"misses; eval.mask_seen = no ranks them", n, all);
}

static enum rs_status
make_ready(struct retrieval *r, const struct model *m, const struct text_list *seen)
{
	if (r->is_ready)
		return RS_OK;
	RS_TRY(seal_relevant(r, m->catalogue));
	const struct seen_source from = { &m->schema, seen, m->catalogue };
	if (seen != NULL)
		RS_TRY(seen_read(&from, &r->groups, 0, &r->masked));
	if (seen != NULL && ranks_lead(m->place))
		warn_masked(r);
	free(r->pairs.item);
	r->pairs = (struct seen_pairs){ 0 };
	groups_free(&r->items);
	r->is_ready = 1;
	return RS_OK;
}

/* --- figures ---------------------------------------------------------------------- */

struct ranks {
	const struct retrieval *r;
	const struct figure_list *figures;
	double *gain;                  /* [.] see ranking_gains()                     */
	double *value;                 /* [n groups, figures.n]                       */
	size_t first;                  /* group of the first user                     */
};

static int
is_relevant(const struct retrieval *r, size_t group, uint32_t number)
{
	size_t low = r->relevant.begin[group], high = r->relevant.begin[group + 1];

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (r->relevant.number[middle] == number)
			return 1;
		if (r->relevant.number[middle] < number)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

/* A relevant item at this rank. */
static void
add_hit(const struct figure_list *figures, size_t rank, double *value)
{
	for (size_t i = 0; i < figures->n; i++) {
		const struct figure *const f = &figures->item[i];

		if (f->k > 0 && rank > f->k)
			continue;
		if (f->kind == FIGURE_RECALL)
			value[i] += 1;
		else if (f->kind == FIGURE_NDCG)
			value[i] += 1 / log2((double)rank + 1);
		else if (value[i] == 0)
			value[i] = f->kind == FIGURE_HR ? 1 : 1 / (double)rank;
	}
}

static void
take_best(void *context, size_t user, const struct top_item *best, size_t n_best)
{
	const struct ranks *const ranks = context;
	const size_t group = ranks->first + user;
	const struct figure_list *const figures = ranks->figures;
	double *const value = ranks->value + group * figures->n;
	const size_t P = ranks->r->n_relevant[group];

	for (size_t i = 0; P > 0 && i < n_best; i++)
		if (is_relevant(ranks->r, group, best[i].number))
			add_hit(figures, i + 1, value);
	for (size_t i = 0; P > 0 && i < figures->n; i++) {
		const struct figure *const f = &figures->item[i];

		if (f->kind == FIGURE_RECALL)
			value[i] /= (double)P;
		else if (f->kind == FIGURE_NDCG)
			value[i] /= ranks->gain[f->k > 0 && f->k < P ? f->k : P];
	}
}

/* Means in the order of the groups. */
static void
put_means(const struct ranks *ranks, struct metric_result *out)
{
	const struct retrieval *const r = ranks->r;
	const size_t n = ranks->figures->n;
	uint64_t n_counted = 0;

	for (size_t g = 0; g < r->groups.n; g++)
		n_counted += r->n_relevant[g] > 0;
	out->groups = r->groups.n;
	out->groups_left_out = r->groups.n - n_counted;
	for (size_t i = 0; i < n; i++) {
		double sum = 0;

		for (size_t g = 0; g < r->groups.n; g++)
			sum += ranks->value[g * n + i];
		const size_t at = figure_find(&out->figures, ranks->figures->item[i].name);
		out->value[at] = n_counted > 0 ? sum / (double)n_counted : NAN;
	}
	for (size_t g = 0; g < r->groups.n; g++)
		for (size_t i = 0; r->n_relevant[g] == 0 && i < n; i++)
			ranks->value[g * n + i] = NAN;
}

static int
all_finite(const float *x, size_t n)
{
	int finite = 1;

	for (size_t i = 0; i < n; i++)
		finite &= isfinite(x[i]) != 0;
	return finite;
}

enum rs_status
retrieval_items(struct workers *w, const struct model *m, float **out, int *finite)
{
	const size_t D = model_vector_dim(m);
	size_t n;

	*out = NULL;
	RS_TRY(size_mul(m->catalogue->n, D, &n));
	RS_TRY(memory_alloc(n, sizeof **out, out));
	const enum rs_status status = workers_vectors(w, TOWER_ITEM, &m->catalogue->items, *out);
	*finite = status == RS_OK && all_finite(*out, n);
	if (status != RS_OK) {
		free(*out);
		*out = NULL;
	}
	return status;
}

static size_t
largest(const size_t *x, size_t n)
{
	size_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = x[i] > most ? x[i] : most;
	return most;
}

/* The figures of ranks in the result, and how deep they look. */
static size_t
rank_figures(const struct metric_result *out, size_t n_items, struct figure_list *list)
{
	size_t K = 1;

	list->n = 0;
	for (size_t i = 0; i < out->figures.n; i++) {
		const struct figure *const f = &out->figures.item[i];

		if (!figure_is_rank(f))
			continue;
		list->item[list->n++] = *f;
		const size_t k = f->k > 0 && f->k < n_items ? f->k : n_items;
		K = k > K ? k : K;
	}
	return K;
}

/* item [n,D], user [n groups,D] */
static enum rs_status
rank_all(struct retrieval *r, struct workers *w, const struct model *m, const float *item,
	const float *user, struct metric_result *out)
{
	struct figure_list figures;
	struct ranks ranks = { .r = r, .figures = &figures };
	size_t end;

	ranks_share(m->place, r->groups.n, &ranks.first, &end);
	const struct top_input in = {
		.kernel = m->kernel, .n = m->catalogue->n, .U = end - ranks.first,
		.D = model_vector_dim(m), .K = rank_figures(out, m->catalogue->n, &figures),
		.item = item, .user = user + ranks.first * model_vector_dim(m),
		.masked_begin = r->masked.begin != NULL ? r->masked.begin + ranks.first : NULL,
		.masked = r->masked.number, .take = take_best, .context = &ranks,
	};

	enum rs_status status = ranking_gains(largest(r->n_relevant, r->groups.n), &ranks.gain);
	if (status == RS_OK)
		status = memory_alloc(r->groups.n * figures.n + 1, sizeof *ranks.value,
			&ranks.value);
	if (status == RS_OK)
		status = top_run(&in, w);
	if (status == RS_OK)
		status = ranks_gather(m->place, ranks.value, r->groups.n,
			figures.n * sizeof *ranks.value);
	if (status == RS_OK)
		put_means(&ranks, out);
	free(ranks.gain);
	r->value = ranks.value;
	r->figures = figures;
	return status;
}

static void
forget_values(struct retrieval *r)
{
	free(r->value);
	r->value = NULL;
}

void
retrieval_groups(const struct retrieval *r, struct retrieval_groups *out)
{
	*out = (struct retrieval_groups){ .n_groups = r->groups.n, .list = r->figures,
		.value = r->value };
}

enum rs_status
retrieval_run(struct retrieval *r, struct workers *w, const struct model *m,
	const struct text_list *seen, struct metric_result *out)
{
	float *item, *user = NULL;
	int finite;

	forget_values(r);
	RS_TRY(make_ready(r, m, seen));
	if (r->groups.n == 0 || m->catalogue->n == 0)
		return RS_OK;
	const size_t n_user = r->groups.n * model_vector_dim(m);
	RS_TRY(retrieval_items(w, m, &item, &finite));
	enum rs_status status = memory_alloc(n_user, sizeof *user, &user);
	if (status == RS_OK)
		status = workers_vectors(w, TOWER_USER, &r->users, user);
	if (status == RS_OK && finite && all_finite(user, n_user))
		status = rank_all(r, w, m, item, user, out);
	else
		out->not_finite = 1;
	free(user);
	free(item);
	return status;
}
