/* Every kernel for the GPU, emulated, agrees with the reference, whatever runs first. */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_is_emulated),
		cmocka_unit_test(drawn_shapes_agree_with_ref_in_any_order),
		cmocka_unit_test(odd_shapes_agree_with_ref_in_any_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
