/* Conditions on metrics. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "cmd/require.h"

static const struct require_figure figure[] = {
	{ "auc", 0.75 }, { "logloss", 0.5 }, { "calibration", NAN },
};

static enum rs_status
check(const char *text)
{
	return require_check(text, figure, sizeof figure / sizeof figure[0]);
}

static void
every_operator_compares_as_it_reads(void **state)
{
	(void)state;
	assert_int_equal(check("auc>=0.75"), RS_OK);
	assert_int_equal(check("auc>=0.7500001"), RS_EUNMET);
	assert_int_equal(check("auc>0.75"), RS_EUNMET);
	assert_int_equal(check("logloss<=0.5"), RS_OK);
	assert_int_equal(check("logloss<0.5"), RS_EUNMET);
	assert_int_equal(check("logloss < 0.6"), RS_OK);
}

static void
B007_a_metric_that_is_not_defined_meets_nothing(void **state)
{
	(void)state;
	assert_int_equal(check("calibration>=0"), RS_EUNMET);
	assert_non_null(strstr(rs_failure()->text, "not defined"));
	assert_int_equal(check("calibration<=0"), RS_EUNMET);
}

static void
text_that_is_no_condition_is_a_usage_error(void **state)
{
	(void)state;
	assert_int_equal(check("auc"), RS_EUSAGE);
	assert_int_equal(check("auc=0.7"), RS_EUSAGE);
	assert_int_equal(check(">=0.7"), RS_EUSAGE);
	assert_int_equal(check("auc>="), RS_EUSAGE);
	assert_int_equal(check("auc>=high"), RS_EUSAGE);
	assert_int_equal(check(""), RS_EUSAGE);
}

static void
an_unknown_metric_names_the_nearest(void **state)
{
	(void)state;
	assert_int_equal(check("loglos<=0.5"), RS_EUSAGE);
	assert_string_equal(rs_failure()->hint, "did you mean 'logloss'?");
}

static void
last_and_best_are_known_in_training_only(void **state)
{
	(void)state;
	assert_int_equal(check("auc>=last-0.005"), RS_EUSAGE);
	assert_non_null(strstr(rs_failure()->text, "'last' is known in training only"));
	assert_int_equal(check("auc>=best(24)"), RS_EUSAGE);
	assert_string_equal(rs_failure()->hint, "compare with a number, or use train --require");
}

static void
a_metric_that_was_not_measured_is_a_usage_error(void **state)
{
	(void)state;
	assert_int_equal(check("mse<=1"), RS_EUSAGE);
	assert_non_null(strstr(rs_failure()->text, "there is no metric 'mse' to require"));
	assert_int_equal(require_check("mse<=1", figure, 0), RS_EUSAGE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_operator_compares_as_it_reads),
		cmocka_unit_test(B007_a_metric_that_is_not_defined_meets_nothing),
		cmocka_unit_test(text_that_is_no_condition_is_a_usage_error),
		cmocka_unit_test(an_unknown_metric_names_the_nearest),
		cmocka_unit_test(last_and_best_are_known_in_training_only),
		cmocka_unit_test(a_metric_that_was_not_measured_is_a_usage_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
