/*
 * Kernels for the GPU: matrix product, activations, sums of vectors.
 *
 * Bytes moved by design, beside the least that any way of it moves, from memory that does not
 * stay in the cache; gemm and gemm_brain alone are bound by arithmetic, and are cuBLAS.
 * n = B H, or the length; sums of columns are in the same pass, their parts 8 bytes in 128 rows.
 *                           moves                 least
 *   round_rows              6 n                   6 n
 *   bias_act_forward        8 n                   8 n               in place
 *   bias_act_backward       12 n                  12 n
 *   act_forward             8 n                   8 n
 *   act_backward            16 n                  16 n              adds to dz
 *   dice_forward            12 n                  12 n
 *   dice_backward           24 n                  24 n              adds to dz, writes dzhat
 *   add, sum_into           12 n                  12 n              the check reads nothing more
 *   scale                   8 n                   8 n
 *   finite                  4 n                   4 n
 *   spoil                   8                     8
 *   fill                    4 n                   4 n
 *   copy_rows               8 n                   8 n
 *   add_rows                12 n                  12 n
 *   dot                     8 n, or 4 n           the same          b NULL: 4 n
 */
#ifndef KERNEL_CUDA_DENSE_BODY_H
#define KERNEL_CUDA_DENSE_BODY_H

#include "kernel/cuda/cuda_body.h"

/* --- matrix product -------------------------------------------------------------------- */

/* Rows of C are columns of its transpose, which is op(B)' op(A)'. */
static inline struct gemm_args
column_of(const struct gemm_args *a)
{
	const struct gemm_args column = {
		.transpose_a = a->transpose_b, .transpose_b = a->transpose_a,
		.m = a->n, .n = a->m, .k = a->k, .alpha = a->alpha, .beta = a->beta,
		.a = a->b, .lda = a->ldb, .b = a->a, .ldb = a->lda, .c = a->c, .ldc = a->ldc,
		.is_tf32 = a->is_tf32,
	};

	return column;
}

void
SLOT(gemm)(const struct gemm_args *a)
{
	const struct gemm_args column = column_of(a);

	if (a->m > 0 && a->n > 0)
		SLOT(gemm_column)(&column);
}

void
SLOT(gemm_brain)(const struct gemm_args *shape, const uint16_t *a, const uint16_t *b)
{
	const struct gemm_args column = column_of(shape);

	if (shape->m > 0 && shape->n > 0)
		SLOT(gemm_brain_column)(&column, b, a);
}

struct round_rows_work {
	size_t n, width, ldx, ldy;
	struct view_in x;
	struct view_brain y;
};

DEVICE void
round_rows_at(const struct round_rows_work *w, size_t i)
{
	const size_t b = body_div(i, w->width), h = body_mod(i, w->width);

	AT(w->y, b * w->ldy + h) = half_brain_of(AT(w->x, b * w->ldx + h));
}

ELEMENT_BODY(round_rows, round_rows_work)

void
SLOT(round_rows)(size_t B, size_t n, const float *x, size_t ldx, uint16_t *y, size_t ldy)
{
	const struct round_rows_work w = {
		.n = B * n, .width = n, .ldx = ldx, .ldy = ldy,
		.x = { x, body_extent(B, ldx, n) }, .y = { y, body_extent(B, ldy, n) },
	};

	ELEMENT_RUN(round_rows, w);
}

/* --- activations ----------------------------------------------------------------------- */

DEVICE float
act_normal_cdf(float z)
{
	return 0.5f * erfcf(-z * 0.70710678f);
}

DEVICE float
act_normal_pdf(float z)
{
	return expf(-0.5f * z * z) * 0.39894228f;
}

DEVICE float
act_value(int act, float z, float slope)
{
	switch (act) {
	case KERNEL_ACT_RELU:    return z > 0 || z != z ? z : 0;
	case KERNEL_ACT_PRELU:   return z > 0 ? z : slope * z;
	case KERNEL_ACT_TANH:    return tanhf(z);
	case KERNEL_ACT_SIGMOID: return body_sigmoid(z);
	case KERNEL_ACT_GELU:    return z * act_normal_cdf(z);
	default:                 return z;
	}
}

/* Of an activation that can be undone, from its output. */
DEVICE float
act_slope_of_output(int act, float y)
{
	switch (act) {
	case KERNEL_ACT_RELU:    return y > 0 ? 1 : 0;
	case KERNEL_ACT_TANH:    return 1 - y * y;
	case KERNEL_ACT_SIGMOID: return y * (1 - y);
	default:                 return 1;
	}
}

DEVICE float
act_slope(int act, float z, float slope)
{
	switch (act) {
	case KERNEL_ACT_PRELU: return z > 0 ? 1 : slope;
	case KERNEL_ACT_GELU:  return act_normal_cdf(z) + z * act_normal_pdf(z);
	default:               return act_slope_of_output(act, act_value(act, z, 0));
	}
}

struct bias_act_forward_work {
	size_t n, H;
	struct view y;
	struct view_in bias;
	int act;
};

DEVICE void
bias_act_forward_at(const struct bias_act_forward_work *w, size_t i)
{
	const float bias = w->bias.p == NULL ? 0 : AT(w->bias, body_mod(i, w->H));

	AT(w->y, i) = act_value(w->act, AT(w->y, i) + bias, 0);
}

ELEMENT_BODY(bias_act_forward, bias_act_forward_work)

void
SLOT(bias_act_forward)(size_t B, size_t H, float *y, const float *bias, int act)
{
	const struct bias_act_forward_work w = {
		.n = B * H, .H = H, .y = { y, B * H }, .bias = { bias, H }, .act = act
	};

	ELEMENT_RUN(bias_act_forward, w);
}

struct bias_act_backward_work {
	struct column_grid grid;
	struct view_in y, dy;
	struct view dz;
	int act;
};

DEVICE void
bias_act_backward_at(const struct bias_act_backward_work *w, size_t b, size_t h, float sum[2])
{
	const size_t i = b * w->grid.H + h;
	const float dz = AT(w->dy, i) * act_slope_of_output(w->act, AT(w->y, i));

	AT(w->dz, i) = dz;
	sum[0] += dz;
}

COLUMN_BODY(bias_act_backward, bias_act_backward_work)

void
SLOT(bias_act_backward)(size_t B, size_t H, const float *y, const float *dy, int act, float *dz,
	float *dbias)
{
	float *const partial = dbias == NULL ? NULL : SCRATCH(column_partial(H));
	const struct bias_act_backward_work w = {
		.grid = column_grid_of(B, H, partial), .y = { y, B * H }, .dy = { dy, B * H },
		.dz = { dz, B * H }, .act = act,
	};

	COLUMN_RUN(bias_act_backward, w);
	if (dbias != NULL)
		column_end(&w.grid, dbias, NULL, 1);
}

struct act_forward_work {
	size_t n, H;
	struct view_in z, slope;
	struct view y;
	int act;
};

DEVICE void
act_forward_at(const struct act_forward_work *w, size_t i)
{
	const float slope = w->slope.p == NULL ? 0 : AT(w->slope, body_mod(i, w->H));

	AT(w->y, i) = act_value(w->act, AT(w->z, i), slope);
}

ELEMENT_BODY(act_forward, act_forward_work)

void
SLOT(act_forward)(size_t B, size_t H, const float *z, int act, const float *slope, float *y)
{
	const struct act_forward_work w = {
		.n = B * H, .H = H, .z = { z, B * H }, .slope = { slope, H }, .y = { y, B * H },
		.act = act,
	};

	ELEMENT_RUN(act_forward, w);
}

struct act_backward_work {
	struct column_grid grid;
	struct view_in z, dy, slope;
	struct view dz;
	int act;
};

DEVICE void
act_backward_at(const struct act_backward_work *w, size_t b, size_t h, float sum[2])
{
	const size_t i = b * w->grid.H + h;
	const float z = AT(w->z, i), dy = AT(w->dy, i);
	const float slope = w->slope.p == NULL ? 0 : AT(w->slope, h);

	AT(w->dz, i) += dy * act_slope(w->act, z, slope);
	sum[0] += z > 0 ? 0 : dy * z;
}

COLUMN_BODY(act_backward, act_backward_work)

void
SLOT(act_backward)(size_t B, size_t H, const float *z, const float *dy, int act,
	const float *slope, float *dz, float *dslope)
{
	const int is_summed = dslope != NULL && act == KERNEL_ACT_PRELU;
	float *const partial = is_summed ? SCRATCH(column_partial(H)) : NULL;
	const struct act_backward_work w = {
		.grid = column_grid_of(B, H, partial), .z = { z, B * H }, .dy = { dy, B * H },
		.slope = { slope, H }, .dz = { dz, B * H }, .act = act,
	};

	COLUMN_RUN(act_backward, w);
	if (is_summed)
		column_end(&w.grid, dslope, NULL, 1);
}

struct dice_forward_work {
	size_t n, H;
	struct view_in z, zhat, alpha;
	struct view y;
};

DEVICE void
dice_forward_at(const struct dice_forward_work *w, size_t i)
{
	const float p = body_sigmoid(AT(w->zhat, i));

	AT(w->y, i) = AT(w->z, i) * (p + (1 - p) * AT(w->alpha, body_mod(i, w->H)));
}

ELEMENT_BODY(dice_forward, dice_forward_work)

void
SLOT(dice_forward)(size_t B, size_t H, const float *z, const float *zhat, const float *alpha,
	float *y)
{
	const struct dice_forward_work w = {
		.n = B * H, .H = H, .z = { z, B * H }, .zhat = { zhat, B * H },
		.alpha = { alpha, H }, .y = { y, B * H },
	};

	ELEMENT_RUN(dice_forward, w);
}

struct dice_backward_work {
	struct column_grid grid;
	struct view_in z, zhat, alpha, dy;
	struct view dz, dzhat;
};

DEVICE void
dice_backward_at(const struct dice_backward_work *w, size_t b, size_t h, float sum[2])
{
	const size_t i = b * w->grid.H + h;
	const float p = body_sigmoid(AT(w->zhat, i)), z = AT(w->z, i), dy = AT(w->dy, i);
	const float alpha = AT(w->alpha, h);

	AT(w->dz, i) += dy * (p + (1 - p) * alpha);
	AT(w->dzhat, i) = dy * z * (1 - alpha) * p * (1 - p);
	sum[0] += dy * z * (1 - p);
}

COLUMN_BODY(dice_backward, dice_backward_work)

void
SLOT(dice_backward)(size_t B, size_t H, const float *z, const float *zhat, const float *alpha,
	const float *dy, float *dz, float *dzhat, float *dalpha)
{
	const struct dice_backward_work w = {
		.grid = column_grid_of(B, H, SCRATCH(column_partial(H))), .z = { z, B * H },
		.zhat = { zhat, B * H }, .alpha = { alpha, H }, .dy = { dy, B * H },
		.dz = { dz, B * H }, .dzhat = { dzhat, B * H },
	};

	COLUMN_RUN(dice_backward, w);
	column_end(&w.grid, dalpha, NULL, 1);
}

/* --- vectors --------------------------------------------------------------------------- */

/* NaN is not sane either. */
DEVICE int
is_sane(float x)
{
	return fabsf(x) <= 0x1p100f;
}

/* y = factor y + x, x NULL: 0; all that set bad set it to 1, so their order does not matter. */
struct vector_work {
	size_t n;
	struct view y;
	struct view_in x;
	struct view_int bad;
	float factor;
};

DEVICE void
vector_at(const struct vector_work *w, size_t i)
{
	const float x = w->x.p == NULL ? 0 : AT(w->x, i);

	if (w->bad.p != NULL && !is_sane(x))
		AT(w->bad, 0) = 1;
	if (w->y.p != NULL)
		AT(w->y, i) = w->factor * AT(w->y, i) + x;
}

ELEMENT_BODY(vector, vector_work)

static void
vector_run(size_t n, float *y, float factor, const float *x, int *bad)
{
	const struct vector_work w = {
		.n = n, .y = { y, n }, .x = { x, n }, .bad = { bad, 1 }, .factor = factor
	};

	ELEMENT_RUN(vector, w);
}

void
SLOT(add)(size_t n, float *y, const float *x)
{
	vector_run(n, y, 1, x, NULL);
}

void
SLOT(scale)(size_t n, float *y, float factor)
{
	vector_run(n, y, factor, NULL, NULL);
}

void
SLOT(sum_into)(size_t n, float *y, const float *x, int *bad)
{
	vector_run(n, y, 1, x, bad);
}

void
SLOT(finite)(size_t n, const float *x, int *bad)
{
	vector_run(n, NULL, 1, x, bad);
}

struct spoil_work {
	size_t n;
	struct view y;
	struct view_flag bad;
};

DEVICE void
spoil_at(const struct spoil_work *w, size_t i)
{
	if (AT(w->bad, i))
		AT(w->y, i) = NAN;
}

ELEMENT_BODY(spoil, spoil_work)

void
SLOT(spoil)(float *y, const int *bad)
{
	const struct spoil_work w = { .n = 1, .y = { y, 1 }, .bad = { bad, 1 } };

	ELEMENT_RUN(spoil, w);
}

struct fill_work {
	size_t n;
	struct view y;
	float value;
};

DEVICE void
fill_at(const struct fill_work *w, size_t i)
{
	AT(w->y, i) = w->value;
}

ELEMENT_BODY(fill, fill_work)

void
SLOT(fill)(size_t n, float *y, float value)
{
	const struct fill_work w = { .n = n, .y = { y, n }, .value = value };

	ELEMENT_RUN(fill, w);
}

struct rows_work {
	size_t n, width, ldx, ldy;
	int is_added;
	struct view_in x;
	struct view y;
};

DEVICE void
rows_at(const struct rows_work *w, size_t i)
{
	const size_t b = body_div(i, w->width), k = body_mod(i, w->width);
	const float before = w->is_added ? AT(w->y, b * w->ldy + k) : 0;

	AT(w->y, b * w->ldy + k) = before + AT(w->x, b * w->ldx + k);
}

ELEMENT_BODY(rows, rows_work)

static void
rows_run(size_t B, size_t n, struct rows_work w)
{
	w.n = B * n;
	w.width = n;
	w.x.n = body_extent(B, w.ldx, n);
	w.y.n = body_extent(B, w.ldy, n);
	ELEMENT_RUN(rows, w);
}

void
SLOT(copy_rows)(size_t B, size_t n, const float *x, size_t ldx, float *y, size_t ldy)
{
	const struct rows_work w = { .ldx = ldx, .ldy = ldy, .x = { x, 0 }, .y = { y, 0 } };

	rows_run(B, n, w);
}

void
SLOT(add_rows)(size_t B, size_t n, const float *x, size_t ldx, float *y, size_t ldy)
{
	const struct rows_work w = {
		.ldx = ldx, .ldy = ldy, .is_added = 1, .x = { x, 0 }, .y = { y, 0 }
	};

	rows_run(B, n, w);
}

/* A column of n rows. */
struct dot_work {
	struct column_grid grid;
	struct view_in a, b;
	float scale;
};

DEVICE void
dot_at(const struct dot_work *w, size_t i, size_t h, float sum[2])
{
	(void)h;
	sum[0] += w->scale * AT(w->a, i) * (w->b.p == NULL ? 1 : AT(w->b, i));
}

COLUMN_BODY(dot, dot_work)

void
SLOT(dot)(size_t n, const float *a, const float *b, float scale, float *y)
{
	const struct dot_work w = {
		.grid = column_grid_of(n, 1, SCRATCH(column_partial(1))), .a = { a, n },
		.b = { b, n }, .scale = scale,
	};

	COLUMN_RUN(dot, w);
	column_end(&w.grid, y, NULL, 0);
}

#endif
