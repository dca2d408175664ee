/*
 * Kernels for the GPU: dense optimizers over a range, row optimizers over one row.
 *
 * Bytes moved by design, beside the least that any way of it moves, from memory that does not
 * stay in the cache; dense ones are bound by memory; a row is a
 * warp, bound by the start of a kernel (some 2 us): these are here so that the set is whole.
 *                           moves                 least
 *   dense_sgd               12 n                  12 n
 *   dense_momentum          20 n                  20 n
 *   dense_adagrad           20 n                  20 n
 *   dense_adam, dense_adamw 28 n                  28 n
 *   row_sgd                 12 D                  12 D
 *   row_adagrad             20 D                  20 D
 *   row_rowwise_adagrad     12 D                  12 D              again from the cache
 *   row_adam, row_ftrl      28 D                  28 D
 *   row_sum                 4 N D + 4 D           the same          N gradients, D threads
 */
#ifndef KERNEL_CUDA_OPTIMIZER_BODY_H
#define KERNEL_CUDA_OPTIMIZER_BODY_H

#include "kernel/cuda/cuda_body.h"

/* --- dense ----------------------------------------------------------------------------- */

struct optimizer_work {
	size_t n;
	struct view_in g;
	struct view w, m, v;
	struct optimizer_args a;
};

static inline struct optimizer_work
optimizer_work_of(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a)
{
	const struct optimizer_work work = {
		.n = n, .g = { g, n }, .w = { w, n }, .m = { m, n }, .v = { v, n }, .a = *a
	};

	return work;
}

DEVICE void
dense_sgd_at(const struct optimizer_work *w, size_t i)
{
	AT(w->w, i) -= w->a.rate * AT(w->g, i);
}

DEVICE void
dense_momentum_at(const struct optimizer_work *w, size_t i)
{
	const float m = w->a.momentum * AT(w->m, i) + AT(w->g, i);

	AT(w->m, i) = m;
	AT(w->w, i) -= w->a.rate * m;
}

DEVICE void
dense_adagrad_at(const struct optimizer_work *w, size_t i)
{
	const float g = AT(w->g, i), v = AT(w->v, i) + g * g;

	AT(w->v, i) = v;
	AT(w->w, i) -= w->a.rate * g / (sqrtf(v) + w->a.epsilon);
}

/* One coordinate of Adam: moves m and v, returns the step. */
DEVICE float
optimizer_adam_step(struct view m, struct view v, size_t i, float g,
	const struct optimizer_args *a)
{
	const float first = a->beta1 * AT(m, i) + (1 - a->beta1) * g;
	const float second = a->beta2 * AT(v, i) + (1 - a->beta2) * g * g;

	AT(m, i) = first;
	AT(v, i) = second;
	return a->rate * (first / a->correction1) / (sqrtf(second / a->correction2) + a->epsilon);
}

DEVICE void
dense_adam_at(const struct optimizer_work *w, size_t i)
{
	AT(w->w, i) -= optimizer_adam_step(w->m, w->v, i, AT(w->g, i), &w->a);
}

DEVICE void
dense_adamw_at(const struct optimizer_work *w, size_t i)
{
	const float decay = w->a.rate * w->a.weight_decay * AT(w->w, i);

	AT(w->w, i) -= optimizer_adam_step(w->m, w->v, i, AT(w->g, i), &w->a) + decay;
}

#define OPTIMIZER_SLOT(name) \
	ELEMENT_BODY(name, optimizer_work) \
	void \
	SLOT(name)(size_t n, float *w, const float *g, float *m, float *v, \
		const struct optimizer_args *a) \
	{ \
		const struct optimizer_work work = optimizer_work_of(n, w, g, m, v, a); \
		ELEMENT_RUN(name, work); \
	}

OPTIMIZER_SLOT(dense_sgd)
OPTIMIZER_SLOT(dense_momentum)
OPTIMIZER_SLOT(dense_adagrad)
OPTIMIZER_SLOT(dense_adam)
OPTIMIZER_SLOT(dense_adamw)

/* --- rows ------------------------------------------------------------------------------ */

struct row_work {
	struct row_grid grid;
	struct view_in g;
	struct view w, slot;
	struct row_args a;
};

/* The gradient with its regularisation. */
DEVICE float
row_gradient(const struct row_work *w, size_t d)
{
	const float x = AT(w->w, d), sign = x > 0 ? 1 : x < 0 ? -1 : 0;

	return AT(w->g, d) + w->a.l2 * x + w->a.l1 * sign;
}

DEVICE void
row_sgd_term(const struct row_work *w, size_t r, size_t d, float sum[2])
{
	(void)w, (void)r, (void)d, (void)sum;
}

DEVICE void
row_sgd_end(const struct row_work *w, size_t r, size_t d, const float total[2])
{
	(void)r, (void)total;
	AT(w->w, d) -= w->a.rate * row_gradient(w, d);
}

#define row_adagrad_term row_sgd_term
DEVICE void
row_adagrad_end(const struct row_work *w, size_t r, size_t d, const float total[2])
{
	const float g = row_gradient(w, d), s = AT(w->slot, d) + g * g;

	(void)r, (void)total;
	AT(w->slot, d) = s;
	AT(w->w, d) -= w->a.rate * g / (sqrtf(s) + w->a.epsilon);
}

/* Sums of squares; and the slot as it was, which the first thread writes at the end. */
DEVICE void
row_rowwise_adagrad_term(const struct row_work *w, size_t r, size_t d, float sum[2])
{
	const float g = row_gradient(w, d);

	(void)r;
	sum[0] += g * g;
	sum[1] += d == 0 ? AT(w->slot, 0) : 0;
}

DEVICE void
row_rowwise_adagrad_end(const struct row_work *w, size_t r, size_t d, const float total[2])
{
	const float s = total[1] + total[0] / (float)w->grid.width;

	(void)r;
	if (d == 0)
		AT(w->slot, 0) = s;
	AT(w->w, d) -= w->a.rate / (sqrtf(s) + w->a.epsilon) * row_gradient(w, d);
}

/* Slot m [D], v [D], t [1]: the sum is t as it was. */
DEVICE void
row_adam_term(const struct row_work *w, size_t r, size_t d, float sum[2])
{
	(void)r;
	sum[0] += d == 0 ? AT(w->slot, 2 * w->grid.width) : 0;
}

DEVICE void
row_adam_end(const struct row_work *w, size_t r, size_t d, const float total[2])
{
	const size_t D = w->grid.width;
	const float t = total[0] + 1;
	const struct view m = { w->slot.p, D }, v = { w->slot.p + D, D };
	/* 1 - beta^t of a beta near 1 has no digits to lose. */
	const struct optimizer_args adam = {
		.rate = w->a.rate, .beta1 = w->a.beta1, .beta2 = w->a.beta2,
		.epsilon = w->a.epsilon,
		.correction1 = (float)(1 - pow((double)w->a.beta1, (double)t)),
		.correction2 = (float)(1 - pow((double)w->a.beta2, (double)t)),
	};

	(void)r;
	if (d == 0)
		AT(w->slot, 2 * D) = t;
	AT(w->w, d) -= optimizer_adam_step(m, v, d, row_gradient(w, d), &adam);
}

#define row_ftrl_term row_sgd_term
DEVICE void
row_ftrl_end(const struct row_work *w, size_t r, size_t d, const float total[2])
{
	const size_t D = w->grid.width;
	const float g = row_gradient(w, d), power = fabsf(w->a.ftrl_power);
	const float n = AT(w->slot, d), grown = n + g * g;
	const float before = n == 0 ? 0 : powf(n, power);
	const float after = grown == 0 ? 0 : powf(grown, power);
	const float z = AT(w->slot, D + d) + (g - (after - before) / w->a.rate * AT(w->w, d));
	const float excess = fabsf(z) - w->a.ftrl_l1;

	(void)r, (void)total;
	AT(w->slot, d) = grown;
	AT(w->slot, D + d) = z;
	AT(w->w, d) = excess <= 0 ? 0 : (z > 0 ? -1 : 1) * excess
		/ ((w->a.ftrl_beta + after) / w->a.rate + w->a.ftrl_l2);
}

#define ROW_SLOT(name, n_slot) \
	ROW_BODY(name, row_work) \
	void \
	SLOT(name)(float *w, float *slot, const float *g, const struct row_args *a) \
	{ \
		const struct row_work work = { \
			.grid = row_grid_of(1, a->D), .g = { g, a->D }, .w = { w, a->D }, \
			.slot = { slot, n_slot }, .a = *a \
		}; \
		ROW_RUN(name, work); \
	}

ROW_SLOT(row_sgd, 0)
ROW_SLOT(row_adagrad, a->D)
ROW_SLOT(row_rowwise_adagrad, 1)
ROW_SLOT(row_adam, 2 * a->D + 1)
ROW_SLOT(row_ftrl, 2 * a->D)

struct row_sum_work {
	size_t n, n_grads;
	struct view_rows grad;
	struct view_in scale;
	struct view g;
};

DEVICE void
row_sum_at(const struct row_sum_work *w, size_t d)
{
	float sum = 0;

	for (size_t i = 0; i < w->n_grads; i++) {
		const struct view_in row = { AT(w->grad, i), w->n };
		sum += (w->scale.p == NULL ? 1 : AT(w->scale, i)) * AT(row, d);
	}
	AT(w->g, d) = sum;
}

ELEMENT_BODY(row_sum, row_sum_work)

void
SLOT(row_sum)(size_t D, size_t n, const float *const *grad, const float *scale, float *g)
{
	const struct row_sum_work w = {
		.n = D, .n_grads = n, .grad = { grad, n }, .scale = { scale, n }, .g = { g, D }
	};

	ELEMENT_RUN(row_sum, w);
}

#endif
