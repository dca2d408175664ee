/* Vector kernels: vectors of length 1, products of rows. */
#include <math.h>

#include "kernel/cpu/cpu_table.h"

static inline float
dot(size_t D, const float *a, const float *b)
{
	float sum = 0;

#pragma omp simd reduction(+ : sum)
	for (size_t d = 0; d < D; d++)
		sum += a[d] * b[d];
	return sum;
}

void
CPU(l2_normalize_forward)(size_t B, size_t D, const float *x, float *y, float *inverse)
{
	for (size_t b = 0; b < B; b++) {
		const float squares = dot(D, x + b * D, x + b * D);
		const float factor = squares == 0 ? 0 : 1 / sqrtf(squares);

		inverse[b] = factor;
#pragma omp simd
		for (size_t d = 0; d < D; d++)
			y[b * D + d] = x[b * D + d] * factor;
	}
}

void
CPU(l2_normalize_backward)(size_t B, size_t D, const float *y, const float *inverse,
	const float *dy, float *dx)
{
	for (size_t b = 0; b < B; b++) {
		const float along = dot(D, y + b * D, dy + b * D);

#pragma omp simd
		for (size_t d = 0; d < D; d++)
			dx[b * D + d] += inverse[b] * (dy[b * D + d] - y[b * D + d] * along);
	}
}

void
CPU(dot_rows_forward)(size_t B, size_t D, const float *u, const float *v, float scale, float *y)
{
	for (size_t b = 0; b < B; b++)
		y[b] = scale * dot(D, u + b * D, v + b * D);
}

void
CPU(dot_rows_backward)(size_t B, size_t D, const float *u, const float *v, float scale,
	const float *dy, float *du, float *dv)
{
	for (size_t b = 0; b < B; b++) {
		const float factor = scale * dy[b];

#pragma omp simd
		for (size_t d = 0; d < D; d++) {
			du[b * D + d] += factor * v[b * D + d];
			dv[b * D + d] += factor * u[b * D + d];
		}
	}
}
