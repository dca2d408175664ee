/* The run database. */
#include "tests/test.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store/store.h"
#include "tests/open_files.h"

#define N_STARTERS 32

static char directory[64], path[128];

static int
setup(void **state)
{
	(void)state;
	snprintf(directory, sizeof directory, "/tmp/store_test.XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	snprintf(path, sizeof path, "%s/runs.db", directory);
	return 0;
}

static int
teardown(void **state)
{
	(void)state;
	return file_remove_tree(directory) == RS_OK ? 0 : -1;
}

static const struct store_run_start start = {
	.model = "deepfm", .directory = "model/ctr", .spec_path = "ctr.ini",
	.spec_text = "[model]\ntype = deepfm\n# a comment = no "
	"key\n[train]\nlearning_rate=0.01\n[field C1]\n  \nbuckets = 8\n",
	.command_line = "recsys-train train ctr.ini", .version = "0.1.0", .tag = "prod",
	.seed = 7, .threads = 2,
};

static struct store *
open_new(void)
{
	struct store *s;

	assert_int_equal(store_open(path, 0, 2000, &s), RS_OK);
	return s;
}

static int64_t
begin_run(struct store *s)
{
	int64_t run;

	assert_int_equal(store_run_begin(s, &start, &run), RS_OK);
	return run;
}

static void
execute(const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static int
query_int(const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *statement;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &statement, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(statement), SQLITE_ROW);
	const int value = sqlite3_column_int(statement, 0);
	sqlite3_finalize(statement);
	sqlite3_close(db);
	return value;
}

static void
a_new_file_has_our_id_version_and_wal(void **state)
{
	(void)state;
	store_close(open_new());
	assert_int_equal(query_int("PRAGMA application_id"), 0x72737472);
	assert_int_equal(query_int("PRAGMA user_version"), 1);
	assert_int_equal(query_int("SELECT journal_mode = 'wal' FROM pragma_journal_mode"), 1);
}

static void
a_run_is_recorded_with_all_its_parts(void **state)
{
	(void)state;
	struct store *s = open_new();
	const int64_t run = begin_run(s);
	const struct store_ledger ledger = {
		.file = "day_1.tsv", .content_hash = 0xfedcba9876543210u, .begin = 0, .end = 1000,
		.rows_read = 100, .rows_trained = 88, .rows_skipped = 12, .attempt = 1,
	};
	assert_int_equal(store_metric(s, run, "valid.auc", 1, 10, 88, 0.75), RS_OK);
	assert_int_equal(store_metric(s, run, "valid.auc", 0, 10, 88, 0.7), RS_OK);
	assert_int_equal(store_metric(s, run, "valid.logloss", 0, 10, 88, NAN), RS_OK);
	assert_int_equal(store_warning(s, run, "12 rows skipped"), RS_OK);
	assert_int_equal(store_placement(s, run, "local", "local", "shm", "cpu", "all fits"),
		RS_OK);
	assert_int_equal(store_artifact(s, run, "model", "model/ctr/v000001", 4096), RS_OK);
	assert_int_equal(store_ledger(s, run, &ledger), RS_OK);
	assert_int_equal(store_run_end(s, run, "partial", 88, "12 rows skipped"), RS_OK);

	struct store_run got;
	assert_int_equal(store_run_find(s, "last", &got), RS_OK);
	assert_string_equal(got.name, "r0001");
	assert_string_equal(got.status, "partial");
	assert_string_equal(got.spec_text, start.spec_text);
	assert_int_equal(got.rows, 88);
	assert_int_equal(got.skipped, 12);
	assert_true(got.auc == 0.7);
	assert_true(isnan(got.logloss));
	assert_true(got.seconds >= 0);
	store_run_free(&got);

	struct store_table table;
	assert_int_equal(store_part(s, run, STORE_LEDGER, &table), RS_OK);
	assert_int_equal(table.n_rows, 1);
	assert_string_equal(table.cell[1], "fedcba9876543210");
	store_table_free(&table);
	store_close(s);
	assert_int_equal(query_int("SELECT count(*) FROM v_metrics WHERE run = 'r0001'"), 3);
	assert_int_equal(query_int("SELECT count(*) FROM v_metrics WHERE value IS NULL AND text "
		"= 'NaN'"), 1);
	assert_int_equal(query_int("SELECT auc = 0.7 AND logloss IS NULL AND skipped = 12 FROM "
		"v_runs"), 1);
}

static void
keys_of_the_spec_become_parameters(void **state)
{
	(void)state;
	struct store *s = open_new();
	struct store_table table;
	assert_int_equal(store_part(s, begin_run(s), STORE_PARAMS, &table), RS_OK);
	assert_int_equal(table.n_rows, 3);
	assert_string_equal(table.cell[0], "field C1.buckets");
	assert_string_equal(table.cell[1], "8");
	assert_string_equal(table.cell[4], "train.learning_rate");
	assert_string_equal(table.cell[5], "0.01");
	store_table_free(&table);
	store_close(s);
}

static void
numbers_of_metrics_read_back_exactly(void **state)
{
	(void)state;
	struct store *s = open_new();
	struct store_table table;
	const int64_t run = begin_run(s);
	assert_int_equal(store_metric(s, run, "x", 0, 0, 0, 0.1 + 0.2), RS_OK);
	assert_int_equal(store_part(s, run, STORE_METRICS, &table), RS_OK);
	assert_string_equal(table.cell[4], "0.30000000000000004");
	assert_null(table.cell[5]);
	store_table_free(&table);
	store_close(s);
}

/* 32 processes that are released together; every one migrates or waits. */
static void
B107_32_first_starts_at_once_all_succeed(void **state)
{
	(void)state;
	int gate[2];
	pid_t child[N_STARTERS];

	assert_int_equal(pipe(gate), 0);
	for (int i = 0; i < N_STARTERS; i++) {
		child[i] = fork_within(60);
		if (child[i] != 0)
			continue;
		struct store *s;
		int64_t run;
		char byte;
		close(gate[1]);
		if (read(gate[0], &byte, 1) != 0)
			_exit(9);
		if (store_open(path, 0, 20000, &s) != RS_OK || store_run_begin(s, &start,
			&run) != RS_OK
			|| store_run_end(s, run, "ok", 1, "") != RS_OK) {
			fprintf(stderr, "%s\n", rs_failure()->text);
			_exit(1);
		}
		store_close(s);
		_exit(0);
	}
	close(gate[0]);
	close(gate[1]);
	for (int i = 0; i < N_STARTERS; i++) {
		int status;
		assert_int_equal(waitpid(child[i], &status, 0), child[i]);
		assert_int_equal(status, 0);
	}
	assert_int_equal(query_int("SELECT count(*) FROM runs WHERE status = 'ok'"), N_STARTERS);
}

static void
B109_a_run_whose_process_is_gone_is_lost(void **state)
{
	(void)state;
	const pid_t child = fork_within(60);
	if (child == 0) {
		struct store *s;
		int64_t run;
		_exit(store_open(path, 0, 2000, &s) != RS_OK || store_run_begin(s, &start,
			&run) != RS_OK);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);

	struct store *s = open_new();
	struct store_run got;
	assert_int_equal(store_run_find(s, "r0001", &got), RS_OK);
	assert_string_equal(got.status, "lost");
	assert_int_equal(got.pid, child);
	store_run_free(&got);
	begin_run(s);
	assert_int_equal(store_run_find(s, "2", &got), RS_OK);
	assert_string_equal(got.status, "running");
	store_run_free(&got);
	store_close(s);
}

static void
B109_a_pid_used_again_and_another_boot_are_lost(void **state)
{
	(void)state;
	struct store *s = open_new();
	struct store_run got;
	begin_run(s);
	begin_run(s);
	begin_run(s);
	execute("UPDATE runs SET process_start = process_start - 1 WHERE run = 1;"
		"UPDATE runs SET boot = 'before' WHERE run = 2;"
		"UPDATE runs SET boot = 'before', host = 'elsewhere' WHERE run = 3");
	static const char *const want[] = { "lost", "lost", "running" };
	for (int i = 0; i < 3; i++) {
		const char name[] = { 'r', (char)('1' + i), '\0' };
		assert_int_equal(store_run_find(s, name, &got), RS_OK);
		assert_string_equal(got.status, want[i]);
		store_run_free(&got);
	}
	store_close(s);
}

static void
a_locked_database_is_busy_after_the_wait(void **state)
{
	(void)state;
	struct store *s = open_new();
	sqlite3 *other;
	int64_t run;
	assert_int_equal(sqlite3_open(path, &other), SQLITE_OK);
	assert_int_equal(sqlite3_exec(other, "BEGIN IMMEDIATE", NULL, NULL, NULL), SQLITE_OK);
	store_close(s);
	assert_int_equal(store_open(path, 0, 50, &s), RS_OK);
	assert_int_equal(store_run_begin(s, &start, &run), RS_EBUSY);
	assert_non_null(strstr(rs_failure()->text, "locked by another process"));
	assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(store_run_begin(s, &start, &run), RS_OK);
	sqlite3_close(other);
	store_close(s);
}

static void
files_that_are_not_ours_are_refused_and_left_alone(void **state)
{
	(void)state;
	struct store *s;
	char *text;
	size_t n;
	static const char prose[] = "this is no database, it only has a long enough first line "
		"of text\n";
	assert_int_equal(file_replace(path, prose, sizeof prose - 1), RS_OK);
	assert_int_equal(store_open(path, 0, 100, &s), RS_EDATA);
	assert_int_equal(file_read(path, 4096, &text, &n), RS_OK);
	assert_string_equal(text, prose);
	free(text);
	assert_int_equal(unlink(path), 0);

	execute("CREATE TABLE other (x)");
	assert_int_equal(store_open(path, 0, 100, &s), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "another program"));
	assert_int_equal(query_int("SELECT journal_mode = 'delete' FROM pragma_journal_mode"), 1);
	assert_int_equal(query_int("SELECT count(*) FROM sqlite_master"), 1);
}

static void
a_newer_version_is_refused(void **state)
{
	(void)state;
	struct store *s;
	store_close(open_new());
	execute("PRAGMA user_version = 99");
	assert_int_equal(store_open(path, 0, 100, &s), RS_EPROTOCOL);
	assert_int_equal(store_open(path, 1, 100, &s), RS_EPROTOCOL);
}

static void
read_only_opens_never_create(void **state)
{
	(void)state;
	struct store *s;
	int64_t run;
	assert_int_equal(store_open(path, 1, 100, &s), RS_ENOINPUT);
	assert_int_equal(access(path, F_OK), -1);
	store_close(open_new());
	assert_int_equal(store_open(path, 1, 100, &s), RS_OK);
	assert_int_equal(store_run_begin(s, &start, &run), RS_EDENIED);
	store_close(s);
}

static void
missing_directories_are_made_and_bad_paths_fail(void **state)
{
	(void)state;
	char deep[192];
	struct store *s;
	snprintf(deep, sizeof deep, "%s/a/b/runs.db", directory);
	assert_int_equal(store_open(deep, 0, 100, &s), RS_OK);
	store_close(s);
	assert_int_equal(store_open(directory, 0, 100, &s), RS_ECREATE);
}

/* With room for so many files more. */
static enum rs_status
open_with_files(rlim_t n_more, int read_only)
{
	const struct rlimit former = open_files_leave(n_more);
	struct store *s;
	const enum rs_status status = store_open(path, read_only, 100, &s);

	open_files_restore(former);
	if (status == RS_OK)
		store_close(s);
	return status;
}

static void
too_many_open_files_are_told_as_such(void **state)
{
	(void)state;
	rlim_t n = 0;
	enum rs_status status;

	while ((status = open_with_files(n, 0)) == RS_ERESOURCE && n < 20) {
		assert_non_null(strstr(rs_failure()->text, "runs.db': Too many open files"));
		n++;
	}
	assert_int_equal(status, RS_OK);
	assert_true(n >= 2);
	assert_int_equal(open_with_files(0, 1), RS_ERESOURCE);
	assert_int_equal(open_with_files(20, 1), RS_OK);
}

static void
runs_are_filtered_sorted_and_cut(void **state)
{
	(void)state;
	struct store *s = open_new();
	static const double auc[] = { 0.7, 0.9, NAN, 0.8 };
	for (int i = 0; i < 4; i++) {
		const int64_t run = begin_run(s);
		assert_int_equal(store_metric(s, run, "valid.auc", 0, 1, 1, auc[i]), RS_OK);
		assert_int_equal(store_run_end(s, run, i == 0 ? "failed" : "ok", i, ""), RS_OK);
	}
	assert_int_equal(store_run_tag(s, 2, "keep"), RS_OK);
	static const struct { struct store_filter filter; const char *want; } row_table[] = {
		{ { 0 }, "4321" },
		{ { .last = 2 }, "43" },
		{ { .sort = "auc" }, "2413" },
		{ { .sort = "run", .last = 3 }, "432" },
		{ { .status = "ok", .last = 2 }, "43" },
		{ { .status = "failed" }, "1" },
		{ { .tag = "keep" }, "2" },
		{ { .model = "fm" }, "" },
	};
	for (size_t i = 0; i < sizeof row_table / sizeof row_table[0]; i++) {
		struct store_run *run;
		size_t n;
		char got[8] = "";
		assert_int_equal(store_runs(s, &row_table[i].filter, &run, &n), RS_OK);
		for (size_t k = 0; k < n; k++)
			got[k] = (char)('0' + run[k].run);
		assert_string_equal(got, row_table[i].want);
		store_runs_free(run, n);
	}
	struct store_run *run;
	size_t n;
	assert_int_equal(store_runs(s, &(struct store_filter){ .sort = "beauty" }, &run, &n),
		RS_EUSAGE);
	assert_int_equal(store_runs(s, &(struct store_filter){ .status = "done" }, &run, &n),
		RS_EUSAGE);
	store_close(s);
}

static void
removing_a_run_takes_all_its_rows(void **state)
{
	(void)state;
	struct store *s = open_new();
	struct store_run got;
	const int64_t run = begin_run(s);
	assert_int_equal(store_metric(s, run, "valid.auc", 0, 1, 1, 0.5), RS_OK);
	assert_int_equal(store_run_remove(s, run), RS_OK);
	assert_int_equal(store_run_find(s, "r0001", &got), RS_EUSAGE);
	assert_int_equal(begin_run(s), 2);            /* numbers are never used again */
	assert_int_equal(store_run_find(s, "prod", &got), RS_OK);
	assert_int_equal(got.run, 2);
	store_run_free(&got);
	store_close(s);
	assert_int_equal(query_int("SELECT count(*) FROM metrics"), 0);
	assert_int_equal(query_int("SELECT count(*) FROM params WHERE run = 1"), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_new_file_has_our_id_version_and_wal),
		TEST(a_run_is_recorded_with_all_its_parts),
		TEST(keys_of_the_spec_become_parameters),
		TEST(numbers_of_metrics_read_back_exactly),
		TEST(B107_32_first_starts_at_once_all_succeed),
		TEST(B109_a_run_whose_process_is_gone_is_lost),
		TEST(B109_a_pid_used_again_and_another_boot_are_lost),
		TEST(a_locked_database_is_busy_after_the_wait),
		TEST(files_that_are_not_ours_are_refused_and_left_alone),
		TEST(a_newer_version_is_refused),
		TEST(read_only_opens_never_create),
		TEST(missing_directories_are_made_and_bad_paths_fail),
		TEST(too_many_open_files_are_told_as_such),
		TEST(runs_are_filtered_sorted_and_cut),
		TEST(removing_a_run_takes_all_its_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
