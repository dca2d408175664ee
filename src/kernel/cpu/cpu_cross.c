/* Vector kernels: cross layers and pairwise dots. */
#include "kernel/cpu/cpu_table.h"

static inline float
dot(size_t n, const float *restrict a, const float *restrict b)
{
	float sum = 0;

#pragma omp simd reduction(+:sum)
	for (size_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

void
CPU(cross_v1_forward)(size_t B, size_t H, const float *x0, const float *x, const float *restrict w,
	const float *restrict bias, float *restrict s, float *restrict y)
{
	for (size_t b = 0; b < B; b++, x0 += H, x += H, y += H) {
		const float factor = s[b] = dot(H, x, w);
		for (size_t h = 0; h < H; h++)
			y[h] = x0[h] * factor + (bias[h] + x[h]);
	}
}

/* dx and dx0 of one row in one buffer, and in two. */
static inline void
v1_inputs_backward(size_t H, const float *dy, const float *w, float s, float ds, float *dx0,
	float *dx)
{
	if (dx == dx0) {
		for (size_t h = 0; h < H; h++)
			dx[h] += dy[h] * (s + 1) + ds * w[h];
		return;
	}
#pragma omp simd
	for (size_t h = 0; h < H; h++) {
		dx0[h] += dy[h] * s;
		dx[h] += dy[h] + ds * w[h];
	}
}

void
CPU(cross_v1_backward)(size_t B, size_t H, const float *x0, const float *x, const float *w,
	const float *s, const float *dy, float *dx0, float *dx, float *restrict dw,
	float *restrict dbias)
{
	for (size_t b = 0; b < B; b++, x0 += H, x += H, dy += H, dx0 += H, dx += H) {
		const float ds = dot(H, dy, x0);
		v1_inputs_backward(H, dy, w, s[b], ds, dx0, dx);
		for (size_t h = 0; h < H; h++) {
			dw[h] += ds * x[h];
			dbias[h] += dy[h];
		}
	}
}

void
CPU(cross_v2_forward)(size_t B, size_t H, const float *x0, const float *x, const float *z,
	const float *restrict bias, float *restrict y)
{
	for (size_t b = 0; b < B; b++, x0 += H, x += H, z += H, y += H)
		for (size_t h = 0; h < H; h++)
			y[h] = x0[h] * (z[h] + bias[h]) + x[h];
}

/* One row; dx NULL: it is dx0. */
static inline __attribute__((always_inline)) void
v2_row_backward(size_t H, const float *x0, const float *z, const float *bias, const float *dy,
	float *dz, float *dx0, float *dx, float *dbias)
{
#pragma omp simd
	for (size_t h = 0; h < H; h++) {
		const float g = dy[h], product = g * x0[h];
		dz[h] = product;
		dbias[h] += product;
		if (dx == NULL) {
			dx0[h] += g * (z[h] + bias[h]) + g;
		} else {
			dx0[h] += g * (z[h] + bias[h]);
			dx[h] += g;
		}
	}
}

void
CPU(cross_v2_backward)(size_t B, size_t H, const float *x0, const float *z, const float *bias,
	const float *dy, float *dz, float *dx0, float *dx, float *dbias)
{
	for (size_t b = 0; b < B; b++) {
		const size_t i = b * H;
		if (dx == dx0)
			v2_row_backward(H, x0 + i, z + i, bias, dy + i, dz + i, dx0 + i, NULL,
				dbias);
		else
			v2_row_backward(H, x0 + i, z + i, bias, dy + i, dz + i, dx0 + i, dx + i,
				dbias);
	}
}

void
CPU(dots_forward)(size_t B, size_t F, size_t D, const float *x, float *y)
{
	for (size_t b = 0; b < B; b++, x += F * D)
		for (size_t i = 1; i < F; i++)
			for (size_t j = 0; j < i; j++)
				*y++ = dot(D, x + i * D, x + j * D);
}

void
CPU(dots_backward)(size_t B, size_t F, size_t D, const float *x, const float *dy, float *dx)
{
	for (size_t b = 0; b < B; b++, x += F * D, dx += F * D)
		for (size_t i = 1; i < F; i++)
			for (size_t j = 0; j < i; j++, dy++) {
				const float g = *dy, *xi = x + i * D, *xj = x + j * D;
				float *dxi = dx + i * D, *dxj = dx + j * D;
#pragma omp simd
				for (size_t d = 0; d < D; d++) {
					dxi[d] += g * xj[d];
					dxj[d] += g * xi[d];
				}
			}
}
