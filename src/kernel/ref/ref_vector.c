/* Reference kernels: vectors of length 1, products of rows, softmax. */
#include <math.h>
#include <stddef.h>

#include "kernel/ref/ref.h"

/* y = x / |x| */
void
l2_normalize_forward_ref(size_t B, size_t D, const float *x, float *y, float *inverse)
{
	for (size_t b = 0; b < B; b++) {
		double squares = 0;
		for (size_t d = 0; d < D; d++)
			squares += (double)x[b * D + d] * x[b * D + d];
		const double factor = squares == 0 ? 0 : 1 / sqrt(squares);
		inverse[b] = factor;
		for (size_t d = 0; d < D; d++)
			y[b * D + d] = x[b * D + d] * factor;
	}
}

/* d y / d x = (1 - y y') / |x| */
void
l2_normalize_backward_ref(size_t B, size_t D, const float *y, const float *inverse,
	const float *dy, float *dx)
{
	for (size_t b = 0; b < B; b++) {
		double along = 0;
		for (size_t d = 0; d < D; d++)
			along += (double)y[b * D + d] * dy[b * D + d];
		for (size_t d = 0; d < D; d++)
			dx[b * D + d] += inverse[b] * (dy[b * D + d] - y[b * D + d] * along);
	}
}

/* y = scale u.v */
void
dot_rows_forward_ref(size_t B, size_t D, const float *u, const float *v, float scale, float *y)
{
	for (size_t b = 0; b < B; b++) {
		double sum = 0;
		for (size_t d = 0; d < D; d++)
			sum += (double)u[b * D + d] * v[b * D + d];
		y[b] = scale * sum;
	}
}

void
dot_rows_backward_ref(size_t B, size_t D, const float *u, const float *v, float scale,
	const float *dy, float *du, float *dv)
{
	for (size_t b = 0; b < B; b++) {
		const double factor = (double)scale * dy[b];
		for (size_t d = 0; d < D; d++) {
			du[b * D + d] += factor * v[b * D + d];
			dv[b * D + d] += factor * u[b * D + d];
		}
	}
}

void
softmax_row_ref(size_t n, float *s, const float *bias, float *max, float *sum)
{
	double total = 0;

	for (size_t j = 0; j < n; j++) {
		s[j] += bias == NULL ? 0 : bias[j];
		*max = s[j] > *max ? s[j] : *max;
	}
	for (size_t j = 0; j < n; j++) {
		s[j] = exp((double)s[j] - *max);
		total += s[j];
	}
	*sum = total;
}

void
pick_forward_ref(size_t n, size_t D, const float *u, const float *v, const uint32_t *index,
	float scale, float *z)
{
	for (size_t k = 0; k < n; k++)
		dot_rows_forward_ref(1, D, u, v + index[k] * D, scale, z + k);
}

void
pick_backward_ref(size_t n, size_t D, const float *u, const float *v, const uint32_t *index,
	float scale, const float *dz, float *du, float *dv)
{
	for (size_t k = 0; k < n; k++)
		dot_rows_backward_ref(
			1, D, u, v + index[k] * D, scale, dz + k, du, dv + index[k] * D);
}
