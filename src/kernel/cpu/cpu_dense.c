/* Vector kernels: bias and activation, sums, the finite guard. */
#include <math.h>
#include <string.h>

#include "kernel/cpu/cpu_exp.h"
#include "kernel/cpu/cpu_table.h"
#include "kernel/ref/ref.h"

static inline float
sigmoid(float z)
{
	const float small = exp_negative(-__builtin_fabsf(z));

	return (z >= 0 ? 1.0f : small) / (1.0f + small);
}

void
CPU(bias_act_forward)(size_t B, size_t H, float *restrict y, const float *bias, int act)
{
	if (act == KERNEL_ACT_TANH || bias == NULL) {
		bias_act_forward_ref(B, H, y, bias, act);
		return;
	}
	for (size_t b = 0; b < B; b++) {
		float *row = y + b * H;
		if (act == KERNEL_ACT_RELU)
			for (size_t h = 0; h < H; h++) {
				const float z = row[h] + bias[h];
				row[h] = z < 0 ? 0 : z;
			}
		else if (act == KERNEL_ACT_SIGMOID)
			for (size_t h = 0; h < H; h++)
				row[h] = sigmoid(row[h] + bias[h]);
		else
			for (size_t h = 0; h < H; h++)
				row[h] += bias[h];
	}
}

/* dz of one unit; act is a constant where it matters. */
static inline float
unit_backward(float y, float dy, int act)
{
	switch (act) {
	case KERNEL_ACT_RELU:    return y > 0 ? dy : 0;
	case KERNEL_ACT_TANH:    return dy * (1 - y * y);
	case KERNEL_ACT_SIGMOID: return dy * y * (1 - y);
	default:                 return dy;
	}
}

enum { ROWS_AT_ONCE = 4 };

/* Four rows in one pass, so that dbias is read and written once for them. */
static inline __attribute__((always_inline)) void
four_rows_backward(size_t H, const float *y, const float *dy, int act, float *dz,
	float *restrict dbias)
{
#pragma omp simd
	for (size_t h = 0; h < H; h++) {
		const float z0 = unit_backward(y[h], dy[h], act);
		const float z1 = unit_backward(y[h + H], dy[h + H], act);
		const float z2 = unit_backward(y[h + 2 * H], dy[h + 2 * H], act);
		const float z3 = unit_backward(y[h + 3 * H], dy[h + 3 * H], act);
		dz[h] = z0;
		dz[h + H] = z1;
		dz[h + 2 * H] = z2;
		dz[h + 3 * H] = z3;
		dbias[h] += (z0 + z1) + (z2 + z3);
	}
}

static inline __attribute__((always_inline)) void
rows_backward(size_t B, size_t H, const float *y, const float *dy, int act, float *dz,
	float *restrict dbias)
{
	size_t b = 0;

	for (; b + ROWS_AT_ONCE <= B; b += ROWS_AT_ONCE)
		four_rows_backward(H, y + b * H, dy + b * H, act, dz + b * H, dbias);
	for (; b < B; b++)
#pragma omp simd
		for (size_t h = 0; h < H; h++) {
			const float z = unit_backward(y[b * H + h], dy[b * H + h], act);
			dz[b * H + h] = z;
			dbias[h] += z;
		}
}

void
CPU(bias_act_backward)(size_t B, size_t H, const float *y, const float *dy, int act, float *dz,
	float *dbias)
{
	if (dbias == NULL)
		bias_act_backward_ref(B, H, y, dy, act, dz, dbias);
	else if (act == KERNEL_ACT_RELU)
		rows_backward(B, H, y, dy, KERNEL_ACT_RELU, dz, dbias);
	else if (act == KERNEL_ACT_TANH)
		rows_backward(B, H, y, dy, KERNEL_ACT_TANH, dz, dbias);
	else if (act == KERNEL_ACT_SIGMOID)
		rows_backward(B, H, y, dy, KERNEL_ACT_SIGMOID, dz, dbias);
	else
		rows_backward(B, H, y, dy, KERNEL_ACT_NONE, dz, dbias);
}

void
CPU(act_forward)(size_t B, size_t H, const float *restrict z, int act, const float *restrict slope,
	float *restrict y)
{
	if (act == KERNEL_ACT_RELU) {
		for (size_t i = 0; i < B * H; i++)
			y[i] = z[i] < 0 ? 0 : z[i];
	} else if (act == KERNEL_ACT_SIGMOID) {
		for (size_t i = 0; i < B * H; i++)
			y[i] = sigmoid(z[i]);
	} else if (act == KERNEL_ACT_PRELU) {
		for (size_t b = 0; b < B; b++)
			for (size_t h = 0; h < H; h++) {
				const float value = z[b * H + h];
				y[b * H + h] = value > 0 ? value : slope[h] * value;
			}
	} else {
		act_forward_ref(B, H, z, act, slope, y);
	}
}

void
CPU(act_backward)(size_t B, size_t H, const float *restrict z, const float *restrict dy, int act,
	const float *restrict slope, float *restrict dz, float *restrict dslope)
{
	if (act == KERNEL_ACT_RELU) {
		for (size_t i = 0; i < B * H; i++)
			dz[i] += z[i] > 0 ? dy[i] : 0;
	} else if (act == KERNEL_ACT_PRELU && dslope != NULL) {
		for (size_t b = 0; b < B; b++)
			for (size_t h = 0; h < H; h++) {
				const size_t i = b * H + h;
				const float below = z[i] > 0 ? 0 : dy[i];
				dz[i] += (z[i] > 0 ? dy[i] : 0) + below * slope[h];
				dslope[h] += below * z[i];
			}
	} else {
		act_backward_ref(B, H, z, dy, act, slope, dz, dslope);
	}
}

void
CPU(add)(size_t n, float *restrict y, const float *restrict x)
{
	for (size_t i = 0; i < n; i++)
		y[i] += x[i];
}

void
CPU(fill)(size_t n, float *y, float value)
{
	if (value == 0 && n > 0)
		memset(y, 0, n * sizeof(*y));
	for (size_t i = 0; i < n && value != 0; i++)
		y[i] = value;
}

void
CPU(copy_rows)(size_t B, size_t n, const float *x, size_t ldx, float *y, size_t ldy)
{
	for (size_t b = 0; b < B; b++)
		memcpy(y + b * ldy, x + b * ldx, n * sizeof(*y));
}

void
CPU(add_rows)(size_t B, size_t n, const float *x, size_t ldx, float *y, size_t ldy)
{
	for (size_t b = 0; b < B; b++)
		CPU(add)(n, y + b * ldy, x + b * ldx);
}

void
CPU(scale)(size_t n, float *y, float factor)
{
	for (size_t i = 0; i < n; i++)
		y[i] *= factor;
}

/* NaN fails every comparison. */
static inline int
is_bad(float x)
{
	return !(__builtin_fabsf(x) <= 0x1p100f);
}

void
CPU(sum_into)(size_t n, float *restrict y, const float *restrict x, int *bad)
{
	int any = 0;

#pragma omp simd reduction(|:any)
	for (size_t i = 0; i < n; i++) {
		any |= is_bad(x[i]);
		y[i] += x[i];
	}
	*bad |= any;
}

void
CPU(finite)(size_t n, const float *x, int *bad)
{
	int any = 0;

#pragma omp simd reduction(|:any)
	for (size_t i = 0; i < n; i++)
		any |= is_bad(x[i]);
	*bad |= any;
}

void
CPU(dice_forward)(size_t B, size_t H, const float *restrict z, const float *restrict zhat,
	const float *restrict alpha, float *restrict y)
{
	for (size_t b = 0; b < B; b++)
#pragma omp simd
		for (size_t h = 0; h < H; h++) {
			const float p = sigmoid(zhat[b * H + h]);
			y[b * H + h] = z[b * H + h] * (p + (1 - p) * alpha[h]);
		}
}

void
CPU(dice_backward)(size_t B, size_t H, const float *restrict z, const float *restrict zhat,
	const float *restrict alpha, const float *restrict dy, float *restrict dz,
	float *restrict dzhat, float *restrict dalpha)
{
	for (size_t b = 0; b < B; b++)
#pragma omp simd
		for (size_t h = 0; h < H; h++) {
			const size_t i = b * H + h;
			const float p = sigmoid(zhat[i]), scaled = dy[i] * z[i];
			dz[i] += dy[i] * (p + (1 - p) * alpha[h]);
			dzhat[i] = scaled * (1 - alpha[h]) * p * (1 - p);
			dalpha[h] += scaled * (1 - p);
		}
}
