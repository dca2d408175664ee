/* Trials of candidates with a model whose scores are set by hand. */
#include "train/trial.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "spec/spec.h"
#include "train/model.h"
#include "train/trial_history.h"

#define ROWS 2000

static const char spec_text[] =
	"[model]\ntype = fm\n"
	"[data]\ntrain = period.tsv\nvalid = valid.tsv\nformat = tsv\nheader = no\nlabel = 1\n"
	"group = 3\n"
	"[field x]\ncolumn = 2\ntype = numeric\n"
	"[embedding]\ndim = 4\n"
	"[eval]\nmetrics = auc,logloss,gauc,hr@1\n";

struct bed {
	char directory[64];
	struct spec *spec;             /* the trial's settings                        */
	struct model *m;
	struct workers *w;
};

/* Rows whose label goes with x; flip: against it. */
static void
write_rows(const char *path, size_t n, uint64_t seed, int flip)
{
	FILE *const f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i < n; i++) {
		const double x = rng_normal(seed, 2 * i);
		const double p = 1 / (1 + exp(flip ? x : -x));

		fprintf(f, "%d\t%.6f\tg%zu\n", rng_uniform(seed, 2 * i + 1) < p, x, i % 40);
	}
	assert_int_equal(fclose(f), 0);
}

static void
write_text(const char *path, const char *text)
{
	FILE *const f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static int
set_up(void **state)
{
	static struct bed b;
	const struct model_options options = { .n_threads = 1 };
	struct spec *spec;

	snprintf(b.directory, sizeof b.directory, "/tmp/trial_test.XXXXXX");
	if (mkdtemp(b.directory) == NULL || chdir(b.directory) != 0)
		return 1;
	write_rows("period.tsv", ROWS, 1, 0);
	write_rows("poison.tsv", ROWS, 2, 1);
	write_rows("held.tsv", 400, 3, 0);
	write_rows("valid.tsv", ROWS, 4, 0);
	write_text("negatives.tsv", "0\t0.5\tg1\n0\t1\tg1\n0\t-1\tg2\n");
	write_text("empty.tsv", "");
	assert_int_equal(spec_load_text(spec_text, "trial_test", &spec), RS_OK);
	assert_int_equal(model_create(spec, &options, &b.m), RS_OK);
	assert_int_equal(workers_create(b.m, 1, &b.w), RS_OK);
	assert_int_equal(spec_load_text(spec_text, "trial_test", &b.spec), RS_OK);
	*state = &b;
	return 0;
}

static int
tear_down(void **state)
{
	static const char *const file[] = { "period.tsv", "poison.tsv", "held.tsv", "valid.tsv",
		"negatives.tsv", "empty.tsv" };
	struct bed *const b = *state;

	workers_free(b->w);
	model_free(b->m);
	spec_free(b->spec);
	for (size_t i = 0; i < sizeof file / sizeof *file; i++)
		unlink(file[i]);
	return chdir("/") | rmdir(b->directory);
}

/* The logit of a row becomes x * slope. */
static void
set_slope(struct bed *b, double slope)
{
	int found = 0;

	for (size_t i = 0; i < graph_n_params(b->m->graph); i++) {
		const struct graph_param *const p = graph_param(b->m->graph, i);
		const int is_slope = strcmp(p->name, "x.linear") == 0;

		found |= is_slope;
		for (size_t k = 0; k < p->rows * p->columns; k++)
			b->m->param[p->offset + k] = is_slope ? (float)slope : 0;
	}
	if (!found)
		fail_msg("no parameter for x, but for instance '%s'",
			graph_param(b->m->graph, 0)->name);
}

struct a_case {
	enum gate_rows gate;
	const char *rows, *held, *history;     /* rows NULL: period.tsv               */
	int    is_first;
	double old_slope, new_slope;
	const char *require;                   /* of [incremental]; NULL none         */
};

static struct trial *
tried(struct bed *b, const struct a_case *c)
{
	char *row = (char *)(uintptr_t)(c->rows != NULL ? c->rows : "period.tsv");
	char *held = (char *)(uintptr_t)c->held;
	const struct text_list rows = { .item = &row, .n = 1 };
	const struct text_list held_list = { .item = &held, .n = c->held != NULL };
	const struct trial_options options = { .period = 1764424800, .rows = &rows,
		.held = &held_list, .gate = c->gate, .history = c->history };
	struct trial *t;

	assert_int_equal(spec_set(b->spec, "incremental", "require",
		c->require != NULL ? c->require : ""), RS_OK);
	if (trial_open(&options, spec_settings(b->spec), &t) != RS_OK)
		fail_msg("%s", rs_failure()->text);
	set_slope(b, c->old_slope);
	if (trial_before(t, b->w, b->m, !c->is_first) != RS_OK)
		fail_msg("%s", rs_failure()->text);
	set_slope(b, c->new_slope);
	if (trial_after(t, b->w, b->m) != RS_OK)
		fail_msg("%s", rs_failure()->text);
	return t;
}

/* The text of the verdict, or of the failure, must have these words. */
static void
assert_judged(struct bed *b, const struct a_case *c, const char *condition,
	enum rs_status want, const char *words)
{
	struct trial *const t = tried(b, c);
	struct gate_condition g;
	char *verdict;

	assert_int_equal(gate_parse(condition, &g), RS_OK);
	const enum rs_status got = trial_judge(t, &g, 1, &verdict);
	const char *const text = got == RS_OK ? verdict : rs_failure()->text;
	if (got != want || strstr(text, words) == NULL)
		fail_msg("%s: %s: '%s', wanted '%s'", condition, rs_status_name(got), text, words);
	if (got == RS_OK || got == RS_EUNMET)
		assert_non_null(verdict);
	free(verdict);
	trial_free(t);
}

static void
old_and_new_are_compared_on_the_same_rows(void **state)
{
	const struct a_case same = { .gate = GATE_VALID, .old_slope = 1, .new_slope = 1.05 };
	const struct a_case worse = { .gate = GATE_VALID, .old_slope = 1, .new_slope = -1 };
	const struct a_case bold = { .gate = GATE_VALID, .old_slope = 1, .new_slope = 4 };

	(void)state;
	assert_judged(*state, &same, "auc>=last", RS_OK, "auc>=last holds");
	assert_judged(*state, &same, "auc>=last", RS_OK, "of the current model");
	assert_judged(*state, &same, "auc>=last", RS_OK, "on 2000 rows of data.valid");
	assert_judged(*state, &same, "logloss<=last", RS_OK, "holds");
	assert_judged(*state, &worse, "auc>=last-0.005", RS_EUNMET,
		"required auc>=last-0.005, but auc is ");
	assert_judged(*state, &worse, "gauc>=last-0.005", RS_EUNMET, "gauc is");
	assert_judged(*state, &worse, "hr@1>=last", RS_EUNMET, "hr@1 is");
	assert_judged(*state, &bold, "auc>=last", RS_OK, "holds");     /* order is the same */
	assert_judged(*state, &bold, "logloss<=last", RS_EUNMET, "logloss is");
}

static void
rows_held_out_are_judged_when_there_are_some(void **state)
{
	const struct a_case held = { .gate = GATE_HOLDOUT, .held = "held.tsv", .old_slope = 1,
		.new_slope = -1 };
	const struct a_case none = { .gate = GATE_HOLDOUT, .old_slope = 1, .new_slope = -1 };
	const struct a_case gone = { .gate = GATE_HOLDOUT, .held = "gone.tsv", .old_slope = 1,
		.new_slope = -1 };
	const struct a_case quiet = { .gate = GATE_HOLDOUT, .held = "negatives.tsv",
		.old_slope = 1, .new_slope = -1 };

	assert_judged(*state, &held, "auc>=last", RS_EUNMET,
		"on 400 rows held out of the last accepted period");
	assert_judged(*state, &none, "auc>=0.6", RS_OK, "rows of the period");
	assert_judged(*state, &gone, "auc>=0.6", RS_OK, "rows of the period");
	assert_judged(*state, &quiet, "auc>=0.6", RS_OK, "rows of the period");
}

#define PAST(period, auc) "period=" period "\tprogressive.rows=2000\tprogressive.auc=" auc \
	"\tprogressive.auc.variance=0.0001\n"

static void
poisoned_period_is_told_by_its_own_figures(void **state)
{
	static const char history[] = PAST("1764414000", "0.77") PAST("1764417600", "0.74")
		PAST("1764421200", "0.75");
	const struct a_case poison = { .gate = GATE_PROGRESSIVE, .rows = "poison.tsv",
		.history = history, .old_slope = 1, .new_slope = 1 };
	const struct a_case good = { .gate = GATE_PROGRESSIVE, .history = history, .old_slope = 1,
		.new_slope = 1 };

	assert_judged(*state, &poison, "auc>=last-0.005", RS_EUNMET,
		"against 0.750000 of the period 2025-11-29T13:00Z");
	assert_judged(*state, &good, "auc>=last-0.005", RS_OK, "holds");
	assert_judged(*state, &good, "auc>=best(3)-0.005", RS_OK,
		"against 0.770000 of the best of 3 periods, the period 2025-11-29T11:00Z");
	assert_judged(*state, &good, "auc>=best(2)", RS_OK, "against 0.750000");
	assert_judged(*state, &poison, "auc>=best(3)-0.005", RS_EUNMET, "best of 3 periods");
	assert_judged(*state, &good, "auc>=0.8", RS_EUNMET, "scored before they were trained");
}

static void
first_model_passes_what_needs_another(void **state)
{
	const struct a_case period = { .gate = GATE_PROGRESSIVE, .is_first = 1, .new_slope = 1 };
	const struct a_case valid = { .gate = GATE_VALID, .is_first = 1, .new_slope = 1 };

	assert_judged(*state, &period, "auc>=last-0.005", RS_OK, "nothing to compare with");
	assert_judged(*state, &period, "auc>=best(5)", RS_OK, "nothing to compare with");
	assert_judged(*state, &period, "auc>=0.6", RS_EUNMET,
		"auc is not defined: there was no model to score the period with");
	assert_judged(*state, &valid, "auc>=last", RS_OK, "nothing to compare with");
	assert_judged(*state, &valid, "auc>=0.6", RS_OK, "holds");
	assert_judged(*state, &valid, "auc>=0.9", RS_EUNMET, "on 2000 rows of data.valid");
}

static void
figure_without_ground_refuses_and_says_why(void **state)
{
	const struct a_case negatives = { .gate = GATE_PROGRESSIVE, .rows = "negatives.tsv",
		.old_slope = 1, .new_slope = 1 };
	const struct a_case empty = { .gate = GATE_PROGRESSIVE, .rows = "empty.tsv",
		.old_slope = 1, .new_slope = 1 };
	const struct a_case infinite = { .gate = GATE_VALID, .old_slope = 1,
		.new_slope = INFINITY };

	assert_judged(*state, &negatives, "auc>=last", RS_EUNMET,
		"auc is not defined: 3 rows of the period, scored before they were trained, no "
		"positives");
	assert_judged(*state, &negatives, "gauc>=0.1", RS_EUNMET, "no positives");
	assert_judged(*state, &empty, "auc>=last", RS_EUNMET, "auc is not defined");
	assert_judged(*state, &infinite, "logloss<=last", RS_EUNMET, "a score is not finite");
	assert_judged(*state, &infinite, "auc>=last", RS_EUNMET, "a score is not finite");
}

static void
condition_on_what_was_not_evaluated_is_refused(void **state)
{
	struct a_case c = { .gate = GATE_VALID, .old_slope = 1, .new_slope = 1 };

	assert_judged(*state, &c, "ndcg@3>=last", RS_EUSAGE, "ndcg@3 was not evaluated");
	c.require = "ndcg@3>=last";
	assert_judged(*state, &c, "ndcg@3>=last", RS_OK, "holds");
	assert_judged(*state, &c, "mean_prediction<=0.9", RS_OK, "holds");
}

/* The former model is another one, or one that cannot be scored. */
static void
other_model_is_compared_where_it_can_be_scored(void **state)
{
	struct bed *const b = *state;
	const struct text_list *const valid = &spec_settings(b->spec)->data.valid;
	static const char history[] = "period=-\tvalid.rows=2000\tvalid.auc=0.9\n";
	static const struct { const char *history; int scored; enum rs_status want;
		const char *words; } row[] = {
		{ NULL, 1, RS_OK, "of the current model" },
		{ NULL, 0, RS_EUNMET, "that of the current model is not known" },
		{ history, 0, RS_EUNMET, "against 0.900000 of the current model" },
	};

	assert_int_equal(spec_set(b->spec, "incremental", "require", ""), RS_OK);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		const struct trial_options options = { .period = INT64_MIN, .gate = GATE_VALID,
			.history = row[i].history };
		struct gate_condition g;
		struct trial *t;
		char *verdict;

		assert_int_equal(trial_open(&options, spec_settings(b->spec), &t), RS_OK);
		set_slope(b, 1);
		assert_int_equal(trial_before_other(t, b->w, row[i].scored ? b->m : NULL, valid),
			RS_OK);
		assert_int_equal(trial_after(t, b->w, b->m), RS_OK);
		assert_int_equal(gate_parse("auc>=last", &g), RS_OK);
		assert_int_equal(trial_judge(t, &g, 1, &verdict), row[i].want);
		const char *const text = row[i].want == RS_OK ? verdict : rs_failure()->text;
		if (strstr(text, row[i].words) == NULL)
			fail_msg("'%s', wanted '%s'", text, row[i].words);
		free(verdict);
		trial_free(t);
	}
}

static void
figures_of_conditions_are_evaluated(void **state)
{
	struct bed *const b = *state;
	struct gate_condition g;
	struct trial *t;
	char *verdict;

	assert_int_equal(spec_set(b->spec, "incremental", "require", ""), RS_OK);
	assert_int_equal(gate_parse("ndcg@7>=0", &g), RS_OK);
	const struct trial_options options = { .gate = GATE_VALID, .condition = &g,
		.n_conditions = 1 };
	assert_int_equal(trial_open(&options, spec_settings(b->spec), &t), RS_OK);
	assert_int_equal(trial_before(t, b->w, b->m, 0), RS_OK);
	assert_int_equal(trial_after(t, b->w, b->m), RS_OK);
	assert_int_equal(trial_judge(t, &g, 1, &verdict), RS_OK);
	free(verdict);
	trial_free(t);
}

static void
first_failure_is_told_and_the_verdict_has_all(void **state)
{
	const struct a_case c = { .gate = GATE_VALID, .old_slope = 1, .new_slope = -1 };
	struct trial *const t = tried(*state, &c);
	struct gate_condition g[3];
	char *verdict;

	assert_int_equal(gate_parse("calibration<=3", &g[0]), RS_OK);
	assert_int_equal(gate_parse("auc>=last", &g[1]), RS_OK);
	assert_int_equal(gate_parse("auc>=0.9", &g[2]), RS_OK);
	assert_int_equal(trial_judge(t, g, 3, &verdict), RS_EUNMET);
	assert_non_null(strstr(rs_failure()->text, "required auc>=last"));
	assert_non_null(strstr(verdict, "calibration<=3 holds"));
	assert_non_null(strstr(verdict, "; auc>=last fails"));
	assert_non_null(strstr(verdict, "; auc>=0.9 fails"));
	free(verdict);
	assert_int_equal(trial_judge(t, g, 0, &verdict), RS_OK);
	assert_string_equal(verdict, "nothing was required");
	free(verdict);
	trial_free(t);
}

/* --- figures.txt --- */

static char *
printed(struct bed *b, const struct a_case *c)
{
	struct trial *const t = tried(b, c);
	struct buffer out;

	buffer_init(&out, TRIAL_HISTORY_BYTES);
	assert_int_equal(trial_print(t, &out), RS_OK);
	trial_free(t);
	return out.data;
}

static void
line_of_the_period_follows_those_before_it(void **state)
{
	static const char before[] = PAST("1764417600", "0.74") PAST("1764421200", "0.75");
	struct a_case c = { .gate = GATE_VALID, .history = before, .old_slope = 1,
		.new_slope = 1 };
	struct trial_past past[4];
	char *const text = printed(*state, &c);

	assert_int_equal(strncmp(text, before, strlen(before)), 0);
	assert_non_null(strstr(text + strlen(before),
		"period=1764424800\tprogressive.rows=2000\t"));
	assert_int_equal(trial_history_check(text), RS_OK);
	assert_int_equal(trial_history_past(text, "progressive", "auc", past, 4), 3);
	assert_int_equal(past[0].period, 1764424800);
	assert_int_equal(past[0].rows, ROWS);
	assert_true(past[0].figure.value > 0.6 && past[0].figure.variance > 0);
	assert_true(past[1].figure.value == 0.75 && past[2].figure.value == 0.74);
	assert_int_equal(trial_history_past(text, "valid", "auc", past, 4), 1);
	assert_int_equal(trial_history_past(text, "valid", "hr@1", past, 4), 1);
	/* Once more: the line takes the place of the one of the same period. */
	c.history = text;
	char *const again = printed(*state, &c);
	assert_string_equal(again, text);
	free(again);
	free(text);
}

static void
history_has_an_end(void **state)
{
	struct buffer long_one, out;
	size_t n = 0;

	(void)state;
	buffer_init(&long_one, TRIAL_HISTORY_BYTES);
	buffer_init(&out, TRIAL_HISTORY_BYTES);
	for (int i = 0; i < TRIAL_HISTORY_LINES + 7; i++)
		assert_int_equal(buffer_printf(&long_one, "period=%d\n", i), RS_OK);
	assert_int_equal(trial_history_keep(long_one.data, 5000, &out), RS_OK);
	for (size_t i = 0; i < out.n; i++)
		n += out.data[i] == '\n';
	assert_int_equal(n, TRIAL_HISTORY_LINES - 1);
	assert_int_equal(strncmp(out.data, "period=8\n", 9), 0);
	buffer_free(&long_one);
	buffer_free(&out);
}

static void
text_that_is_no_history_is_refused_with_its_line(void **state)
{
	static const char *const text[] = { "x\n", "period=\n", "period=12",
		"period=1\nperiod=x\n" };

	(void)state;
	for (size_t i = 0; i < sizeof text / sizeof *text; i++) {
		assert_int_equal(trial_history_check(text[i]), RS_EDATA);
		assert_int_equal(rs_failure()->line, i == 3 ? 2 : 1);
	}
	assert_int_equal(trial_history_check("period=-\tvalid.auc=0.5\tnew=1\n"), RS_OK);
}

/* B046: another model's scores in the trial before do not show. */
static void
B046_figures_are_of_this_period_only(void **state)
{
	const struct a_case good = { .gate = GATE_PROGRESSIVE, .old_slope = 1 };
	const struct a_case poison = { .gate = GATE_PROGRESSIVE, .old_slope = 1,
		.rows = "poison.tsv" };
	struct trial *const first = tried(*state, &good), *const second = tried(*state, &poison);

	assert_int_equal(trial_progressive(first)->rows, ROWS);
	assert_int_equal(trial_progressive(second)->rows, ROWS);
	assert_true(trial_progressive(first)->auc > 0.65);
	assert_true(trial_progressive(second)->auc < 0.35);
	trial_free(first);
	trial_free(second);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(old_and_new_are_compared_on_the_same_rows),
		cmocka_unit_test(rows_held_out_are_judged_when_there_are_some),
		cmocka_unit_test(poisoned_period_is_told_by_its_own_figures),
		cmocka_unit_test(first_model_passes_what_needs_another),
		cmocka_unit_test(figure_without_ground_refuses_and_says_why),
		cmocka_unit_test(condition_on_what_was_not_evaluated_is_refused),
		cmocka_unit_test(other_model_is_compared_where_it_can_be_scored),
		cmocka_unit_test(figures_of_conditions_are_evaluated),
		cmocka_unit_test(first_failure_is_told_and_the_verdict_has_all),
		cmocka_unit_test(line_of_the_period_follows_those_before_it),
		cmocka_unit_test(history_has_an_end),
		cmocka_unit_test(text_that_is_no_history_is_refused_with_its_line),
		cmocka_unit_test(B046_figures_are_of_this_period_only),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
