/* Numbers of two bytes: every one of them, and the ways between two. */
#include <math.h>

#include "base/half.h"
#include "tests/test.h"

static const struct kind {
	const char *name;
	uint16_t (*of)(float x);
	float (*value)(uint16_t half);
	uint16_t largest;           /* finite                                         */
	int last_bit;               /* the value of 1 is 2^it                         */
} kinds[] = {
	{ "fp16", half_of, half_value, 0x7bff, -24 },
	{ "bf16", half_brain_of, half_brain_value, 0x7f7f, -133 },
};

static void
every_number_comes_back(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_ROWS(kinds); k++)
		for (uint32_t h = 0; h <= kinds[k].largest; h++) {
			const float x = kinds[k].value((uint16_t)h);

			assert_true(isfinite(x));
			assert_int_equal(kinds[k].of(x), h);
			assert_int_equal(kinds[k].of(-x), h | 0x8000);
			assert_true(h == 0 || x > kinds[k].value((uint16_t)(h - 1)));
		}
	assert_true((double)half_value(1) == ldexp(1, kinds[0].last_bit));
	assert_true((double)half_brain_value(1) == ldexp(1, kinds[1].last_bit));
	assert_true(half_value(0x3c00) == 1 && half_brain_value(0x3f80) == 1);
	assert_true(half_value(0x7bff) == HALF_MAX);
}

static void
between_two_the_nearer_is_taken_and_in_the_middle_the_even(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_ROWS(kinds); k++)
		for (uint16_t h = 0; h < kinds[k].largest; h++) {
			const float x = kinds[k].value(h), y = kinds[k].value((uint16_t)(h + 1));
			const float middle = x + (y - x) / 2;

			assert_int_equal(kinds[k].of(middle), h & 1 ? h + 1 : h);
			assert_int_equal(kinds[k].of(nextafterf(middle, y)), h + 1);
			assert_int_equal(kinds[k].of(nextafterf(middle, x)), h);
		}
}

static void
D2_5_no_finite_number_becomes_infinite(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_ROWS(kinds); k++) {
		const struct kind *const t = &kinds[k];

		assert_int_equal(t->of(3.4e38f), t->largest);
		assert_int_equal(t->of(-3.4e38f), t->largest | 0x8000);
		assert_true(isinf(t->value(t->of(INFINITY))) && t->value(t->of(-INFINITY)) < 0);
		assert_true(isnan(t->value(t->of(NAN))));
	}
	assert_int_equal(half_of(nextafterf(HALF_LIMIT, 0)), 0x7bff);
	assert_int_equal(half_of(1e6f), 0x7bff);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_number_comes_back),
		cmocka_unit_test(between_two_the_nearer_is_taken_and_in_the_middle_the_even),
		cmocka_unit_test(D2_5_no_finite_number_becomes_infinite),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
