/* Numbers for people. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>

#include "cmd/layout.h"
#include "cmd/runs.h"

static void
counts_have_commas(void **state)
{
	(void)state;
	char text[32];
	assert_string_equal(layout_count(text, 0), "0");
	assert_string_equal(layout_count(text, 999), "999");
	assert_string_equal(layout_count(text, 1000), "1,000");
	assert_string_equal(layout_count(text, -1234567), "-1,234,567");
	assert_string_equal(layout_count(text, INT64_MIN), "-9,223,372,036,854,775,808");
}

static void
durations_are_short(void **state)
{
	(void)state;
	char text[32];
	assert_string_equal(layout_took(text, 2.44), "2.4s");
	assert_string_equal(layout_took(text, 59.96), "1m00s");
	assert_string_equal(layout_took(text, 192), "3m12s");
	assert_string_equal(layout_took(text, 7500), "2h05m");
	assert_string_equal(layout_took(text, NAN), "-");
}

static void
sizes_have_units(void **state)
{
	(void)state;
	char text[32];
	assert_string_equal(layout_bytes(text, 17), "17 B");
	assert_string_equal(layout_bytes(text, 1536), "1.5 KiB");
	assert_string_equal(layout_bytes(text, (uint64_t)287 << 20), "287 MiB");
}

static void
undefined_figures_are_not_available(void **state)
{
	(void)state;
	char text[32];
	assert_string_equal(layout_figure(text, 0.79811, 4), "0.7981");
	assert_string_equal(layout_figure(text, NAN, 4), "n.a.");
}

/* Hanley & McNeil 1982, table: area 0.893, 51 abnormal and 58 normal images,
 * standard error 0.032. */
static void
the_standard_error_is_that_of_hanley_and_mcneil(void **state)
{
	(void)state;
	const struct store_run run = { .auc = 0.893, .valid_rows = 109, .valid_positives = 51 };
	const struct store_run exact = { .auc = 1, .valid_rows = 109, .valid_positives = 51 };
	const struct store_run unknown = { .auc = 0.893, .valid_rows = NAN, .valid_positives =
		NAN };
	assert_true(fabs(runs_auc_range(&run, &exact) / 1.96 - 0.032) < 0.001);
	assert_true(isnan(runs_auc_range(&run, &unknown)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_have_commas),
		cmocka_unit_test(durations_are_short),
		cmocka_unit_test(sizes_have_units),
		cmocka_unit_test(undefined_figures_are_not_available),
		cmocka_unit_test(the_standard_error_is_that_of_hanley_and_mcneil),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
