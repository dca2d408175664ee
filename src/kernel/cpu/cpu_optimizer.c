/* Vector kernels: dense optimizers over a range, row optimizers, merging of gradients. */
#include <math.h>
#include <stddef.h>

#include "kernel/cpu/cpu_table.h"
#include "kernel/ref/ref.h"

enum { LANES = 16 };

#define INLINE static inline __attribute__((always_inline))

void
CPU(dense_sgd)(size_t n, float *restrict w, const float *restrict g, float *m, float *v,
	const struct optimizer_args *a)
{
	const float rate = a->rate;

	(void)m;
	(void)v;
	for (size_t i = 0; i < n; i++)
		w[i] -= rate * g[i];
}

void
CPU(dense_momentum)(size_t n, float *restrict w, const float *restrict g, float *restrict m,
	float *v,
	const struct optimizer_args *a)
{
	const float rate = a->rate, momentum = a->momentum;

	(void)v;
	for (size_t i = 0; i < n; i++) {
		m[i] = momentum * m[i] + g[i];
		w[i] -= rate * m[i];
	}
}

void
CPU(dense_adagrad)(size_t n, float *restrict w, const float *restrict g, float *m,
	float *restrict v,
	const struct optimizer_args *a)
{
	const float rate = a->rate, epsilon = a->epsilon;

	(void)m;
	for (size_t i = 0; i < n; i++) {
		v[i] += g[i] * g[i];
		w[i] -= rate * g[i] / (sqrtf(v[i]) + epsilon);
	}
}

/* Adam with a decay beside the gradient (AdamW); decay 0 is Adam. */
INLINE void
adam(size_t n, float *restrict w, const float *restrict g, float *restrict m, float *restrict v,
	const struct optimizer_args *a, float decay)
{
	const float beta1 = a->beta1, beta2 = a->beta2, epsilon = a->epsilon;
	const float rate = a->rate / a->correction1, correction2 = 1 / a->correction2;

	for (size_t i = 0; i < n; i++) {
		m[i] = beta1 * m[i] + (1 - beta1) * g[i];
		v[i] = beta2 * v[i] + (1 - beta2) * g[i] * g[i];
		w[i] -= rate * m[i] / (sqrtf(v[i] * correction2) + epsilon) + decay * w[i];
	}
}

void
CPU(dense_adam)(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a)
{
	adam(n, w, g, m, v, a, 0);
}

void
CPU(dense_adamw)(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a)
{
	adam(n, w, g, m, v, a, a->rate * a->weight_decay);
}

/* The sign of a weight is as good as random: no branch. */
INLINE float
regularised(float w, float g, const struct row_args *a)
{
	return g + a->l2 * w + a->l1 * (float)((w > 0) - (w < 0));
}

INLINE void
sgd(size_t D, float *restrict w, const float *restrict g, const struct row_args *a)
{
	for (size_t d = 0; d < D; d++)
		w[d] -= a->rate * regularised(w[d], g[d], a);
}

void
CPU(row_sgd)(float *w, float *slot, const float *g, const struct row_args *a)
{
	(void)slot;
	if (a->D == LANES)
		sgd(LANES, w, g, a);
	else
		sgd(a->D, w, g, a);
}

INLINE void
adagrad(size_t D, float *restrict w, float *restrict s, const float *restrict g,
	const struct row_args *a)
{
	const float rate = a->rate, epsilon = a->epsilon;

	for (size_t d = 0; d < D; d++) {
		const float gradient = regularised(w[d], g[d], a);
		s[d] += gradient * gradient;
		w[d] -= rate * gradient / (sqrtf(s[d]) + epsilon);
	}
}

void
CPU(row_adagrad)(float *w, float *slot, const float *g, const struct row_args *a)
{
	if (a->D == LANES)
		adagrad(LANES, w, slot, g, a);
	else if (a->D == 1)
		adagrad(1, w, slot, g, a);
	else
		adagrad(a->D, w, slot, g, a);
}

INLINE void
rowwise(size_t D, float *restrict w, float *restrict s, const float *restrict g,
	const struct row_args *a)
{
	float squares = 0;

#pragma omp simd reduction(+:squares)
	for (size_t d = 0; d < D; d++)
		squares += regularised(w[d], g[d], a) * regularised(w[d], g[d], a);
	*s += squares / (float)D;
	const float factor = a->rate / (sqrtf(*s) + a->epsilon);
	for (size_t d = 0; d < D; d++)
		w[d] -= factor * regularised(w[d], g[d], a);
}

void
CPU(row_rowwise_adagrad)(float *w, float *slot, const float *g, const struct row_args *a)
{
	if (a->D == LANES)
		rowwise(LANES, w, slot, g, a);
	else
		rowwise(a->D, w, slot, g, a);
}

void
CPU(row_adam)(float *restrict w, float *restrict slot, const float *restrict g,
	const struct row_args *a)
{
	float *restrict m = slot, *restrict v = slot + a->D, *t = slot + 2 * a->D;
	const float beta1 = a->beta1, beta2 = a->beta2, epsilon = a->epsilon;

	*t += 1;
	const float rate = a->rate / (1 - powf(beta1, *t)), correction2 = 1 / (1 - powf(beta2, *t));
	for (size_t d = 0; d < a->D; d++) {
		const float gradient = regularised(w[d], g[d], a);
		m[d] = beta1 * m[d] + (1 - beta1) * gradient;
		v[d] = beta2 * v[d] + (1 - beta2) * gradient * gradient;
		w[d] -= rate * m[d] / (sqrtf(v[d] * correction2) + epsilon);
	}
}

/* n columns starting at `first`; the sum stays in registers. */
INLINE void
sum_columns(size_t n, size_t first, size_t N, const float *const *grad, const float *scale,
	float *restrict g)
{
	float sum[LANES] = { 0 };

	for (size_t i = 0; i < N; i++) {
		const float factor = scale == NULL ? 1 : scale[i];
		const float *restrict row = grad[i] + first;
		for (size_t d = 0; d < n; d++)
			sum[d] += factor * row[d];
	}
	for (size_t d = 0; d < n; d++)
		g[first + d] = sum[d];
}

void
CPU(row_sum)(size_t D, size_t n, const float *const *grad, const float *scale, float *g)
{
	size_t first = 0;

	for (; first + LANES <= D; first += LANES)
		sum_columns(LANES, first, n, grad, scale, g);
	if (first < D)
		sum_columns(D - first, first, n, grad, scale, g);
}
