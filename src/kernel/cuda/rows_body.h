/*
 * Kernels for the GPU: a step of many rows of a table.
 *
 * rows_sort is a stable radix sort from the lowest digit; a thread has KERNEL_ROWS_TILE /
 * BODY_THREADS occurrences beside each other, so that equal ones stay in order.  In the others
 * a few threads share the first occurrence of a row and do all of the row; chunks of
 * KERNEL_ROWS_CHUNK sorted occurrences that are of one row were summed before, so a row that
 * has many does not keep the rest waiting.  What is added in which order depends on the
 * occurrences alone.
 *
 * Bytes moved by design, beside the least that any way of it moves, from memory that does not
 * stay in the cache; all are bound by memory.  N occurrences of U rows, P passes of 3 to 5 bits.
 *                           moves                 least
 *   rows_sort               P (20 N)              8 N               rows are read twice a pass
 *   rows_sgd                (4 D + 16) N + 8 D U  the same          16: row, place, pointer
 *   rows_adagrad            ... + 16 D U          the same
 *   rows_rowwise_adagrad    ... + 8 D U + 8 U     the same
 *   rows_adam, rows_ftrl    ... + 24 D U          the same
 */
#ifndef KERNEL_CUDA_ROWS_BODY_H
#define KERNEL_CUDA_ROWS_BODY_H

#include "kernel/cuda/optimizer_body.h"

/* --- order ----------------------------------------------------------------------------- */

#define SORT_ITEMS (KERNEL_ROWS_TILE / BODY_THREADS)
#define SORT_LD    (BODY_THREADS + 1)      /* threads of a warp are in different banks */

struct sort_work {
	size_t n, n_blocks;
	unsigned shift, n_digits;          /* n_digits: a power of two                   */
	int is_first;                      /* places are where rows are                  */
	struct view_u32 row, place;
	struct view_index to_row, to_place;
	struct view_index count;           /* [n_digits,n_blocks], then [BODY_THREADS]   */
};

DEVICE size_t
sort_digit(const struct sort_work *w, size_t i)
{
	return AT(w->row, i) >> w->shift & (w->n_digits - 1);
}

/* How many of the rows of thread t have each digit; a count is below 2^24, so a float has it. */
DEVICE void
sort_count_own(const struct sort_work *w, size_t block, size_t t, struct view shared)
{
	const size_t first = block * KERNEL_ROWS_TILE + t * SORT_ITEMS;

	for (size_t digit = 0; digit < w->n_digits; digit++)
		AT(shared, digit * SORT_LD + t) = 0;
	for (size_t i = first; i < first + SORT_ITEMS && i < w->n; i++)
		AT(shared, sort_digit(w, i) * SORT_LD + t) += 1;
}

BODY(sort_count, sort_work)
{
	EACH_THREAD(t)
		sort_count_own(w, block, t, shared);
	BARRIER();
	EACH_THREAD(t)
		if (t < w->n_digits)
			AT(w->count, t * w->n_blocks + block) =
				(uint32_t)row_total(shared, t * SORT_LD, BODY_THREADS);
}

/* Each count becomes the sum of those before it; one block. */
BODY(sort_scan, sort_work)
{
	const size_t n = w->n_digits * w->n_blocks, each = (n + BODY_THREADS - 1) / BODY_THREADS;

	(void)block, (void)shared;
	EACH_THREAD(t) {
		uint32_t sum = 0;
		for (size_t i = t * each; i < (t + 1) * each && i < n; i++)
			sum += AT(w->count, i);
		AT(w->count, n + t) = sum;
	}
	BARRIER();
	EACH_THREAD(t) {
		uint32_t before = 0;
		for (size_t k = 0; k < t; k++)
			before += AT(w->count, n + k);
		for (size_t i = t * each; i < (t + 1) * each && i < n; i++) {
			const uint32_t count = AT(w->count, i);
			AT(w->count, i) = before;
			before += count;
		}
	}
}

DEVICE void
sort_scatter_own(const struct sort_work *w, size_t block, size_t t, struct view shared)
{
	const size_t first = block * KERNEL_ROWS_TILE + t * SORT_ITEMS;

	for (size_t i = first; i < first + SORT_ITEMS && i < w->n; i++) {
		const size_t digit = sort_digit(w, i);
		const float before = AT(shared, digit * SORT_LD + t);
		const size_t to = AT(w->count, digit * w->n_blocks + block) + (size_t)before;
		AT(shared, digit * SORT_LD + t) = before + 1;
		AT(w->to_row, to) = AT(w->row, i);
		AT(w->to_place, to) = w->is_first ? (uint32_t)i : AT(w->place, i);
	}
}

BODY(sort_scatter, sort_work)
{
	EACH_THREAD(t)
		sort_count_own(w, block, t, shared);
	BARRIER();
	EACH_THREAD(t) {
		float before = 0;
		for (size_t k = 0; t < w->n_digits && k < BODY_THREADS; k++) {
			const float count = AT(shared, t * SORT_LD + k);
			AT(shared, t * SORT_LD + k) = before;
			before += count;
		}
	}
	BARRIER();
	EACH_THREAD(t)
		sort_scatter_own(w, block, t, shared);
}

/* An even number of passes, so that the last ends where the first began. */
void
SLOT(rows_sort)(const struct rows_args *a)
{
	uint32_t *const row[2] = { a->row, a->scratch };
	uint32_t *const place[2] = { a->place, a->scratch + a->n };
	struct sort_work w = {
		.n = a->n, .n_blocks = body_count(a->n, KERNEL_ROWS_TILE), .is_first = 1,
		.count = { a->scratch + 2 * a->n, kernel_rows_scratch(a->n) - 2 * a->n },
	};
	unsigned bits = 1, n_passes;

	while (bits < 32 && a->n_rows >> bits > 0)
		bits++;
	n_passes = 2 * ((bits + 9) / 10);
	w.n_digits = 1u << ((bits + n_passes - 1) / n_passes);
	for (unsigned pass = 0; pass < n_passes && a->n > 0; pass++) {
		w.row = (struct view_u32){ row[pass % 2], a->n };
		w.place = (struct view_u32){ place[pass % 2], a->n };
		w.to_row = (struct view_index){ row[1 - pass % 2], a->n };
		w.to_place = (struct view_index){ place[1 - pass % 2], a->n };
		RUN(sort_count, w.n_blocks, w.n_digits * SORT_LD, w);
		RUN(sort_scan, 1, 0, w);
		RUN(sort_scatter, w.n_blocks, w.n_digits * SORT_LD, w);
		w.shift += (bits + n_passes - 1) / n_passes;
		w.is_first = 0;
	}
}

/* --- sums and updates ------------------------------------------------------------------ */

/* Floats of shared memory that gradients of rows may take; every GPU has 48 KiB. */
#define ROWS_SHARED ((48u << 10) / sizeof(float) - 2 * BODY_THREADS)

struct rows_step_work {
	size_t n, stride, lanes, per_block;        /* per_block: occurrences             */
	struct view_u32 row, place;
	struct view_rows grad;
	struct view_in scale;
	struct view partial, table;
	struct row_args args;
};

static inline struct rows_step_work
rows_step_of(const struct rows_args *a)
{
	const size_t D = a->args.D, lanes = body_lanes(D), most = ROWS_SHARED / D;
	const struct rows_step_work w = {
		.n = a->n, .stride = a->stride, .lanes = lanes,
		.per_block = most < BODY_THREADS / lanes ? most : BODY_THREADS / lanes,
		.row = { a->row, a->n }, .place = { a->place, a->n }, .grad = { a->grad, a->n },
		.scale = { a->scale, a->n },
		.partial = { a->partial, (a->n / KERNEL_ROWS_CHUNK + 1) * D },
		.table = { a->table, a->n_rows * a->stride }, .args = a->args,
	};

	return w;
}

DEVICE float
rows_term(const struct rows_step_work *w, size_t k, size_t d)
{
	const size_t i = AT(w->place, k);
	const struct view_in grad = { AT(w->grad, i), w->args.D };

	return (w->scale.p == NULL ? 1 : AT(w->scale, i)) * AT(grad, d);
}

/* The chunk that begins at occurrence k is there and of one row. */
DEVICE int
rows_is_chunk(const struct rows_step_work *w, size_t k)
{
	return k % KERNEL_ROWS_CHUNK == 0 && k + KERNEL_ROWS_CHUNK <= w->n
		&& AT(w->row, k) == AT(w->row, k + KERNEL_ROWS_CHUNK - 1);
}

struct rows_chunk_work {
	size_t n;                                  /* chunks times D                     */
	struct rows_step_work step;
};

DEVICE void
rows_chunk_at(const struct rows_chunk_work *w, size_t i)
{
	const size_t first = body_div(i, w->step.args.D) * KERNEL_ROWS_CHUNK;
	const size_t d = body_mod(i, w->step.args.D);
	float sum = 0;

	if (!rows_is_chunk(&w->step, first))
		return;
	for (size_t k = first; k < first + KERNEL_ROWS_CHUNK; k++)
		sum += rows_term(&w->step, k, d);
	AT(w->step.partial, i) = sum;
}

ELEMENT_BODY(rows_chunk, rows_chunk_work)

/* Column d of the gradient of the row whose first occurrence is k. */
DEVICE float
rows_gradient(const struct rows_step_work *w, size_t k, size_t d)
{
	const uint32_t row = AT(w->row, k);
	float sum = 0;

	while (k < w->n && AT(w->row, k) == row)
		if (rows_is_chunk(w, k)) {
			sum += AT(w->partial, k / KERNEL_ROWS_CHUNK * w->args.D + d);
			k += KERNEL_ROWS_CHUNK;
		} else {
			sum += rows_term(w, k, d);
			k++;
		}
	return sum;
}

DEVICE int
rows_begins(const struct rows_step_work *w, size_t k)
{
	return k < w->n && (k == 0 || AT(w->row, k) != AT(w->row, k - 1));
}

/* The row of occurrence k, which is the j-th of its block, for the optimizer of one row. */
DEVICE struct row_work
rows_one(const struct rows_step_work *w, size_t k, size_t j, struct view shared)
{
	const size_t D = w->args.D;
	float *const row = &AT(w->table, AT(w->row, k) * w->stride);
	const struct row_work one = {
		{ 1, D, w->lanes }, { shared.p + 2 * BODY_THREADS + j * D, D }, { row, D },
		{ row + D, w->stride - D }, w->args,
	};

	return one;
}

#define ROWS_SLOT(kind) \
	BODY(rows_##kind, rows_step_work) \
	{ \
		const size_t D = w->args.D, lanes = w->lanes; \
		EACH_THREAD(t) { \
			const size_t j = t / lanes, k = block * w->per_block + j; \
			float sum[2] = { 0, 0 }; \
			if (j < w->per_block && rows_begins(w, k)) { \
				const struct row_work one = rows_one(w, k, j, shared); \
				for (size_t d = t % lanes; d < D; d += lanes) { \
					AT(shared, 2 * BODY_THREADS + j * D + d) = \
						rows_gradient(w, k, d); \
					row_##kind##_term(&one, 0, d, sum); \
				} \
			} \
			AT(shared, t) = sum[0]; \
			AT(shared, BODY_THREADS + t) = sum[1]; \
		} \
		BARRIER(); \
		EACH_THREAD(t) { \
			const size_t j = t / lanes, k = block * w->per_block + j; \
			if (j < w->per_block && rows_begins(w, k)) { \
				const struct row_work one = rows_one(w, k, j, shared); \
				const float total[2] = { \
					row_total(shared, j * lanes, lanes), \
					row_total(shared, BODY_THREADS + j * lanes, lanes), \
				}; \
				for (size_t d = t % lanes; d < D; d += lanes) \
					row_##kind##_end(&one, 0, d, total); \
			} \
		} \
	} \
	void \
	SLOT(rows_##kind)(const struct rows_args *a) \
	{ \
		const struct rows_step_work w = rows_step_of(a); \
		const struct rows_chunk_work chunks = { \
			a->n / KERNEL_ROWS_CHUNK * a->args.D, w \
		}; \
		ELEMENT_RUN(rows_chunk, chunks); \
		RUN(rows_##kind, body_count(w.n, w.per_block), \
			2 * BODY_THREADS + w.per_block * a->args.D, w); \
	}

ROWS_SLOT(sgd)
ROWS_SLOT(adagrad)
ROWS_SLOT(rowwise_adagrad)
ROWS_SLOT(adam)
ROWS_SLOT(ftrl)

#endif
