/* Vector kernels: embedding rows, numeric fields, FM.  Columns go in blocks of LANES. */
#include <stddef.h>

#include "kernel/cpu/cpu_table.h"
#include "kernel/ref/ref.h"

enum { LANES = 16, ROWS_AHEAD = 16 };

#define INLINE static inline __attribute__((always_inline))

INLINE void
copy_scaled(size_t D, const float *restrict row, float factor, float *restrict y)
{
#pragma omp simd
	for (size_t d = 0; d < D; d++)
		y[d] = factor * row[d];
}

/* One id a row: a gather.  D is a constant for the usual widths. */
INLINE void
gather(const struct bag_args *a, size_t D)
{
	for (size_t b = 0; b < a->B; b++) {
		if (b + ROWS_AHEAD < a->B)
			__builtin_prefetch(a->row[b + ROWS_AHEAD]);
		copy_scaled(D, a->row[b], a->scale == NULL ? 1 : a->scale[b], a->y + b * a->ldy);
	}
}

static void
pool(const struct bag_args *a)
{
	for (size_t b = 0; b < a->B; b++) {
		const size_t end = a->offset[b + 1] - a->offset[0];
		float *restrict y = a->y + b * a->ldy;
		for (size_t d = 0; d < a->D; d++)
			y[d] = 0;
		for (size_t i = a->offset[b] - a->offset[0]; i < end; i++) {
			const float factor = a->scale == NULL ? 1 : a->scale[i];
			const float *restrict row = a->row[i];
			for (size_t d = 0; d < a->D; d++)
				y[d] += factor * row[d];
		}
	}
}

void
CPU(bag_forward)(const struct bag_args *a)
{
	if (a->offset != NULL)
		pool(a);
	else if (a->D == LANES)
		gather(a, LANES);
	else
		gather(a, a->D);
}

void
CPU(bag_linear_forward)(const struct bag_args *a)
{
	if (a->offset != NULL) {
		bag_linear_forward_ref(a);
		return;
	}
	for (size_t b = 0; b < a->B; b++) {
		if (b + ROWS_AHEAD < a->B)
			__builtin_prefetch(a->row[b + ROWS_AHEAD]);
		a->y[b * a->ldy] += (a->scale == NULL ? 1 : a->scale[b]) * a->row[b][0];
	}
}

void
CPU(numeric_forward)(const struct numeric_args *a, const float *v, const float *u, float *y,
	size_t ldy)
{
	for (size_t b = 0; b < a->B; b++)
		for (size_t k = 0; k < a->K; k++) {
			const int missing = a->missing != NULL && a->missing[b * a->ldx + k];
			const float factor = missing ? 1 : a->x[b * a->ldx + k];
			const float *row = (missing ? u : v) + k * a->D;
			if (a->D == LANES)
				copy_scaled(LANES, row, factor, y + b * ldy + k * LANES);
			else
				copy_scaled(a->D, row, factor, y + b * ldy + k * a->D);
		}
}

INLINE void
add_scaled(size_t D, const float *restrict x, float factor, float *restrict y)
{
#pragma omp simd
	for (size_t d = 0; d < D; d++)
		y[d] += factor * x[d];
}

void
CPU(numeric_backward)(const struct numeric_args *a, const float *dy, size_t lddy, float *dv,
	float *du)
{
	for (size_t b = 0; b < a->B; b++)
		for (size_t k = 0; k < a->K; k++) {
			const int missing = a->missing != NULL && a->missing[b * a->ldx + k];
			const float factor = missing ? 1 : a->x[b * a->ldx + k];
			float *row = (missing ? du : dv) + k * a->D;
			if (a->D == LANES)
				add_scaled(LANES, dy + b * lddy + k * LANES, factor, row);
			else
				add_scaled(a->D, dy + b * lddy + k * a->D, factor, row);
		}
}

void
CPU(numeric_linear_forward)(const struct numeric_args *a, const float *w, const float *u, float *y)
{
	for (size_t b = 0; b < a->B; b++) {
		float sum = 0;
		for (size_t k = 0; k < a->K; k++) {
			const int missing = a->missing != NULL && a->missing[b * a->ldx + k];
			sum += missing ? u[k] : a->x[b * a->ldx + k] * w[k];
		}
		y[b] += sum;
	}
}

void
CPU(numeric_linear_backward)(const struct numeric_args *a, const float *dy, float *dw, float *du)
{
	for (size_t b = 0; b < a->B; b++)
		for (size_t k = 0; k < a->K; k++) {
			const int missing = a->missing != NULL && a->missing[b * a->ldx + k];
			dw[k] += missing ? 0 : dy[b] * a->x[b * a->ldx + k];
			du[k] += missing ? dy[b] : 0;
		}
}

/* n columns of one row of fm2: sums to s, returns sum_d (s^2 - sum of squares). */
INLINE float
fm2_columns(size_t F, size_t D, size_t n, const float *restrict x, float *restrict s)
{
	float sum[LANES] = { 0 }, squares[LANES] = { 0 }, pairs = 0;

	for (size_t f = 0; f < F; f++)
#pragma omp simd
		for (size_t d = 0; d < n; d++) {
			const float value = x[f * D + d];
			sum[d] += value;
			squares[d] += value * value;
		}
#pragma omp simd reduction(+:pairs)
	for (size_t d = 0; d < n; d++) {
		s[d] = sum[d];
		pairs += sum[d] * sum[d] - squares[d];
	}
	return pairs;
}

void
CPU(fm2_forward)(size_t B, size_t F, size_t D, const float *x, size_t ldx, float *s, float *y)
{
	for (size_t b = 0; b < B; b++) {
		const float *row = x + b * ldx;
		float pairs = 0;
		size_t d = 0;
		for (; d + LANES <= D; d += LANES)
			pairs += fm2_columns(F, D, LANES, row + d, s + b * D + d);
		if (d < D)
			pairs += fm2_columns(F, D, D - d, row + d, s + b * D + d);
		y[b] = 0.5f * pairs;
	}
}

INLINE void
fm2_columns_backward(size_t F, size_t D, size_t n, const float *restrict x, const float *restrict s,
	float dy, float *restrict dx)
{
	for (size_t f = 0; f < F; f++)
#pragma omp simd
		for (size_t d = 0; d < n; d++)
			dx[f * D + d] += dy * (s[d] - x[f * D + d]);
}

void
CPU(fm2_backward)(size_t B, size_t F, size_t D, const float *x, size_t ldx, const float *s,
	const float *dy, float *dx, size_t lddx)
{
	for (size_t b = 0; b < B; b++) {
		size_t d = 0;
		for (; d + LANES <= D; d += LANES)
			fm2_columns_backward(F, D, LANES, x + b * ldx + d, s + b * D + d, dy[b],
				dx + b * lddx + d);
		if (d < D)
			fm2_columns_backward(F, D, D - d, x + b * ldx + d, s + b * D + d, dy[b],
				dx + b * lddx + d);
	}
}
