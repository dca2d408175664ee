/*
 * What products share: vectors of floats, where a sum over k is cut, and, those of AVX2, packing.
 * All cut it alike and add in the order of k, so that which of them makes a product is no matter
 * of bits.
 */
#ifndef KERNEL_CPU_CPU_PANEL_H
#define KERNEL_CPU_CPU_PANEL_H

#include <stddef.h>
#include <string.h>

#include "kernel/cpu/cpu_table.h"

/* With AVX-512 the library's product stands, until these have been measured beside it. */
#if defined(__AVX2__) && defined(__FMA__) && !defined(__AVX512F__)
#define HAS_PANELS 1
#include <immintrin.h>
#else
#define HAS_PANELS 0
#endif

#define INLINE static inline __attribute__((always_inline, unused))

#if defined(__AVX512F__)
enum { WIDTH = 16 };                /* floats of a vector                             */
#elif defined(__AVX__)
enum { WIDTH = 8 };
#else
enum { WIDTH = 4 };
#endif

enum { K_BLOCK = 512 };             /* numbers of one chain of additions, at most     */

typedef float vector __attribute__((vector_size(WIDTH * sizeof(float)), aligned(4), may_alias));

INLINE vector
load(const float *p)
{
	return *(const vector *)p;
}

INLINE void
store(float *p, vector x)
{
	*(vector *)p = x;
}

INLINE vector
spread(float x)
{
	return x - (vector){ 0 };
}

/* x y + sum, with panels by one rounding whatever the compiler makes of loops. */
INLINE vector
multiply_add(vector x, vector y, vector sum)
{
#if HAS_PANELS
	return (vector)_mm256_fmadd_ps((__m256)x, (__m256)y, (__m256)sum);
#else
	return x * y + sum;
#endif
}

INLINE float
multiply_add_one(float x, float y, float sum)
{
#if HAS_PANELS
	return __builtin_fmaf(x, y, sum);
#else
	return x * y + sum;
#endif
}

/* As few blocks as can be of `most`, of about the same size, whole units. */
INLINE size_t
even_block(size_t size, size_t most, size_t unit)
{
	const size_t n = (size + most - 1) / most, even = (size + n - 1) / n;

	return (even + unit - 1) / unit * unit;
}

INLINE size_t
at_most(size_t n, size_t most)
{
	return n < most ? n : most;
}

#if HAS_PANELS
typedef int order __attribute__((vector_size(WIDTH * sizeof(int))));

/* to[i * ldt + j] = from[j * ldf + i] of WIDTH x WIDTH: pairs, then pairs of pairs, then halves
 * change places. */
INLINE void
transpose(const float *from, size_t ldf, float *to, size_t ldt)
{
	const order low = { 0, 8, 1, 9, 4, 12, 5, 13 }, high = { 2, 10, 3, 11, 6, 14, 7, 15 };
	const order even = { 0, 1, 8, 9, 4, 5, 12, 13 }, odd = { 2, 3, 10, 11, 6, 7, 14, 15 };
	const order first = { 0, 1, 2, 3, 8, 9, 10, 11 }, last = { 4, 5, 6, 7, 12, 13, 14, 15 };
	vector x[WIDTH], y[WIDTH];

#pragma GCC unroll 8
	for (size_t j = 0; j < WIDTH; j++)
		x[j] = load(from + j * ldf);
#pragma GCC unroll 4
	for (size_t j = 0; j < WIDTH; j += 2) {
		y[j] = __builtin_shuffle(x[j], x[j + 1], low);
		y[j + 1] = __builtin_shuffle(x[j], x[j + 1], high);
	}
#pragma GCC unroll 2
	for (size_t j = 0; j < WIDTH; j += 4) {
		x[j] = __builtin_shuffle(y[j], y[j + 2], even);
		x[j + 1] = __builtin_shuffle(y[j], y[j + 2], odd);
		x[j + 2] = __builtin_shuffle(y[j + 1], y[j + 3], even);
		x[j + 3] = __builtin_shuffle(y[j + 1], y[j + 3], odd);
	}
#pragma GCC unroll 4
	for (size_t i = 0; i < WIDTH / 2; i++) {
		store(to + i * ldt, __builtin_shuffle(x[i], x[i + 4], first));
		store(to + (i + 4) * ldt, __builtin_shuffle(x[i], x[i + 4], last));
	}
}

/* b [k,n] into to [k,columns], zeros from n on; columns >= n. */
INLINE void
pack_rows(const float *b, size_t ldb, size_t k, size_t n, float *to, size_t columns)
{
	const size_t whole = n / WIDTH * WIDTH;

	for (; k > 0; k--, b += ldb, to += columns) {
		for (size_t j = 0; j < whole; j += WIDTH)
			store(to + j, load(b + j));
		for (size_t j = whole; j < columns; j++)
			to[j] = j < n ? b[j] : 0;
	}
}

/* The same of the transpose of b [n,k]. */
INLINE void
pack_columns(const float *b, size_t ldb, size_t k, size_t n, float *to, size_t columns)
{
	const size_t whole_n = n / WIDTH * WIDTH, whole_k = k / WIDTH * WIDTH;

	for (size_t p = 0; p < whole_k; p += WIDTH)
		for (size_t j = 0; j < whole_n; j += WIDTH)
			transpose(b + j * ldb + p, ldb, to + p * columns + j, columns);
	for (size_t p = 0; p < k; p++)
		for (size_t j = p < whole_k ? whole_n : 0; j < columns; j++)
			to[p * columns + j] = j < n ? b[j * ldb + p] : 0;
}

#endif

/* alpha sum + beta c, of which the second multiplication is the fused one wherever this is. */
INLINE vector
scaled_sum(float alpha, vector sum, float beta, const float *c)
{
	const vector y = alpha * sum;

	if (beta == 0)
		return y;
	return multiply_add(spread(beta), load(c), y);
}

/* c[0..n) = alpha sum + beta c; sum is whole vectors. */
INLINE void
row_out(const struct gemm_args *g, float beta, const float *sum, size_t n, float *c)
{
	float part[WIDTH];
	size_t j = 0;

	for (; j + WIDTH <= n; j += WIDTH)
		store(c + j, scaled_sum(g->alpha, load(sum + j), beta, c + j));
	if (j == n)
		return;
	memset(part, 0, sizeof(part));
	if (beta != 0)
		memcpy(part, c + j, (n - j) * sizeof(float));
	store(part, scaled_sum(g->alpha, load(sum + j), beta, part));
	memcpy(c + j, part, (n - j) * sizeof(float));
}

#endif
