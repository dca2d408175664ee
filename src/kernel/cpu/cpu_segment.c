/* Vector kernels: histories.  A call walks its positions once, row after row. */
#include <stddef.h>

#include "kernel/cpu/cpu_table.h"

enum { LANES = 16 };

#define INLINE static inline __attribute__((always_inline))

/* A walk over the rows that have positions in [begin,end). */
struct walk {
	size_t b, begin, end;       /* the row at hand: its positions from s->begin   */
	size_t at;                  /* positions done                                 */
};

/* The row that position s->begin is in. */
static size_t
first_row(const struct segment_args *s)
{
	size_t low = 0, high = s->B;

	if (s->offset == NULL)
		return s->begin;
	while (low + 1 < high) {
		const size_t middle = low + (high - low) / 2;
		if (s->offset[middle] - s->offset[0] <= s->begin)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct walk
walk_begin(const struct segment_args *s)
{
	return (struct walk){ .b = first_row(s) };
}

/* 0 when all positions were met. */
INLINE int
walk_next(const struct segment_args *s, struct walk *w)
{
	const size_t n = s->end - s->begin;

	if (w->at >= n)
		return 0;
	for (;; w->b++) {
		const size_t last = s->offset == NULL ? w->b + 1 :
							s->offset[w->b + 1] - s->offset[0];
		if (last <= s->begin + w->at)
			continue;
		w->begin = w->at;
		w->end = last - s->begin < n ? last - s->begin : n;
		w->at = w->end;
		return 1;
	}
}

/* D is a constant for the usual widths. */
INLINE void
expand(const struct segment_args *s, size_t D, const float *q, const float *restrict k,
	float *restrict x)
{
	struct walk w = walk_begin(s);

	for (; walk_next(s, &w); w.b++)
		for (size_t i = w.begin; i < w.end; i++)
#pragma omp simd
			for (size_t d = 0; d < D; d++) {
				x[i * 2 * D + d] = k[i * D + d];
				x[i * 2 * D + D + d] = k[i * D + d] * q[w.b * D + d];
			}
}

void
CPU(attention_expand)(const struct segment_args *s, size_t D, const float *q, const float *k,
	float *x)
{
	if (D == LANES)
		expand(s, LANES, q, k, x);
	else if (D == 2 * LANES)
		expand(s, 2 * LANES, q, k, x);
	else
		expand(s, D, q, k, x);
}

/* Columns [from, from+n), n <= LANES, of one row's positions. */
INLINE void
fold_columns(const struct walk *w, size_t D, size_t n, const float *restrict q,
	const float *restrict k, const float *restrict dx, float *restrict dk, float *restrict dq)
{
	float sum[LANES] = { 0 };

	for (size_t i = w->begin; i < w->end; i++)
#pragma omp simd
		for (size_t d = 0; d < n; d++) {
			const float dproduct = dx[i * 2 * D + D + d];
			dk[i * D + d] += dx[i * 2 * D + d] + q[d] * dproduct;
			sum[d] += k[i * D + d] * dproduct;
		}
	for (size_t d = 0; d < n; d++)
		dq[d] += sum[d];
}

void
CPU(attention_fold)(const struct segment_args *s, size_t D, const float *q, const float *k,
	const float *dx, float *dk, float *dq)
{
	struct walk w = walk_begin(s);

	for (; walk_next(s, &w); w.b++) {
		const size_t row = w.b * D;
		size_t d = 0;
		for (; d + LANES <= D; d += LANES)
			fold_columns(&w, D, LANES, q + row + d, k + d, dx + d, dk + d,
				dq + row + d);
		if (d < D)
			fold_columns(&w, D, D - d, q + row + d, k + d, dx + d, dk + d,
				dq + row + d);
	}
}

void
CPU(segment_add)(const struct segment_args *s, size_t H, const float *restrict t,
	float *restrict z)
{
	struct walk w = walk_begin(s);

	for (; walk_next(s, &w); w.b++)
		for (size_t i = w.begin; i < w.end; i++)
			for (size_t h = 0; h < H; h++)
				z[i * H + h] += t[w.b * H + h];
}

void
CPU(segment_sum)(const struct segment_args *s, size_t H, const float *restrict z,
	float *restrict t)
{
	struct walk w = walk_begin(s);

	for (; walk_next(s, &w); w.b++)
		for (size_t i = w.begin; i < w.end; i++)
			for (size_t h = 0; h < H; h++)
				t[w.b * H + h] += z[i * H + h];
}

INLINE void
pool_columns(const struct walk *w, size_t D, size_t n, const float *restrict a,
	const float *restrict k, float *restrict y)
{
	float sum[LANES] = { 0 };

	for (size_t i = w->begin; i < w->end; i++)
#pragma omp simd
		for (size_t d = 0; d < n; d++)
			sum[d] += a[i] * k[i * D + d];
	for (size_t d = 0; d < n; d++)
		y[d] = sum[d];
}

void
CPU(segment_pool_forward)(const struct segment_args *s, size_t D, const float *a, const float *k,
	float *y)
{
	struct walk w = walk_begin(s);

	for (size_t i = 0; i < s->B * D; i++)
		y[i] = 0;
	for (; walk_next(s, &w); w.b++) {
		size_t d = 0;
		for (; d + LANES <= D; d += LANES)
			pool_columns(&w, D, LANES, a, k + d, y + w.b * D + d);
		if (d < D)
			pool_columns(&w, D, D - d, a, k + d, y + w.b * D + d);
	}
}

INLINE void
pool_backward(const struct segment_args *s, size_t D, const float *restrict a,
	const float *restrict k, const float *restrict dy, float beta, float *restrict da,
	float *restrict dk)
{
	struct walk w = walk_begin(s);

	for (; walk_next(s, &w); w.b++)
		for (size_t i = w.begin; i < w.end; i++) {
			const float *row = dy + w.b * D;
			float sum = 0;
#pragma omp simd reduction(+:sum)
			for (size_t d = 0; d < D; d++)
				sum += row[d] * k[i * D + d];
			da[i] += sum;
			if (beta == 0)
#pragma omp simd
				for (size_t d = 0; d < D; d++)
					dk[i * D + d] = a[i] * row[d];
			else
#pragma omp simd
				for (size_t d = 0; d < D; d++)
					dk[i * D + d] = beta * dk[i * D + d] + a[i] * row[d];
		}
}

void
CPU(segment_pool_backward)(const struct segment_args *s, size_t D, const float *a, const float *k,
	const float *dy, float beta, float *da, float *dk)
{
	if (D == 2 * LANES)
		pool_backward(s, 2 * LANES, a, k, dy, beta, da, dk);
	else
		pool_backward(s, D, a, k, dy, beta, da, dk);
}
