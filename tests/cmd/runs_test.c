/* The command runs on a database made by hand. */
#include "tests/cmd/runs_bed.h"

#include <math.h>

static void
metric(struct store *s, int64_t run, const char *key, double value)
{
	assert_int_equal(store_metric(s, run, key, 0, 10, 100, value), RS_OK);
}

static void
add_run(struct store *s, const char *rate, double auc, const char *status, const char *tag)
{
	char spec[128];
	int64_t run;

	snprintf(spec, sizeof spec, "[train]\nlearning_rate = %s\nseed = 1\n", rate);
	const struct store_run_start start = {
		.model = "deepfm", .directory = "model/ctr", .spec_text = spec, .tag = tag,
		.command_line = "recsys-train train ctr.ini", .version = "0.1.0", .seed = 1,
	};
	const struct store_ledger ledger = {
		.file = "a,b.tsv", .end = 10, .rows_read = 1012, .rows_trained = 1000,
		.rows_skipped = strcmp(status, "partial") == 0 ? 12 : 0, .attempt = 1,
	};
	assert_int_equal(store_run_begin(s, &start, &run), RS_OK);
	metric(s, run, "valid.auc", auc);
	metric(s, run, "valid.logloss", isnan(auc) ? NAN : 1 - auc);
	metric(s, run, "valid.rows", 45840);
	metric(s, run, "valid.positives", 11731);
	assert_int_equal(store_ledger(s, run, &ledger), RS_OK);
	assert_int_equal(store_warning(s, run, "something \"odd\""), RS_OK);
	assert_int_equal(store_run_end(s, run, status, 590233 + 1000 * run, ""), RS_OK);
}

static int
setup(void **state)
{
	struct store *s;

	(void)state;
	if (bed_open(&s) != 0)
		return -1;
	add_run(s, "0.01", 0.7969, "ok", "prod");
	add_run(s, "0.005", 0.7981, "partial", "");
	add_run(s, "1000", NAN, "diverged", "");
	store_close(s);
	return 0;
}

static void
list_shows_status_figures_and_tag(void **state)
{
	(void)state;
	assert_int_equal(runs("list"), 0);
	assert_has("run    started (UTC)");
	assert_has("deepfm  partial(12)  592,233  0.7981  0.2019\n");
	assert_has("deepfm  ok           591,233  0.7969  0.2031   prod\n");
	assert_has("deepfm  diverged     593,233  n.a.    n.a.\n");
	assert_true(strstr(bed_output, "r0003") < strstr(bed_output, "r0001"));
}

static void
list_filters_and_sorts(void **state)
{
	(void)state;
	assert_int_equal(runs("list --last 1"), 0);
	assert_has("r0003");
	assert_lacks("r0002");
	assert_int_equal(runs("list --status ok"), 0);
	assert_lacks("r0002");
	assert_int_equal(runs("list --sort auc"), 0);
	assert_true(strstr(bed_output, "r0002") < strstr(bed_output, "r0001"));
	assert_true(strstr(bed_output, "r0001") < strstr(bed_output, "r0003"));
	assert_int_equal(runs("list --sort beauty"), 64);
	assert_int_equal(runs("list --last 0"), 64);
}

static void
list_shows_the_monitored_figure_of_other_runs(void **state)
{
	const struct store_run_start start = {
		.model = "two_tower", .directory = "model/tt", .version = "0.1.0",
		.spec_text = "[train]\nmonitor = ndcg@20\n", .command_line = "",
	};
	struct store *s;
	int64_t run;

	(void)state;
	assert_int_equal(runs("list"), 0);
	assert_lacks("monitored");
	assert_int_equal(store_open(bed_database, 0, 1000, &s), RS_OK);
	assert_int_equal(store_run_begin(s, &start, &run), RS_OK);
	metric(s, run, "valid.ndcg@20", 0.12345);
	assert_int_equal(store_run_end(s, run, "ok", 10, ""), RS_OK);
	assert_int_equal(runs("list"), 0);
	assert_has("auc     logloss  monitored       tag\n");
	assert_has("n.a.    n.a.     ndcg@20 0.1235\n");
	assert_has("0.7969  0.2031   -               prod\n");
	assert_int_equal(runs("list --json --last 1"), 0);
	assert_has("\"monitor\":\"ndcg@20\",\"monitored\":0.12345");
	assert_int_equal(runs("list --csv --last 1"), 0);
	assert_has(",ndcg@20,0.12345\n");
	assert_int_equal(store_run_remove(s, run), RS_OK);
	store_close(s);
}

static void
list_has_json_and_csv(void **state)
{
	(void)state;
	assert_int_equal(runs("list --json --last 1"), 0);
	assert_has("[{\"run\":\"r0003\",\"started\":\"20");
	assert_has("\"auc\":null");
	assert_int_equal(runs("list --csv --last 2"), 0);
	assert_has("run,started,seconds,model,status,rows,skipped,auc,logloss,tag,"
		"monitor,monitored\n");
	assert_has(",deepfm,partial,592233,12,0.7981,");
}

static void
show_prints_everything_or_one_part(void **state)
{
	(void)state;
	assert_int_equal(runs("show r0002"), 0);
	assert_has("model/ctr");
	assert_has("a,b.tsv");
	assert_has("12 skipped");
	assert_int_equal(runs("show 2 --spec"), 0);
	assert_string_equal(bed_output, "[train]\nlearning_rate = 0.005\nseed = 1\n");
	assert_int_equal(runs("show prod --metrics"), 0);
	assert_has("valid.auc");
	assert_int_equal(runs("show last --log"), 0);
	assert_has("something \"odd\"");
	assert_int_equal(runs("show last --json"), 0);
	assert_has("\"text\":\"something \\\"odd\\\"\"");
	assert_has("\"key\":\"valid.auc\"");
	assert_int_equal(runs("show r0099"), 64);
	assert_has("newest run is r0003");
}

static void
compare_shows_what_differs_and_the_range_of_the_change(void **state)
{
	(void)state;
	assert_int_equal(runs("compare r0001 r0002"), 0);
	assert_has("train.learning_rate  0.01     0.005    *\n");
	assert_lacks("train.seed");
	assert_has("valid.auc            0.7969   0.7981   +0.0012   (45,840 rows; "
		"95% range of the change -0.0");
	assert_int_equal(runs("compare r0001 r0002 --require 'auc>=0.9'"), 1);
	assert_int_equal(runs("compare r0001 r0002 --require 'auc>=0.7'"), 0);
	assert_int_equal(runs("compare r0001 r0002 --json"), 0);
	assert_has("\"auc_change_low\":-0.0");
	assert_int_equal(runs("compare r0001"), 64);
}

static void
rm_and_tag_change_the_record(void **state)
{
	(void)state;
	assert_int_equal(runs("rm -n r0001 r0002"), 0);
	assert_has("would remove r0001\nwould remove r0002\n");
	assert_int_equal(runs("tag r0002 best"), 0);
	assert_int_equal(runs("show best"), 0);
	assert_has("r0002");
	assert_int_equal(runs("rm r0001"), 0);
	assert_int_equal(runs("show r0001"), 64);
	assert_int_equal(runs("tag r0002 ''"), 0);
	assert_int_equal(runs("show best"), 64);
}

static void
a_running_run_is_not_removed(void **state)
{
	struct store *s;
	int64_t run;

	(void)state;
	assert_int_equal(store_open(bed_database, 0, 1000, &s), RS_OK);
	assert_int_equal(store_run_begin(s, &(struct store_run_start){ .model = "fm" }, &run),
		RS_OK);
	store_close(s);
	assert_int_equal(runs("list --last 1"), 0);
	assert_has("running");
	assert_int_equal(runs("rm r0004"), 75);
}

static void
B109_a_killed_run_is_listed_as_lost(void **state)
{
	(void)state;
	const pid_t child = fork_within(60);
	if (child == 0) {
		struct store *s;
		int64_t run;
		_exit(store_open(bed_database, 0, 1000, &s) != RS_OK
			|| store_run_begin(s, &(struct store_run_start){ .model = "fm" },
			&run) != RS_OK);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(runs("list --status lost"), 0);
	char text[64];
	snprintf(text, sizeof text, "lost    -     -    -        (pid %d is gone)\n", (int)child);
	assert_has(text);
}

static void
path_and_a_missing_database(void **state)
{
	char arguments[256];

	(void)state;
	assert_int_equal(runs("path"), 0);
	assert_has("runs.db");
	assert_int_equal(runs("list --db nowhere.db"), 66);
	assert_has("--db FILE");
	snprintf(arguments, sizeof arguments, "list --db %s", bed_database);
	assert_int_equal(runs(arguments), 0);
	assert_int_equal(runs("lst"), 64);
	assert_has("did you mean 'list'");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, bed_close)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(list_shows_status_figures_and_tag),
		TEST(list_filters_and_sorts),
		TEST(list_shows_the_monitored_figure_of_other_runs),
		TEST(list_has_json_and_csv),
		TEST(show_prints_everything_or_one_part),
		TEST(compare_shows_what_differs_and_the_range_of_the_change),
		TEST(rm_and_tag_change_the_record),
		TEST(a_running_run_is_not_removed),
		TEST(B109_a_killed_run_is_listed_as_lost),
		TEST(path_and_a_missing_database),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
