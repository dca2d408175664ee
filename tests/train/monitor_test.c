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
	const struct settings s = { .model = { .loss = loss }, .train = { .monitor = name } };
	static struct monitor m;

	monitor_init(&m, &s);
	return &m;
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
	char auc[] = "auc", ndcg[] = "ndcg@5";

	(void)state;
	assert_string_equal(monitor_named(auc, LOSS_MSE)->name, "mse");
	assert_false(monitor_named(auc, LOSS_MSE)->higher_is_better);
	assert_string_equal(monitor_named(ndcg, LOSS_MSE)->name, "ndcg@5");
}

static void
the_figure_is_taken_by_its_name(void **state)
{
	char name[] = "ndcg@20";
	struct metric_result r = { .auc = 0.5, .figures.n = 2, .value = { 0.1, 0.2 } };

	(void)state;
	assert_int_equal(figure_parse("ndcg@10", 7, RS_ESPEC, &r.figures.item[0]), RS_OK);
	assert_int_equal(figure_parse("ndcg@20", 7, RS_ESPEC, &r.figures.item[1]), RS_OK);
	assert_true(monitor_figure(monitor_named(name, LOSS_LOGLOSS), &r) == 0.2);
	assert_true(isnan(monitor_figure(monitor_named((char[]){ "auc" }, LOSS_LOGLOSS), &r)));
}

static void
without_a_name_the_first_figure_of_the_evaluation_counts(void **state)
{
	char *metrics[] = { (char[]){ "mean_label" }, (char[]){ "logloss" }, (char[]){ "auc" } };
	const struct settings named = { .eval.metrics = { metrics, 3 } };
	const struct settings softmax = { .model.loss = LOSS_SOFTMAX,
		.eval.candidates = EVAL_CATALOGUE };
	struct monitor m;

	(void)state;
	monitor_init(&m, &named);
	assert_string_equal(m.name, "logloss");
	monitor_init(&m, &softmax);
	assert_string_equal(m.name, "recall@20");
	assert_true(m.higher_is_better);
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
		cmocka_unit_test(the_figure_is_taken_by_its_name),
		cmocka_unit_test(without_a_name_the_first_figure_of_the_evaluation_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
