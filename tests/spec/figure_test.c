/* Names of figures. */
#include "spec/figure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum rs_status
parse(const char *text, struct figure *f)
{
	return figure_parse(text, strlen(text), RS_EUSAGE, f);
}

static void
a_name_with_a_cut_off_is_read_and_printed(void **state)
{
	struct figure f;

	(void)state;
	assert_int_equal(parse("ndcg@020", &f), RS_OK);
	assert_int_equal(f.kind, FIGURE_NDCG);
	assert_int_equal(f.k, 20);
	assert_string_equal(f.name, "ndcg@20");
	assert_int_equal(figure_parse("mrr,auc", 3, RS_EUSAGE, &f), RS_OK);
	assert_int_equal(f.k, 0);
	assert_string_equal(f.name, "mrr");
}

static void
an_unknown_name_says_the_nearest(void **state)
{
	struct figure f;

	(void)state;
	assert_int_equal(parse("ndgc@20", &f), RS_EUSAGE);
	assert_string_equal(rs_failure()->hint, "did you mean 'ndcg@20'?");
	assert_int_equal(parse("loglos", &f), RS_EUSAGE);
	assert_string_equal(rs_failure()->hint, "did you mean 'logloss'?");
	assert_int_equal(parse("", &f), RS_EUSAGE);
	assert_int_equal(parse("precision_at_ten", &f), RS_EUSAGE);
}

static void
a_cut_off_is_a_number_where_it_belongs(void **state)
{
	static const char *const bad[] = { "hr", "recall@", "hr@0", "hr@-1", "hr@x", "auc@10",
		"ndcg@1000001", "hr@10@20", "hr@1e3" };
	struct figure f;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(parse(bad[i], &f), RS_EUSAGE);
	assert_int_equal(parse("hr@1000000", &f), RS_OK);
}

static void
every_figure_of_the_table_is_known_by_its_name(void **state)
{
	static const struct { const char *name; enum figure_cut cut; } row[] = {
#define ROW(kind, name, better, cut, grouped, classes, probability) { name, cut },
		FIGURE_TABLE(ROW)
#undef ROW
	};
	struct figure f;

	(void)state;
	for (size_t i = 0; i < N_FIGURES; i++) {
		char text[FIGURE_NAME];

		snprintf(text, sizeof text, "%s%s", row[i].name,
			row[i].cut == CUT_MUST ? "@7" : "");
		assert_int_equal(parse(text, &f), RS_OK);
		assert_int_equal(f.kind, i);
		assert_string_equal(f.name, text);
	}
}

static void
the_list_holds_each_figure_once_and_the_monitor(void **state)
{
	char *metrics[] = { (char[]){ "gauc" }, (char[]){ "auc" }, (char[]){ "gauc" } };
	char monitor[] = "hr@5";
	const struct settings s = { .eval.metrics = { metrics, 3 }, .train.monitor = monitor };
	struct figure_list list;

	(void)state;
	figure_list_of(&s, &list);
	assert_int_equal(list.n, 3);
	assert_string_equal(list.item[0].name, "gauc");
	assert_string_equal(list.item[2].name, "hr@5");
}

static void
what_nobody_asked_for_follows_from_the_loss(void **state)
{
	static const struct { enum loss_kind loss; enum eval_candidates candidates;
		const char *first; enum data_format format; int64_t negatives; } want[] = {
		{ LOSS_LOGLOSS, EVAL_ROWS, "auc", FORMAT_TSV, 0 },
		{ LOSS_LOGLOSS, EVAL_CATALOGUE, "auc", FORMAT_TSV, 0 },
		{ LOSS_MSE, EVAL_ROWS, "mse", FORMAT_TSV, 0 },
		{ LOSS_BPR, EVAL_CATALOGUE, "recall@20", FORMAT_TSV, 0 },
		{ LOSS_SOFTMAX, EVAL_ROWS, "hr@10", FORMAT_TSV, 0 },
		{ LOSS_LOGLOSS, EVAL_CATALOGUE, "recall@20", FORMAT_LISTS, 4 },
		{ LOSS_LOGLOSS, EVAL_CATALOGUE, "recall@20", FORMAT_TSV, 4 },
		{ LOSS_LOGLOSS, EVAL_ROWS, "auc", FORMAT_TSV, 4 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		const struct settings s = { .model.loss = want[i].loss,
			.eval.candidates = want[i].candidates,
			.data.format = want[i].format, .items.negatives = want[i].negatives };
		struct figure_list list;

		figure_list_of(&s, &list);
		assert_string_equal(list.item[0].name, want[i].first);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_with_a_cut_off_is_read_and_printed),
		cmocka_unit_test(an_unknown_name_says_the_nearest),
		cmocka_unit_test(a_cut_off_is_a_number_where_it_belongs),
		cmocka_unit_test(every_figure_of_the_table_is_known_by_its_name),
		cmocka_unit_test(the_list_holds_each_figure_once_and_the_monitor),
		cmocka_unit_test(what_nobody_asked_for_follows_from_the_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
