/* Variances of figures: against definitions, and by drawing many evaluations. */
#include "train/trial_influence.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "train/gate.h"

#define N 400

static void
assert_near(double got, double want, double tolerance)
{
	if (!(fabs(got - want) <= tolerance))
		fail_msg("got %.17g, wanted %.17g", got, want);
}

/* An evaluation of rows that are given here. */
struct bed {
	struct metric *metric;
	struct metric_result result;
	struct evaluate_scores scores;
};

struct rows {
	size_t n;
	const float *logit, *label, *weight;
	uint64_t *group;               /* NULL: none                                  */
	const char *figure;            /* besides those of rows, or NULL              */
};

static struct figure
figure(const char *name)
{
	struct figure f;

	assert_int_equal(figure_parse(name, strlen(name), RS_EUSAGE, &f), RS_OK);
	return f;
}

static void
score(const struct rows *rows, struct bed *b)
{
	struct batch batch = { .B = rows->n, .label = (float *)(uintptr_t)rows->label,
		.weight = (float *)(uintptr_t)rows->weight, .group = rows->group };

	memset(b, 0, sizeof *b);
	if (rows->figure != NULL) {
		const struct figure f = figure(rows->figure);
		assert_int_equal(figure_add(&b->scores.figures, &f), RS_OK);
	}
	assert_int_equal(metric_create(&b->metric), RS_OK);
	metric_keep_order(b->metric);
	metric_set_figures(b->metric, &b->scores.figures);
	assert_int_equal(metric_add_batch(b->metric, &batch, rows->logit), RS_OK);
	assert_int_equal(metric_result(b->metric, &b->result), RS_OK);
	metric_rows(b->metric, &b->scores.rows);
}

static struct trial_influence
influence(const struct bed *b, const char *name)
{
	const struct figure f = figure(name);
	struct trial_influence out;

	assert_int_equal(trial_influence(&b->result, &b->scores, &f, &out), RS_OK);
	return out;
}

/* --- against definitions --- */

static double
kernel(float positive, float negative)
{
	return positive > negative ? 1 : positive == negative ? 0.5 : 0;
}

/* DeLong 1988 by pairs: the covariance of the AUC of scores a and b. */
static double
covariance_by_pairs(const float *a, const float *b, const float *label, size_t n)
{
	double sum[2] = { 0 }, sa[2] = { 0 }, sb[2] = { 0 }, count[2] = { 0 };

	for (size_t i = 0; i < n; i++)
		count[label[i] > 0]++;
	for (size_t i = 0; i < n; i++) {
		const int c = label[i] > 0;
		double va = 0, vb = 0;

		for (size_t j = 0; j < n; j++) {
			if ((label[j] > 0) == c)
				continue;
			va += c ? kernel(a[i], a[j]) : kernel(a[j], a[i]);
			vb += c ? kernel(b[i], b[j]) : kernel(b[j], b[i]);
		}
		va /= count[!c];
		vb /= count[!c];
		sum[c] += va * vb;
		sa[c] += va;
		sb[c] += vb;
	}
	double out = 0;
	for (int c = 0; c < 2; c++)
		out += (sum[c] - sa[c] * sb[c] / count[c]) / (count[c] - 1) / count[c];
	return out;
}

static void
draw_rows(uint64_t seed, size_t n, float *label, float *a, float *b, double quality_b)
{
	for (size_t i = 0; i < n; i++) {
		const double hidden = rng_normal(seed, 4 * i);

		label[i] = rng_uniform(seed, 4 * i + 3) < 1 / (1 + exp(1 - hidden)) ? 1 : 0;
		a[i] = (float)(hidden + rng_normal(seed + 1, 4 * i + 1));
		b[i] = (float)(quality_b * hidden + rng_normal(seed + 2, 4 * i + 2));
	}
}

/* Also with ties: scores are rounded. */
static void
auc_variance_and_covariance_are_those_of_delong(void **state)
{
	static float label[N], a[N], b[N];
	struct bed bed_a, bed_b;

	(void)state;
	for (uint64_t seed = 10; seed < 40; seed += 10) {
		draw_rows(seed, N, label, a, b, 0.5);
		for (size_t i = 0; i < N; i++) {
			a[i] = roundf(a[i] * 4) / 4;
			b[i] = roundf(b[i] * 2) / 2;
		}
		score(&(struct rows){ N, a, label, NULL, NULL, NULL }, &bed_a);
		score(&(struct rows){ N, b, label, NULL, NULL, NULL }, &bed_b);
		struct trial_influence ia = influence(&bed_a, "auc"), ib =
			influence(&bed_b, "auc");
		const double aa = covariance_by_pairs(a, a, label, N);
		const double bb = covariance_by_pairs(b, b, label, N);
		const double ab = covariance_by_pairs(a, b, label, N);
		assert_near(ia.variance, aa, 1e-12);
		assert_near(ib.variance, bb, 1e-12);
		assert_near(trial_influence_difference(&ia, &ib), aa + bb - 2 * ab, 1e-12);
		assert_near(trial_influence_difference(&ia, &ia), 0, 0);
		trial_influence_free(&ia);
		trial_influence_free(&ib);
		metric_free(bed_a.metric);
		metric_free(bed_b.metric);
	}
}

static void
variance_of_a_mean_is_the_sample_variance_over_n(void **state)
{
	static float label[N], a[N], b[N];
	struct bed bed;
	double sum = 0, squares = 0;

	(void)state;
	draw_rows(7, N, label, a, b, 1);
	score(&(struct rows){ N, a, label, NULL, NULL, NULL }, &bed);
	for (size_t i = 0; i < N; i++) {
		const double loss = log1p(exp((double)a[i])) - (double)label[i] * a[i];

		sum += loss;
		squares += loss * loss;
	}
	struct trial_influence got = influence(&bed, "logloss");
	assert_near(got.value, sum / N, 1e-6);
	assert_near(got.variance, (squares - sum * sum / N) / (N - 1) / N, 1e-8);
	trial_influence_free(&got);
	metric_free(bed.metric);
}

/* Weights say how rows count, not how many there are. */
static void
scale_of_the_weights_does_not_matter(void **state)
{
	static const char *const name[] = { "auc", "logloss", "mse", "calibration",
		"mean_prediction", "mean_label", "best_constant_loss" };
	static float label[N], a[N], b[N], one[N], seven[N];
	struct bed bed_one, bed_seven;

	(void)state;
	draw_rows(3, N, label, a, b, 1);
	for (size_t i = 0; i < N; i++) {
		one[i] = (float)(1 + i % 3);
		seven[i] = 7 * one[i];
	}
	score(&(struct rows){ N, a, label, one, NULL, NULL }, &bed_one);
	score(&(struct rows){ N, a, label, seven, NULL, NULL }, &bed_seven);
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		struct trial_influence x = influence(&bed_one, name[i]);
		struct trial_influence y = influence(&bed_seven, name[i]);
		assert_true(x.variance > 0);
		assert_near(y.variance / x.variance, 1, 1e-9);
		trial_influence_free(&x);
		trial_influence_free(&y);
	}
	metric_free(bed_one.metric);
	metric_free(bed_seven.metric);
}

static void
figure_of_groups_varies_over_its_groups(void **state)
{
	enum { GROUPS = 50, ROWS = 6 };
	float label[GROUPS * ROWS], a[GROUPS * ROWS];
	uint64_t group[GROUPS * ROWS];
	struct bed bed;
	double hits = 0;

	(void)state;
	for (size_t g = 0; g < GROUPS; g++)
		for (size_t i = 0; i < ROWS; i++) {
			const size_t k = i * GROUPS + g;       /* groups are interleaved  */
			group[k] = 1000 + g;
			label[k] = i == 0 && g != 3;           /* group 3 is left out     */
			a[k] = i == 0 && g % 3 == 0 ? 2 : (float)rng_uniform(5, k) + (i > 0);
		}
	for (size_t g = 0; g < GROUPS; g++)
		hits += g % 3 == 0 && g != 3;
	score(&(struct rows){ GROUPS * ROWS, a, label, NULL, group, "hr@1" }, &bed);
	struct trial_influence got = influence(&bed, "hr@1");
	const double n = GROUPS - 1, mean = hits / n;
	assert_near(got.value, mean, 1e-12);
	assert_near(got.variance, mean * (1 - mean) / (n - 1), 1e-12);
	trial_influence_free(&got);
	metric_free(bed.metric);
}

/* --- figures with no or little ground --- */

static void
one_positive_row_has_the_widest_variance_there_can_be(void **state)
{
	const float label[] = { 1, 0, 0, 0 }, a[] = { 0.5f, 0, 1, 0.25f };
	struct bed bed;

	(void)state;
	score(&(struct rows){ 4, a, label, NULL, NULL, NULL }, &bed);
	struct trial_influence got = influence(&bed, "auc");
	assert_near(got.value, 2.0 / 3, 1e-12);
	assert_near(got.variance, 2.0 / 9, 1e-12);
	assert_null(got.unit);
	metric_free(bed.metric);
}

static void
figure_that_is_not_defined_has_no_variance(void **state)
{
	const float label[] = { 0, 0 }, a[] = { 0.5f, 1 }, bad[] = { NAN, 1 };
	struct bed bed;

	(void)state;
	score(&(struct rows){ 2, a, label, NULL, NULL, NULL }, &bed);
	struct trial_influence auc = influence(&bed, "auc"), ratio = influence(&bed, "calibration");
	struct trial_influence gauc = influence(&bed, "gauc");
	assert_true(isnan(auc.value) && isnan(auc.variance) && auc.unit == NULL);
	assert_true(isnan(ratio.value) && ratio.unit == NULL);
	assert_true(isnan(gauc.value) && gauc.unit == NULL);
	metric_free(bed.metric);
	score(&(struct rows){ 2, bad, label, NULL, NULL, NULL }, &bed);
	auc = influence(&bed, "logloss");
	assert_true(!isfinite(auc.value) && auc.unit == NULL);
	metric_free(bed.metric);
	score(&(struct rows){ 0, a, label, NULL, NULL, NULL }, &bed);
	auc = influence(&bed, "auc");
	assert_true(isnan(auc.value) && auc.unit == NULL);
	metric_free(bed.metric);
}

/* --- by drawing --- */

enum { DRAWS = 2000, ROWS = 300 };

/* How often a model of this quality is refused against one of quality 1, paired. */
static double
share_refused(const char *text, double quality, uint64_t seed)
{
	static float label[ROWS], a[ROWS], b[ROWS];
	struct gate_condition c;
	size_t refused = 0;

	assert_int_equal(gate_parse(text, &c), RS_OK);
	for (size_t i = 0; i < DRAWS; i++) {
		struct bed old, new;

		draw_rows(rng_key(seed, i), ROWS, label, a, b, quality);
		score(&(struct rows){ ROWS, a, label, NULL, NULL, NULL }, &old);
		score(&(struct rows){ ROWS, b, label, NULL, NULL, NULL }, &new);
		struct trial_influence io = influence(&old, c.metric);
		struct trial_influence in = influence(&new, c.metric);
		refused += !gate_holds(&c, (struct gate_figure){ in.value, in.variance },
			(struct gate_figure){ io.value, io.variance },
			trial_influence_difference(&in, &io));
		trial_influence_free(&io);
		trial_influence_free(&in);
		metric_free(old.metric);
		metric_free(new.metric);
	}
	return (double)refused / DRAWS;
}

/* 2.5 %, give or take what 2000 draws leave open (0.35 %). */
static void
equal_model_is_refused_once_in_40(void **state)
{
	static const char *const text[] = { "auc>=last", "logloss<=last", "mse<=last" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		const double share = share_refused(text[i], 1, 17 + i);

		if (!(share > 0.012 && share < 0.038))
			fail_msg("%s: %.4f were refused", text[i], share);
	}
}

static void
worse_model_is_refused_and_a_better_one_never(void **state)
{
	(void)state;
	assert_true(share_refused("auc>=last", -1, 5) > 0.999);    /* labels flipped      */
	assert_true(share_refused("logloss<=last", -1, 6) > 0.98);
	assert_true(share_refused("auc>=last", 0, 7) > 0.9);
	assert_true(share_refused("auc>=last", 2, 8) < 0.001);
}

/* The 95 % range of a figure holds its true value in 95 of 100 draws. */
static void
range_of_a_figure_holds_what_is_true(void **state)
{
	static const struct { const char *name; double low, high; } row[] = {
		{ "auc", 0.935, 0.965 }, { "logloss", 0.925, 0.965 },
		{ "calibration", 0.925, 0.965 }, { "mean_label", 0.93, 0.965 },
		{ "mean_prediction", 0.935, 0.965 }, { "best_constant_loss", 0.92, 0.965 },
	};
	enum { FIGURES = sizeof row / sizeof *row, MANY = 400000 };
	static float label[MANY], a[MANY], b[MANY];
	double truth[FIGURES];
	size_t inside[FIGURES] = { 0 };
	struct bed bed;

	(void)state;
	draw_rows(99, MANY, label, a, b, 1);
	score(&(struct rows){ MANY, a, label, NULL, NULL, NULL }, &bed);
	for (size_t k = 0; k < FIGURES; k++) {
		const struct figure f = figure(row[k].name);
		truth[k] = trial_influence_value(&bed.result, &f);
	}
	metric_free(bed.metric);
	for (size_t i = 0; i < DRAWS; i++) {
		draw_rows(rng_key(1234, i), ROWS, label, a, b, 1);
		score(&(struct rows){ ROWS, a, label, NULL, NULL, NULL }, &bed);
		for (size_t k = 0; k < FIGURES; k++) {
			struct trial_influence got = influence(&bed, row[k].name);
			inside[k] += fabs(got.value - truth[k]) <= 1.96 * sqrt(got.variance);
			trial_influence_free(&got);
		}
		metric_free(bed.metric);
	}
	for (size_t k = 0; k < FIGURES; k++) {
		const double share = (double)inside[k] / DRAWS;

		if (!(share > row[k].low && share < row[k].high))
			fail_msg("%s: %.4f of the ranges held it", row[k].name, share);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(auc_variance_and_covariance_are_those_of_delong),
		cmocka_unit_test(variance_of_a_mean_is_the_sample_variance_over_n),
		cmocka_unit_test(scale_of_the_weights_does_not_matter),
		cmocka_unit_test(figure_of_groups_varies_over_its_groups),
		cmocka_unit_test(one_positive_row_has_the_widest_variance_there_can_be),
		cmocka_unit_test(figure_that_is_not_defined_has_no_variance),
		cmocka_unit_test(equal_model_is_refused_once_in_40),
		cmocka_unit_test(worse_model_is_refused_and_a_better_one_never),
		cmocka_unit_test(range_of_a_figure_holds_what_is_true),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
