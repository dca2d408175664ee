/*
 * The kernels' own matrix product, of sizes around its blocks: against sums in double, at the
 * edges of pages that nobody may touch, and row by row to the bit.
 */
#include <string.h>

#include "kernel/kernel.h"
#include "tests/kernel/product_bed.h"
#include "tests/test.h"

static const char *const set_table[] = { "avx2", "baseline", "avx512" };

enum { N_SETS = sizeof(set_table) / sizeof(set_table[0]) };

/* Around tiles of 6 x 16, blocks of 96 rows, 416 columns and 512 of k. */
static const struct shape shape_table[] = {
	{ 2, 16, 1 }, { 5, 15, 3 }, { 6, 16, 8 }, { 7, 17, 9 }, { 12, 33, 31 }, { 13, 2, 255 },
	{ 1, 45, 1030 }, { 1, 4111, 6 }, { 1, 7, 1537 }, { 9, 1, 1 }, { 10, 1, 77 }, { 1, 1, 530 },
	{ 31, 48, 512 }, { 95, 16, 513 }, { 96, 31, 40 }, { 97, 5, 511 }, { 193, 18, 20 },
	{ 3, 415, 12 }, { 14, 416, 300 }, { 13, 417, 7 }, { 5, 1025, 9 }, { 100, 430, 1025 },
};

enum { N_SHAPES = sizeof(shape_table) / sizeof(shape_table[0]) };

static void
products_are_those_of_the_formula(void **state)
{
	static const float beta_table[] = { 0, 1, -0.5f };
	const struct kernel_set *k;

	(void)state;
	for (size_t set = 0; set < N_SETS; set++) {
		if (kernel_select(set_table[set], &k) != RS_OK)
			continue;
		for (size_t i = 0; i < N_SHAPES; i++)
			for (int t = 0; t < 4; t++) {
				struct bed bed = bed_open(&shape_table[i], t & 1, t >> 1,
					beta_table[(i + (size_t)t) % 3]);

				bed_check(k, &bed);
				bed_close(&bed);
			}
	}
}

enum { SIDE = 8 };

static void
check_empty(const struct kernel_set *k, const struct shape *s, int ta, int tb, float beta)
{
	static float scratch[KERNEL_GEMM_SCRATCH];
	float x[SIDE * SIDE], c[SIDE * SIDE];

	for (size_t i = 0; i < SIDE * SIDE; i++)
		x[i] = c[i] = 1;
	k->gemm(&(struct gemm_args){ .transpose_a = ta, .transpose_b = tb, .m = s->m, .n = s->n,
		.k = s->k, .alpha = 1, .beta = beta, .a = x, .lda = SIDE, .b = x, .ldb = SIDE,
		.c = c, .ldc = SIDE, .scratch = scratch });
	for (size_t i = 0; i < SIDE * SIDE; i++)
		assert_float_equal(
			c[i], i / SIDE < s->m && i % SIDE < s->n ? beta : 1, 0);
}

/* Sums of nothing are 0 and beta C, and no rows or columns are no product. */
static void
empty_products_are_products(void **state)
{
	static const struct shape empty_table[] = { { 0, 5, 3 }, { 5, 0, 3 }, { 5, 7, 0 } };
	const struct kernel_set *k;

	(void)state;
	for (size_t set = 0; set < N_SETS; set++)
		for (size_t i = 0; i < 3 && kernel_select(set_table[set], &k) == RS_OK; i++)
			for (int t = 0; t < 8; t++)
				check_empty(k, &empty_table[i], t & 1, t >> 1 & 1,
					t >> 2 ? 0.5f : 0);
}

/* Row i of C alone, by one product of `rows` rows that begins with it. */
static void
check_rows(const struct kernel_set *k, int ta, int tb, size_t rows)
{
	const struct shape whole = { 200, 37, 530 };
	struct bed bed = bed_open(&whole, ta, tb, 1), part = bed_open(&whole, ta, tb, 1);

	k->gemm(&bed.args);
	for (size_t i = 0; i + rows <= whole.m; i += rows) {
		struct gemm_args g = part.args;

		g.m = rows;
		g.a += ta ? i : i * g.lda;
		g.c += i * g.ldc;
		k->gemm(&g);
		for (size_t r = i; r < i + rows; r++)
			assert_memory_equal(part.c.x + r * g.ldc, bed.c.x + r * g.ldc,
				whole.n * sizeof(float));
	}
	bed_close(&bed);
	bed_close(&part);
}

static void
rows_have_the_same_bits_in_any_company(void **state)
{
	const struct kernel_set *k;

	(void)state;
	NEED_OWN_PRODUCTS(&k);
	for (int t = 0; t < 4; t++)
		for (size_t rows = 2; rows < 15; rows += 3)
			check_rows(k, t & 1, t >> 1, rows);
}

/* Each row of a product of a few rows is that of a product of all, to the bit. */
static void
check_alone(const struct kernel_set *k, const struct shape *whole, float beta, float alpha)
{
	struct bed bed = bed_open(whole, 0, 0, beta);

	bed.args.alpha = alpha;
	if (whole->n == 1)
		bed.args.ldb = 1;
	for (size_t rows = 1; rows < 8; rows++) {
		struct bed part = bed_open(whole, 0, 0, beta), all = bed_open(whole, 0, 0, beta);

		bed.args.c = all.c.x;
		k->gemm(&bed.args);
		for (size_t i = 0; i < whole->m; i += rows) {
			struct gemm_args g = bed.args;

			g.m = whole->m - i < rows ? whole->m - i : rows;
			g.a += i * g.lda;
			g.c = part.c.x + i * g.ldc;
			k->gemm(&g);
		}
		for (size_t i = 0; i < whole->m; i++)
			if (memcmp(part.c.x + i * bed.args.ldc, all.c.x + i * bed.args.ldc,
				    whole->n * sizeof(float)) != 0)
				fail_msg("row %zu of %zu x %zu, by %zu: other bits", i, whole->n,
					whole->k, rows);
		bed_close(&part);
		bed_close(&all);
	}
	bed_close(&bed);
}

/* What scores one row, or a layer of one unit, multiplies by other code than the panels. */
static void
row_alone_has_the_same_bits(void **state)
{
	static const struct shape alone_table[] = {
		{ 50, 45, 500 }, { 20, 45, 513 }, { 20, 45, 1030 }, { 20, 7, 1537 },
		{ 9, 4100, 515 }, { 31, 1, 7 }, { 31, 1, 16 }, { 31, 1, 33 }, { 30, 1, 1030 },
	};
	const struct kernel_set *k;

	(void)state;
	NEED_OWN_PRODUCTS(&k);
	for (size_t i = 0; i < sizeof(alone_table) / sizeof(alone_table[0]); i++) {
		check_alone(k, &alone_table[i], 0, 1);
		check_alone(k, &alone_table[i], -0.5f, 0.75f);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_are_those_of_the_formula),
		cmocka_unit_test(empty_products_are_products),
		cmocka_unit_test(rows_have_the_same_bits_in_any_company),
		cmocka_unit_test(row_alone_has_the_same_bits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
