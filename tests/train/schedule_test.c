/* Learning rate schedules at their corners. */
#include "train/schedule.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void
assert_near(double got, double want)
{
	if (!(fabs(got - want) <= 1e-12))
		fail_msg("got %.17g, wanted %.17g", got, want);
}

static void
constant_is_one(void **state)
{
	const struct train_settings s = { .schedule = SCHEDULE_CONSTANT, .warmup_steps = 10 };

	(void)state;
	assert_near(schedule_factor(&s, 0, 100, 0.5), 1);
	assert_near(schedule_factor(&s, 99, 100, 0.5), 1);
}

static void
warmup_rises_to_one_and_falls_to_the_floor(void **state)
{
	const struct train_settings s = {
		.schedule = SCHEDULE_WARMUP_LINEAR, .warmup_steps = 4, .decay_steps = 10,
			.decay_floor = 0.2,
	};

	(void)state;
	assert_near(schedule_factor(&s, 0, 0, 1), 0.25);
	assert_near(schedule_factor(&s, 3, 0, 1), 1);
	assert_near(schedule_factor(&s, 4, 0, 1), 1);
	assert_near(schedule_factor(&s, 9, 0, 1), 0.6);
	assert_near(schedule_factor(&s, 14, 0, 1), 0.2);
	assert_near(schedule_factor(&s, 1000, 0, 1), 0.2);
}

static void
warmup_without_decay_stays_at_one(void **state)
{
	const struct train_settings s = { .schedule = SCHEDULE_WARMUP_LINEAR, .warmup_steps = 4 };

	(void)state;
	assert_near(schedule_factor(&s, 1000000, 50, 1), 1);
}

static void
cosine_is_half_way_at_half_time(void **state)
{
	const struct train_settings s = { .schedule = SCHEDULE_COSINE, .decay_floor = 0.1 };

	(void)state;
	assert_near(schedule_factor(&s, 0, 100, 1), 1);
	assert_near(schedule_factor(&s, 50, 100, 1), 0.55);
	assert_near(schedule_factor(&s, 100, 100, 1), 0.1);
	assert_near(schedule_factor(&s, 500, 100, 1), 0.1);
}

static void
cosine_of_unknown_length_does_not_decay(void **state)
{
	const struct train_settings s = { .schedule = SCHEDULE_COSINE };

	(void)state;
	assert_near(schedule_factor(&s, 77, 0, 1), 1);
}

static void
plateau_is_the_product_of_its_reductions(void **state)
{
	const struct train_settings s = { .schedule = SCHEDULE_PLATEAU };

	(void)state;
	assert_near(schedule_factor(&s, 5, 100, 0.01), 0.01);
}

static void
linear_scaling_follows_the_batch(void **state)
{
	struct train_settings s = { .batch_size = 4096, .lr_base_batch = 1024 };

	(void)state;
	assert_near(schedule_batch_factor(&s), 1);
	s.lr_scaling = 1;
	assert_near(schedule_batch_factor(&s), 4);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(constant_is_one),
		cmocka_unit_test(warmup_rises_to_one_and_falls_to_the_floor),
		cmocka_unit_test(warmup_without_decay_stays_at_one),
		cmocka_unit_test(cosine_is_half_way_at_half_time),
		cmocka_unit_test(cosine_of_unknown_length_does_not_decay),
		cmocka_unit_test(plateau_is_the_product_of_its_reductions),
		cmocka_unit_test(linear_scaling_follows_the_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
