/* Reference kernels: matrix product, activations, sums of vectors. */
#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "base/half.h"
#include "kernel/ref/ref.h"

/* Of floats, or of bfloat16 where brain is not NULL. */
static double
operand(const float *floats, const uint16_t *brain, size_t i)
{
	return brain != NULL ? half_brain_value(brain[i]) : floats[i];
}

static void
multiply(const struct gemm_args *s, const uint16_t *a, const uint16_t *b)
{
	for (size_t i = 0; i < s->m; i++)
		for (size_t j = 0; j < s->n; j++) {
			double sum = 0;
			for (size_t k = 0; k < s->k; k++) {
				const double x = operand(s->a, a, s->transpose_a
					? k * s->lda + i : i * s->lda + k);
				const double y = operand(s->b, b, s->transpose_b
					? j * s->ldb + k : k * s->ldb + j);
				sum += x * y;
			}
			float *c = &s->c[i * s->ldc + j];
			*c = s->alpha * sum + (s->beta == 0 ? 0 : s->beta * *c);
		}
}

void
gemm_ref(const struct gemm_args *a)
{
	multiply(a, NULL, NULL);
}

void
gemm_brain_ref(const struct gemm_args *shape, const uint16_t *a, const uint16_t *b)
{
	multiply(shape, a, b);
}

void
round_rows_ref(size_t B, size_t n, const float *x, size_t ldx, uint16_t *y, size_t ldy)
{
	for (size_t b = 0; b < B; b++)
		for (size_t i = 0; i < n; i++)
			y[b * ldy + i] = half_brain_of(x[b * ldx + i]);
}

static double
sigmoid(double z)
{
	return z >= 0 ? 1 / (1 + exp(-z)) : exp(z) / (1 + exp(z));
}

/* The standard normal distribution function and density (GELU, Hendrycks 2016). */
static double
normal_cdf(double z)
{
	return 0.5 * erfc(-z * M_SQRT1_2);
}

static double
normal_pdf(double z)
{
	return exp(-0.5 * z * z) * (0.5 * M_2_SQRTPI * M_SQRT1_2);
}

static double
act_value(int act, double z, double slope)
{
	switch (act) {
	case KERNEL_ACT_RELU:    return z > 0 ? z : z != z ? z : 0;
	case KERNEL_ACT_PRELU:   return z > 0 ? z : slope * z;
	case KERNEL_ACT_TANH:    return tanh(z);
	case KERNEL_ACT_SIGMOID: return sigmoid(z);
	case KERNEL_ACT_GELU:    return z * normal_cdf(z);
	default:                 assert(act == KERNEL_ACT_NONE); return z;
	}
}

/* The derivative where y is act(z), for the activations that can be undone. */
static double
act_slope_from_output(int act, double y)
{
	switch (act) {
	case KERNEL_ACT_RELU:    return y > 0;
	case KERNEL_ACT_TANH:    return 1 - y * y;
	case KERNEL_ACT_SIGMOID: return y * (1 - y);
	default:                 assert(act == KERNEL_ACT_NONE); return 1;
	}
}

static double
act_slope(int act, double z, double slope)
{
	switch (act) {
	case KERNEL_ACT_PRELU: return z > 0 ? 1 : slope;
	case KERNEL_ACT_GELU:  return normal_cdf(z) + z * normal_pdf(z);
	default:               return act_slope_from_output(act, act_value(act, z, 0));
	}
}

void
bias_act_forward_ref(size_t B, size_t H, float *y, const float *bias, int act)
{
	for (size_t b = 0; b < B; b++)
		for (size_t h = 0; h < H; h++)
			y[b * H + h] = act_value(
				act, y[b * H + h] + (bias == NULL ? 0 : bias[h]), 0);
}

void
bias_act_backward_ref(size_t B, size_t H, const float *y, const float *dy, int act, float *dz,
	float *dbias)
{
	for (size_t h = 0; h < H; h++) {
		double sum = 0;
		for (size_t b = 0; b < B; b++) {
			dz[b * H + h] = dy[b * H + h] * act_slope_from_output(act, y[b * H + h]);
			sum += dz[b * H + h];
		}
		if (dbias != NULL)
			dbias[h] += sum;
	}
}

void
act_forward_ref(size_t B, size_t H, const float *z, int act, const float *slope, float *y)
{
	for (size_t b = 0; b < B; b++)
		for (size_t h = 0; h < H; h++)
			y[b * H + h] = act_value(act, z[b * H + h], slope == NULL ? 0 : slope[h]);
}

void
act_backward_ref(size_t B, size_t H, const float *z, const float *dy, int act, const float *slope,
	float *dz, float *dslope)
{
	for (size_t h = 0; h < H; h++) {
		double sum = 0;
		for (size_t i = h; i < B * H; i += H) {
			dz[i] += dy[i] * act_slope(act, z[i], slope == NULL ? 0 : slope[h]);
			sum += z[i] > 0 ? 0 : (double)dy[i] * z[i];
		}
		if (dslope != NULL && act == KERNEL_ACT_PRELU)
			dslope[h] += sum;
	}
}

void
dice_forward_ref(size_t B, size_t H, const float *z, const float *zhat, const float *alpha,
	float *y)
{
	for (size_t i = 0; i < B * H; i++) {
		const double p = sigmoid(zhat[i]);
		y[i] = z[i] * (p + (1 - p) * alpha[i % H]);
	}
}

void
dice_backward_ref(size_t B, size_t H, const float *z, const float *zhat, const float *alpha,
	const float *dy, float *dz, float *dzhat, float *dalpha)
{
	for (size_t h = 0; h < H; h++) {
		double sum = 0;
		for (size_t i = h; i < B * H; i += H) {
			const double p = sigmoid(zhat[i]);
			dz[i] += dy[i] * (p + (1 - p) * alpha[h]);
			dzhat[i] = dy[i] * z[i] * (1 - alpha[h]) * p * (1 - p);
			sum += dy[i] * z[i] * (1 - p);
		}
		dalpha[h] += sum;
	}
}

void
add_ref(size_t n, float *y, const float *x)
{
	for (size_t i = 0; i < n; i++)
		y[i] += x[i];
}

void
scale_ref(size_t n, float *y, float factor)
{
	for (size_t i = 0; i < n; i++)
		y[i] *= factor;
}

void
fill_ref(size_t n, float *y, float value)
{
	for (size_t i = 0; i < n; i++)
		y[i] = value;
}

void
copy_rows_ref(size_t B, size_t n, const float *x, size_t ldx, float *y, size_t ldy)
{
	for (size_t b = 0; b < B; b++)
		for (size_t i = 0; i < n; i++)
			y[b * ldy + i] = x[b * ldx + i];
}

void
add_rows_ref(size_t B, size_t n, const float *x, size_t ldx, float *y, size_t ldy)
{
	for (size_t b = 0; b < B; b++)
		add_ref(n, y + b * ldy, x + b * ldx);
}

void
dot_ref(size_t n, const float *a, const float *b, float scale, float *y)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += b == NULL ? a[i] : (double)a[i] * b[i];
	*y = scale * sum;
}

/* Also false for NaN; 2^100 leaves room for squares of sums in the optimizers. */
static int
is_sane(double x)
{
	return fabs(x) <= 0x1p100;
}

void
sum_into_ref(size_t n, float *y, const float *x, int *bad)
{
	for (size_t i = 0; i < n; i++) {
		if (!is_sane(x[i]))
			*bad = 1;
		y[i] += x[i];
	}
}

void
finite_ref(size_t n, const float *x, int *bad)
{
	for (size_t i = 0; i < n; i++)
		if (!is_sane(x[i]))
			*bad = 1;
}

void
spoil_ref(float *y, const int *bad)
{
	if (*bad)
		*y = NAN;
}
