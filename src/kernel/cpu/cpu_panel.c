/*
 * The matrix product of AVX2: packed panels of B against tiles of A.  The blocking is that of
 * K. Goto and R. van de Geijn, "Anatomy of High-Performance Matrix Multiplication", ACM TOMS
 * 34(3), 2008.
 *
 * A tile of C, ROWS x COLUMNS, stays in registers while a block of k goes by.  A panel of B,
 * [block of k, COLUMNS], is packed and comes from the first two caches; rows of A are read where
 * they are, of a transposed A a block is packed.  Each number of C is one chain of fused
 * multiplications and additions for each block of k, in the order of k, whatever the other rows
 * and columns are; so does what multiplies one row by itself (cpu_gemm.c).
 */
#include <stddef.h>
#include <string.h>

#include "kernel/cpu/cpu_panel.h"

#if HAS_PANELS
enum {
	ROWS = 6, VECTORS = 2, COLUMNS = VECTORS * WIDTH,
	M_BLOCK = 16 * ROWS, N_BLOCK = 26 * COLUMNS,
	FEW_ROWS = 2 * ROWS,        /* for these packing B costs more than it brings  */
	A_FLOATS = M_BLOCK * K_BLOCK, B_FLOATS = N_BLOCK * K_BLOCK,
};
_Static_assert(A_FLOATS + B_FLOATS <= KERNEL_GEMM_SCRATCH, "scratch of a product");

/* ---- a tile ------------------------------------------------------------- */

/* c[0..rows,0..COLUMNS) = alpha a b + beta c over one block of k. */
struct tile {
	size_t k;
	const float *a; size_t row;           /* between rows of a that is not packed */
	const float *b; size_t ldb;
	float *c;       size_t ldc;
	float  alpha, beta;
};

INLINE void
tile_multiply(const struct tile *t, const int rows, const size_t row, const size_t step)
{
	const float *a = t->a, *b = t->b;
	const size_t ldb = t->ldb;
	vector s[ROWS][VECTORS];

#pragma GCC unroll 6
	for (int i = 0; i < rows; i++) {
		s[i][0] = s[i][1] = (vector){ 0 };
		__builtin_prefetch(t->c + (size_t)i * t->ldc, 1);
	}
	for (size_t k = t->k; k > 0; k--, a += step, b += ldb) {
		const vector b0 = load(b), b1 = load(b + WIDTH);

#pragma GCC unroll 6
		for (int i = 0; i < rows; i++) {
			const vector x = spread(a[(size_t)i * row]);

			s[i][0] = multiply_add(x, b0, s[i][0]);
			s[i][1] = multiply_add(x, b1, s[i][1]);
		}
	}
#pragma GCC unroll 6
	for (int i = 0; i < rows; i++) {
		float *const c = t->c + (size_t)i * t->ldc;

		store(c, scaled_sum(t->alpha, s[i][0], t->beta, c));
		store(c + WIDTH, scaled_sum(t->alpha, s[i][1], t->beta, c + WIDTH));
	}
}

typedef void tile_function(const struct tile *t);

#define TILES(n) \
	static __attribute__((noinline)) void \
	direct_##n(const struct tile *t) \
	{ \
		tile_multiply(t, n, t->row, 1); \
	} \
	static __attribute__((noinline)) void \
	packed_##n(const struct tile *t) \
	{ \
		tile_multiply(t, n, 1, ROWS); \
	}
TILES(1) TILES(2) TILES(3) TILES(4) TILES(5) TILES(6)
#undef TILES

/* By rows. */
static tile_function *const direct_table[ROWS + 1] = {
	NULL, direct_1, direct_2, direct_3, direct_4, direct_5, direct_6,
};
static tile_function *const packed_table[ROWS + 1] = {
	NULL, packed_1, packed_2, packed_3, packed_4, packed_5, packed_6,
};

/* A tile of which C has only some columns: by way of one that has all. */
static void
tile_of_part(tile_function *multiply, const struct tile *t, size_t rows, size_t columns)
{
	float all[ROWS * COLUMNS];
	struct tile whole = *t;

	whole.c = all;
	whole.ldc = COLUMNS;
	for (size_t i = 0; i < rows && t->beta != 0; i++) {
		memcpy(all + i * COLUMNS, t->c + i * t->ldc, columns * sizeof(float));
		memset(all + i * COLUMNS + columns, 0, (COLUMNS - columns) * sizeof(float));
	}
	multiply(&whole);
	for (size_t i = 0; i < rows; i++)
		memcpy(t->c + i * t->ldc, all + i * COLUMNS, columns * sizeof(float));
}

/* ---- rows of a block, cut into tiles of about the same height ------------ */

static size_t
tiles_of(size_t m)
{
	return (m + ROWS - 1) / ROWS;
}

/* The first row of tile t. */
static size_t
tile_begin(size_t m, size_t t)
{
	return t * m / tiles_of(m);
}

/* Columns of a [k,m] into tiles [k,ROWS] one after the other, what a tile lacks is not written;
 * a few rows of a at a time, as they may all lie in the same set of a cache. */
static void
pack_tiles(const float *a, size_t lda, size_t k, size_t m, float *to)
{
	for (size_t p = 0; p < k; p += WIDTH)
		for (size_t t = 0; t < tiles_of(m); t++) {
			const size_t i = tile_begin(m, t), rows = tile_begin(m, t + 1) - i;
			float *const tile = to + t * ROWS * k;

			for (size_t q = p; q < k && q < p + WIDTH; q++)
				if (rows == ROWS)
					memcpy(tile + q * ROWS, a + q * lda + i,
						ROWS * sizeof(float));
				else
					memcpy(tile + q * ROWS, a + q * lda + i,
						rows * sizeof(float));
		}
}

/* ---- blocks ------------------------------------------------------------- */

/* A block of C, [m,n] from row i and column j on, over k from p on. */
struct block {
	const struct gemm_args *of;
	size_t i, m, j, n, p, k;
	float *a, *b;                  /* scratch                                     */
	int    is_direct;              /* whole panels of B are read where they are   */
};

static size_t
panel_columns(const struct block *x, size_t j)
{
	return x->n - j < COLUMNS ? x->n - j : COLUMNS;
}

static void
block_pack_b(const struct block *x)
{
	const struct gemm_args *const g = x->of;

	for (size_t j = 0; j < x->n; j += COLUMNS) {
		const size_t n = panel_columns(x, j);

		if (g->transpose_b)
			pack_columns(g->b + (x->j + j) * g->ldb + x->p, g->ldb, x->k, n,
				x->b + j * x->k, COLUMNS);
		else if (!x->is_direct || n < COLUMNS)
			pack_rows(g->b + x->p * g->ldb + x->j + j, g->ldb, x->k, n,
				x->b + j * x->k, COLUMNS);
	}
}

static void
block_panel(const struct block *x, size_t j)
{
	const struct gemm_args *const g = x->of;
	const size_t n = panel_columns(x, j);
	const int in_place = x->is_direct && n == COLUMNS;
	struct tile t = { .k = x->k, .row = g->lda,
		.b = in_place ? g->b + x->p * g->ldb + x->j + j : x->b + j * x->k,
		.ldb = in_place ? g->ldb : COLUMNS, .ldc = g->ldc, .alpha = g->alpha,
		.beta = x->p == 0 ? g->beta : 1 };

	for (size_t tile = 0; tile < tiles_of(x->m); tile++) {
		const size_t i = tile_begin(x->m, tile), rows = tile_begin(x->m, tile + 1) - i;
		tile_function *const multiply =
			(g->transpose_a ? packed_table : direct_table)[rows];

		t.a = g->transpose_a ? x->a + tile * ROWS * x->k
			: g->a + (x->i + i) * g->lda + x->p;
		t.c = g->c + (x->i + i) * g->ldc + x->j + j;
		if (n == COLUMNS)
			multiply(&t);
		else
			tile_of_part(multiply, &t, rows, n);
	}
}

int
CPU(panels)(const struct gemm_args *g)
{
	if (g->scratch == NULL || g->n == 0 || g->k == 0)
		return 0;
	const size_t k_block = even_block(g->k, K_BLOCK, WIDTH);
	const size_t n_block = even_block(g->n, N_BLOCK, COLUMNS);
	struct block x = { .of = g, .a = g->scratch, .b = g->scratch + A_FLOATS,
		.is_direct = !g->transpose_b && g->m <= FEW_ROWS };

	for (x.j = 0; x.j < g->n; x.j += n_block) {
		x.n = at_most(g->n - x.j, n_block);
		for (x.p = 0; x.p < g->k; x.p += k_block) {
			x.k = at_most(g->k - x.p, k_block);
			block_pack_b(&x);
			for (x.i = 0; x.i < g->m; x.i += M_BLOCK) {
				x.m = at_most(g->m - x.i, M_BLOCK);
				if (g->transpose_a)
					pack_tiles(g->a + x.p * g->lda + x.i, g->lda, x.k, x.m,
						x.a);
				for (size_t j = 0; j < x.n; j += COLUMNS)
					block_panel(&x, j);
			}
		}
	}
	return 1;
}
#else
int
CPU(panels)(const struct gemm_args *g)
{
	(void)g;
	return 0;
}
#endif
