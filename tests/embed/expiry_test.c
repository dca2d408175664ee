/* When a row is too old. */
#include "embed/expiry.h"
#include "tests/test.h"

#define MINUTE ((uint64_t)EXPIRY_MINUTE)

static void
a_row_goes_when_it_is_older_than_the_limit_not_before(void **state)
{
	const struct expiry e = expiry_of(30 * MINUTE, 0);

	(void)state;
	assert_int_equal(e.unit, EXPIRY_MINUTES);
	assert_int_equal(e.limit, 30);
	assert_false(expiry_is_over(&e, 100, 100));
	assert_false(expiry_is_over(&e, 100, 130));
	assert_true(expiry_is_over(&e, 100, 131));
	assert_false(expiry_is_over(&e, 200, 100));        /* from the future            */
}

static void
without_a_limit_no_row_goes(void **state)
{
	const struct expiry e = expiry_of(0, 0);

	(void)state;
	assert_int_equal(e.unit, EXPIRY_STEPS);
	assert_false(expiry_is_over(&e, 0, UINT32_MAX));
}

static void
a_time_is_rounded_up_to_minutes(void **state)
{
	(void)state;
	assert_int_equal(expiry_of(1, 0).limit, 1);
	assert_int_equal(expiry_of(MINUTE + 1, 0).limit, 2);
	assert_int_equal(expiry_of(UINT64_MAX, 0).limit, UINT32_MAX);
	assert_int_equal(expiry_of(0, UINT64_MAX).limit, UINT32_MAX);
}

/* A short limit with an hourly gap (rows of 10:59:59 at 11:29:59 and at 11:31). */
static void
no_row_goes_early_at_any_second(void **state)
{
	const struct expiry e = expiry_of(30 * MINUTE, 0);
	const int64_t start = 1700000000;

	(void)state;
	for (int64_t begin = 0; begin < 60; begin++)
		for (int64_t age = 0; age < 40 * 60; age++) {
			const int64_t trained = start + begin;
			const uint32_t last = expiry_clock(&e, 0, 1, trained);
			const uint32_t clock = expiry_clock(&e, last, 2, trained + age);
			const int over = expiry_is_over(&e, last, clock);

			if (age <= 30 * 60)
				assert_false(over);
			if (age >= 31 * 60)
				assert_true(over);
		}
}

static void
the_clock_counts_steps_or_minutes_and_never_goes_back(void **state)
{
	const struct expiry steps = expiry_of(0, 5), minutes = expiry_of(5 * MINUTE, 0);

	(void)state;
	assert_int_equal(steps.unit, EXPIRY_STEPS);
	assert_int_equal(expiry_clock(&steps, 3, 7, 1700000000), 7);
	assert_int_equal(expiry_clock(&steps, 9, 7, 1700000000), 9);
	assert_int_equal(expiry_clock(&steps, 0, UINT64_MAX, 0), UINT32_MAX);
	assert_int_equal(expiry_clock(&minutes, 0, 7, 1700000000), 28333333);
	assert_int_equal(expiry_clock(&minutes, 28333334, 7, 1700000000), 28333334);
	assert_int_equal(expiry_clock(&minutes, 0, 7, -1), 0);
	assert_int_equal(expiry_clock(&minutes, 0, 7, INT64_MAX),
		EXPIRY_MINUTES_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_row_goes_when_it_is_older_than_the_limit_not_before),
		cmocka_unit_test(without_a_limit_no_row_goes),
		cmocka_unit_test(a_time_is_rounded_up_to_minutes),
		cmocka_unit_test(no_row_goes_early_at_any_second),
		cmocka_unit_test(the_clock_counts_steps_or_minutes_and_never_goes_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
