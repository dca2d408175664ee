/* The matrix product: by panels or OpenBLAS, but for shapes that need no packing. */
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

#if defined(__AVX512F__)
enum { WIDTH = 16 };
#elif defined(__AVX__)
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif
typedef float vector __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));

static inline vector
load(const float *p)
{
	return *(const vector *)p;
}

enum {
	LINE = 16,                  /* floats of a cache line                         */
	ROWS = 4,                   /* of b in one pass over c                        */
};

/* c[0..n) += x b[0..ROWS), while the rows at next come into the cache: b is read once, so
 * this goes at the rate of what it lies in. */
static void
row_block(const float x[ROWS], const float *b, const float *next, size_t ldb, size_t n, float *c)
{
	size_t j = 0;

	for (; j + LINE <= n; j += LINE) {
#pragma GCC unroll 4
		for (size_t r = 0; r < ROWS; r++)
			__builtin_prefetch(next + r * ldb + j);
#pragma GCC unroll 4
		for (size_t l = j; l < j + LINE; l += WIDTH) {
			vector sum = load(c + l);

			sum += x[0] * load(b + l);
			sum += x[1] * load(b + ldb + l);
			sum += x[2] * load(b + 2 * ldb + l);
			sum += x[3] * load(b + 3 * ldb + l);
			*(vector *)(c + l) = sum;
		}
	}
	for (; j < n; j++)
		for (size_t r = 0; r < ROWS; r++)
			c[j] += x[r] * b[r * ldb + j];
}

/* One row: a sum of rows of b, each read once and in order; the library's product packs b
 * first, which costs more than multiplying it. */
static void
row(const struct gemm_args *a)
{
	const size_t step = a->transpose_a ? a->lda : 1;
	float *restrict c = a->c;
	size_t i = 0;

	for (size_t j = 0; j < a->n; j++)
		c[j] = a->beta == 0 ? 0 : a->beta * c[j];
	for (; i + ROWS <= a->k; i += ROWS) {
		const float *const b = a->b + i * a->ldb;
		const size_t ahead = i + 2 * ROWS <= a->k ? ROWS : 0;
		float x[ROWS];

		for (size_t r = 0; r < ROWS; r++)
			x[r] = a->alpha * a->a[(i + r) * step];
		row_block(x, b, b + ahead * a->ldb, a->ldb, a->n, c);
	}
	for (; i < a->k; i++) {
		const float x = a->alpha * a->a[i * step];
		const float *const restrict b = a->b + i * a->ldb;

		for (size_t j = 0; j < a->n; j++)
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
	if (CPU(zeros)(a) || CPU(panels)(a))
		return;
	cblas_sgemm(CblasRowMajor, a->transpose_a ? CblasTrans : CblasNoTrans,
		a->transpose_b ? CblasTrans : CblasNoTrans, (int)a->m, (int)a->n, (int)a->k,
		a->alpha, a->a, (int)a->lda, a->b, (int)a->ldb, a->beta, a->c, (int)a->ldc);
}
