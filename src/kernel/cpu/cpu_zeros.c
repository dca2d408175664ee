/*
 * The matrix product of AVX2 for an operand of which many numbers are 0, as what has gone
 * through a rectifier and the gradients that come back to it: what a zero would multiply is
 * passed over.  Of A, or of B by the transposed product C^T = B^T A^T.
 *
 * A row of A is read through masks, a bit for each k of a chunk.  For each bit that is set,
 * a row of a panel of B, [CHUNK, up to 8 MOST_VECTORS], is multiplied and added to the row of
 * sums that the registers hold.  The panel stays in the first cache and each multiplication
 * reads a vector of it, two a cycle: about .8 of the rate at which tiles go (cpu_panel.c), for
 * the part of the work that is there.  A number of C is the same chain of fused multiplications
 * and additions as there, less those of zeros, which change no bit of a finite sum.
 */
#include <stddef.h>
#include <stdint.h>

#include "kernel/cpu/cpu_panel.h"

#if HAS_PANELS
enum {
	CHUNK = 64,                 /* of k: bits of a mask                           */
	LEAST_VECTORS = 8,          /* of a row: fewer chains of additions would wait */
	MOST_VECTORS = 13,          /* that registers hold beside what they multiply  */
	LEAST_ROWS = 32, LEAST_K = 32,
	K_CHUNKS = K_BLOCK / CHUNK,
	DIRECT_ROWS = 512,          /* of A in a block, where they are                */
	PACKED_ROWS = 400,          /* of a transposed A: what scratch has room for   */
	MASK_FLOATS = 2 * K_CHUNKS, SUM_FLOATS = MOST_VECTORS * WIDTH,     /* of a row    */
	PANEL_FLOATS = CHUNK * SUM_FLOATS,
	SAMPLE_ROWS = 16,
};
_Static_assert(DIRECT_ROWS % WIDTH == 0 && PACKED_ROWS % WIDTH == 0, "rows in whole tiles");
_Static_assert(DIRECT_ROWS * (MASK_FLOATS + SUM_FLOATS) + PANEL_FLOATS <= KERNEL_GEMM_SCRATCH &&
	PACKED_ROWS * (K_BLOCK + MASK_FLOATS + SUM_FLOATS) + PANEL_FLOATS <= KERNEL_GEMM_SCRATCH,
	"scratch of a product");

/* A bit for each k of a chunk; in scratch, which is of floats. */
typedef uint64_t __attribute__((may_alias)) bits;

#define MOST_NONZERO 0.66f      /* above it tiles are faster                              */

/* ---- a chunk of k of a panel -------------------------------------------- */

/* sum[rows,columns] += a b, a [rows,k] and b [k,columns]. */
struct chunk {
	size_t rows;
	const bits *mask;                      /* [rows] where a is not 0             */
	const float *a; size_t lda;
	const float *b;
	float *sum; size_t ld;
	int is_first;                          /* sum is written, not added to        */
};

INLINE void
prefetch_row(const float *a)
{
	for (size_t i = 0; i < CHUNK; i += CHUNK / 4)
		__builtin_prefetch(a + i);
}

INLINE void
chunk_multiply(const struct chunk *x, const size_t vectors)
{
	const size_t columns = vectors * WIDTH;
	const float *a = x->a, *const panel = x->b;
	float *sum = x->sum;

	for (size_t i = 0; i < x->rows; i++, a += x->lda, sum += x->ld) {
		vector s[MOST_VECTORS];

		prefetch_row(a + x->lda);
#pragma GCC unroll 13
		for (size_t j = 0; j < vectors; j++)
			s[j] = x->is_first ? (vector){ 0 } : load(sum + j * WIDTH);
		for (bits mask = x->mask[i]; mask != 0; mask = _blsr_u64(mask)) {
			const size_t k = _tzcnt_u64(mask);
			const float *const b = panel + k * columns;
			const vector y = spread(a[k]);

#pragma GCC unroll 13
			for (size_t j = 0; j < vectors; j++)
				s[j] = multiply_add(y, load(b + j * WIDTH), s[j]);
		}
#pragma GCC unroll 13
		for (size_t j = 0; j < vectors; j++)
			store(sum + j * WIDTH, s[j]);
	}
}

typedef void chunk_function(const struct chunk *x);

/* What LEAST_VECTORS and more are cut into. */
#define CHUNKS(ROW) ROW(6) ROW(7) ROW(8) ROW(9) ROW(10) ROW(11) ROW(12) \
	ROW(13)
#define ROW(n) \
	static __attribute__((noinline)) void \
	chunk_##n(const struct chunk *x) \
	{ \
		chunk_multiply(x, n); \
	}
CHUNKS(ROW)
#undef ROW

/* By vectors of a row. */
static chunk_function *const chunk_table[MOST_VECTORS + 1] = {
#define ROW(n) [n] = chunk_##n,
	CHUNKS(ROW)
#undef ROW
};

/* ---- which operand, and whether it is worth it ---------------------------- */

/* The part of rows x columns that is not 0, by some of the rows. */
static float
nonzero_part(const float *x, size_t ld, size_t rows, size_t columns)
{
	const size_t n = at_most(rows, SAMPLE_ROWS);
	size_t nonzero = 0;

	for (size_t r = 0; r < n; r++) {
		const float *const row = x + r * rows / n * ld;
		int of_row = 0;

		for (size_t j = 0; j < columns; j++)
			of_row += row[j] != 0;
		nonzero += (size_t)of_row;
	}
	return (float)nonzero / (float)(n * columns);
}

/* C^T = B^T A^T; c stays that of C. */
static struct gemm_args
transposed(const struct gemm_args *g)
{
	struct gemm_args t = *g;

	t.transpose_a = !g->transpose_b;
	t.transpose_b = !g->transpose_a;
	t.m = g->n;
	t.n = g->m;
	t.a = g->b;
	t.lda = g->ldb;
	t.b = g->a;
	t.ldb = g->lda;
	return t;
}

/* The part of A that is not 0; 1: the shape is not one for this. */
static float
part_of_work(const struct gemm_args *g)
{
	if (g->m < LEAST_ROWS || g->k < LEAST_K || g->n < LEAST_VECTORS * WIDTH)
		return 1;
	return nonzero_part(g->a, g->lda, g->transpose_a ? g->k : g->m,
		g->transpose_a ? g->m : g->k);
}

/* ---- blocks ------------------------------------------------------------- */

/* Rows [i,i+m) of A and numbers [p,p+k) of them, and columns [j,j+n) of B. */
struct block {
	struct gemm_args of;
	int is_transposed;             /* C is written as its transpose               */
	size_t i, m, p, k, j, n;
	size_t columns;                /* of the panel, n at least, whole vectors     */
	const float *a; size_t lda;    /* of chunk 0, from row i on                   */
	size_t a_step;                 /* from chunk to chunk                         */
	float    *rows;                /* [chunks,m,CHUNK] if A is transposed         */
	bits     *mask;                /* [chunks,m]                                  */
	float    *sum; size_t ld;      /* [m,columns], those kept or C itself         */
	float    *kept;                /* [m,columns]                                 */
	float    *panel;               /* [CHUNK,columns]                             */
};

static bits
mask_of(const float *x, size_t n)
{
	bits mask = 0;
	size_t i = 0;

	for (; i + WIDTH <= n; i += WIDTH) {
		const order is_set = load(x + i) != 0;

		mask |= (bits)(uint32_t)_mm256_movemask_ps((__m256)is_set) << i;
	}
	for (; i < n; i++)
		mask |= (bits)(x[i] != 0) << i;
	return mask;
}

/* Rows of A where they are, or packed from columns, and their masks. */
static void
block_read_rows(struct block *x)
{
	const struct gemm_args *const g = &x->of;

	x->a = g->transpose_a ? x->rows : g->a + x->i * g->lda + x->p;
	x->lda = g->transpose_a ? CHUNK : g->lda;
	x->a_step = g->transpose_a ? x->m * CHUNK : CHUNK;
	for (size_t q = 0, c = 0; q < x->k; q += CHUNK, c++) {
		const size_t k = at_most(x->k - q, CHUNK);
		const float *const a = x->a + c * x->a_step;

		if (g->transpose_a)
			pack_columns(g->a + (x->p + q) * g->lda + x->i, g->lda, x->m, k,
				x->rows + c * x->a_step, CHUNK);
		for (size_t i = 0; i < x->m; i++)
			x->mask[c * x->m + i] = mask_of(a + i * x->lda, k);
	}
}

static void
block_multiply(const struct block *x)
{
	const struct gemm_args *const g = &x->of;
	struct chunk part = { .rows = x->m, .mask = x->mask, .a = x->a, .lda = x->lda,
		.b = x->panel, .sum = x->sum, .ld = x->ld, .is_first = 1 };

	for (size_t q = 0; q < x->k; q += CHUNK) {
		const size_t k = at_most(x->k - q, CHUNK), p = x->p + q;

		if (g->transpose_b)
			pack_columns(g->b + x->j * g->ldb + p, g->ldb, k, x->n, x->panel,
				x->columns);
		else
			pack_rows(g->b + p * g->ldb + x->j, g->ldb, k, x->n, x->panel,
				x->columns);
		chunk_table[x->columns / WIDTH](&part);
		part.is_first = 0;
		part.mask += x->m;
		part.a += x->a_step;
	}
}

/* Columns of the sums, which are rows of C; those of the last tile may lie behind them. */
static void
columns_out(const struct block *x, float beta)
{
	const struct gemm_args *const g = &x->of;
	float turned[WIDTH * WIDTH];

	for (size_t j = 0; j < x->n; j += WIDTH)
		for (size_t i = 0; i < x->m; i += WIDTH) {
			transpose(x->kept + i * x->columns + j, x->columns, turned, WIDTH);
			for (size_t r = 0; r < at_most(x->n - j, WIDTH); r++)
				row_out(g, beta, turned + r * WIDTH, at_most(x->m - i, WIDTH),
					g->c + (x->j + j + r) * g->ldc + x->i + i);
		}
}

static void
block_write(const struct block *x)
{
	const struct gemm_args *const g = &x->of;
	const float beta = x->p == 0 ? g->beta : 1;

	if (x->is_transposed) {
		columns_out(x, beta);
		return;
	}
	for (size_t i = 0; i < x->m; i++)
		row_out(g, beta, x->kept + i * x->columns, x->n,
			g->c + (x->i + i) * g->ldc + x->j);
}

static void
block_panels(struct block *x)
{
	const size_t n = x->of.n, vectors = (n + WIDTH - 1) / WIDTH;
	const size_t panels = (vectors + MOST_VECTORS - 1) / MOST_VECTORS;
	const int is_sum = !x->is_transposed && x->of.alpha == 1 && x->of.beta == 0 && x->p == 0;

	for (size_t t = 0; t < panels; t++) {
		const size_t end = (t + 1) * vectors / panels * WIDTH;

		x->j = t * vectors / panels * WIDTH;
		x->columns = end - x->j;
		x->n = at_most(n, end) - x->j;
		x->sum = is_sum && x->n == x->columns
			? x->of.c + x->i * x->of.ldc + x->j : x->kept;
		x->ld = x->sum == x->kept ? x->columns : x->of.ldc;
		block_multiply(x);
		if (x->sum == x->kept)
			block_write(x);
	}
}

/* Scratch for blocks of so many rows of A, and how many those are. */
static size_t
block_open(struct block *x, float *scratch)
{
	const size_t most = x->of.transpose_a ? PACKED_ROWS : DIRECT_ROWS;

	x->rows = scratch;
	scratch += x->of.transpose_a ? most * K_BLOCK : 0;
	x->mask = (bits *)(void *)scratch;
	scratch += most * MASK_FLOATS;
	x->kept = scratch;
	x->panel = scratch + most * SUM_FLOATS;
	return even_block(x->of.m, most, WIDTH);
}

int
CPU(zeros)(const struct gemm_args *g)
{
	if (g->scratch == NULL)
		return 0;
	const struct gemm_args t = transposed(g);
	const float a = part_of_work(g), b = part_of_work(&t);
	struct block x = { .of = b < a ? t : *g, .is_transposed = b < a };

	if (a > MOST_NONZERO && b > MOST_NONZERO)
		return 0;
	const size_t k_block = even_block(g->k, K_BLOCK, WIDTH);
	const size_t m_block = block_open(&x, g->scratch);

	for (x.p = 0; x.p < g->k; x.p += k_block) {
		x.k = at_most(g->k - x.p, k_block);
		for (x.i = 0; x.i < x.of.m; x.i += m_block) {
			x.m = at_most(x.of.m - x.i, m_block);
			block_read_rows(&x);
			block_panels(&x);
		}
	}
	return 1;
}
#else
int
CPU(zeros)(const struct gemm_args *g)
{
	(void)g;
	return 0;
}
#endif
