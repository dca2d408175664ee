/*
 * Kernels for the GPU: losses, batch norm, dropout.
 *
 * Bytes moved by design, beside the least that any way of it moves, from memory that does not
 * stay in the cache; all are bound by memory.  n = B H, or B.
 *                           moves                 least
 *   logloss                 20 n                  20 n              loss, dz and p in one pass
 *   mse                     16 n                  16 n
 *   batch_norm_forward      16 n                  16 n              two passes: sums, values
 *   batch_norm_apply        8 n                   8 n
 *   batch_norm_backward     24 n                  24 n              two passes likewise
 *   dropout                 8 n                   8 n               the mask again: 10 integer
 *   dropout_backward        12 n                  12 n              operations, no byte
 */
#ifndef KERNEL_CUDA_LOSS_BODY_H
#define KERNEL_CUDA_LOSS_BODY_H

#include "kernel/cuda/cuda_body.h"

/* --- losses ---------------------------------------------------------------------------- */

/* A column of B rows. */
struct loss_work {
	struct column_grid grid;
	struct view_in z, label, weight;
	struct view dz, p;
	float scale;
};

static inline struct loss_work
loss_work_of(size_t B, const float *z, const float *label, const float *weight, float scale,
	float *dz)
{
	const struct loss_work w = {
		.grid = column_grid_of(B, 1, SCRATCH(column_partial(1))), .z = { z, B },
		.label = { label, B }, .weight = { weight, B }, .dz = { dz, B }, .scale = scale,
	};

	return w;
}

static void
loss_end(const struct loss_work *w, double *loss)
{
	const struct column_finish_work end = {
		.grid = w->grid, .out = { { NULL, 0 }, { NULL, 0 } }, .loss = { loss, 1 },
		.is_added = 1,
	};

	RUN(column_finish, 1, 2 * BODY_THREADS, end);
}

DEVICE void
logloss_at(const struct loss_work *w, size_t b, size_t h, float sum[2])
{
	const float z = AT(w->z, b), label = AT(w->label, b), small = expf(-fabsf(z));
	const float weight = w->weight.p == NULL ? 1 : AT(w->weight, b);
	const float p = body_sigmoid(z);

	(void)h;
	sum[0] += weight * ((z > 0 ? z : 0) - z * label + log1pf(small));
	if (w->dz.p != NULL)
		AT(w->dz, b) = w->scale * weight * (p - label);
	if (w->p.p != NULL)
		AT(w->p, b) = p;
}

COLUMN_BODY(logloss, loss_work)

void
SLOT(logloss)(size_t B, const float *z, const float *label, const float *weight, float scale,
	float *dz, float *p, double *loss)
{
	struct loss_work w = loss_work_of(B, z, label, weight, scale, dz);

	w.p = body_out(p, B);
	COLUMN_RUN(logloss, w);
	loss_end(&w, loss);
}

DEVICE void
mse_at(const struct loss_work *w, size_t b, size_t h, float sum[2])
{
	const float weight = w->weight.p == NULL ? 1 : AT(w->weight, b);
	const float difference = AT(w->z, b) - AT(w->label, b);

	(void)h;
	sum[0] += weight * difference * difference;
	if (w->dz.p != NULL)
		AT(w->dz, b) = w->scale * weight * 2 * difference;
}

COLUMN_BODY(mse, loss_work)

void
SLOT(mse)(size_t B, const float *z, const float *label, const float *weight, float scale,
	float *dz, double *loss)
{
	const struct loss_work w = loss_work_of(B, z, label, weight, scale, dz);

	COLUMN_RUN(mse, w);
	loss_end(&w, loss);
}

/* --- batch norm ------------------------------------------------------------------------ */

/* Sums of x - x[0,:] and of their squares: a row of the batch as origin keeps the difference
 * of the two from losing more than the spread of the column costs. */
struct batch_norm_sums_work {
	struct column_grid grid;
	struct view_in x;
};

DEVICE void
batch_norm_sums_at(const struct batch_norm_sums_work *w, size_t b, size_t h, float sum[2])
{
	const float x = AT(w->x, b * w->grid.H + h) - AT(w->x, h);

	sum[0] += x;
	sum[1] += x * x;
}

COLUMN_BODY(batch_norm_sums, batch_norm_sums_work)

/* mean and var hold the sums. */
struct batch_norm_moments_work {
	size_t n, B;
	struct view_in x;
	struct view mean, var, rstd;
	float epsilon;
};

DEVICE void
batch_norm_moments_at(const struct batch_norm_moments_work *w, size_t h)
{
	const float B = (float)w->B, m = AT(w->mean, h) / B;
	const float v = AT(w->var, h) / B - m * m, var = v < 0 ? 0 : v;

	AT(w->mean, h) = (w->B == 0 ? 0 : AT(w->x, h)) + m;
	AT(w->var, h) = var;
	AT(w->rstd, h) = 1 / sqrtf(var + w->epsilon);
}

ELEMENT_BODY(batch_norm_moments, batch_norm_moments_work)

/* xhat = (x - mean) rstd, y = gamma xhat + beta; rstd NULL: from var.  Any output may be NULL. */
struct batch_norm_write_work {
	size_t n, H;
	struct view_in x, gamma, beta, mean, var, rstd;
	struct view xhat, y;
	float epsilon;
};

DEVICE void
batch_norm_write_at(const struct batch_norm_write_work *w, size_t i)
{
	const size_t h = body_mod(i, w->H);
	const float rstd = w->rstd.p != NULL ? AT(w->rstd, h)
		: 1 / sqrtf(AT(w->var, h) + w->epsilon);
	const float xhat = (AT(w->x, i) - AT(w->mean, h)) * rstd;

	if (w->xhat.p != NULL)
		AT(w->xhat, i) = xhat;
	if (w->y.p != NULL)
		AT(w->y, i) = (w->gamma.p == NULL ? 1 : AT(w->gamma, h)) * xhat
			+ (w->beta.p == NULL ? 0 : AT(w->beta, h));
}

ELEMENT_BODY(batch_norm_write, batch_norm_write_work)

void
SLOT(batch_norm_forward)(size_t B, size_t H, const float *x, const float *gamma,
	const float *beta, float epsilon, float *xhat, float *y, float *mean, float *var,
	float *rstd)
{
	const struct batch_norm_sums_work sums = {
		.grid = column_grid_of(B, H, SCRATCH(column_partial(H))), .x = { x, B * H },
	};
	const struct batch_norm_moments_work moments = {
		.n = H, .B = B, .x = { x, B * H }, .mean = { mean, H }, .var = { var, H },
		.rstd = { rstd, H }, .epsilon = epsilon,
	};
	const struct batch_norm_write_work write = {
		.n = B * H, .H = H, .x = { x, B * H }, .gamma = { gamma, H }, .beta = { beta, H },
		.mean = { mean, H }, .var = { NULL, 0 }, .rstd = { rstd, H },
		.xhat = { xhat, B * H }, .y = { y, B * H },
	};

	COLUMN_RUN(batch_norm_sums, sums);
	column_end(&sums.grid, mean, var, 0);
	ELEMENT_RUN(batch_norm_moments, moments);
	ELEMENT_RUN(batch_norm_write, write);
}

void
SLOT(batch_norm_apply)(size_t B, size_t H, const float *x, const float *gamma, const float *beta,
	const float *mean, const float *var, float epsilon, float *y)
{
	const struct batch_norm_write_work w = {
		.n = B * H, .H = H, .x = { x, B * H }, .gamma = { gamma, H }, .beta = { beta, H },
		.mean = { mean, H }, .var = { var, H }, .rstd = { NULL, 0 }, .xhat = { NULL, 0 },
		.y = { y, B * H }, .epsilon = epsilon,
	};

	ELEMENT_RUN(batch_norm_write, w);
}

struct batch_norm_gradient_work {
	struct column_grid grid;
	struct view_in xhat, dy;
};

DEVICE void
batch_norm_gradient_at(const struct batch_norm_gradient_work *w, size_t b, size_t h, float sum[2])
{
	const float dy = AT(w->dy, b * w->grid.H + h);

	sum[0] += dy;
	sum[1] += dy * AT(w->xhat, b * w->grid.H + h);
}

COLUMN_BODY(batch_norm_gradient, batch_norm_gradient_work)

struct batch_norm_backward_work {
	size_t n, B, H;
	struct view_in xhat, rstd, gamma, dy, dgamma, dbeta;
	struct view dx;
};

DEVICE void
batch_norm_backward_at(const struct batch_norm_backward_work *w, size_t i)
{
	const size_t h = body_mod(i, w->H);
	const float factor = (w->gamma.p == NULL ? 1 : AT(w->gamma, h)) * AT(w->rstd, h);
	const float B = (float)w->B;

	AT(w->dx, i) += factor * (AT(w->dy, i) - AT(w->dbeta, h) / B
		- AT(w->xhat, i) * AT(w->dgamma, h) / B);
}

ELEMENT_BODY(batch_norm_backward, batch_norm_backward_work)

void
SLOT(batch_norm_backward)(size_t B, size_t H, const float *xhat, const float *rstd,
	const float *gamma, const float *dy, float *dx, float *dgamma, float *dbeta)
{
	const struct batch_norm_gradient_work sums = {
		.grid = column_grid_of(B, H, SCRATCH(column_partial(H))), .xhat = { xhat, B * H },
		.dy = { dy, B * H },
	};
	const struct batch_norm_backward_work w = {
		.n = B * H, .B = B, .H = H, .xhat = { xhat, B * H }, .rstd = { rstd, H },
		.gamma = { gamma, H }, .dy = { dy, B * H }, .dgamma = { dgamma, H },
		.dbeta = { dbeta, H }, .dx = { dx, B * H },
	};

	COLUMN_RUN(batch_norm_gradient, sums);
	column_end(&sums.grid, dbeta, dgamma, 0);
	ELEMENT_RUN(batch_norm_backward, w);
}

/* --- dropout --------------------------------------------------------------------------- */

/* y = x or, is_added, y += x, over 1 - p where the unit is kept. */
struct dropout_work {
	size_t n;
	uint64_t key, first;
	struct view_in x;
	struct view y;
	float p;
	int is_added;
};

/* 24 bits are exact as a float, and p 2^24 is. */
DEVICE void
dropout_at(const struct dropout_work *w, size_t i)
{
	const int is_kept = (float)(rng_u64(w->key, w->first + i) >> 40) >= w->p * 0x1p24f;
	const float x = is_kept ? AT(w->x, i) / (1 - w->p) : 0;

	AT(w->y, i) = w->is_added ? AT(w->y, i) + x : x;
}

ELEMENT_BODY(dropout, dropout_work)

void
SLOT(dropout)(size_t B, size_t H, uint64_t key, uint64_t row0, float p, const float *x, float *y)
{
	const struct dropout_work w = {
		.n = B * H, .key = key, .first = row0 * H, .x = { x, B * H }, .y = { y, B * H },
		.p = p, .is_added = 0,
	};

	ELEMENT_RUN(dropout, w);
}

void
SLOT(dropout_backward)(size_t B, size_t H, uint64_t key, uint64_t row0, float p, const float *dy,
	float *dx)
{
	const struct dropout_work w = {
		.n = B * H, .key = key, .first = row0 * H, .x = { dy, B * H },
		.y = { dx, B * H }, .p = p, .is_added = 1,
	};

	ELEMENT_RUN(dropout, w);
}

#endif
