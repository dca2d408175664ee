/* Vector kernels: vectors of length 1, products of rows, softmax. */
#include <math.h>

#include "kernel/cpu/cpu_exp.h"
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

static inline float
largest(size_t n, const float *s, float max)
{
#pragma omp simd reduction(max : max)
	for (size_t j = 0; j < n; j++)
		max = s[j] > max ? s[j] : max;
	return max;
}

/* What is e^87 times less than the largest is 0: no gradient comes near the range
 * where arithmetic is slow. */
void
CPU(softmax_row)(size_t n, float *s, const float *bias, float *max, float *sum)
{
	float total = 0, top;

	if (bias != NULL)
#pragma omp simd
		for (size_t j = 0; j < n; j++)
			s[j] += bias[j];
	top = largest(n, s, *max);
#pragma omp simd reduction(+ : total)
	for (size_t j = 0; j < n; j++) {
		const float below = s[j] - top;
		const float e = below < -87.0f ? 0.0f : exp_negative(below);

		s[j] = e;
		total += e;
	}
	*max = top;
	*sum = total;
}

void
CPU(pick_forward)(size_t n, size_t D, const float *u, const float *v, const uint32_t *index,
	float scale, float *z)
{
	for (size_t k = 0; k < n; k++)
		z[k] = scale * dot(D, u, v + index[k] * D);
}

void
CPU(pick_backward)(size_t n, size_t D, const float *u, const float *v, const uint32_t *index,
	float scale, const float *dz, float *du, float *dv)
{
	for (size_t k = 0; k < n; k++) {
		const float factor = scale * dz[k], *row = v + index[k] * D;
		float *to = dv + index[k] * D;

		if (factor == 0)
			continue;
#pragma omp simd
		for (size_t d = 0; d < D; d++) {
			du[d] += factor * row[d];
			to[d] += factor * u[d];
		}
	}
}
