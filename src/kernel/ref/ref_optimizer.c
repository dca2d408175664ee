/* Reference kernels: dense optimizers over a range, row optimizers over one row. */
#include <math.h>
#include <stddef.h>

#include "kernel/ref/ref.h"

void
dense_sgd_ref(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a)
{
	(void)m;
	(void)v;
	for (size_t i = 0; i < n; i++)
		w[i] -= a->rate * g[i];
}

/* m = momentum m + g ; w -= rate m */
void
dense_momentum_ref(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a)
{
	(void)v;
	for (size_t i = 0; i < n; i++) {
		m[i] = a->momentum * m[i] + g[i];
		w[i] -= a->rate * m[i];
	}
}

/* Duchi et al. 2011, diagonal; v starts at initial_accumulator. */
void
dense_adagrad_ref(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a)
{
	(void)m;
	for (size_t i = 0; i < n; i++) {
		v[i] += g[i] * g[i];
		w[i] -= a->rate * g[i] / (sqrt(v[i]) + a->epsilon);
	}
}

/* One coordinate of Adam, Kingma and Ba 2015, algorithm 1: moves m, v, returns the step. */
static double
adam_step(float *m, float *v, double g, const struct optimizer_args *a)
{
	*m = a->beta1 * *m + (1 - a->beta1) * g;
	*v = a->beta2 * *v + (1 - a->beta2) * g * g;
	return a->rate * (*m / a->correction1) / (sqrt(*v / a->correction2) + a->epsilon);
}

void
dense_adam_ref(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a)
{
	for (size_t i = 0; i < n; i++)
		w[i] -= adam_step(&m[i], &v[i], g[i], a);
}

/* Loshchilov and Hutter 2019: the decay is not part of the gradient. */
void
dense_adamw_ref(size_t n, float *w, const float *g, float *m, float *v,
	const struct optimizer_args *a)
{
	for (size_t i = 0; i < n; i++) {
		const double decay = (double)a->rate * a->weight_decay * w[i];
		w[i] -= adam_step(&m[i], &v[i], g[i], a) + decay;
	}
}

/* The gradient of a row with its regularisation, added once a row and step. */
static double
row_gradient(const float *w, const float *g, size_t d, const struct row_args *a)
{
	const double sign = w[d] > 0 ? 1 : w[d] < 0 ? -1 : 0;

	return g[d] + (double)a->l2 * w[d] + a->l1 * sign;
}

void
row_sgd_ref(float *w, float *slot, const float *g, const struct row_args *a)
{
	(void)slot;
	for (size_t d = 0; d < a->D; d++)
		w[d] -= a->rate * row_gradient(w, g, d, a);
}

/* slot = s [D] */
void
row_adagrad_ref(float *w, float *slot, const float *g, const struct row_args *a)
{
	for (size_t d = 0; d < a->D; d++) {
		const double gradient = row_gradient(w, g, d, a);
		slot[d] += gradient * gradient;
		w[d] -= a->rate * gradient / (sqrt(slot[d]) + a->epsilon);
	}
}

/* slot = s [1]; s += mean of squares */
void
row_rowwise_adagrad_ref(float *w, float *slot, const float *g, const struct row_args *a)
{
	double squares = 0;

	for (size_t d = 0; d < a->D; d++)
		squares += row_gradient(w, g, d, a) * row_gradient(w, g, d, a);
	slot[0] += squares / a->D;
	const double factor = a->rate / (sqrt(slot[0]) + a->epsilon);
	for (size_t d = 0; d < a->D; d++)
		w[d] -= factor * row_gradient(w, g, d, a);
}

/* Lazy Adam: slot = m [D], v [D], t [1]; t counts the steps of this row. */
void
row_adam_ref(float *w, float *slot, const float *g, const struct row_args *a)
{
	float *m = slot, *v = slot + a->D, *t = slot + 2 * a->D;

	*t += 1;
	const struct optimizer_args adam = {
		.rate = a->rate, .beta1 = a->beta1, .beta2 = a->beta2, .epsilon = a->epsilon,
		.correction1 = 1 - pow(a->beta1, *t), .correction2 = 1 - pow(a->beta2, *t),
	};
	for (size_t d = 0; d < a->D; d++)
		w[d] -= adam_step(&m[d], &v[d], row_gradient(w, g, d, a), &adam);
}

/* FTRL-proximal, McMahan et al. 2013, algorithm 1; n^|power| is sqrt(n) there.
 * slot = n [D], z [D] */
void
row_ftrl_ref(float *w, float *slot, const float *g, const struct row_args *a)
{
	float *n = slot, *z = slot + a->D;

	for (size_t d = 0; d < a->D; d++) {
		const double gradient = row_gradient(w, g, d, a);
		const double before = n[d] == 0 ? 0 : pow(n[d], fabs((double)a->ftrl_power));
		n[d] += gradient * gradient;
		const double after = n[d] == 0 ? 0 : pow(n[d], fabs((double)a->ftrl_power));
		z[d] += gradient - (after - before) / a->rate * w[d];
		const double excess = fabs((double)z[d]) - a->ftrl_l1;
		w[d] = excess <= 0 ? 0 :
				     (z[d] > 0 ? -1 : 1) * excess /
				((a->ftrl_beta + after) / a->rate + a->ftrl_l2);
	}
}

void
row_sum_ref(size_t D, size_t n, const float *const *grad, const float *scale, float *g)
{
	for (size_t d = 0; d < D; d++) {
		double sum = 0;
		for (size_t i = 0; i < n; i++)
			sum += (scale == NULL ? 1 : (double)scale[i]) * grad[i][d];
		g[d] = sum;
	}
}
