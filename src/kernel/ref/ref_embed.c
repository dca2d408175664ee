/* Reference kernels: bags of embedding rows, numeric fields, FM. */
#include <math.h>
#include <stddef.h>

#include "kernel/ref/ref.h"

/* The occurrences of row b: [*begin, returned end). */
static size_t
bag_range(const uint32_t *offset, size_t b, size_t *begin)
{
	*begin = offset == NULL ? b : offset[b] - offset[0];
	return offset == NULL ? b + 1 : offset[b + 1] - offset[0];
}

static double
bag_factor(const float *scale, size_t i)
{
	return scale == NULL ? 1 : scale[i];
}

void
bag_scale_ref(size_t B, const uint32_t *offset, const float *weight, int combiner, float *scale)
{
	for (size_t b = 0, begin; b < B; b++) {
		const size_t end = bag_range(offset, b, &begin);
		double sum = 0, squares = 0, factor = 1;
		for (size_t i = begin; i < end; i++) {
			sum += bag_factor(weight, i);
			squares += bag_factor(weight, i) * bag_factor(weight, i);
		}
		if (combiner == KERNEL_MEAN || combiner == KERNEL_LAST)
			factor = sum == 0 ? 0 : 1 / sum;
		else if (combiner == KERNEL_SQRTN)
			factor = squares == 0 ? 0 : 1 / sqrt(squares);
		for (size_t i = begin; i < end; i++)
			scale[i] = factor * bag_factor(weight, i);
	}
}

void
bag_forward_ref(const struct bag_args *a)
{
	for (size_t b = 0, begin; b < a->B; b++) {
		const size_t end = bag_range(a->offset, b, &begin);
		for (size_t d = 0; d < a->D; d++) {
			double sum = 0;
			for (size_t i = begin; i < end; i++)
				sum += bag_factor(a->scale, i) * a->row[i][d];
			a->y[b * a->ldy + d] = sum;
		}
	}
}

/* The first occurrence of [begin,end) that has the largest value in column d. */
static size_t
bag_argmax(const struct bag_args *a, size_t begin, size_t end, size_t d)
{
	size_t best = begin;

	for (size_t i = begin + 1; i < end; i++)
		if (bag_factor(a->scale, i) * a->row[i][d] >
			bag_factor(a->scale, best) * a->row[best][d])
			best = i;
	return best;
}

void
bag_max_forward_ref(const struct bag_args *a)
{
	for (size_t b = 0, begin; b < a->B; b++) {
		const size_t end = bag_range(a->offset, b, &begin);
		for (size_t d = 0; d < a->D; d++) {
			const size_t i = bag_argmax(a, begin, end, d);
			a->y[b * a->ldy + d] = begin == end ?
				0 :
				bag_factor(a->scale, i) * a->row[i][d];
		}
	}
}

void
bag_max_backward_ref(const struct bag_args *a, const float *dy, size_t lddy, float *grad)
{
	for (size_t b = 0, begin; b < a->B; b++) {
		const size_t end = bag_range(a->offset, b, &begin);
		for (size_t d = 0; d < a->D; d++) {
			const size_t best = bag_argmax(a, begin, end, d);
			for (size_t i = begin; i < end; i++)
				grad[i * a->D + d] = i == best ? dy[b * lddy + d] : 0;
		}
	}
}

void
bag_linear_forward_ref(const struct bag_args *a)
{
	for (size_t b = 0, begin; b < a->B; b++) {
		const size_t end = bag_range(a->offset, b, &begin);
		double sum = 0;
		for (size_t i = begin; i < end; i++)
			sum += bag_factor(a->scale, i) * a->row[i][0];
		a->y[b * a->ldy] += sum;
	}
}

void
bag_pairs_forward_ref(const struct bag_args *a, float *y)
{
	for (size_t b = 0, begin; b < a->B; b++) {
		const size_t end = bag_range(a->offset, b, &begin);
		double sum = 0;
		for (size_t d = 0; d < a->D; d++) {
			const double x = a->y[b * a->ldy + d];
			sum += x * x;
			for (size_t i = begin; i < end; i++) {
				const double term = bag_factor(a->scale, i) * a->row[i][d];
				sum -= term * term;
			}
		}
		y[b] += 0.5 * sum;
	}
}

void
bag_pairs_backward_ref(const struct bag_args *a, const float *dy, float *dx, size_t lddx,
	float *grad)
{
	for (size_t b = 0, begin; b < a->B; b++) {
		const size_t end = bag_range(a->offset, b, &begin);
		for (size_t d = 0; d < a->D; d++) {
			dx[b * lddx + d] += dy[b] * a->y[b * a->ldy + d];
			for (size_t i = begin; i < end; i++)
				grad[i * a->D + d] = -dy[b] * bag_factor(a->scale, i) *
					a->row[i][d];
		}
	}
}

void
bag_add_ref(const struct bag_args *a, const float *dy, size_t lddy, float *grad)
{
	for (size_t b = 0, begin; b < a->B; b++) {
		const size_t end = bag_range(a->offset, b, &begin);
		for (size_t i = begin; i < end; i++)
			for (size_t d = 0; d < a->D; d++)
				grad[i * a->D + d] += dy[b * lddy + d];
	}
}

static int
numeric_missing(const struct numeric_args *a, size_t b, size_t k)
{
	return a->missing != NULL && a->missing[b * a->ldx + k];
}

void
numeric_forward_ref(const struct numeric_args *a, const float *v, const float *u, float *y,
	size_t ldy)
{
	for (size_t b = 0; b < a->B; b++)
		for (size_t k = 0; k < a->K; k++)
			for (size_t d = 0; d < a->D; d++)
				y[b * ldy + k * a->D + d] = numeric_missing(a, b, k) ?
					u[k * a->D + d] :
					a->x[b * a->ldx + k] * v[k * a->D + d];
}

void
numeric_backward_ref(const struct numeric_args *a, const float *dy, size_t lddy, float *dv,
	float *du)
{
	for (size_t i = 0; i < a->K * a->D; i++) {
		const size_t k = i / a->D;
		double sum_v = 0, sum_u = 0;
		for (size_t b = 0; b < a->B; b++) {
			const double g = dy[b * lddy + i];
			if (numeric_missing(a, b, k))
				sum_u += g;
			else
				sum_v += g * a->x[b * a->ldx + k];
		}
		dv[i] += sum_v;
		du[i] += sum_u;
	}
}

void
numeric_linear_forward_ref(const struct numeric_args *a, const float *w, const float *u, float *y)
{
	for (size_t b = 0; b < a->B; b++) {
		double sum = 0;
		for (size_t k = 0; k < a->K; k++)
			sum += numeric_missing(a, b, k) ? u[k] :
							  (double)a->x[b * a->ldx + k] * w[k];
		y[b] += sum;
	}
}

void
numeric_linear_backward_ref(const struct numeric_args *a, const float *dy, float *dw, float *du)
{
	for (size_t k = 0; k < a->K; k++) {
		double sum_w = 0, sum_u = 0;
		for (size_t b = 0; b < a->B; b++) {
			if (numeric_missing(a, b, k))
				sum_u += dy[b];
			else
				sum_w += (double)dy[b] * a->x[b * a->ldx + k];
		}
		dw[k] += sum_w;
		du[k] += sum_u;
	}
}

void
fm2_forward_ref(size_t B, size_t F, size_t D, const float *x, size_t ldx, float *s, float *y)
{
	for (size_t b = 0; b < B; b++) {
		double pairs = 0;
		for (size_t d = 0; d < D; d++) {
			double sum = 0, squares = 0;
			for (size_t f = 0; f < F; f++) {
				const double value = x[b * ldx + f * D + d];
				sum += value;
				squares += value * value;
			}
			s[b * D + d] = sum;
			pairs += sum * sum - squares;
		}
		y[b] = 0.5 * pairs;
	}
}

void
fm2_backward_ref(size_t B, size_t F, size_t D, const float *x, size_t ldx, const float *s,
	const float *dy, float *dx, size_t lddx)
{
	for (size_t b = 0; b < B; b++)
		for (size_t i = 0; i < F * D; i++)
			dx[b * lddx + i] += dy[b] * (s[b * D + i % D] - x[b * ldx + i]);
}
