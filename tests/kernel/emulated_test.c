/* Every kernel for the GPU, emulated, agrees with the reference, whatever runs first. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"
#include "emulate.h"

/* A slot is a line of the table here and a function of kernel/cuda: what is missing there
 * does not link. */
static void
every_slot_is_emulated(void **state)
{
	(void)state;
#define ROW(name, arguments) assert_non_null(kernel_emulated.name);
	KERNEL_TABLE(ROW)
#undef ROW
}

static void
compare_in_order(int is_backwards, int is_odd, uint32_t *crc)
{
	const char *where;

	emulate_backwards(is_backwards);
	compare_set(&kernel_emulated, NULL, is_odd, 1e-5, crc);
	if (emulate_violations(&where) > 0)
		fail_msg("%s", where);
}

static void
compare_both(int is_odd)
{
	const size_t n = compare_n * COMPARE_TRIALS;
	uint32_t *const crc = calloc(2 * n, sizeof(*crc));

	assert_non_null(crc);
	compare_in_order(0, is_odd, crc);
	compare_in_order(1, is_odd, crc + n);
	for (size_t i = 0; i < n; i++)
		if (crc[i] != crc[n + i])
			fail_msg("kernel %zu, trial %zu: the order of blocks or threads matters",
				i / COMPARE_TRIALS, i % COMPARE_TRIALS);
	free(crc);
	emulate_end();
}

static void
drawn_shapes_agree_with_ref_in_any_order(void **state)
{
	(void)state;
	compare_both(0);
}

static void
odd_shapes_agree_with_ref_in_any_order(void **state)
{
	(void)state;
	compare_both(1);
}

/* Of floats, eleven bits with the first: not the code under test. */
static double
nearest(double value)
{
	int exponent;
	const double fraction = frexp(value, &exponent);

	return ldexp(nearbyint(ldexp(fraction, 11)), exponent - 11);
}

/* A is its first row and B its first column, so that each product is of its own. */
static void
tf32_rounds_both_operands_to_ten_bits(void **state)
{
	enum { M = 33, N = 17 };
	float a[M], b[N], c[M * N], whole[M * N];
	struct agree draw = { .key = 3 };
	struct gemm_args args = { .m = M, .n = N, .k = 1, .alpha = 1, .a = a, .lda = 1, .b = b,
		.ldb = N, .c = whole, .ldc = N };

	(void)state;
	for (size_t i = 0; i < M; i++)
		a[i] = (float)agree_uniform(&draw, -1, 1);
	for (size_t j = 0; j < N; j++)
		b[j] = (float)agree_uniform(&draw, -1, 1);
	a[0] = 1 + 0x1p-11f;                /* ties                                   */
	a[1] = 1 + 0x1.8p-10f;
	a[2] = INFINITY;
	b[0] = 1;
	kernel_emulated.gemm(&args);
	args.c = c;
	args.is_tf32 = 1;
	kernel_emulated.gemm(&args);
	for (size_t i = 0; i < M * N; i++) {
		const double x = a[i / N], y = b[i % N];
		assert_true(whole[i] == (float)(x * y));
		assert_true(c[i] == (float)(isinf(x) ? x * y : nearest(x) * nearest(y)));
	}
	assert_true(c[0] == 1 && c[N] == 1 + 0x1p-9f);
	assert_true(emulate_violations(&(const char *){ NULL }) == 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_is_emulated),
		cmocka_unit_test(drawn_shapes_agree_with_ref_in_any_order),
		cmocka_unit_test(tf32_rounds_both_operands_to_ten_bits),
		cmocka_unit_test(odd_shapes_agree_with_ref_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
