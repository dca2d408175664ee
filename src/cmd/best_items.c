/* The K best items of the catalogue for each row. */
#include "cmd/best_items.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/catalogue.h"
#include "train/groups.h"
#include "train/retrieval.h"
#include "train/seen.h"

struct best_items {
	const struct model *m;
	struct workers *w;
	size_t K;
	float *item;                   /* [n,D]                                       */
	struct groups groups;
	struct seen seen;              /* of groups                                   */
	size_t capacity;               /* rows                                        */
	struct top_item *best;         /* [capacity,K]                                */
	size_t *n_best;                /* [capacity]                                  */
	size_t *masked_begin;          /* [capacity+1]                                */
	uint32_t *masked;              /* [masked_capacity]                           */
	size_t masked_capacity;
};

static enum rs_status
read_seen(struct best_items *b, const struct text_list *files)
{
	const struct seen_source from = { &b->m->schema, files, b->m->catalogue };

	return files != NULL ? seen_read(&from, &b->groups, 1, &b->seen) : RS_OK;
}

enum rs_status
best_items_open(const struct model *m, struct workers *w, size_t K, const struct text_list *seen,
	struct best_items **out)
{
	int finite = 1;

	*out = NULL;
	if (m->catalogue == NULL || m->catalogue->n == 0)
		return rs_fail(RS_EUSAGE, "the model has no catalogue of items");
	RS_TRY(memory_alloc(1, sizeof **out, out));
	struct best_items *const b = *out;
	b->m = m;
	b->w = w;
	b->K = K < m->catalogue->n ? K : m->catalogue->n;
	enum rs_status status = retrieval_items(w, m, &b->item, &finite);
	if (status == RS_OK && !finite)
		status = rs_fail(RS_EDATA, "vectors of items are not finite numbers");
	if (status == RS_OK)
		status = read_seen(b, seen);
	if (status != RS_OK) {
		best_items_close(b);
		*out = NULL;
	}
	return status;
}

static void
free_rows(struct best_items *b)
{
	free(b->best);
	free(b->n_best);
	free(b->masked_begin);
	b->best = NULL;
	b->n_best = b->masked_begin = NULL;
	b->capacity = 0;
}

void
best_items_close(struct best_items *b)
{
	if (b == NULL)
		return;
	free_rows(b);
	free(b->item);
	free(b->masked);
	groups_free(&b->groups);
	seen_free(&b->seen);
	free(b);
}

static enum rs_status
reserve_rows(struct best_items *b, size_t n)
{
	size_t n_best;

	if (n <= b->capacity)
		return RS_OK;
	free_rows(b);
	RS_TRY(size_mul(n, b->K, &n_best));
	RS_TRY(memory_alloc(n_best, sizeof *b->best, &b->best));
	RS_TRY(memory_alloc(n, sizeof *b->n_best, &b->n_best));
	RS_TRY(memory_alloc(n + 1, sizeof *b->masked_begin, &b->masked_begin));
	b->capacity = n;
	return RS_OK;
}

/* The group of a row in `seen`, GROUPS_NONE when it is not there. */
static uint32_t
group_of(const struct best_items *b, const struct batch *rows, size_t row)
{
	return rows->group != NULL ? groups_find(&b->groups, rows->group[row]) : GROUPS_NONE;
}

static enum rs_status
gather_masked(struct best_items *b, const struct batch *rows)
{
	size_t n = 0;

	for (size_t row = 0; row < rows->B; row++) {
		const uint32_t g = group_of(b, rows, row);

		b->masked_begin[row] = n;
		n += g != GROUPS_NONE ? b->seen.begin[g + 1] - b->seen.begin[g] : 0;
	}
	b->masked_begin[rows->B] = n;
	if (n > b->masked_capacity) {
		free(b->masked);
		b->masked = NULL;
		b->masked_capacity = 0;
		RS_TRY(memory_alloc(n, sizeof *b->masked, &b->masked));
		b->masked_capacity = n;
	}
	for (size_t row = 0; row < rows->B; row++) {
		const size_t begin = b->masked_begin[row], k = b->masked_begin[row + 1] - begin;

		if (k > 0)
			memcpy(b->masked + begin, b->seen.number
				+ b->seen.begin[group_of(b, rows, row)], k * sizeof *b->masked);
	}
	return RS_OK;
}

static void
take(void *context, size_t row, const struct top_item *best, size_t n)
{
	struct best_items *const b = context;

	if (n > 0)
		memcpy(b->best + row * b->K, best, n * sizeof *best);
	b->n_best[row] = n;
}

enum rs_status
best_items_find(struct best_items *b, const struct batch *rows, const float *user)
{
	RS_TRY(reserve_rows(b, rows->B));
	if (b->seen.number != NULL)
		RS_TRY(gather_masked(b, rows));
	const struct top_input in = {
		.kernel = b->m->kernel, .n = b->m->catalogue->n, .U = rows->B,
		.D = model_vector_dim(b->m), .K = b->K, .item = b->item, .user = user,
		.masked_begin = b->masked_begin, .masked = b->masked, .take = take, .context = b,
	};
	return top_run(&in, b->w);
}

const struct top_item *
best_items_row(const struct best_items *b, size_t row, size_t *n)
{
	*n = b->n_best[row];
	return b->best + row * b->K;
}
