/* The matrix product: by panels or OpenBLAS, but for shapes that need no packing.  With panels a
 * row of C has the same bits alone and among others. */
#include <cblas.h>
#include <stddef.h>

#include "kernel/cpu/cpu_panel.h"

/* Between the numbers of one column of B. */
static size_t
column_step(const struct gemm_args *g)
{
	return g->transpose_b ? 1 : g->ldb;
}

/* One column of B: the library's matrix-vector product needs no packing. */
static void
gemv(const struct gemm_args *a)
{
	const int rows = (int)(a->transpose_a ? a->k : a->m),
		columns = (int)(a->transpose_a ? a->m : a->k);

	cblas_sgemv(CblasRowMajor, a->transpose_a ? CblasTrans : CblasNoTrans, rows, columns,
		a->alpha, a->a, (int)a->lda, a->b, (int)column_step(a), a->beta, a->c,
		(int)a->ldc);
}

#if HAS_PANELS
enum { CHAINS = 2, COLUMN_ROWS = 4 };

/* The sums of four vectors. */
INLINE __m128
four_sums(const vector s[COLUMN_ROWS])
{
	const __m256 half = _mm256_hadd_ps(_mm256_hadd_ps((__m256)s[0], (__m256)s[1]),
		_mm256_hadd_ps((__m256)s[2], (__m256)s[3]));

	return _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
}

/* c = alpha a b + beta c of up to COLUMN_ROWS rows, each with sums of its own. */
INLINE void
column_rows(const struct gemm_args *g, size_t row, const size_t rows)
{
	const float *const a = g->a + row * g->lda, *const b = g->b;
	vector s[CHAINS][COLUMN_ROWS] = { 0 };
	float sum[COLUMN_ROWS] = { 0 };
	size_t k = 0;

	for (; k + CHAINS * WIDTH <= g->k; k += CHAINS * WIDTH)
#pragma GCC unroll 4
		for (size_t i = 0; i < rows; i++)
#pragma GCC unroll 2
			for (size_t l = 0; l < CHAINS; l++)
				s[l][i] = multiply_add(load(a + i * g->lda + k + l * WIDTH),
					load(b + k + l * WIDTH), s[l][i]);
	if (k + WIDTH <= g->k) {
#pragma GCC unroll 4
		for (size_t i = 0; i < rows; i++)
			s[0][i] = multiply_add(load(a + i * g->lda + k), load(b + k), s[0][i]);
		k += WIDTH;
	}
	for (; k < g->k; k++)
#pragma GCC unroll 4
		for (size_t i = 0; i < rows; i++)
			sum[i] = multiply_add_one(a[i * g->lda + k], b[k], sum[i]);
#pragma GCC unroll 4
	for (size_t i = 0; i < rows; i++)
		s[0][i] += s[1][i];
	_mm_storeu_ps(sum, _mm_add_ps(four_sums(s[0]), _mm_loadu_ps(sum)));
	for (size_t i = 0; i < rows; i++) {
		float *const c = g->c + (row + i) * g->ldc;
		const float y = g->alpha * sum[i];

		*c = g->beta == 0 ? y : multiply_add_one(g->beta, *c, y);
	}
}

/* One column of B without gaps, each row as it is alone, which the library's has not; 0: that is
 * to make it. */
static int
column(const struct gemm_args *g)
{
	size_t i = 0;

	if (g->scratch == NULL || g->transpose_a || column_step(g) != 1)
		return 0;
	for (; i + COLUMN_ROWS <= g->m; i += COLUMN_ROWS)
		column_rows(g, i, COLUMN_ROWS);
	for (; i < g->m; i++)
		column_rows(g, i, 1);
	return 1;
}
#else
static int
column(const struct gemm_args *g)
{
	(void)g;
	return 0;
}
#endif

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

enum {
	LINE = 16,                  /* floats of a cache line                         */
	ROWS = 4,                   /* of b in one pass over c                        */
	STRIP = 256 * LINE,         /* columns whose sums stay in the first cache     */
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

			sum = multiply_add(spread(x[0]), load(b + l), sum);
			sum = multiply_add(spread(x[1]), load(b + ldb + l), sum);
			sum = multiply_add(spread(x[2]), load(b + 2 * ldb + l), sum);
			sum = multiply_add(spread(x[3]), load(b + 3 * ldb + l), sum);
			*(vector *)(c + l) = sum;
		}
	}
	for (; j < n; j++)
		for (size_t r = 0; r < ROWS; r++)
			c[j] = multiply_add_one(x[r], b[r * ldb + j], c[j]);
}

/* sum[0..n) = a b over k from p on, of columns from j on, rows of b each read once and in order. */
static void
row_sum(const struct gemm_args *g, size_t p, size_t k, size_t j, size_t n,
	float *restrict sum)
{
	const size_t step = g->transpose_a ? g->lda : 1;
	const float *b = g->b + p * g->ldb + j, *a = g->a + p * step;
	const float *const end = g->b + g->k * g->ldb + j;

	memset(sum, 0, (n + WIDTH - 1) / WIDTH * WIDTH * sizeof(*sum));
	for (; k >= ROWS; k -= ROWS, b += ROWS * g->ldb, a += ROWS * step) {
		const float x[ROWS] = { a[0], a[step], a[2 * step], a[3 * step] };
		const float *const next = b + ROWS * g->ldb;

		row_block(x, b, end - next < (ptrdiff_t)(ROWS * g->ldb) ? b : next, g->ldb, n, sum);
	}
	for (; k > 0; k--, b += g->ldb, a += step)
		for (size_t i = 0; i < n; i++)
			sum[i] = multiply_add_one(*a, b[i], sum[i]);
}

/* One row: a sum of rows of b, in blocks of k as the panels have them; the library's product packs
 * b first, which costs more than multiplying it. */
static void
row(const struct gemm_args *g)
{
	const size_t k_block = g->k > 0 ? even_block(g->k, K_BLOCK, WIDTH) : 1;
	float sum[STRIP];

	for (size_t j = 0; j < g->n; j += STRIP)
		for (size_t p = 0; p == 0 || p < g->k; p += k_block) {
			const size_t n = at_most(g->n - j, STRIP);

			row_sum(g, p, at_most(g->k - p, k_block), j, n, sum);
			row_out(g, p == 0 ? g->beta : 1, sum, n, g->c + j);
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
		if (!column(a))
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
