/*
 * Kernels for the GPU: bags of embedding rows, numeric fields, FM.
 *
 * Bytes moved by design, beside the least that any way of it moves, from memory that does not
 * stay in the cache; all are bound by memory.  N occurrences; rows
 * are read where they are, in sectors of 32 bytes: below D = 8 more is moved than used.
 *                           moves                 least
 *   bag_scale               8 N + 4 B             8 N + 4 B         weights again from the cache
 *   bag_forward             (4 D + 12) N + 4 B D  the same          12: pointer and scale
 *   bag_max_forward         (4 D + 12) N + 4 B D  the same          rows again from the cache
 *   bag_max_backward        (8 D + 12) N + 4 B D  the same          writes all of grad
 *   bag_linear_forward      44 N + 8 B            16 N + 8 B        a sector for 4 bytes
 *   bag_pairs_forward       (4 D + 12) N + 4 B D  the same
 *   bag_pairs_backward      (8 D + 12) N + 12 B D the same
 *   bag_add                 8 N D + 4 B D         the same
 *   numeric_forward         4 B K D + 5 B K       the same          v, u from the cache
 *   numeric_backward        4 B K D + 5 B K       the same          both sums in one pass
 *   numeric_linear_forward  5 B K + 8 B           the same
 *   numeric_linear_backward 5 B K + 4 B           the same          dy from the cache
 *   fm2_forward             4 B F D + 4 B D       the same          sum and squares in one pass
 *   fm2_backward            12 B F D + 4 B D      the same          adds to dx
 */
#ifndef KERNEL_CUDA_EMBED_BODY_H
#define KERNEL_CUDA_EMBED_BODY_H

#include "kernel/cuda/cuda_body.h"

/* --- bags ------------------------------------------------------------------------------ */

/* Occurrences of a bag; N is known on the GPU only, so views by occurrence end where the
 * last bag does. */
struct bag_range { size_t begin, end; };

struct bag_work {
	size_t n, B, D, ldy, lddy, lddx;   /* n: threads with something to do                */
	struct row_grid grid;
	struct view_rows row;
	struct view_u32 offset;
	struct view_in scale, dy;
	struct view y, dx, grad;
};

DEVICE struct bag_range
bag_range_of(struct view_u32 offset, size_t b)
{
	struct bag_range r = { b, b + 1 };

	if (offset.p != NULL) {
		r.begin = AT(offset, b) - AT(offset, 0);
		r.end = AT(offset, b + 1) - AT(offset, 0);
	}
	return r;
}

DEVICE float
bag_term(const struct bag_work *w, size_t i, size_t d)
{
	const struct view_in row = { AT(w->row, i), w->D };

	return AT(row, d) * (w->scale.p == NULL ? 1 : AT(w->scale, i));
}

static inline struct bag_work
bag_work_of(const struct bag_args *a, size_t columns)
{
	const size_t N = body_occurrences(a->B, a->offset);
	const struct bag_work w = {
		.n = a->B * columns, .B = a->B, .D = a->D, .ldy = a->ldy,
		.grid = row_grid_of(a->B, a->D), .row = { a->row, N },
		.offset = { a->offset, a->B + 1 }, .scale = { a->scale, N },
		.y = { a->y, body_extent(a->B, a->ldy, a->D) },
	};

	return w;
}

/* A thread for each of `columns` of each bag. */
#define BAG_SLOT(name, columns) \
	ELEMENT_BODY(name, bag_work) \
	void \
	SLOT(name)(const struct bag_args *a) \
	{ \
		const struct bag_work w = bag_work_of(a, columns); \
		ELEMENT_RUN(name, w); \
	}

struct bag_scale_work {
	size_t n;
	struct view_u32 offset;
	struct view_in weight;
	struct view scale;
	int combiner;
};

DEVICE void
bag_scale_at(const struct bag_scale_work *w, size_t b)
{
	const struct bag_range r = bag_range_of(w->offset, b);
	float sum = 0, squares = 0, factor = 1;

	for (size_t i = r.begin; i < r.end; i++) {
		const float weight = w->weight.p == NULL ? 1 : AT(w->weight, i);
		sum += weight;
		squares += weight * weight;
	}
	if (w->combiner == KERNEL_MEAN || w->combiner == KERNEL_LAST)
		factor = sum == 0 ? 0 : 1 / sum;
	else if (w->combiner == KERNEL_SQRTN)
		factor = squares == 0 ? 0 : 1 / sqrtf(squares);
	for (size_t i = r.begin; i < r.end; i++)
		AT(w->scale, i) = factor * (w->weight.p == NULL ? 1 : AT(w->weight, i));
}

ELEMENT_BODY(bag_scale, bag_scale_work)

void
SLOT(bag_scale)(size_t B, const uint32_t *offset, const float *weight, int combiner, float *scale)
{
	const size_t N = body_occurrences(B, offset);
	const struct bag_scale_work w = {
		.n = B, .offset = { offset, B + 1 }, .weight = { weight, N },
		.scale = { scale, N }, .combiner = combiner,
	};

	ELEMENT_RUN(bag_scale, w);
}

DEVICE void
bag_forward_at(const struct bag_work *w, size_t i)
{
	const size_t b = body_div(i, w->D), d = body_mod(i, w->D);
	const struct bag_range r = bag_range_of(w->offset, b);
	float sum = 0;

	for (size_t k = r.begin; k < r.end; k++)
		sum += bag_term(w, k, d);
	AT(w->y, b * w->ldy + d) = sum;
}

BAG_SLOT(bag_forward, a->D)

/* The first occurrence of the bag that has the largest value in column d. */
DEVICE size_t
bag_argmax(const struct bag_work *w, struct bag_range r, size_t d)
{
	size_t best = r.begin;

	for (size_t i = r.begin + 1; i < r.end; i++)
		if (bag_term(w, i, d) > bag_term(w, best, d))
			best = i;
	return best;
}

DEVICE void
bag_max_forward_at(const struct bag_work *w, size_t i)
{
	const size_t b = body_div(i, w->D), d = body_mod(i, w->D);
	const struct bag_range r = bag_range_of(w->offset, b);

	AT(w->y, b * w->ldy + d) = r.begin == r.end ? 0 : bag_term(w, bag_argmax(w, r, d), d);
}

BAG_SLOT(bag_max_forward, a->D)

DEVICE void
bag_max_backward_at(const struct bag_work *w, size_t i)
{
	const size_t b = body_div(i, w->D), d = body_mod(i, w->D);
	const struct bag_range r = bag_range_of(w->offset, b);
	const size_t best = bag_argmax(w, r, d);

	for (size_t k = r.begin; k < r.end; k++)
		AT(w->grad, k * w->D + d) = k == best ? AT(w->dy, b * w->lddy + d) : 0;
}

ELEMENT_BODY(bag_max_backward, bag_work)

static inline struct bag_work
bag_backward_of(const struct bag_args *a, const float *dy, size_t n_dy, float *grad)
{
	struct bag_work w = bag_work_of(a, a->D);

	w.dy = body_in(dy, n_dy);
	w.grad = body_out(grad, body_occurrences(a->B, a->offset) * a->D);
	return w;
}

void
SLOT(bag_max_backward)(const struct bag_args *a, const float *dy, size_t lddy, float *grad)
{
	struct bag_work w = bag_backward_of(a, dy, body_extent(a->B, lddy, a->D), grad);

	w.lddy = lddy;
	ELEMENT_RUN(bag_max_backward, w);
}

DEVICE void
bag_linear_forward_at(const struct bag_work *w, size_t b)
{
	const struct bag_range r = bag_range_of(w->offset, b);
	float sum = 0;

	for (size_t i = r.begin; i < r.end; i++)
		sum += bag_term(w, i, 0);
	AT(w->y, b * w->ldy) += sum;
}

BAG_SLOT(bag_linear_forward, 1)

/* The sum of the bag comes in as y, the result goes out through dx [B]. */
DEVICE void
bag_pairs_forward_term(const struct bag_work *w, size_t b, size_t d, float sum[2])
{
	const struct bag_range r = bag_range_of(w->offset, b);
	const float x = AT(w->y, b * w->ldy + d);
	float squares = 0;

	for (size_t i = r.begin; i < r.end; i++) {
		const float term = bag_term(w, i, d);
		squares += term * term;
	}
	sum[0] += x * x - squares;
}

DEVICE void
bag_pairs_forward_end(const struct bag_work *w, size_t b, size_t d, const float total[2])
{
	if (d == 0)
		AT(w->dx, b) += 0.5f * total[0];
}

ROW_BODY(bag_pairs_forward, bag_work)

void
SLOT(bag_pairs_forward)(const struct bag_args *a, float *y)
{
	struct bag_work w = bag_work_of(a, a->D);

	w.dx = body_out(y, a->B);
	ROW_RUN(bag_pairs_forward, w);
}

DEVICE void
bag_pairs_backward_at(const struct bag_work *w, size_t i)
{
	const size_t b = body_div(i, w->D), d = body_mod(i, w->D);
	const struct bag_range r = bag_range_of(w->offset, b);
	const float dy = AT(w->dy, b);

	AT(w->dx, b * w->lddx + d) += dy * AT(w->y, b * w->ldy + d);
	for (size_t k = r.begin; k < r.end; k++)
		AT(w->grad, k * w->D + d) = -dy * bag_term(w, k, d);
}

ELEMENT_BODY(bag_pairs_backward, bag_work)

void
SLOT(bag_pairs_backward)(const struct bag_args *a, const float *dy, float *dx, size_t lddx,
	float *grad)
{
	struct bag_work w = bag_backward_of(a, dy, a->B, grad);

	w.dx = body_out(dx, body_extent(a->B, lddx, a->D));
	w.lddx = lddx;
	ELEMENT_RUN(bag_pairs_backward, w);
}

DEVICE void
bag_add_at(const struct bag_work *w, size_t i)
{
	const size_t b = body_div(i, w->D), d = body_mod(i, w->D);
	const struct bag_range r = bag_range_of(w->offset, b);

	for (size_t k = r.begin; k < r.end; k++)
		AT(w->grad, k * w->D + d) += AT(w->dy, b * w->lddy + d);
}

ELEMENT_BODY(bag_add, bag_work)

void
SLOT(bag_add)(const struct bag_args *a, const float *dy, size_t lddy, float *grad)
{
	struct bag_work w = bag_backward_of(a, dy, body_extent(a->B, lddy, a->D), grad);

	w.lddy = lddy;
	ELEMENT_RUN(bag_add, w);
}

/* --- numeric fields -------------------------------------------------------------------- */

struct numeric_work {
	size_t n, K, D, ldx, ldy;
	struct row_grid grid;
	struct view_in x, v, u, dy;
	struct view_u8 missing;
	struct view y;
};

static inline struct numeric_work
numeric_work_of(const struct numeric_args *a, size_t ldy)
{
	const size_t n_x = body_extent(a->B, a->ldx, a->K);
	const struct numeric_work w = {
		.n = a->B * a->K * a->D, .K = a->K, .D = a->D, .ldx = a->ldx, .ldy = ldy,
		.grid = row_grid_of(a->B, a->K), .x = { a->x, n_x },
		.missing = { a->missing, n_x },
	};

	return w;
}

DEVICE int
numeric_missing(struct view_u8 missing, size_t i)
{
	return missing.p != NULL && AT(missing, i) != 0;
}

DEVICE void
numeric_forward_at(const struct numeric_work *w, size_t i)
{
	const size_t width = w->K * w->D, b = body_div(i, width);
	const size_t column = body_mod(i, width);
	const size_t at = b * w->ldx + body_div(column, w->D);

	AT(w->y, b * w->ldy + column) = numeric_missing(w->missing, at) ? AT(w->u, column)
		: AT(w->x, at) * AT(w->v, column);
}

ELEMENT_BODY(numeric_forward, numeric_work)

void
SLOT(numeric_forward)(const struct numeric_args *a, const float *v, const float *u, float *y,
	size_t ldy)
{
	struct numeric_work w = numeric_work_of(a, ldy);

	w.v = body_in(v, a->K * a->D);
	w.u = body_in(u, a->K * a->D);
	w.y = body_out(y, body_extent(a->B, ldy, a->K * a->D));
	ELEMENT_RUN(numeric_forward, w);
}

/* Sums of columns: of dy x, and of dy where x is missing. */
struct numeric_backward_work {
	struct column_grid grid;
	size_t D, ldx, lddy;
	int is_linear;                     /* dy is [B]: all columns have the same           */
	struct view_in x, dy;
	struct view_u8 missing;
};

DEVICE void
numeric_backward_at(const struct numeric_backward_work *w, size_t b, size_t h, float sum[2])
{
	const size_t at = b * w->ldx + body_div(h, w->D);
	const float dy = AT(w->dy, b * w->lddy + (w->is_linear ? 0 : h));

	if (numeric_missing(w->missing, at))
		sum[1] += dy;
	else
		sum[0] += dy * AT(w->x, at);
}

COLUMN_BODY(numeric_backward, numeric_backward_work)

static void
numeric_backward_run(const struct numeric_args *a, int is_linear, const float *dy, size_t lddy,
	float *dv, float *du)
{
	const size_t D = is_linear ? 1 : a->D, H = a->K * D;
	const struct numeric_work of = numeric_work_of(a, 0);
	const struct numeric_backward_work w = {
		.grid = column_grid_of(a->B, H, SCRATCH(column_partial(H))), .D = D,
		.ldx = a->ldx, .lddy = lddy, .is_linear = is_linear, .x = of.x,
		.dy = { dy, body_extent(a->B, lddy, is_linear ? 1 : H) },
		.missing = of.missing,
	};

	COLUMN_RUN(numeric_backward, w);
	column_end(&w.grid, dv, du, 1);
}

void
SLOT(numeric_backward)(const struct numeric_args *a, const float *dy, size_t lddy, float *dv,
	float *du)
{
	numeric_backward_run(a, 0, dy, lddy, dv, du);
}

DEVICE void
numeric_linear_forward_term(const struct numeric_work *w, size_t b, size_t k, float sum[2])
{
	const size_t at = b * w->ldx + k;

	sum[0] += numeric_missing(w->missing, at) ? AT(w->u, k) : AT(w->x, at) * AT(w->v, k);
}

DEVICE void
numeric_linear_forward_end(const struct numeric_work *w, size_t b, size_t k, const float total[2])
{
	if (k == 0)
		AT(w->y, b) += total[0];
}

ROW_BODY(numeric_linear_forward, numeric_work)

void
SLOT(numeric_linear_forward)(const struct numeric_args *a, const float *v, const float *u,
	float *y)
{
	struct numeric_work w = numeric_work_of(a, 1);

	w.v = body_in(v, a->K);
	w.u = body_in(u, a->K);
	w.y = body_out(y, a->B);
	ROW_RUN(numeric_linear_forward, w);
}

void
SLOT(numeric_linear_backward)(const struct numeric_args *a, const float *dy, float *dw, float *du)
{
	numeric_backward_run(a, 1, dy, 1, dw, du);
}

/* --- FM -------------------------------------------------------------------------------- */

struct fm2_forward_work {
	struct row_grid grid;
	size_t F, D, ldx;
	struct view_in x;
	struct view s, y;
};

DEVICE void
fm2_forward_term(const struct fm2_forward_work *w, size_t b, size_t d, float sum[2])
{
	float s = 0, squares = 0;

	for (size_t f = 0; f < w->F; f++) {
		const float x = AT(w->x, b * w->ldx + f * w->D + d);
		s += x;
		squares += x * x;
	}
	AT(w->s, b * w->D + d) = s;
	sum[0] += s * s - squares;
}

DEVICE void
fm2_forward_end(const struct fm2_forward_work *w, size_t b, size_t d, const float total[2])
{
	if (d == 0)
		AT(w->y, b) = 0.5f * total[0];
}

ROW_BODY(fm2_forward, fm2_forward_work)

void
SLOT(fm2_forward)(size_t B, size_t F, size_t D, const float *x, size_t ldx, float *s, float *y)
{
	const struct fm2_forward_work w = {
		.grid = row_grid_of(B, D), .F = F, .D = D, .ldx = ldx,
		.x = { x, body_extent(B, ldx, F * D) }, .s = { s, B * D }, .y = { y, B },
	};

	ROW_RUN(fm2_forward, w);
}

struct fm2_backward_work {
	size_t n, F, D, ldx, lddx;
	struct view_in x, s, dy;
	struct view dx;
};

DEVICE void
fm2_backward_at(const struct fm2_backward_work *w, size_t i)
{
	const size_t width = w->F * w->D, b = body_div(i, width);
	const size_t column = body_mod(i, width);

	AT(w->dx, b * w->lddx + column) += AT(w->dy, b)
		* (AT(w->s, b * w->D + body_mod(column, w->D)) - AT(w->x, b * w->ldx + column));
}

ELEMENT_BODY(fm2_backward, fm2_backward_work)

void
SLOT(fm2_backward)(size_t B, size_t F, size_t D, const float *x, size_t ldx, const float *s,
	const float *dy, float *dx, size_t lddx)
{
	const struct fm2_backward_work w = {
		.n = B * F * D, .F = F, .D = D, .ldx = ldx, .lddx = lddx,
		.x = { x, body_extent(B, ldx, F * D) }, .s = { s, B * D }, .dy = { dy, B },
		.dx = { dx, body_extent(B, lddx, F * D) },
	};

	ELEMENT_RUN(fm2_backward, w);
}

#endif
