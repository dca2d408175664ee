/*
 * The matrix product when many numbers of an operand are 0: against sums in double, to the bit
 * against the same product in pieces that are too small to pass over zeros, and that it does
 * pass over them.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "kernel/kernel.h"
#include "tests/kernel/product_bed.h"
#include "tests/test.h"

enum { IN_A, IN_B, IN_BOTH };

/* Around chunks of 64 of k, blocks of 400 and 512 rows and 512 of k, and panels of 8 to 13
 * vectors. */
static const struct shape shape_table[] = {
	{ 32, 64, 32 }, { 33, 71, 63 }, { 64, 32, 64 }, { 75, 65, 65 }, { 64, 96, 128 },
	{ 40, 97, 130 }, { 65, 104, 33 }, { 100, 200, 72 }, { 399, 66, 40 }, { 400, 64, 512 },
	{ 401, 80, 37 }, { 512, 66, 40 }, { 513, 64, 70 }, { 70, 811, 47 }, { 66, 90, 511 },
	{ 64, 70, 513 }, { 70, 64, 1030 },
};

enum { N_SHAPES = sizeof(shape_table) / sizeof(shape_table[0]) };

static void
make_zeros(struct fenced *f, size_t n, uint64_t key, double part)
{
	for (size_t i = 0; i < n; i++)
		if (rng_uniform(key, i) < part)
			f->x[i] = i & 1 ? 0.0f : -0.0f;
}

static struct bed
open_with_zeros(size_t shape, int t, int where, float beta)
{
	const struct shape *const s = &shape_table[shape];
	const double part = shape % 3 == 0 ? 0.95 : 0.55;
	struct bed bed = bed_open(s, t & 1, t >> 1, beta);

	if (where != IN_B)
		make_zeros(&bed.a, (t & 1 ? s->k : s->m) * bed.args.lda - BED_PAD, 11, part);
	if (where != IN_A)
		make_zeros(&bed.b, (t >> 1 ? s->n : s->k) * bed.args.ldb - BED_PAD, 12, part);
	return bed;
}

static void
products_are_those_of_the_formula(void **state)
{
	static const float beta_table[] = { 0, 1, -0.5f };
	static const char *const set_table[] = { "avx2", "baseline", "avx512" };
	const struct kernel_set *k;

	(void)state;
	for (size_t set = 0; set < 3; set++)
		for (size_t i = 0; i < N_SHAPES && kernel_select(set_table[set], &k) == RS_OK; i++)
			for (int t = 0; t < 12; t++) {
				struct bed bed = open_with_zeros(i, t & 3, t >> 2,
					beta_table[(i + (size_t)t) % 3]);

				bed.args.alpha = t % 4 < 2 ? 1 : 0.75f;
				bed_check(k, &bed);
				bed_close(&bed);
			}
}

/* Pieces of C of 16 rows are too low for A's zeros, and for B's, which want 64. */
static void
check_bits(const struct kernel_set *k, size_t shape, int t, int where, float beta)
{
	enum { PIECE = 16 };
	struct bed bed = open_with_zeros(shape, t, where, beta);
	struct bed part = open_with_zeros(shape, t, where, beta);

	bed.args.alpha = part.args.alpha = t & 2 ? 1 : 0.75f;
	k->gemm(&bed.args);
	for (size_t i = 0; i < bed.args.m; i += PIECE) {
		struct gemm_args g = part.args;

		g.m = bed.args.m - i < PIECE ? bed.args.m - i : PIECE;
		g.a += t & 1 ? i : i * g.lda;
		g.c += i * g.ldc;
		k->gemm(&g);
	}
	for (size_t i = 0; i < bed.args.m * bed.args.ldc - BED_PAD; i++)
		if (!(bed.c.x[i] == part.c.x[i]))
			fail_msg("%zu of shape %zu, %d, zeros %d: %.9g, not %.9g", i, shape, t,
				where, (double)bed.c.x[i], (double)part.c.x[i]);
	bed_close(&bed);
	bed_close(&part);
}

static void
zeros_change_no_bit(void **state)
{
	const struct kernel_set *k;

	(void)state;
	NEED_OWN_PRODUCTS(&k);
	for (size_t i = 0; i < N_SHAPES; i++)
		for (int t = 0; t < 12; t++)
			check_bits(k, i, t & 3, t >> 2, i & 1 ? 1 : 0);
}

/* All that number k of each row multiplies is NaN, and that number is 0. */
static void
check_passed_over(const struct kernel_set *kernel, int t, int where)
{
	const struct shape s = { 80, 96, 70 };
	struct bed bed = bed_open(&s, t & 1, t >> 1, 0);
	struct gemm_args *const g = &bed.args;

	for (size_t k = 0; k < s.k; k++) {
		const int is_zero = rng_uniform(13, k) < 0.5;
		const float a = where == IN_A ? 0 : NAN, b = where == IN_A ? NAN : 0;

		for (size_t i = 0; i < s.m && is_zero; i++)
			bed.a.x[t & 1 ? k * g->lda + i : i * g->lda + k] = a;
		for (size_t j = 0; j < s.n && is_zero; j++)
			bed.b.x[t >> 1 ? j * g->ldb + k : k * g->ldb + j] = b;
	}
	kernel->gemm(g);
	for (size_t i = 0; i < s.m; i++)
		for (size_t j = 0; j < s.n; j++)
			if (!isfinite(g->c[i * g->ldc + j]))
				fail_msg("%d, zeros %d: [%zu,%zu] is %g", t, where, i, j,
					(double)g->c[i * g->ldc + j]);
	bed_close(&bed);
}

static void
zeros_are_passed_over(void **state)
{
	const struct kernel_set *k;

	(void)state;
	NEED_OWN_PRODUCTS(&k);
	for (int t = 0; t < 8; t++)
		check_passed_over(k, t & 3, t >> 2);
}

/* A NaN is no zero, wherever it is. */
static void
nan_is_no_zero(void **state)
{
	const struct kernel_set *k;

	(void)state;
	NEED_OWN_PRODUCTS(&k);
	for (int t = 0; t < 4; t++) {
		struct bed bed = open_with_zeros(3, t, IN_A, 0);
		const struct gemm_args *const g = &bed.args;

		bed.a.x[t & 1 ? 64 * g->lda + 74 : 74 * g->lda + 64] = NAN;
		k->gemm(g);
		for (size_t j = 0; j < g->n; j++)
			assert_true(isnan(g->c[74 * g->ldc + j]) && isfinite(g->c[j]));
		bed_close(&bed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_are_those_of_the_formula),
		cmocka_unit_test(zeros_change_no_bit),
		cmocka_unit_test(zeros_are_passed_over),
		cmocka_unit_test(nan_is_no_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
