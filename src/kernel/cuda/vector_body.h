/*
 * Kernels for the GPU: vectors of length 1, products of rows, softmax.
 *
 * Bytes moved by design, beside the least that any way of it moves, from memory that does not
 * stay in the cache; all are bound by memory, the last three by the
 * start of a kernel (some 2 us), since a call has one row.  n = B D.
 *                           moves                 least
 *   l2_normalize_forward    8 n                   8 n               x again from the cache
 *   l2_normalize_backward   16 n                  16 n              y, dy again from the cache
 *   dot_rows_forward        8 n                   8 n
 *   dot_rows_backward       24 n                  24 n              adds to both
 *   softmax_row             20 n                  12 n              two passes by one block
 *   pick_forward            4 n                   4 n
 *   pick_backward           12 n                  12 n              D threads, in order
 */
#ifndef KERNEL_CUDA_VECTOR_BODY_H
#define KERNEL_CUDA_VECTOR_BODY_H

#include "kernel/cuda/cuda_body.h"

struct l2_normalize_forward_work {
	struct row_grid grid;
	struct view_in x;
	struct view y, inverse;
};

DEVICE void
l2_normalize_forward_term(const struct l2_normalize_forward_work *w, size_t b, size_t d,
	float sum[2])
{
	const float x = AT(w->x, b * w->grid.width + d);

	sum[0] += x * x;
}

DEVICE void
l2_normalize_forward_end(const struct l2_normalize_forward_work *w, size_t b, size_t d,
	const float total[2])
{
	const size_t i = b * w->grid.width + d;
	const float factor = total[0] == 0 ? 0 : 1 / sqrtf(total[0]);

	AT(w->y, i) = AT(w->x, i) * factor;
	if (d == 0)
		AT(w->inverse, b) = factor;
}

ROW_BODY(l2_normalize_forward, l2_normalize_forward_work)

void
SLOT(l2_normalize_forward)(size_t B, size_t D, const float *x, float *y, float *inverse)
{
	const struct l2_normalize_forward_work w = {
		.grid = row_grid_of(B, D), .x = { x, B * D }, .y = { y, B * D },
		.inverse = { inverse, B },
	};

	ROW_RUN(l2_normalize_forward, w);
}

struct l2_normalize_backward_work {
	struct row_grid grid;
	struct view_in y, inverse, dy;
	struct view dx;
};

DEVICE void
l2_normalize_backward_term(const struct l2_normalize_backward_work *w, size_t b, size_t d,
	float sum[2])
{
	const size_t i = b * w->grid.width + d;

	sum[0] += AT(w->y, i) * AT(w->dy, i);
}

DEVICE void
l2_normalize_backward_end(const struct l2_normalize_backward_work *w, size_t b, size_t d,
	const float total[2])
{
	const size_t i = b * w->grid.width + d;

	AT(w->dx, i) += AT(w->inverse, b) * (AT(w->dy, i) - AT(w->y, i) * total[0]);
}

ROW_BODY(l2_normalize_backward, l2_normalize_backward_work)

void
SLOT(l2_normalize_backward)(size_t B, size_t D, const float *y, const float *inverse,
	const float *dy, float *dx)
{
	const struct l2_normalize_backward_work w = {
		.grid = row_grid_of(B, D), .y = { y, B * D }, .inverse = { inverse, B },
		.dy = { dy, B * D }, .dx = { dx, B * D },
	};

	ROW_RUN(l2_normalize_backward, w);
}

/* Row r of u, or its only one, against row index[r] of v, or r. */
struct dots_of_rows_work {
	struct row_grid grid;
	int has_one;                   /* u is one row                                    */
	struct view_in u, v;
	struct view_u32 index;
	struct view y;
	float scale;
};

DEVICE void
dots_of_rows_term(const struct dots_of_rows_work *w, size_t r, size_t d, float sum[2])
{
	const size_t D = w->grid.width, row = w->index.p == NULL ? r : AT(w->index, r);

	sum[0] += AT(w->u, (w->has_one ? 0 : r) * D + d) * AT(w->v, row * D + d);
}

DEVICE void
dots_of_rows_end(const struct dots_of_rows_work *w, size_t r, size_t d, const float total[2])
{
	if (d == 0)
		AT(w->y, r) = w->scale * total[0];
}

ROW_BODY(dots_of_rows, dots_of_rows_work)

void
SLOT(dot_rows_forward)(size_t B, size_t D, const float *u, const float *v, float scale, float *y)
{
	const struct dots_of_rows_work w = {
		.grid = row_grid_of(B, D), .has_one = 0, .u = { u, B * D }, .v = { v, B * D },
		.index = { NULL, 0 }, .y = { y, B }, .scale = scale,
	};

	ROW_RUN(dots_of_rows, w);
}

struct dot_rows_backward_work {
	size_t n, D;
	struct view_in u, v, dy;
	struct view du, dv;
	float scale;
};

DEVICE void
dot_rows_backward_at(const struct dot_rows_backward_work *w, size_t i)
{
	const float factor = w->scale * AT(w->dy, body_div(i, w->D));

	AT(w->du, i) += factor * AT(w->v, i);
	AT(w->dv, i) += factor * AT(w->u, i);
}

ELEMENT_BODY(dot_rows_backward, dot_rows_backward_work)

void
SLOT(dot_rows_backward)(size_t B, size_t D, const float *u, const float *v, float scale,
	const float *dy, float *du, float *dv)
{
	const struct dot_rows_backward_work w = {
		.n = B * D, .D = D, .u = { u, B * D }, .v = { v, B * D }, .dy = { dy, B },
		.du = { du, B * D }, .dv = { dv, B * D }, .scale = scale,
	};

	ELEMENT_RUN(dot_rows_backward, w);
}

struct softmax_row_work {
	size_t n;
	struct view_in bias;
	struct view s, max, sum;
};

DEVICE float
softmax_row_largest(struct view shared, float largest)
{
	for (size_t k = 0; k < BODY_THREADS; k++)
		largest = AT(shared, k) > largest ? AT(shared, k) : largest;
	return largest;
}

BODY(softmax_row, softmax_row_work)
{
	(void)block;
	EACH_THREAD(t) {
		float largest = -INFINITY;
		for (size_t j = t; j < w->n; j += BODY_THREADS) {
			const float s = AT(w->s, j) + (w->bias.p == NULL ? 0 : AT(w->bias, j));
			AT(w->s, j) = s;
			largest = s > largest ? s : largest;
		}
		AT(shared, t) = largest;
	}
	BARRIER();
	EACH_THREAD(t) {
		const float largest = softmax_row_largest(shared, AT(w->max, 0));
		float sum = 0;
		for (size_t j = t; j < w->n; j += BODY_THREADS) {
			AT(w->s, j) = expf(AT(w->s, j) - largest);
			sum += AT(w->s, j);
		}
		AT(shared, BODY_THREADS + t) = sum;
	}
	BARRIER();
	EACH_THREAD(t)
		if (t == 0) {
			AT(w->max, 0) = softmax_row_largest(shared, AT(w->max, 0));
			AT(w->sum, 0) = row_total(shared, BODY_THREADS, BODY_THREADS);
		}
}

void
SLOT(softmax_row)(size_t n, float *s, const float *bias, float *max, float *sum)
{
	const struct softmax_row_work w = {
		.n = n, .bias = { bias, n }, .s = { s, n }, .max = { max, 1 }, .sum = { sum, 1 }
	};

	RUN(softmax_row, 1, 2 * BODY_THREADS, w);
}

void
SLOT(pick_forward)(size_t n, size_t D, const float *u, const float *v, const uint32_t *index,
	float scale, float *z)
{
	const struct dots_of_rows_work w = {
		.grid = row_grid_of(n, D), .has_one = 1, .u = { u, D },
		.v = { v, body_reach(n, index) * D },
		.index = { index, n }, .y = { z, n }, .scale = scale,
	};

	ROW_RUN(dots_of_rows, w);
}

struct pick_backward_work {
	size_t n, n_picks;
	struct view_in u, v, dz;
	struct view_u32 index;
	struct view du, dv;
	float scale;
};

DEVICE void
pick_backward_at(const struct pick_backward_work *w, size_t d)
{
	const float u = AT(w->u, d);
	float sum = AT(w->du, d);

	for (size_t k = 0; k < w->n_picks; k++) {
		const float factor = w->scale * AT(w->dz, k);
		const size_t at = AT(w->index, k) * w->n + d;
		sum += factor * AT(w->v, at);
		AT(w->dv, at) += factor * u;
	}
	AT(w->du, d) = sum;
}

ELEMENT_BODY(pick_backward, pick_backward_work)

void
SLOT(pick_backward)(size_t n, size_t D, const float *u, const float *v, const uint32_t *index,
	float scale, const float *dz, float *du, float *dv)
{
	const struct pick_backward_work w = {
		.n = D, .n_picks = n, .u = { u, D },
		.v = { v, body_reach(n, index) * D }, .dz = { dz, n },
		.index = { index, n }, .du = { du, D }, .dv = { dv, body_reach(n, index) * D },
		.scale = scale,
	};

	ELEMENT_RUN(pick_backward, w);
}

#endif
