/* Crossings of features: cross layers, the gate over their experts, pairwise dots. */
#include <math.h>
#include <stddef.h>

#include "kernel/ref/ref.h"

void
cross_v1_forward_ref(size_t B, size_t H, const float *x0, const float *x, const float *w,
	const float *bias, float *s, float *y)
{
	for (size_t b = 0; b < B; b++) {
		double sum = 0;
		for (size_t h = 0; h < H; h++)
			sum += (double)x[b * H + h] * w[h];
		s[b] = sum;
		for (size_t h = 0; h < H; h++)
			y[b * H + h] = x0[b * H + h] * s[b] + bias[h] + x[b * H + h];
	}
}

void
cross_v1_backward_ref(size_t B, size_t H, const float *x0, const float *x, const float *w,
	const float *s, const float *dy, float *dx0, float *dx, float *dw, float *dbias)
{
	for (size_t b = 0; b < B; b++) {
		double ds = 0;
		for (size_t h = 0; h < H; h++)
			ds += (double)dy[b * H + h] * x0[b * H + h];
		for (size_t h = 0; h < H; h++) {
			dx0[b * H + h] += dy[b * H + h] * s[b];
			dx[b * H + h] += dy[b * H + h] + ds * w[h];
			dw[h] += ds * x[b * H + h];
			dbias[h] += dy[b * H + h];
		}
	}
}

void
cross_v2_forward_ref(size_t B, size_t H, const float *x0, const float *x, const float *z,
	const float *bias, float *y)
{
	for (size_t i = 0; i < B * H; i++)
		y[i] = x0[i] * (z[i] + bias[i % H]) + x[i];
}

void
cross_v2_backward_ref(size_t B, size_t H, const float *x0, const float *z, const float *bias,
	const float *dy, float *dz, float *dx0, float *dx, float *dbias)
{
	for (size_t i = 0; i < B * H; i++) {
		const float g = dy[i];
		dz[i] = g * x0[i];
		dx0[i] += g * (z[i] + bias[i % H]);
		dx[i] += g;
		dbias[i % H] += dz[i];
	}
}

void
gate_forward_ref(size_t B, size_t E, size_t R, const float *t, const float *logit, float *p,
	float *y)
{
	for (size_t b = 0; b < B; b++, logit += E, p += E) {
		double largest = logit[0], sum = 0;
		for (size_t e = 1; e < E; e++)
			largest = logit[e] > largest ? logit[e] : largest;
		for (size_t e = 0; e < E; e++)
			sum += exp(logit[e] - largest);
		for (size_t e = 0; e < E; e++)
			p[e] = exp(logit[e] - largest) / sum;
		for (size_t i = 0; i < E * R; i++)
			y[b * E * R + i] = p[i / R] * t[b * E * R + i];
	}
}

/* dlogit_e = p_e (g_e - sum_k p_k g_k), g_e = <dy_e, t_e> the gradient of p_e. */
void
gate_backward_ref(size_t B, size_t E, size_t R, const float *t, const float *p, const float *dy,
	float *dt, float *dlogit)
{
	for (size_t b = 0; b < B; b++, t += E * R, dy += E * R, dt += E * R) {
		double mean = 0;
		for (size_t i = 0; i < E * R; i++) {
			mean += (double)p[b * E + i / R] * dy[i] * t[i];
			dt[i] += p[b * E + i / R] * dy[i];
		}
		for (size_t e = 0; e < E; e++) {
			double g = 0;
			for (size_t r = 0; r < R; r++)
				g += (double)dy[e * R + r] * t[e * R + r];
			dlogit[b * E + e] += p[b * E + e] * (g - mean);
		}
	}
}

void
dots_forward_ref(size_t B, size_t F, size_t D, const float *x, float *y)
{
	for (size_t b = 0; b < B; b++, x += F * D)
		for (size_t i = 1; i < F; i++)
			for (size_t j = 0; j < i; j++) {
				double sum = 0;
				for (size_t d = 0; d < D; d++)
					sum += (double)x[i * D + d] * x[j * D + d];
				*y++ = sum;
			}
}

void
dots_backward_ref(size_t B, size_t F, size_t D, const float *x, const float *dy, float *dx)
{
	for (size_t b = 0; b < B; b++, x += F * D, dx += F * D)
		for (size_t i = 1; i < F; i++)
			for (size_t j = 0; j < i; j++, dy++)
				for (size_t d = 0; d < D; d++) {
					dx[i * D + d] += *dy * x[j * D + d];
					dx[j * D + d] += *dy * x[i * D + d];
				}
}
