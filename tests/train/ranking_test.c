/* Figures of groups against values by hand and against a naive definition. */
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

static struct figure_list
figures_named(const char *const *name)
{
	struct figure_list list = { 0 };
	struct figure f;

	for (; *name != NULL; name++) {
		assert_int_equal(figure_parse(*name, strlen(*name), RS_EUSAGE, &f), RS_OK);
		assert_int_equal(figure_add(&list, &f), RS_OK);
	}
	return list;
}

static const char *const all_names[] = { "gauc", "hr@1", "hr@2", "hr@10", "recall@2", "recall@10",
	"ndcg@2", "ndcg@10", "ndcg", "mrr@2", "mrr", NULL };

static struct metric_result
result_of(const struct batch *batch, const float *logit)
{
	const struct figure_list list = figures_named(all_names);
	struct metric_result r;
	struct metric *m;

	assert_int_equal(metric_create(&m), RS_OK);
	metric_set_figures(m, &list);
	assert_int_equal(metric_add_batch(m, batch, logit), RS_OK);
	assert_int_equal(metric_result(m, &r), RS_OK);
	metric_free(m);
	return r;
}

/* Two lists, their rows mixed: A has its target at rank 3 of 4, B at rank 1 of 3. */
static void
figures_by_hand(void **state)
{
	float logit[] = { 4, 9, 3, 2, 1, 0, -1 }, label[] = { 0, 1, 0, 1, 0, 0, 0 };
	float weight[] = { 1, 1, 1, 1, 1, 1, 1 };
	uint64_t group[] = { 70, 80, 70, 70, 70, 80, 80 };
	const struct batch b = { .B = 7, .label = label, .weight = weight, .group = group };
	const struct metric_result r = result_of(&b, logit);

	(void)state;
	assert_int_equal(r.groups, 2);
	assert_int_equal(r.groups_left_out, 0);
	assert_near(metric_named(&r, "hr@1"), 0.5, 0);
	assert_near(metric_named(&r, "hr@2"), 0.5, 0);
	assert_near(metric_named(&r, "hr@10"), 1, 0);
	assert_near(metric_named(&r, "recall@2"), 0.5, 0);
	assert_near(metric_named(&r, "ndcg@2"), 0.5, 1e-15);
	assert_near(metric_named(&r, "ndcg"), (1 / log2(4) + 1) / 2, 1e-15);
	assert_near(metric_named(&r, "mrr@2"), 0.5, 0);
	assert_near(metric_named(&r, "mrr"), (1.0 / 3 + 1) / 2, 1e-15);
	/* auc 1/3 with 4 rows, 1 with 3 */
	assert_near(metric_named(&r, "gauc"), (4.0 / 3 + 3) / 7, 1e-15);
}

/* A score that knows nothing gets what chance gives, not a hit rate of 1. */
static void
D2_1_a_constant_score_is_ranked_as_chance_is(void **state)
{
	float logit[100], label[100], weight[100];
	uint64_t group[100];
	const struct batch b = { .B = 100, .label = label, .weight = weight, .group = group };

	(void)state;
	for (size_t first = 0; first < 2; first++) {
		for (size_t i = 0; i < 100; i++) {
			logit[i] = 0.5f;
			label[i] = i == (first ? 0 : 99);
			weight[i] = 1;
			group[i] = 5;
		}
		const struct metric_result r = result_of(&b, logit);
		double mrr = 0, ndcg = 0;
		for (size_t k = 1; k <= 100; k++)
			mrr += 0.01 / (double)k;
		for (size_t k = 1; k <= 10; k++)
			ndcg += 0.01 / log2((double)k + 1);
		assert_near(metric_named(&r, "hr@10"), 0.1, 1e-12);
		assert_near(metric_named(&r, "recall@10"), 0.1, 1e-12);
		assert_near(metric_named(&r, "mrr"), mrr, 1e-12);
		assert_near(metric_named(&r, "ndcg@10"), ndcg, 1e-12);
		assert_near(metric_named(&r, "gauc"), 0.5, 0);
	}
}

enum { ROWS = 6 };

/* Sums of the figures of one order of one group. */
static void
add_order(const int *relevant, double *hr2, double *recall2, double *ndcg2, double *mrr)
{
	double p = 0, hits = 0, dcg = 0, ideal = 0, first = 0;

	for (size_t i = 0; i < ROWS; i++) {
		p += relevant[i];
		if (relevant[i] && first == 0)
			first = 1 / (double)(i + 1);
		if (relevant[i] && i < 2) {
			hits++;
			dcg += 1 / log2((double)i + 2);
		}
	}
	for (size_t i = 0; i < 2 && (double)i < p; i++)
		ideal += 1 / log2((double)i + 2);
	*hr2 += hits > 0;
	*recall2 += hits / p;
	*ndcg2 += dcg / ideal;
	*mrr += first;
}

/* Every order of six rows that does not contradict the scores. */
static size_t
add_orders(const float *score, const float *label, size_t depth, unsigned used, int *relevant,
	double sum[4])
{
	size_t n = 0;

	if (depth == ROWS) {
		add_order(relevant, &sum[0], &sum[1], &sum[2], &sum[3]);
		return 1;
	}
	for (size_t i = 0; i < ROWS; i++) {
		int best = !(used >> i & 1);

		for (size_t j = 0; j < ROWS; j++)
			best &= (used >> j & 1) || score[j] <= score[i];
		if (!best)
			continue;
		relevant[depth] = label[i] > 0;
		n += add_orders(score, label, depth + 1, used | 1u << i, relevant, sum);
	}
	return n;
}

static void
ties_count_as_the_mean_over_all_orders(void **state)
{
	float score[ROWS], label[ROWS], weight[ROWS] = { 1, 1, 1, 1, 1, 1 };
	uint64_t group[ROWS] = { 0 };
	const struct batch b = { .B = ROWS, .label = label, .weight = weight, .group = group };
	int relevant[ROWS];

	(void)state;
	for (uint64_t seed = 0; seed < 60; seed++) {
		double sum[4] = { 0 };

		for (size_t i = 0; i < ROWS; i++) {
			score[i] = (float)rng_below(seed, i, 3);
			label[i] = rng_below(seed + 1000, i, 3) == 0;
		}
		label[0] = 1;
		label[1] = 0;
		const double n = (double)add_orders(score, label, 0, 0, relevant, sum);
		const struct metric_result r = result_of(&b, score);
		assert_near(metric_named(&r, "hr@2"), sum[0] / n, 1e-12);
		assert_near(metric_named(&r, "recall@2"), sum[1] / n, 1e-12);
		assert_near(metric_named(&r, "ndcg@2"), sum[2] / n, 1e-12);
		assert_near(metric_named(&r, "mrr"), sum[3] / n, 1e-12);
	}
}

static void
B002_groups_of_one_class_are_left_out_and_counted(void **state)
{
	float logit[] = { 1, 2, 3, 4, 5 }, label[] = { 1, 0, 0, 0, 1 };
	float weight[] = { 1, 1, 1, 1, 1 };
	uint64_t group[] = { 1, 1, 2, 2, 3 };
	struct batch b = { .B = 5, .label = label, .weight = weight, .group = group };
	struct metric_result r = result_of(&b, logit);

	(void)state;
	assert_int_equal(r.groups, 3);
	assert_int_equal(r.groups_left_out, 2);
	assert_near(metric_named(&r, "gauc"), 0, 0);
	assert_near(metric_named(&r, "mrr"), 0.5, 0);
	label[0] = 0;
	r = result_of(&b, logit);
	assert_int_equal(r.groups_left_out, 3);
	assert_true(isnan(metric_named(&r, "gauc")) && isnan(metric_named(&r, "hr@1")));
}

static void
gauc_weighs_a_group_by_its_rows(void **state)
{
	float logit[] = { 1, 0, 0, 1, 0 }, label[] = { 1, 0, 1, 0, 0 };
	float weight[] = { 1, 2, 0.5f, 1, 1 };
	uint64_t group[] = { 1, 1, 2, 2, 2 };
	const struct batch b = { .B = 5, .label = label, .weight = weight, .group = group };
	const struct metric_result r = result_of(&b, logit);

	(void)state;
	/* auc 1 of weight 3; auc (0 + 1/2) / 2 of weight 2.5 */
	assert_near(metric_named(&r, "gauc"), (3 * 1 + 2.5 * 0.25) / 5.5, 1e-15);
}

static void
rows_without_groups_have_no_such_figures(void **state)
{
	float logit[] = { 1, 0 }, label[] = { 1, 0 }, weight[] = { 1, 1 };
	const struct batch b = { .B = 2, .label = label, .weight = weight };
	const struct metric_result r = result_of(&b, logit);

	(void)state;
	assert_true(isnan(metric_named(&r, "gauc")) && isnan(metric_named(&r, "ndcg@10")));
	assert_near(r.auc, 1, 0);
}

static void
L065_the_same_rows_give_the_same_figures_again(void **state)
{
	enum { N = 500 };
	float logit[N], label[N], weight[N];
	uint64_t group[N];
	const struct figure_list list = figures_named(all_names);
	struct metric_result r[2];
	struct metric *m;

	(void)state;
	for (size_t i = 0; i < N; i++) {
		logit[i] = (float)rng_normal(3, i);
		label[i] = rng_below(4, i, 4) == 0;
		weight[i] = 1 + (float)rng_below(5, i, 3);
		group[i] = rng_below(6, i, 40) * 0x9e3779b97f4a7c15u;
	}
	assert_int_equal(metric_create(&m), RS_OK);
	metric_set_figures(m, &list);
	for (size_t k = 0; k < 2; k++) {
		metric_reset(m);
		for (size_t at = 0; at < N; at += k ? 7 : N) {
			struct batch piece = { .B = N - at < 7 ? N - at : k ? 7 : N,
				.label = label + at, .weight = weight + at, .group = group + at };
			assert_int_equal(metric_add_batch(m, &piece, logit + at), RS_OK);
		}
		assert_int_equal(metric_result(m, &r[k]), RS_OK);
	}
	assert_memory_equal(&r[0], &r[1], sizeof r[0]);
	assert_int_equal(metric_result(m, &r[1]), RS_OK);
	assert_memory_equal(&r[0], &r[1], sizeof r[0]);
	metric_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_by_hand),
		cmocka_unit_test(D2_1_a_constant_score_is_ranked_as_chance_is),
		cmocka_unit_test(ties_count_as_the_mean_over_all_orders),
		cmocka_unit_test(B002_groups_of_one_class_are_left_out_and_counted),
		cmocka_unit_test(gauc_weighs_a_group_by_its_rows),
		cmocka_unit_test(rows_without_groups_have_no_such_figures),
		cmocka_unit_test(L065_the_same_rows_give_the_same_figures_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
