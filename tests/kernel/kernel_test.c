/* Every kernel of every set that this processor runs agrees with the reference. */
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

/* With drawn shapes and with odd ones. */
static void
compare_all(const char *name)
{
	const struct kernel_set *set;

	if (kernel_select(name, &set) != RS_OK) {
		print_message("skipped: %s\n", rs_failure()->text);
		skip();
	}
	for (int is_odd = 0; is_odd < 2; is_odd++)
		compare_set(set, NULL, is_odd, 2e-5, NULL);
}

static void
avx512_agrees_with_ref(void **state)
{
	(void)state;
	compare_all("avx512");
}

static void
avx2_agrees_with_ref(void **state)
{
	(void)state;
	compare_all("avx2");
}

static void
baseline_agrees_with_ref(void **state)
{
	(void)state;
	compare_all("baseline");
}

static void
every_slot_of_every_set_is_filled(void **state)
{
	static const char *const names[] = { "ref", "auto", "avx512", "avx2", "baseline" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct kernel_set *set;
		if (kernel_select(names[i], &set) != RS_OK)
			continue;
#define ROW(name, arguments) assert_non_null(set->name);
		KERNEL_TABLE(ROW)
#undef ROW
	}
}

static void
unknown_set_is_a_usage_error(void **state)
{
	const struct kernel_set *set;
	(void)state;
	assert_int_equal(kernel_select("mmx", &set), RS_EUSAGE);
}

static void
blas_description_names_the_library(void **state)
{
	(void)state;
	assert_non_null(strstr(kernel_blas_description(), "OpenBLAS"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(avx512_agrees_with_ref),
		cmocka_unit_test(avx2_agrees_with_ref),
		cmocka_unit_test(baseline_agrees_with_ref),
		cmocka_unit_test(every_slot_of_every_set_is_filled),
		cmocka_unit_test(unknown_set_is_a_usage_error),
		cmocka_unit_test(blas_description_names_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
