/* Vector kernels: batch norm by streaming over rows, dropout. */
#include <math.h>
#include <stddef.h>

#include "base/rng.h"
#include "kernel/cpu/cpu_table.h"

static void
column_mean(size_t B, size_t H, const float *restrict x, float *restrict mean)
{
	for (size_t h = 0; h < H; h++)
		mean[h] = 0;
	for (size_t b = 0; b < B; b++)
		for (size_t h = 0; h < H; h++)
			mean[h] += x[b * H + h];
	for (size_t h = 0; h < H; h++)
		mean[h] /= (float)B;
}

static void
column_variance(size_t B, size_t H, const float *restrict x, const float *restrict mean,
	float *restrict var)
{
	for (size_t h = 0; h < H; h++)
		var[h] = 0;
	for (size_t b = 0; b < B; b++)
		for (size_t h = 0; h < H; h++) {
			const float difference = x[b * H + h] - mean[h];
			var[h] += difference * difference;
		}
	for (size_t h = 0; h < H; h++)
		var[h] /= (float)B;
}

void
CPU(batch_norm_forward)(size_t B, size_t H, const float *restrict x, const float *restrict gamma,
	const float *restrict beta, float epsilon, float *restrict xhat, float *restrict y,
	float *restrict mean, float *restrict var, float *restrict rstd)
{
	column_mean(B, H, x, mean);
	column_variance(B, H, x, mean, var);
	for (size_t h = 0; h < H; h++)
		rstd[h] = 1 / sqrtf(var[h] + epsilon);
	for (size_t b = 0; b < B; b++) {
		for (size_t h = 0; h < H; h++)
			xhat[b * H + h] = (x[b * H + h] - mean[h]) * rstd[h];
		for (size_t h = 0; y != NULL && h < H; h++)
			y[b * H + h] = (gamma == NULL ? 1 : gamma[h]) * xhat[b * H + h]
				+ (beta == NULL ? 0 : beta[h]);
	}
}

void
CPU(batch_norm_apply)(size_t B, size_t H, const float *restrict x, const float *restrict gamma,
	const float *restrict beta, const float *restrict mean, const float *restrict var,
		float epsilon,
	float *restrict y)
{
	for (size_t b = 0; b < B; b++)
		for (size_t h = 0; h < H; h++)
			y[b * H + h] = (gamma == NULL ? 1 : gamma[h]) * ((x[b * H + h] - mean[h])
				/ sqrtf(var[h] + epsilon)) + (beta == NULL ? 0 : beta[h]);
}

void
CPU(batch_norm_backward)(size_t B, size_t H, const float *restrict xhat, const float *restrict rstd,
	const float *restrict gamma, const float *restrict dy, float *restrict dx,
	float *restrict dgamma, float *restrict dbeta)
{
	const float share = 1 / (float)B;

	for (size_t h = 0; h < H; h++)
		dgamma[h] = dbeta[h] = 0;
	for (size_t b = 0; b < B; b++)
		for (size_t h = 0; h < H; h++) {
			dbeta[h] += dy[b * H + h];
			dgamma[h] += dy[b * H + h] * xhat[b * H + h];
		}
	for (size_t b = 0; b < B; b++)
		for (size_t h = 0; h < H; h++)
			dx[b * H + h] += (gamma == NULL ? 1 : gamma[h]) * rstd[h] *
				(dy[b * H + h] - share * (dbeta[h] + xhat[b * H + h] * dgamma[h]));
}

/* rng_u64(key, unit) >> 40 is at least p 2^24. */
static uint64_t
dropout_threshold(float p)
{
	return (uint64_t)ceil((double)p * 0x1p24);
}

void
CPU(dropout)(size_t B, size_t H, uint64_t key, uint64_t row0, float p, const float *restrict x,
	float *restrict y)
{
	const uint64_t threshold = dropout_threshold(p), first = row0 * H;
	const float factor = 1 / (1 - p);

#pragma omp simd
	for (size_t i = 0; i < B * H; i++)
		y[i] = (rng_u64(key, first + i) >> 40) >= threshold ? factor * x[i] : 0;
}

void
CPU(dropout_backward)(size_t B, size_t H, uint64_t key, uint64_t row0, float p,
	const float *restrict dy, float *restrict dx)
{
	const uint64_t threshold = dropout_threshold(p), first = row0 * H;
	const float factor = 1 / (1 - p);

#pragma omp simd
	for (size_t i = 0; i < B * H; i++)
		dx[i] += (rng_u64(key, first + i) >> 40) >= threshold ? factor * dy[i] : 0;
}
