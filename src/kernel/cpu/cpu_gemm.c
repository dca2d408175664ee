/* The matrix product: OpenBLAS, but for shapes that need no packing. */
#include <cblas.h>
#include <stddef.h>

#include "kernel/cpu/cpu_table.h"

/* One column of B: the library's matrix-vector product needs no packing. */
static void
gemv(const struct gemm_args *a)
{
	const int rows = (int)(a->transpose_a ? a->k : a->m),
		columns = (int)(a->transpose_a ? a->m : a->k);
	const int step = a->transpose_b ? 1 : (int)a->ldb;

	cblas_sgemv(CblasRowMajor, a->transpose_a ? CblasTrans : CblasNoTrans, rows, columns,
		a->alpha, a->a, (int)a->lda, a->b, step, a->beta, a->c, (int)a->ldc);
}

/* k = 1, b without gaps: C = alpha a b^T + beta C, one pass over C. */
static void
outer(const struct gemm_args *a)
{
	const size_t step = a->transpose_a ? 1 : a->lda;
	const float *restrict y = a->b;

	for (size_t i = 0; i < a->m; i++) {
		const float x = a->alpha * a->a[i * step], beta = a->beta;
		float *restrict c = a->c + i * a->ldc;
		if (beta == 0)
			for (size_t j = 0; j < a->n; j++)
				c[j] = x * y[j];
		else
			for (size_t j = 0; j < a->n; j++)
				c[j] = x * y[j] + beta * c[j];
	}
}

/* One row: a sum of rows of b, eight in one pass over c, each read once and in order; the
 * library's product packs b first, which costs more than multiplying it. */
static void
row(const struct gemm_args *a)
{
	const size_t step = a->transpose_a ? a->lda : 1, n = a->n, k8 = a->k / 8 * 8;
	float *restrict c = a->c;

	for (size_t j = 0; j < n; j++)
		c[j] = a->beta == 0 ? 0 : a->beta * c[j];
	for (size_t i = 0; i < k8; i += 8) {
		const float *const restrict b = a->b + i * a->ldb;
		float x[8];

		for (size_t r = 0; r < 8; r++)
			x[r] = a->alpha * a->a[(i + r) * step];
		for (size_t j = 0; j < n; j++)
			c[j] += ((x[0] * b[j] + x[1] * b[a->ldb + j])
				+ (x[2] * b[2 * a->ldb + j] + x[3] * b[3 * a->ldb + j]))
				+ ((x[4] * b[4 * a->ldb + j] + x[5] * b[5 * a->ldb + j])
				+ (x[6] * b[6 * a->ldb + j] + x[7] * b[7 * a->ldb + j]));
	}
	for (size_t i = k8; i < a->k; i++) {
		const float x = a->alpha * a->a[i * step];
		const float *const restrict b = a->b + i * a->ldb;

		for (size_t j = 0; j < n; j++)
			c[j] += x * b[j];
	}
}

void
CPU(gemm)(const struct gemm_args *a)
{
	if (a->k == 1 && (!a->transpose_b || a->ldb == 1)) {
		outer(a);
		return;
	}
	if (a->n == 1) {
		gemv(a);
		return;
	}
	if (a->m == 1 && !a->transpose_b) {
		row(a);
		return;
	}
	cblas_sgemm(CblasRowMajor, a->transpose_a ? CblasTrans : CblasNoTrans,
		a->transpose_b ? CblasTrans : CblasNoTrans, (int)a->m, (int)a->n, (int)a->k,
		a->alpha, a->a, (int)a->lda, a->b, (int)a->ldb, a->beta, a->c, (int)a->ldc);
}
