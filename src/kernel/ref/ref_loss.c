/* Reference kernels: losses, batch norm, dropout. */
#include <math.h>
#include <stddef.h>

#include "base/rng.h"
#include "kernel/ref/ref.h"

/*
 * l = max(z,0) - z t + log(1 + exp(-|z|)), the form of -t log p - (1-t) log(1-p)
 * that no finite logit makes infinite.
 */
void
logloss_ref(size_t B, const float *z, const float *label, const float *weight, float scale,
	float *dz, float *p, double *loss)
{
	double sum = 0;

	for (size_t b = 0; b < B; b++) {
		const double small = exp(-fabs((double)z[b]));
		const double probability = z[b] >= 0 ? 1 / (1 + small) : small / (1 + small);
		const double w = weight == NULL ? 1 : weight[b];
		sum += w * ((z[b] > 0 ? z[b] : 0) - (double)z[b] * label[b] + log1p(small));
		if (z[b] != z[b])
			sum = NAN;
		if (dz != NULL)
			dz[b] = scale * w * (probability - label[b]);
		if (p != NULL)
			p[b] = probability;
	}
	*loss += sum;
}

/* l = (z - t)^2 */
void
mse_ref(size_t B, const float *z, const float *label, const float *weight, float scale, float *dz,
	double *loss)
{
	double sum = 0;

	for (size_t b = 0; b < B; b++) {
		const double w = weight == NULL ? 1 : weight[b];
		const double difference = (double)z[b] - label[b];
		sum += w * difference * difference;
		if (dz != NULL)
			dz[b] = scale * w * 2 * difference;
	}
	*loss += sum;
}

/* Ioffe and Szegedy 2015, algorithm 1; the variance is the biased one. */
void
batch_norm_forward_ref(size_t B, size_t H, const float *x, const float *gamma, const float *beta,
	float epsilon, float *xhat, float *y, float *mean, float *var, float *rstd)
{
	for (size_t h = 0; h < H; h++) {
		double sum = 0, squares = 0;
		for (size_t b = 0; b < B; b++)
			sum += x[b * H + h];
		const double m = sum / B;
		for (size_t b = 0; b < B; b++)
			squares += (x[b * H + h] - m) * (x[b * H + h] - m);
		const double r = 1 / sqrt(squares / B + epsilon);
		mean[h] = m;
		var[h] = squares / B;
		rstd[h] = r;
		for (size_t b = 0; b < B; b++) {
			const double value = (x[b * H + h] - m) * r;
			xhat[b * H + h] = value;
			if (y != NULL)
				y[b * H + h] = (gamma == NULL ? 1 : gamma[h]) * value
					+ (beta == NULL ? 0 : beta[h]);
		}
	}
}

void
batch_norm_apply_ref(size_t B, size_t H, const float *x, const float *gamma, const float *beta,
	const float *mean, const float *var, float epsilon, float *y)
{
	for (size_t h = 0; h < H; h++) {
		const double r = 1 / sqrt((double)var[h] + epsilon);
		for (size_t b = 0; b < B; b++)
			y[b * H + h] = (gamma == NULL ? 1 : gamma[h]) * (x[b * H + h] - mean[h]) * r
				+ (beta == NULL ? 0 : beta[h]);
	}
}

/* dx = gamma rstd (dy - mean(dy) - xhat mean(dy xhat)) */
void
batch_norm_backward_ref(size_t B, size_t H, const float *xhat, const float *rstd,
	const float *gamma,
	const float *dy, float *dx, float *dgamma, float *dbeta)
{
	for (size_t h = 0; h < H; h++) {
		double sum = 0, product = 0;
		for (size_t b = 0; b < B; b++) {
			sum += dy[b * H + h];
			product += (double)dy[b * H + h] * xhat[b * H + h];
		}
		dbeta[h] = sum;
		dgamma[h] = product;
		const double factor = (gamma == NULL ? 1 : gamma[h]) * (double)rstd[h];
		for (size_t b = 0; b < B; b++)
			dx[b * H + h] += factor *
				(dy[b * H + h] - sum / B - xhat[b * H + h] * product / B);
	}
}

static int
is_kept(uint64_t key, uint64_t unit, double p)
{
	return (double)(rng_u64(key, unit) >> 40) >= p * 0x1p24;
}

void
dropout_ref(size_t B, size_t H, uint64_t key, uint64_t row0, float p, const float *x, float *y)
{
	for (size_t i = 0; i < B * H; i++)
		y[i] = is_kept(key, row0 * H + i, p) ? x[i] / (1 - (double)p) : 0;
}

void
dropout_backward_ref(size_t B, size_t H, uint64_t key, uint64_t row0, float p, const float *dy,
	float *dx)
{
	for (size_t i = 0; i < B * H; i++)
		dx[i] += is_kept(key, row0 * H + i, p) ? dy[i] / (1 - (double)p) : 0;
}
