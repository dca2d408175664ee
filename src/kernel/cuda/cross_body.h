/*
 * Kernels for the GPU: cross layers, the gate over their experts, pairwise dots.
 *
 * Bytes moved by design, beside the least that any way of it moves, from memory that does not
 * stay in the cache; all but dots are bound by memory.  n = B H,
 * B E R for the gate.
 *                           moves                 least
 *   cross_v1_forward        12 n                  12 n              x again from the cache
 *   cross_v1_backward       32 n                  28 n              dy is read by row and by column
 *   cross_v2_forward        16 n                  16 n
 *   cross_v2_backward       32 n                  32 n              8 n less where dx is dx0
 *   gate_forward            8 n + 8 B E           the same          E exponentials an element
 *   gate_backward           16 n + 24 B E         16 n + 12 B E     that of p by memory
 *   dots_forward            4 B F D + 2 B F F     the same          F D (F-1) / 2 products a row,
 *   dots_backward           12 B F D + 2 B F F    the same          8 bytes of shared memory each
 */
#ifndef KERNEL_CUDA_CROSS_BODY_H
#define KERNEL_CUDA_CROSS_BODY_H

#include "kernel/cuda/cuda_body.h"

/* --- cross layer, first version -------------------------------------------------------- */

struct cross_v1_forward_work {
	struct row_grid grid;
	struct view_in x0, x, w, bias;
	struct view s, y;
};

DEVICE void
cross_v1_forward_term(const struct cross_v1_forward_work *w, size_t b, size_t h, float sum[2])
{
	sum[0] += AT(w->x, b * w->grid.width + h) * AT(w->w, h);
}

DEVICE void
cross_v1_forward_end(const struct cross_v1_forward_work *w, size_t b, size_t h,
	const float total[2])
{
	const size_t i = b * w->grid.width + h;

	AT(w->y, i) = AT(w->x0, i) * total[0] + AT(w->bias, h) + AT(w->x, i);
	if (h == 0)
		AT(w->s, b) = total[0];
}

ROW_BODY(cross_v1_forward, cross_v1_forward_work)

void
SLOT(cross_v1_forward)(size_t B, size_t H, const float *x0, const float *x, const float *w,
	const float *bias, float *s, float *y)
{
	const struct cross_v1_forward_work work = {
		.grid = row_grid_of(B, H), .x0 = { x0, B * H }, .x = { x, B * H }, .w = { w, H },
		.bias = { bias, H }, .s = { s, B }, .y = { y, B * H },
	};

	ROW_RUN(cross_v1_forward, work);
}

/* ds[b] = <dy[b,:], x0[b,:]>, and what is added to both inputs. */
struct cross_v1_backward_work {
	struct row_grid grid;
	struct view_in x0, w, s, dy;
	struct view dx0, dx, ds;
};

DEVICE void
cross_v1_backward_term(const struct cross_v1_backward_work *w, size_t b, size_t h, float sum[2])
{
	const size_t i = b * w->grid.width + h;

	sum[0] += AT(w->dy, i) * AT(w->x0, i);
}

DEVICE void
cross_v1_backward_end(const struct cross_v1_backward_work *w, size_t b, size_t h,
	const float total[2])
{
	const size_t i = b * w->grid.width + h;
	const float dy = AT(w->dy, i);

	AT(w->dx0, i) += dy * AT(w->s, b);
	AT(w->dx, i) += dy + total[0] * AT(w->w, h);
	if (h == 0)
		AT(w->ds, b) = total[0];
}

ROW_BODY(cross_v1_backward, cross_v1_backward_work)

/* dw += sum_b ds[b] x[b,:], dbias += sum_b dy[b,:] */
struct cross_v1_weights_work {
	struct column_grid grid;
	struct view_in x, dy, ds;
};

DEVICE void
cross_v1_weights_at(const struct cross_v1_weights_work *w, size_t b, size_t h, float sum[2])
{
	const size_t i = b * w->grid.H + h;

	sum[0] += AT(w->ds, b) * AT(w->x, i);
	sum[1] += AT(w->dy, i);
}

COLUMN_BODY(cross_v1_weights, cross_v1_weights_work)

void
SLOT(cross_v1_backward)(size_t B, size_t H, const float *x0, const float *x, const float *w,
	const float *s, const float *dy, float *dx0, float *dx, float *dw, float *dbias)
{
	float *const scratch = SCRATCH(B + column_partial(H));
	const struct cross_v1_backward_work rows = {
		.grid = row_grid_of(B, H), .x0 = { x0, B * H }, .w = { w, H }, .s = { s, B },
		.dy = { dy, B * H }, .dx0 = { dx0, B * H }, .dx = { dx, B * H },
		.ds = { scratch, B },
	};
	const struct cross_v1_weights_work columns = {
		.grid = column_grid_of(B, H, scratch + B), .x = { x, B * H }, .dy = { dy, B * H },
		.ds = { scratch, B },
	};

	ROW_RUN(cross_v1_backward, rows);
	COLUMN_RUN(cross_v1_weights, columns);
	column_end(&columns.grid, dw, dbias, 1);
}

/* --- cross layer, second version ------------------------------------------------------- */

struct cross_v2_forward_work {
	size_t n, H;
	struct view_in x0, x, z, bias;
	struct view y;
};

DEVICE void
cross_v2_forward_at(const struct cross_v2_forward_work *w, size_t i)
{
	const float z = AT(w->z, i) + AT(w->bias, body_mod(i, w->H));

	AT(w->y, i) = AT(w->x0, i) * z + AT(w->x, i);
}

ELEMENT_BODY(cross_v2_forward, cross_v2_forward_work)

void
SLOT(cross_v2_forward)(size_t B, size_t H, const float *x0, const float *x, const float *z,
	const float *bias, float *y)
{
	const struct cross_v2_forward_work w = {
		.n = B * H, .H = H, .x0 = { x0, B * H }, .x = { x, B * H }, .z = { z, B * H },
		.bias = { bias, H }, .y = { y, B * H },
	};

	ELEMENT_RUN(cross_v2_forward, w);
}

struct cross_v2_backward_work {
	struct column_grid grid;
	struct view_in x0, z, bias, dy;
	struct view dz, dx0, dx;
};

DEVICE void
cross_v2_backward_at(const struct cross_v2_backward_work *w, size_t b, size_t h, float sum[2])
{
	const size_t i = b * w->grid.H + h;
	const float dy = AT(w->dy, i), dz = dy * AT(w->x0, i);

	AT(w->dz, i) = dz;
	AT(w->dx0, i) += dy * (AT(w->z, i) + AT(w->bias, h));
	AT(w->dx, i) += dy;
	sum[0] += dz;
}

COLUMN_BODY(cross_v2_backward, cross_v2_backward_work)

void
SLOT(cross_v2_backward)(size_t B, size_t H, const float *x0, const float *z, const float *bias,
	const float *dy, float *dz, float *dx0, float *dx, float *dbias)
{
	const struct cross_v2_backward_work w = {
		.grid = column_grid_of(B, H, SCRATCH(column_partial(H))), .x0 = { x0, B * H },
		.z = { z, B * H }, .bias = { bias, H }, .dy = { dy, B * H }, .dz = { dz, B * H },
		.dx0 = { dx0, B * H }, .dx = { dx, B * H },
	};

	COLUMN_RUN(cross_v2_backward, w);
	column_end(&w.grid, dbias, NULL, 1);
}

/* --- gate ------------------------------------------------------------------------------ */

struct gate_forward_work {
	size_t n, E, R;
	struct view_in t, logit;
	struct view p, y;
};

/* Each element has the softmax of its row again: E exponentials, from the cache. */
DEVICE void
gate_forward_at(const struct gate_forward_work *w, size_t i)
{
	const size_t row = body_div(i, w->R), first = body_div(row, w->E) * w->E;
	float largest = AT(w->logit, first), sum = 0;

	for (size_t e = 1; e < w->E; e++)
		largest = AT(w->logit, first + e) > largest ? AT(w->logit, first + e) : largest;
	for (size_t e = 0; e < w->E; e++)
		sum += expf(AT(w->logit, first + e) - largest);
	const float p = expf(AT(w->logit, row) - largest) / sum;
	AT(w->y, i) = p * AT(w->t, i);
	if (body_mod(i, w->R) == 0)
		AT(w->p, row) = p;
}

ELEMENT_BODY(gate_forward, gate_forward_work)

void
SLOT(gate_forward)(size_t B, size_t E, size_t R, const float *t, const float *logit, float *p,
	float *y)
{
	const struct gate_forward_work w = {
		.n = B * E * R, .E = E, .R = R, .t = { t, B * E * R }, .logit = { logit, B * E },
		.p = { p, B * E }, .y = { y, B * E * R },
	};

	ELEMENT_RUN(gate_forward, w);
}

/* g[b,e] = <dy, t>, the gradient of p[b,e]. */
struct gate_backward_work {
	struct row_grid grid;
	struct view_in t, p, dy;
	struct view dt, g;
};

DEVICE void
gate_backward_term(const struct gate_backward_work *w, size_t row, size_t r, float sum[2])
{
	const size_t i = row * w->grid.width + r;
	const float dy = AT(w->dy, i);

	sum[0] += dy * AT(w->t, i);
	AT(w->dt, i) += AT(w->p, row) * dy;
}

DEVICE void
gate_backward_end(const struct gate_backward_work *w, size_t row, size_t r, const float total[2])
{
	if (r == 0)
		AT(w->g, row) = total[0];
}

ROW_BODY(gate_backward, gate_backward_work)

struct gate_logit_work {
	size_t n, E;
	struct view_in p, g;
	struct view dlogit;
};

DEVICE void
gate_logit_at(const struct gate_logit_work *w, size_t i)
{
	const size_t first = body_div(i, w->E) * w->E;
	float mean = 0;

	for (size_t e = first; e < first + w->E; e++)
		mean += AT(w->p, e) * AT(w->g, e);
	AT(w->dlogit, i) += AT(w->p, i) * (AT(w->g, i) - mean);
}

ELEMENT_BODY(gate_logit, gate_logit_work)

void
SLOT(gate_backward)(size_t B, size_t E, size_t R, const float *t, const float *p, const float *dy,
	float *dt, float *dlogit)
{
	float *const g = SCRATCH(B * E);
	const struct gate_backward_work rows = {
		.grid = row_grid_of(B * E, R), .t = { t, B * E * R }, .p = { p, B * E },
		.dy = { dy, B * E * R }, .dt = { dt, B * E * R }, .g = { g, B * E },
	};
	const struct gate_logit_work logits = {
		.n = B * E, .E = E, .p = { p, B * E }, .g = { g, B * E },
		.dlogit = { dlogit, B * E },
	};

	ROW_RUN(gate_backward, rows);
	ELEMENT_RUN(gate_logit, logits);
}

/* --- pairwise dots --------------------------------------------------------------------- */

/* Floats of shared memory that every GPU gives a block: 48 KiB, less a little. */
#define DOTS_SHARED 12000u

/* A block has a row; its x [F,D] goes through shared memory when it fits. */
struct dots_work {
	size_t F, D, n_shared, n_pairs;
	struct view_in x, dy;
	struct view y, dx;
};

static inline struct dots_work
dots_work_of(size_t B, size_t F, size_t D, const float *x)
{
	const struct dots_work w = {
		.F = F, .D = D, .n_shared = F * D <= DOTS_SHARED ? F * D : 0,
		.n_pairs = F == 0 ? 0 : F * (F - 1) / 2, .x = { x, B * F * D },
	};

	return w;
}

DEVICE float
dots_x(const struct dots_work *w, size_t b, struct view shared, size_t i)
{
	return w->n_shared > 0 ? AT(shared, i) : AT(w->x, b * w->F * w->D + i);
}

DEVICE void
dots_load(const struct dots_work *w, size_t b, struct view shared, size_t t)
{
	for (size_t i = t; i < w->n_shared; i += BODY_THREADS)
		AT(shared, i) = AT(w->x, b * w->F * w->D + i);
}

/* The i of pair p = i(i-1)/2 + j, j < i; the root may be one off. */
DEVICE size_t
dots_first(size_t p)
{
	size_t i = (size_t)((1 + sqrtf(1 + 8 * (float)p)) / 2);

	while (i * (i - 1) / 2 > p)
		i--;
	while (i * (i + 1) / 2 <= p)
		i++;
	return i;
}

BODY(dots_forward, dots_work)
{
	EACH_THREAD(t)
		dots_load(w, block, shared, t);
	BARRIER();
	EACH_THREAD(t)
		for (size_t p = t; p < w->n_pairs; p += BODY_THREADS) {
			const size_t i = dots_first(p), j = p - i * (i - 1) / 2;
			float sum = 0;
			for (size_t d = 0; d < w->D; d++)
				sum += dots_x(w, block, shared, i * w->D + d)
					* dots_x(w, block, shared, j * w->D + d);
			AT(w->y, block * w->n_pairs + p) = sum;
		}
}

void
SLOT(dots_forward)(size_t B, size_t F, size_t D, const float *x, float *y)
{
	struct dots_work w = dots_work_of(B, F, D, x);

	w.y = body_out(y, B * w.n_pairs);
	RUN(dots_forward, B, w.n_shared, w);
}

DEVICE size_t
dots_pair(size_t i, size_t j)
{
	return i > j ? i * (i - 1) / 2 + j : j * (j - 1) / 2 + i;
}

/* dx[i,:] += sum_j dy[i,j] x[j,:]: nobody else writes there. */
BODY(dots_backward, dots_work)
{
	EACH_THREAD(t)
		dots_load(w, block, shared, t);
	BARRIER();
	EACH_THREAD(t)
		for (size_t at = t; at < w->F * w->D; at += BODY_THREADS) {
			const size_t i = body_div(at, w->D), d = body_mod(at, w->D);
			float sum = 0;
			for (size_t j = 0; j < w->F; j++)
				if (j != i)
					sum += AT(w->dy, block * w->n_pairs + dots_pair(i, j))
						* dots_x(w, block, shared, j * w->D + d);
			AT(w->dx, block * w->F * w->D + at) += sum;
		}
}

void
SLOT(dots_backward)(size_t B, size_t F, size_t D, const float *x, const float *dy, float *dx)
{
	struct dots_work w = dots_work_of(B, F, D, x);

	w.dy = body_in(dy, B * w.n_pairs);
	w.dx = body_out(dx, B * F * D);
	RUN(dots_backward, B, w.n_shared, w);
}

#endif
