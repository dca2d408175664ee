/* Reference kernels: histories, position by position. */
#include <math.h>
#include <stddef.h>

#include "kernel/ref/ref.h"

/* Positions of row b that lie in [s->begin, s->end), counted from s->begin. */
static size_t
segment_range(const struct segment_args *s, size_t b, size_t *begin)
{
	const size_t first = s->offset == NULL ? b : s->offset[b] - s->offset[0];
	const size_t last = s->offset == NULL ? b + 1 : s->offset[b + 1] - s->offset[0];
	const size_t low = first < s->begin ? s->begin : first;
	const size_t high = last > s->end ? s->end : last;

	*begin = low - s->begin;
	return high > low ? high - s->begin : *begin;
}

void
attention_expand_ref(const struct segment_args *s, size_t D, const float *q, const float *k,
	float *x)
{
	for (size_t b = 0, begin; b < s->B; b++) {
		const size_t end = segment_range(s, b, &begin);
		for (size_t i = begin; i < end; i++)
			for (size_t d = 0; d < D; d++) {
				x[i * 2 * D + d] = k[i * D + d];
				x[i * 2 * D + D + d] = k[i * D + d] * q[b * D + d];
			}
	}
}

void
attention_fold_ref(const struct segment_args *s, size_t D, const float *q, const float *k,
	const float *dx, float *dk, float *dq)
{
	for (size_t b = 0, begin; b < s->B; b++) {
		const size_t end = segment_range(s, b, &begin);
		for (size_t d = 0; d < D; d++) {
			double sum = 0;
			for (size_t i = begin; i < end; i++) {
				const double dproduct = dx[i * 2 * D + D + d];
				dk[i * D + d] += dx[i * 2 * D + d] + q[b * D + d] * dproduct;
				sum += k[i * D + d] * dproduct;
			}
			dq[b * D + d] += sum;
		}
	}
}

void
attention_split_ref(size_t n, const float *w, float *u, float *v)
{
	for (size_t i = 0; i < n; i++) {
		u[i] = w[i] + w[2 * n + i];
		u[n + i] = w[3 * n + i];
		v[i] = w[n + i] - w[2 * n + i];
	}
}

void
attention_join_ref(size_t n, const float *du, const float *dv, float *dw)
{
	for (size_t i = 0; i < n; i++) {
		dw[i] = du[i];
		dw[n + i] = dv[i];
		dw[2 * n + i] = du[i] - dv[i];
		dw[3 * n + i] = du[n + i];
	}
}

void
segment_add_ref(const struct segment_args *s, size_t H, const float *t, float *z)
{
	for (size_t b = 0, begin; b < s->B; b++) {
		const size_t end = segment_range(s, b, &begin);
		for (size_t i = begin; i < end; i++)
			for (size_t h = 0; h < H; h++)
				z[i * H + h] += t[b * H + h];
	}
}

void
segment_sum_ref(const struct segment_args *s, size_t H, const float *z, float *t)
{
	for (size_t b = 0, begin; b < s->B; b++) {
		const size_t end = segment_range(s, b, &begin);
		for (size_t h = 0; h < H; h++) {
			double sum = 0;
			for (size_t i = begin; i < end; i++)
				sum += z[i * H + h];
			t[b * H + h] += sum;
		}
	}
}

void
segment_softmax_forward_ref(const struct segment_args *s, const float *a, float *y)
{
	for (size_t b = 0, begin; b < s->B; b++) {
		const size_t end = segment_range(s, b, &begin);
		double largest = -INFINITY, sum = 0;
		for (size_t i = begin; i < end; i++)
			largest = a[i] > largest ? a[i] : largest;
		for (size_t i = begin; i < end; i++)
			sum += exp(a[i] - largest);
		for (size_t i = begin; i < end; i++)
			y[i] = exp(a[i] - largest) / sum;
	}
}

void
segment_softmax_backward_ref(const struct segment_args *s, const float *y, const float *dy,
	float *da)
{
	for (size_t b = 0, begin; b < s->B; b++) {
		const size_t end = segment_range(s, b, &begin);
		double sum = 0;
		for (size_t i = begin; i < end; i++)
			sum += (double)y[i] * dy[i];
		for (size_t i = begin; i < end; i++)
			da[i] += y[i] * (dy[i] - sum);
	}
}

void
segment_pool_forward_ref(const struct segment_args *s, size_t D, const float *a, const float *k,
	float *y)
{
	for (size_t b = 0, begin; b < s->B; b++) {
		const size_t end = segment_range(s, b, &begin);
		for (size_t d = 0; d < D; d++) {
			double sum = 0;
			for (size_t i = begin; i < end; i++)
				sum += (double)a[i] * k[i * D + d];
			y[b * D + d] = sum;
		}
	}
}

void
segment_pool_backward_ref(const struct segment_args *s, size_t D, const float *a, const float *k,
	const float *dy, float beta, float *da, float *dk)
{
	for (size_t b = 0, begin; b < s->B; b++) {
		const size_t end = segment_range(s, b, &begin);
		for (size_t i = begin; i < end; i++) {
			double sum = 0;
			for (size_t d = 0; d < D; d++) {
				float *to = &dk[i * D + d];
				sum += (double)dy[b * D + d] * k[i * D + d];
				*to = (beta == 0 ? 0 : beta * *to) + a[i] * dy[b * D + d];
			}
			da[i] += sum;
		}
	}
}
