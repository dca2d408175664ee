/* The monitored figure: direction, ties, missing values. */
#include "train/monitor.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const struct monitor *
monitor_named(char *name, enum loss_kind loss)
{
	struct settings s = { .model = { .loss = loss }, .train = { .monitor = name } };

	return monitor_of(&s);
}

static void
direction_follows_from_the_metric(void **state)
{
	char auc[] = "auc", logloss[] = "logloss";

	(void)state;
	assert_true(monitor_is_better(monitor_named(auc, LOSS_LOGLOSS), 0.8, 0.7, 0));
	assert_false(monitor_is_better(monitor_named(auc, LOSS_LOGLOSS), 0.6, 0.7, 0));
	assert_true(monitor_is_better(monitor_named(logloss, LOSS_LOGLOSS), 0.3, 0.4, 0));
	assert_false(monitor_is_better(monitor_named(logloss, LOSS_LOGLOSS), 0.5, 0.4, 0));
}

static void
B054_a_tie_is_no_gain(void **state)
{
	char auc[] = "auc";

	(void)state;
	assert_false(monitor_is_better(monitor_named(auc, LOSS_LOGLOSS), 0.7, 0.7, 0));
}

static void
a_gain_up_to_min_delta_is_none(void **state)
{
	char auc[] = "auc";

	(void)state;
	assert_false(monitor_is_better(monitor_named(auc, LOSS_LOGLOSS), 0.7005, 0.7, 0.001));
	assert_true(monitor_is_better(monitor_named(auc, LOSS_LOGLOSS), 0.702, 0.7, 0.001));
}

static void
nan_is_never_better_and_anything_is_better_than_nan(void **state)
{
	char logloss[] = "logloss";
	const struct monitor *const m = monitor_named(logloss, LOSS_LOGLOSS);

	(void)state;
	assert_false(monitor_is_better(m, NAN, NAN, 0));
	assert_false(monitor_is_better(m, NAN, 0.5, 0));
	assert_true(monitor_is_better(m, 0.5, NAN, 0));
}

static void
mse_is_the_figure_of_the_mse_loss(void **state)
{
	char auc[] = "auc";
	const struct metric_result r = { .auc = NAN, .mse = 2 };

	(void)state;
	assert_true(monitor_figure(monitor_named(auc, LOSS_MSE), &r) == 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(direction_follows_from_the_metric),
		cmocka_unit_test(B054_a_tie_is_no_gain),
		cmocka_unit_test(a_gain_up_to_min_delta_is_none),
		cmocka_unit_test(nan_is_never_better_and_anything_is_better_than_nan),
		cmocka_unit_test(mse_is_the_figure_of_the_mse_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
