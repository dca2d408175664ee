/* Metrics against sums by hand and an O(n^2) definition. */
#include "train/metric.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

static void
assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("got %.17g, wanted %.17g", got, want);
}

/* The definition: every positive against every negative. */
static double
auc_by_pairs(size_t n, const float *score, const float *label, const float *weight)
{
	double u = 0, pairs = 0;

	for (size_t i = 0; i < n; i++) {
		for (size_t j = 0; j < n; j++) {
			const double w = (double)weight[i] * label[i] * weight[j]
				* (1 - (double)label[j]);
			u += w * (score[i] > score[j] ? 1 : score[i] == score[j] ? 0.5 : 0);
			pairs += w;
		}
	}
	return u / pairs;
}

static void
auc_equals_the_pair_definition_with_ties_and_weights(void **state)
{
	enum { N = 300 };
	float score[N], label[N], weight[N];

	(void)state;
	for (uint64_t seed = 1; seed <= 4; seed++) {
		for (size_t i = 0; i < N; i++) {
			score[i] = (float)rng_below(seed, i, 20) / 4 - 2;
			label[i] = rng_uniform(seed + 100, i) < 0.3 ? 1 : 0;
			weight[i] = (float)rng_below(seed + 200, i, 4);
		}
		assert_near(metric_auc(N, score, label, weight),
			auc_by_pairs(N, score, label, weight), 1e-12);
	}
}

static void
soft_labels_count_as_shares_of_both_classes(void **state)
{
	const float score[] = { -1, 0.5f, 0.5f, 2 }, label[] = { 0.25f, 0.5f, 1, 0.75f };
	const float weight[] = { 1, 2, 1, 3 };

	(void)state;
	assert_near(metric_auc(4, score, label, weight), auc_by_pairs(4, score, label, weight),
		1e-12);
}

static void
zero_and_minus_zero_are_one_score(void **state)
{
	const float score[] = { 0.0f, -0.0f }, label[] = { 1, 0 };

	(void)state;
	assert_near(metric_auc(2, score, label, NULL), 0.5, 0);
}

static void
negative_scores_sort_below_positive_ones(void **state)
{
	const float score[] = { -3, -1, 1e-30f, 5 }, label[] = { 0, 0, 1, 1 };

	(void)state;
	assert_near(metric_auc(4, score, label, NULL), 1, 0);
}

/* 200,000 x 300,000 pairs are more than 2^32. */
static void
B001_auc_of_many_rows_does_not_overflow(void **state)
{
	const size_t n_pos = 200000, n_neg = 300000, n = n_pos + n_neg;
	float *const score = malloc(n * sizeof *score), *const label = malloc(n * sizeof *label);

	(void)state;
	assert_true(score != NULL && label != NULL);
	for (size_t i = 0; i < n; i++) {
		label[i] = i < n_pos;
		score[i] = (float)(i % 1000);
	}
	/* each score is held by 200 positives and 300 negatives: every order is even */
	assert_near(metric_auc(n, score, label, NULL), 0.5, 1e-12);
	for (size_t i = 0; i < n; i++)
		score[i] = (float)i;
	assert_near(metric_auc(n, score, label, NULL), 0, 0);
	free(score);
	free(label);
}

static struct metric_result
result_of(size_t n, const float *logit, const float *label, const float *weight, size_t piece)
{
	struct metric *m;
	struct metric_result r;

	assert_int_equal(metric_create(&m), RS_OK);
	for (size_t at = 0; at < n; at += piece) {
		const size_t k = n - at < piece ? n - at : piece;
		assert_int_equal(metric_add(m, k, logit + at, label + at, weight ? weight + at
			: NULL), RS_OK);
	}
	assert_int_equal(metric_result(m, &r), RS_OK);
	metric_free(m);
	return r;
}

static void
B002_one_class_gives_no_auc_but_a_logloss(void **state)
{
	const float logit[] = { -1, 0, 2 }, label[] = { 0, 0, 0 };
	const struct metric_result r = result_of(3, logit, label, NULL, 3);

	(void)state;
	assert_true(isnan(r.auc));
	assert_true(isfinite(r.logloss));
	assert_near(r.positives, 0, 0);
	assert_int_equal(r.rows, 3);
	assert_near(r.best_constant_loss, 0, 0);
}

static void
B004_figures_do_not_depend_on_the_size_of_the_pieces(void **state)
{
	enum { N = 1000 };
	float logit[N], label[N];

	(void)state;
	for (size_t i = 0; i < N; i++) {
		logit[i] = (float)rng_normal(1, i);
		label[i] = i < 300;            /* sorted by label: most pieces have one class */
	}
	const struct metric_result one = result_of(N, logit, label, NULL, N);
	const struct metric_result many = result_of(N, logit, label, NULL, 7);
	assert_memory_equal(&one, &many, sizeof one);
	assert_true(isfinite(one.auc));
}

static void
B013_logloss_is_finite_for_large_logits(void **state)
{
	const float logit[] = { 100, -100, 100, -100 }, label[] = { 1, 0, 0, 1 };
	const struct metric_result r = result_of(4, logit, label, NULL, 4);

	(void)state;
	assert_near(r.logloss, 50, 1e-9);
}

static void
sums_by_hand(void **state)
{
	const float logit[] = { 0, 0, 0, 0 }, label[] = { 1, 0, 0, 0 }, weight[] = { 3, 1, 1, 1 };
	const struct metric_result r = result_of(4, logit, label, weight, 4);

	(void)state;
	assert_near(r.logloss, log(2), 1e-15);
	assert_near(r.mse, 0.25, 1e-15);
	assert_near(r.mean_label, 0.5, 0);
	assert_near(r.mean_prediction, 0.5, 0);
	assert_near(r.calibration, 1, 0);
	assert_near(r.best_constant, 0.5, 0);
	assert_near(r.best_constant_loss, log(2), 1e-15);
	assert_near(r.weight, 6, 0);
	assert_near(r.positives, 3, 0);
	assert_near(r.auc, 0.5, 0);
}

static void
B076_a_weight_of_zero_is_the_same_as_no_row(void **state)
{
	const float logit[] = { 1, -1, 3, 0.5f }, label[] = { 1, 0, 0, 1 },
		weight[] = { 1, 1, 0, 1 };
	const float logit2[] = { 1, -1, 0.5f }, label2[] = { 1, 0, 1 };
	const struct metric_result a = result_of(4, logit, label, weight, 4);
	const struct metric_result b = result_of(3, logit2, label2, NULL, 3);

	(void)state;
	assert_near(a.auc, b.auc, 0);
	assert_near(a.logloss, b.logloss, 1e-15);
	assert_near(a.calibration, b.calibration, 1e-15);
}

static void
no_rows_give_nan_everywhere(void **state)
{
	const struct metric_result r = result_of(0, NULL, NULL, NULL, 1);

	(void)state;
	assert_int_equal(r.rows, 0);
	assert_true(isnan(r.auc) && isnan(r.logloss) && isnan(r.calibration)
		&& isnan(r.best_constant));
}

static void
a_score_that_is_not_finite_gives_no_auc(void **state)
{
	const float logit[] = { NAN, 1 }, label[] = { 0, 1 };

	(void)state;
	assert_true(isnan(result_of(2, logit, label, NULL, 2).auc));
	assert_true(isnan(metric_auc(2, logit, label, NULL)));
}

static void
real_labels_have_squares_only(void **state)
{
	struct metric *m;
	struct metric_result r;
	const float value[] = { 2, 5 }, label[] = { 1, 3 };

	(void)state;
	assert_int_equal(metric_create(&m), RS_OK);
	metric_set_real(m, 1);
	assert_int_equal(metric_add(m, 2, value, label, NULL), RS_OK);
	assert_int_equal(metric_result(m, &r), RS_OK);
	assert_near(r.mse, 2.5, 0);
	assert_near(r.best_constant, 2, 0);
	assert_near(r.best_constant_loss, 1, 1e-15);
	assert_true(isnan(r.auc) && isnan(r.logloss));
	metric_free(m);
}

static void
a_metric_can_be_used_again_after_reset(void **state)
{
	struct metric *m;
	struct metric_result r;
	const float logit[] = { 1, 2 }, label[] = { 1, 0 };

	(void)state;
	assert_int_equal(metric_create(&m), RS_OK);
	for (int i = 0; i < 2; i++) {
		metric_reset(m);
		assert_int_equal(metric_add(m, 2, logit, label, NULL), RS_OK);
		assert_int_equal(metric_result(m, &r), RS_OK);
		assert_int_equal(r.rows, 2);
		assert_near(r.auc, 0, 0);
	}
	metric_free(m);
}

static void
bins_hold_rows_in_the_order_of_their_scores(void **state)
{
	enum { N = 95 };
	float logit[N], label[N];
	struct metric_bin bin[METRIC_BINS];
	struct metric_result r;
	struct metric *m;
	uint64_t rows = 0;
	double last = -1;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		logit[i] = (float)(i * 37 % N) / 10 - 4;
		label[i] = logit[i] > 0;
	}
	assert_int_equal(metric_create(&m), RS_OK);
	assert_int_equal(metric_add(m, N, logit, label, NULL), RS_OK);
	assert_int_equal(metric_result(m, &r), RS_OK);
	assert_int_equal(metric_bins(m, METRIC_BINS, bin), METRIC_BINS);
	for (size_t i = 0; i < METRIC_BINS; i++) {
		assert_in_range(bin[i].rows, 9, 10);
		assert_true(bin[i].mean_prediction > last);
		last = bin[i].mean_prediction;
		rows += bin[i].rows;
	}
	assert_int_equal(rows, N);
	assert_near(bin[0].mean_label, 0, 0);
	assert_near(bin[METRIC_BINS - 1].mean_label, 1, 0);
	metric_free(m);
}

static void
equal_scores_are_in_one_bin(void **state)
{
	const float logit[] = { 0, 0, 0, 0, 0, 0, 3, 0, 0, 0 },
		label[] = { 1, 0, 0, 0, 1, 0, 1, 0, 0, 0 };
	struct metric_bin bin[METRIC_BINS];
	struct metric_result r;
	struct metric *m;

	(void)state;
	assert_int_equal(metric_create(&m), RS_OK);
	assert_int_equal(metric_add(m, 10, logit, label, NULL), RS_OK);
	assert_int_equal(metric_result(m, &r), RS_OK);
	assert_int_equal(metric_bins(m, METRIC_BINS, bin), 2);
	assert_int_equal(bin[0].rows, 9);
	assert_near(bin[0].mean_label, 2.0 / 9, 1e-15);
	assert_near(bin[0].mean_prediction, 0.5, 0);
	assert_near(bin[1].mean_prediction, 1 / (1 + exp(-3)), 1e-12);
	metric_free(m);
}

static void
figures_by_name_are_those_of_the_members(void **state)
{
	const float logit[] = { 1, -1, 0 }, label[] = { 1, 0, 0 };
	struct figure_list list = { 0 };
	struct metric_result r;
	struct figure f;
	struct metric *m;

	(void)state;
	assert_int_equal(figure_parse("logloss", 7, RS_ESPEC, &f), RS_OK);
	assert_int_equal(figure_add(&list, &f), RS_OK);
	assert_int_equal(figure_parse("auc", 3, RS_ESPEC, &f), RS_OK);
	assert_int_equal(figure_add(&list, &f), RS_OK);
	assert_int_equal(metric_create(&m), RS_OK);
	metric_set_figures(m, &list);
	assert_int_equal(metric_add(m, 3, logit, label, NULL), RS_OK);
	assert_int_equal(metric_result(m, &r), RS_OK);
	assert_near(metric_named(&r, "auc"), r.auc, 0);
	assert_near(metric_named(&r, "logloss"), r.logloss, 0);
	assert_true(isnan(metric_named(&r, "mse")));
	assert_true(isfinite(r.mse));
	metric_free(m);
}

static void
rows_without_scores_are_counted_only(void **state)
{
	const float label[] = { 1, 0, 1 };
	struct metric_result r;
	struct metric *m;

	(void)state;
	assert_int_equal(metric_create(&m), RS_OK);
	assert_int_equal(metric_add(m, 3, NULL, label, NULL), RS_OK);
	assert_int_equal(metric_result(m, &r), RS_OK);
	assert_int_equal(r.rows, 3);
	assert_near(r.mean_label, 2.0 / 3, 1e-15);
	assert_true(isnan(r.auc) && isnan(r.logloss) && isnan(r.mse) && isnan(r.calibration));
	metric_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auc_equals_the_pair_definition_with_ties_and_weights),
		cmocka_unit_test(soft_labels_count_as_shares_of_both_classes),
		cmocka_unit_test(zero_and_minus_zero_are_one_score),
		cmocka_unit_test(negative_scores_sort_below_positive_ones),
		cmocka_unit_test(B001_auc_of_many_rows_does_not_overflow),
		cmocka_unit_test(B002_one_class_gives_no_auc_but_a_logloss),
		cmocka_unit_test(B004_figures_do_not_depend_on_the_size_of_the_pieces),
		cmocka_unit_test(B013_logloss_is_finite_for_large_logits),
		cmocka_unit_test(sums_by_hand),
		cmocka_unit_test(B076_a_weight_of_zero_is_the_same_as_no_row),
		cmocka_unit_test(no_rows_give_nan_everywhere),
		cmocka_unit_test(a_score_that_is_not_finite_gives_no_auc),
		cmocka_unit_test(real_labels_have_squares_only),
		cmocka_unit_test(a_metric_can_be_used_again_after_reset),
		cmocka_unit_test(bins_hold_rows_in_the_order_of_their_scores),
		cmocka_unit_test(equal_scores_are_in_one_bin),
		cmocka_unit_test(figures_by_name_are_those_of_the_members),
		cmocka_unit_test(rows_without_scores_are_counted_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
