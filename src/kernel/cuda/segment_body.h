/*
 * Kernels for the GPU: histories, position by position.
 *
 * Bytes moved by design, beside the least that any way of it moves, from memory that does not
 * stay in the cache; all are bound by memory.  n positions.  A
 * thread has a row and a column and goes through the positions of the row, so that lanes of a
 * warp read neighbours; one row of a long history keeps D threads.
 *                           moves                 least
 *   attention_expand        12 n D + 4 B D        the same
 *   attention_fold          20 n D + 12 B D       the same          dk and dq in one pass
 *   attention_split         28 D H                the same
 *   attention_join          28 D H                the same
 *   segment_add             8 n H + 4 B H         the same
 *   segment_sum             4 n H + 8 B H         the same
 *   segment_softmax_forward 8 n                   8 n               a thread a row: lanes apart,
 *   segment_softmax_backward 16 n                 16 n              lines from the cache
 *   segment_pool_forward    4 n D + 4 B D         the same
 *   segment_pool_backward   12 n D, beta 0: 8 n D the same          da and dk in one pass
 */
#ifndef KERNEL_CUDA_SEGMENT_BODY_H
#define KERNEL_CUDA_SEGMENT_BODY_H

#include "kernel/cuda/cuda_body.h"

struct segment_work {
	size_t n, B, D, begin, end;        /* n: threads with something to do                */
	struct view_u32 offset;
	struct view_in q, k, a, dy, dx;
	struct view x, dk, dq, da, y;
	float beta;
};

struct segment_span { size_t begin, end; };

static inline struct segment_work
segment_work_of(const struct segment_args *s, size_t D, size_t n)
{
	const struct segment_work w = {
		.n = n, .B = s->B, .D = D, .begin = s->begin, .end = s->end,
		.offset = { s->offset, s->B + 1 },
	};

	return w;
}

/* Positions of row b that lie in the block, counted from its beginning. */
DEVICE struct segment_span
segment_span_of(const struct segment_work *w, size_t b)
{
	const size_t first = w->offset.p == NULL ? b : AT(w->offset, b) - AT(w->offset, 0);
	const size_t last = w->offset.p == NULL ? b + 1 : AT(w->offset, b + 1) - AT(w->offset, 0);
	const size_t low = first < w->begin ? w->begin : first;
	const size_t high = last > w->end ? w->end : last;
	const struct segment_span s = { low - w->begin, high > low ? high - w->begin
		: low - w->begin };

	return s;
}

/* The row of position i of the block: the last that does not begin after it. */
DEVICE size_t
segment_row_of(const struct segment_work *w, size_t i)
{
	size_t low = 0, high = w->B;

	if (w->offset.p == NULL)
		return w->begin + i;
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		if (AT(w->offset, middle) - AT(w->offset, 0) <= w->begin + i)
			low = middle;
		else
			high = middle;
	}
	return low;
}

DEVICE void
attention_expand_at(const struct segment_work *w, size_t at)
{
	const size_t b = body_div(at, w->D), d = body_mod(at, w->D);
	const struct segment_span s = segment_span_of(w, b);

	for (size_t i = s.begin; i < s.end; i++) {
		const float k = AT(w->k, i * w->D + d);
		AT(w->x, i * 2 * w->D + d) = k;
		AT(w->x, i * 2 * w->D + w->D + d) = k * AT(w->q, at);
	}
}

ELEMENT_BODY(attention_expand, segment_work)

void
SLOT(attention_expand)(const struct segment_args *s, size_t D, const float *q, const float *k,
	float *x)
{
	struct segment_work w = segment_work_of(s, D, s->B * D);
	const size_t n = s->end - s->begin;

	w.q = body_in(q, s->B * D);
	w.k = body_in(k, n * D);
	w.x = body_out(x, n * 2 * D);
	ELEMENT_RUN(attention_expand, w);
}

DEVICE void
attention_fold_at(const struct segment_work *w, size_t at)
{
	const size_t b = body_div(at, w->D), d = body_mod(at, w->D);
	const struct segment_span s = segment_span_of(w, b);
	const float q = AT(w->q, at);
	float sum = 0;

	for (size_t i = s.begin; i < s.end; i++) {
		const float dproduct = AT(w->dx, i * 2 * w->D + w->D + d);
		AT(w->dk, i * w->D + d) += AT(w->dx, i * 2 * w->D + d) + q * dproduct;
		sum += AT(w->k, i * w->D + d) * dproduct;
	}
	AT(w->dq, at) += sum;
}

ELEMENT_BODY(attention_fold, segment_work)

void
SLOT(attention_fold)(const struct segment_args *s, size_t D, const float *q, const float *k,
	const float *dx, float *dk, float *dq)
{
	struct segment_work w = segment_work_of(s, D, s->B * D);
	const size_t n = s->end - s->begin;

	w.q = body_in(q, s->B * D);
	w.k = body_in(k, n * D);
	w.dx = body_in(dx, n * 2 * D);
	w.dk = body_out(dk, n * D);
	w.dq = body_out(dq, s->B * D);
	ELEMENT_RUN(attention_fold, w);
}

struct attention_weight_work {
	size_t n;
	struct view_in w, du, dv;
	struct view u, v, dw;
};

DEVICE void
attention_split_at(const struct attention_weight_work *w, size_t i)
{
	AT(w->u, i) = AT(w->w, i) + AT(w->w, 2 * w->n + i);
	AT(w->u, w->n + i) = AT(w->w, 3 * w->n + i);
	AT(w->v, i) = AT(w->w, w->n + i) - AT(w->w, 2 * w->n + i);
}

ELEMENT_BODY(attention_split, attention_weight_work)

void
SLOT(attention_split)(size_t n, const float *w, float *u, float *v)
{
	const struct attention_weight_work work = {
		.n = n, .w = { w, 4 * n }, .u = { u, 2 * n }, .v = { v, n }
	};

	ELEMENT_RUN(attention_split, work);
}

DEVICE void
attention_join_at(const struct attention_weight_work *w, size_t i)
{
	const float du = AT(w->du, i), dv = AT(w->dv, i);

	AT(w->dw, i) = du;
	AT(w->dw, w->n + i) = dv;
	AT(w->dw, 2 * w->n + i) = du - dv;
	AT(w->dw, 3 * w->n + i) = AT(w->du, w->n + i);
}

ELEMENT_BODY(attention_join, attention_weight_work)

void
SLOT(attention_join)(size_t n, const float *du, const float *dv, float *dw)
{
	const struct attention_weight_work work = {
		.n = n, .du = { du, 2 * n }, .dv = { dv, n }, .dw = { dw, 4 * n }
	};

	ELEMENT_RUN(attention_join, work);
}

/* q is what is added to all positions of a row; y what they sum up to. */
DEVICE void
segment_add_at(const struct segment_work *w, size_t at)
{
	const size_t d = body_mod(at, w->D);
	const struct segment_span s = segment_span_of(w, body_div(at, w->D));

	for (size_t i = s.begin; i < s.end; i++)
		AT(w->x, i * w->D + d) += AT(w->q, at);
}

ELEMENT_BODY(segment_add, segment_work)

void
SLOT(segment_add)(const struct segment_args *s, size_t H, const float *t, float *z)
{
	struct segment_work w = segment_work_of(s, H, s->B * H);

	w.q = body_in(t, s->B * H);
	w.x = body_out(z, (s->end - s->begin) * H);
	ELEMENT_RUN(segment_add, w);
}

DEVICE void
segment_sum_at(const struct segment_work *w, size_t at)
{
	const size_t d = body_mod(at, w->D);
	const struct segment_span s = segment_span_of(w, body_div(at, w->D));
	float sum = 0;

	for (size_t i = s.begin; i < s.end; i++)
		sum += AT(w->k, i * w->D + d);
	AT(w->y, at) += sum;
}

ELEMENT_BODY(segment_sum, segment_work)

void
SLOT(segment_sum)(const struct segment_args *s, size_t H, const float *z, float *t)
{
	struct segment_work w = segment_work_of(s, H, s->B * H);

	w.k = body_in(z, (s->end - s->begin) * H);
	w.y = body_out(t, s->B * H);
	ELEMENT_RUN(segment_sum, w);
}

/* A thread a row: n floats in all are little beside the keys they weigh. */
DEVICE void
segment_softmax_forward_at(const struct segment_work *w, size_t b)
{
	const struct segment_span s = segment_span_of(w, b);
	float largest = -INFINITY, sum = 0;

	for (size_t i = s.begin; i < s.end; i++)
		largest = AT(w->a, i) > largest ? AT(w->a, i) : largest;
	for (size_t i = s.begin; i < s.end; i++)
		sum += expf(AT(w->a, i) - largest);
	for (size_t i = s.begin; i < s.end; i++)
		AT(w->y, i) = expf(AT(w->a, i) - largest) / sum;
}

ELEMENT_BODY(segment_softmax_forward, segment_work)

void
SLOT(segment_softmax_forward)(const struct segment_args *s, const float *a, float *y)
{
	struct segment_work w = segment_work_of(s, 1, s->B);

	w.a = body_in(a, s->end - s->begin);
	w.y = body_out(y, s->end - s->begin);
	ELEMENT_RUN(segment_softmax_forward, w);
}

/* a is the output of the forward pass. */
DEVICE void
segment_softmax_backward_at(const struct segment_work *w, size_t b)
{
	const struct segment_span s = segment_span_of(w, b);
	float sum = 0;

	for (size_t i = s.begin; i < s.end; i++)
		sum += AT(w->a, i) * AT(w->dy, i);
	for (size_t i = s.begin; i < s.end; i++)
		AT(w->da, i) += AT(w->a, i) * (AT(w->dy, i) - sum);
}

ELEMENT_BODY(segment_softmax_backward, segment_work)

void
SLOT(segment_softmax_backward)(const struct segment_args *s, const float *y, const float *dy,
	float *da)
{
	struct segment_work w = segment_work_of(s, 1, s->B);
	const size_t n = s->end - s->begin;

	w.a = body_in(y, n);
	w.dy = body_in(dy, n);
	w.da = body_out(da, n);
	ELEMENT_RUN(segment_softmax_backward, w);
}

DEVICE void
segment_pool_forward_at(const struct segment_work *w, size_t at)
{
	const size_t d = body_mod(at, w->D);
	const struct segment_span s = segment_span_of(w, body_div(at, w->D));
	float sum = 0;

	for (size_t i = s.begin; i < s.end; i++)
		sum += AT(w->a, i) * AT(w->k, i * w->D + d);
	AT(w->y, at) = sum;
}

ELEMENT_BODY(segment_pool_forward, segment_work)

void
SLOT(segment_pool_forward)(const struct segment_args *s, size_t D, const float *a, const float *k,
	float *y)
{
	struct segment_work w = segment_work_of(s, D, s->B * D);
	const size_t n = s->end - s->begin;

	w.a = body_in(a, n);
	w.k = body_in(k, n * D);
	w.y = body_out(y, s->B * D);
	ELEMENT_RUN(segment_pool_forward, w);
}

/* Lanes over the columns of a position, which a binary search finds its row for. */
struct segment_pool_backward_work {
	struct row_grid grid;
	struct segment_work of;
};

DEVICE void
segment_pool_backward_term(const struct segment_pool_backward_work *w, size_t i, size_t d,
	float sum[2])
{
	const size_t D = w->of.D, b = segment_row_of(&w->of, i);
	const float dy = AT(w->of.dy, b * D + d), a = AT(w->of.a, i);
	const float before = w->of.beta == 0 ? 0 : w->of.beta * AT(w->of.dk, i * D + d);

	sum[0] += dy * AT(w->of.k, i * D + d);
	AT(w->of.dk, i * D + d) = before + a * dy;
}

DEVICE void
segment_pool_backward_end(const struct segment_pool_backward_work *w, size_t i, size_t d,
	const float total[2])
{
	if (d == 0)
		AT(w->of.da, i) += total[0];
}

ROW_BODY(segment_pool_backward, segment_pool_backward_work)

void
SLOT(segment_pool_backward)(const struct segment_args *s, size_t D, const float *a,
	const float *k, const float *dy, float beta, float *da, float *dk)
{
	const size_t n = s->end - s->begin;
	struct segment_pool_backward_work w = {
		.grid = row_grid_of(n, D), .of = segment_work_of(s, D, n)
	};

	w.of.a = body_in(a, n);
	w.of.k = body_in(k, n * D);
	w.of.dy = body_in(dy, s->B * D);
	w.of.da = body_out(da, n);
	w.of.dk = body_out(dk, n * D);
	w.of.beta = beta;
	ROW_RUN(segment_pool_backward, w);
}

#endif
