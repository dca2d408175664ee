/* Metrics of groups of rows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cmd/eval_groups.h"

static void
add_bytes(struct eval_groups *g, const char *text, size_t n, float logit, float label)
{
	float weight = 1;
	const struct batch row = { .B = 1, .label = &label, .weight = &weight };

	assert_int_equal(eval_groups_add(g, text, n, &row, 0, logit), RS_OK);
}

static void
add(struct eval_groups *g, const char *text, float logit, float label)
{
	add_bytes(g, text, strlen(text), logit, label);
}

static void
groups_are_sorted_by_rows_then_text(void **state)
{
	(void)state;
	struct eval_groups g = { 0 };
	add(&g, "b", 0, 1);
	add(&g, "a", 0, 1);
	add(&g, "", 0, 1);
	add(&g, "c", 0, 1);
	add(&g, "c", 0, 0);
	eval_groups_sort(&g);
	assert_int_equal(g.n_groups, 4);
	static const char *const want[] = { "c", "", "a", "b" };
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(g.group[i].text, want[i]);
	eval_groups_free(&g);
}

static void
each_group_has_its_own_metrics(void **state)
{
	(void)state;
	struct eval_groups g = { 0 };
	struct metric_result r;
	add(&g, "good", -1, 0);
	add(&g, "good", 1, 1);
	add(&g, "bad", 1, 0);
	add(&g, "bad", -1, 1);
	add(&g, "one", 0, 1);
	eval_groups_sort(&g);
	assert_int_equal(metric_result(g.group[0].metric, &r), RS_OK);
	assert_string_equal(g.group[0].text, "bad");
	assert_true(r.auc == 0);
	assert_int_equal(metric_result(g.group[1].metric, &r), RS_OK);
	assert_true(r.auc == 1);
	assert_int_equal(metric_result(g.group[2].metric, &r), RS_OK);
	assert_true(isnan(r.auc));
	eval_groups_free(&g);
}

static void
many_groups_and_bytes_of_any_kind_are_kept_apart(void **state)
{
	(void)state;
	struct eval_groups g = { 0 };
	char text[16];
	add_bytes(&g, "a\0b", 3, 0, 1);
	add_bytes(&g, "a\0c", 3, 0, 1);
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < 3000; i++) {
			snprintf(text, sizeof text, "%d", i);
			add(&g, text, 0, 1);
		}
	assert_int_equal(g.n_groups, 3002);
	eval_groups_sort(&g);
	assert_int_equal(g.group[2999].rows, 2);
	assert_int_equal(g.group[3001].rows, 1);
	eval_groups_free(&g);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups_are_sorted_by_rows_then_text),
		cmocka_unit_test(each_group_has_its_own_metrics),
		cmocka_unit_test(many_groups_and_bytes_of_any_kind_are_kept_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
