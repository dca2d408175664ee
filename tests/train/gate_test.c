/* Conditions: how they are read and when they hold. */
#include "train/gate.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

static struct gate_condition
parsed(const char *text)
{
	struct gate_condition c;

	if (gate_parse(text, &c) != RS_OK)
		fail_msg("'%s': %s", text, rs_failure()->text);
	assert_ptr_equal(c.text, text);
	return c;
}

static void
condition_has_metric_operator_and_bound(void **state)
{
	static const struct {
		const char *text, *metric;
		enum gate_operator op;
		enum gate_bound against;
		double offset;
		size_t best_of;
	} row[] = {
		{ "auc>=0.75", "auc", GATE_GE, GATE_CONSTANT, 0.75, 0 },
		{ "auc >= 0.75", "auc", GATE_GE, GATE_CONSTANT, 0.75, 0 },
		{ "logloss<.5", "logloss", GATE_LT, GATE_CONSTANT, 0.5, 0 },
		{ "mse <= 1e-3", "mse", GATE_LE, GATE_CONSTANT, 1e-3, 0 },
		{ "mean_prediction>-1", "mean_prediction", GATE_GT, GATE_CONSTANT, -1, 0 },
		{ "auc>=last", "auc", GATE_GE, GATE_LAST, 0, 0 },
		{ "auc>=last-0.005", "auc", GATE_GE, GATE_LAST, -0.005, 0 },
		{ " logloss <= last + 0.01 ", "logloss", GATE_LE, GATE_LAST, 0.01, 0 },
		{ "ndcg@20>best(24)-.02", "ndcg@20", GATE_GT, GATE_BEST, -0.02, 24 },
		{ "auc>=best( 7 )", "auc", GATE_GE, GATE_BEST, 0, 7 },
		{ "calibration<=1.2", "calibration", GATE_LE, GATE_CONSTANT, 1.2, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct gate_condition c = parsed(row[i].text);

		assert_string_equal(c.metric, row[i].metric);
		assert_int_equal(c.op, row[i].op);
		assert_int_equal(c.against, row[i].against);
		assert_true(c.offset == row[i].offset);
		assert_int_equal(c.best_of, row[i].best_of);
	}
}

static void
what_is_no_condition_is_said(void **state)
{
	static const struct { const char *text, *said; } row[] = {
		{ "", "is no condition" }, { "auc", "is no condition" },
		{ "auc=0.7", "is no condition" }, { ">=0.7", "is no condition" },
		{ "auc==0.7", "is no condition" },
		{ "acu>=0.7", "no such metric" }, { "train.loss<1", "no such metric" },
		{ "hr>=0.1", "number of places" },
		{ "auc>=", "is not a number" }, { "auc>=0.7x", "is not a number" },
		{ "auc>=nan", "is not a number" }, { "auc>=last-", "is not a number" },
		{ "auc>=last0.1", "is not a number" }, { "auc>=last--0.1", "is not a number" },
		{ "auc>=lst", "is not a number" }, { "auc>=last-5%", "is not a number" },
		{ "auc>=best", "number of periods" }, { "auc>=best()", "number of periods" },
		{ "auc>=best(0)", "number of periods" }, { "auc>=best(2", "number of periods" },
		{ "auc>=best(1001)", "number of periods" },
		{ "auc>=best(3)4", "is not a number" },
		{ "calibration>=best(3)", "has no best" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		struct gate_condition c;

		assert_int_equal(gate_parse(row[i].text, &c), RS_EUSAGE);
		if (strstr(rs_failure()->text, row[i].said) == NULL)
			fail_msg("'%s': %s", row[i].text, rs_failure()->text);
	}
}

/* Holds with exact figures? */
static int
exactly(const char *text, double candidate, double bound)
{
	const struct gate_condition c = parsed(text);

	return gate_holds(&c, (struct gate_figure){ candidate, NAN },
		(struct gate_figure){ bound, NAN }, NAN);
}

static void
exact_figures_are_compared_as_they_are(void **state)
{
	(void)state;
	assert_true(exactly("auc>=0.75", 0.75, NAN));
	assert_false(exactly("auc>=0.75", 0.7499, NAN));
	assert_false(exactly("auc>0.75", 0.75, NAN));
	assert_true(exactly("auc>0.75", 0.7501, NAN));
	assert_true(exactly("logloss<=0.5", 0.5, NAN));
	assert_false(exactly("logloss<=0.5", 0.5001, NAN));
	assert_false(exactly("logloss<0.5", 0.5, NAN));
	assert_true(exactly("auc>=last-0.01", 0.79, 0.8));
	assert_false(exactly("auc>=last-0.01", 0.7899, 0.8));
	assert_false(exactly("auc>last", 0.8, 0.8));
	assert_true(exactly("logloss<=best(3)+0.25", 0.75, 0.5));
}

static void
figure_that_is_not_defined_meets_nothing(void **state)
{
	static const char *const text[] = { "auc>=0", "auc>0", "auc<=1", "auc<1",
		"auc>=last-1", "auc<=last+1", "auc>=best(2)-1" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++)
		assert_false(exactly(text[i], NAN, 0.5));
	assert_false(exactly("auc>=last-1", 0.5, NAN));
}

static void
refused_is_what_is_wrong_with_its_whole_range(void **state)
{
	const double sd = 0.01, variance = sd * sd;
	const struct gate_condition at_least = parsed("auc>=0.75"), at_most = parsed("auc<=0.75");
	const struct gate_figure none = { NAN, NAN };

	(void)state;
	assert_true(gate_holds(&at_least, (struct gate_figure){ 0.75 - 1.95 * sd, variance },
		none, NAN));
	assert_false(gate_holds(&at_least, (struct gate_figure){ 0.75 - 1.97 * sd, variance },
		none, NAN));
	assert_true(gate_holds(&at_most, (struct gate_figure){ 0.75 + 1.95 * sd, variance },
		none, NAN));
	assert_false(gate_holds(&at_most, (struct gate_figure){ 0.75 + 1.97 * sd, variance },
		none, NAN));
}

/* Figures of the same rows move together: their difference is known better. */
static void
paired_range_is_that_of_the_difference(void **state)
{
	const struct gate_condition c = parsed("auc>=last");
	const struct gate_figure old = { 0.80, 1e-4 }, new = { 0.79, 1e-4 };

	(void)state;
	assert_true(gate_holds(&c, new, old, NAN));
	assert_true(gate_holds(&c, new, old, 1e-4));
	assert_false(gate_holds(&c, new, old, 1e-6));
	assert_false(gate_holds(&c, new, old, 0));
	assert_true(gate_holds(&c, old, old, 0));
}

static void
best_of_many_has_a_wider_range(void **state)
{
	const struct gate_condition last = parsed("auc>=last"), one = parsed("auc>=best(1)");
	const struct gate_condition many = parsed("auc>=best(24)");

	(void)state;
	assert_true(fabs(gate_quantile(&last) - 1.959964) < 1e-6);
	assert_true(fabs(gate_quantile(&one) - 1.959964) < 1e-6);
	assert_true(fabs(gate_quantile(&many) - 3.0781) < 1e-3);   /* of 0.025 / 24   */
}

/* The best of 24 figures of the same worth is the luckiest of them; a candidate that is as
 * good is refused once in 40 at most, and a bad one nearly always. */
static double
share_refused(double shift)
{
	enum { DRAWS = 20000, PAST = 24 };
	const struct gate_condition c = parsed("auc>=best(24)");
	size_t refused = 0;

	for (size_t i = 0; i < DRAWS; i++) {
		double best = -HUGE_VAL;

		for (size_t k = 0; k < PAST; k++)
			best = fmax(best, 0.8 + 0.01 * rng_normal(1, i * (PAST + 1) + k));
		const double value = 0.8 + shift + 0.01 * rng_normal(1, i * (PAST + 1) + PAST);
		refused += !gate_holds(&c, (struct gate_figure){ value, 1e-4 },
			(struct gate_figure){ best, 1e-4 }, NAN);
	}
	return (double)refused / DRAWS;
}

static void
best_of_many_refuses_no_more_than_last(void **state)
{
	const double equal = share_refused(0), bad = share_refused(-0.1);

	(void)state;
	if (!(equal > 0.002 && equal < 0.025 && bad > 0.99))
		fail_msg("refused: %.4f of equal ones, %.4f of bad ones", equal, bad);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(condition_has_metric_operator_and_bound),
		cmocka_unit_test(what_is_no_condition_is_said),
		cmocka_unit_test(exact_figures_are_compared_as_they_are),
		cmocka_unit_test(figure_that_is_not_defined_meets_nothing),
		cmocka_unit_test(refused_is_what_is_wrong_with_its_whole_range),
		cmocka_unit_test(paired_range_is_that_of_the_difference),
		cmocka_unit_test(best_of_many_has_a_wider_range),
		cmocka_unit_test(best_of_many_refuses_no_more_than_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
