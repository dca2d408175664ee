/* The database for MLflow: what it must have, and what is not replaced by it. */
#include "cmd/mlflow.h"

#include <math.h>
#include <sqlite3.h>
#include <string.h>
#include <unistd.h>

#include "tests/open_files.h"
#include "tests/test.h"

struct fixture { char directory[64], from[96], to[96]; };

static void
add_metric(struct store *s, int64_t run, const char *key, int64_t epoch, double value)
{
	assert_int_equal(store_metric(s, run, key, epoch, 10 * epoch, 100, value), RS_OK);
}

static int
set_up(void **state)
{
	struct fixture *const f = calloc(1, sizeof *f);
	struct store *s;
	int64_t run;

	assert_non_null(f);
	snprintf(f->directory, sizeof f->directory, "/tmp/mlflow.XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(f->from, sizeof f->from, "%s/runs.db", f->directory);
	snprintf(f->to, sizeof f->to, "%s/out.db", f->directory);
	assert_int_equal(store_open(f->from, 0, 1000, &s), RS_OK);
	const struct store_run_start start = {
		.model = "deepfm", .directory = "model/ctr", .spec_path = "ctr.ini",
		.spec_text = "[train]\nseed = 1\nnote = \xff\xc3\xa9\n", .note = "good",
	};
	for (int i = 0; i < 2; i++)
		assert_int_equal(store_run_begin(s, &start, &run), RS_OK);
	add_metric(s, run, "valid.auc", 1, 0.5);
	add_metric(s, run, "valid.auc", 2, 0.25);
	add_metric(s, run, "valid.ndcg@20", 1, 0.5);
	add_metric(s, run, "train.loss", 1, INFINITY);
	add_metric(s, run, "train.loss", 2, NAN);
	assert_int_equal(store_run_end(s, run, "diverged", 200, "the loss is NaN"), RS_OK);
	store_close(s);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *const f = *state;

	assert_int_equal(file_remove_tree(f->directory), RS_OK);
	free(f);
	return 0;
}

static enum rs_status
export(const struct fixture *f, const char *path)
{
	struct store *s;
	struct store_run *run;
	size_t n;

	assert_int_equal(store_open(f->from, 1, 1000, &s), RS_OK);
	assert_int_equal(store_runs(s, &(struct store_filter){ 0 }, &run, &n), RS_OK);
	const enum rs_status status = mlflow_write(s, run, n, path);
	store_runs_free(run, n);
	store_close(s);
	return status;
}

/* The first cell that the query finds in the database written, "-" for none. */
static const char *
ask(const struct fixture *f, const char *query)
{
	static char text[8192];
	sqlite3_stmt *row;
	sqlite3 *db;

	assert_int_equal(sqlite3_open_v2(f->to, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &row, NULL), SQLITE_OK);
	const int has_row = sqlite3_step(row) == SQLITE_ROW;
	const char *const cell = has_row ? (const char *)sqlite3_column_text(row, 0) : NULL;
	snprintf(text, sizeof text, "%s", cell != NULL ? cell : "-");
	sqlite3_finalize(row);
	sqlite3_close(db);
	return text;
}

static void
all_tables_of_the_revision_are_there(void **state)
{
	const struct fixture *const f = *state;

	assert_int_equal(export(f, f->to), RS_OK);
	assert_string_equal(ask(f, "SELECT version_num FROM alembic_version"), "acf3f17fdcc7");
	assert_string_equal(ask(f, "SELECT count(*) FROM sqlite_master WHERE type = 'table'"),
		"16");
	assert_string_equal(ask(f, "PRAGMA integrity_check"), "ok");
	assert_string_equal(ask(f, "SELECT count(*) FROM pragma_foreign_key_check"), "0");
	assert_string_equal(ask(f, "SELECT name FROM experiments WHERE experiment_id = 0"),
		"Default");
}

/* A column or constraint that shares its line breaks the migration of later versions. */
static void
each_column_has_a_line(void **state)
{
	const struct fixture *const f = *state;

	assert_int_equal(export(f, f->to), RS_OK);
	assert_non_null(strstr(ask(f, "SELECT sql FROM sqlite_master WHERE name = 'tags'"),
		"(\n\tkey VARCHAR(250) NOT NULL, \n\tvalue VARCHAR(5000), \n"));
	assert_non_null(strstr(ask(f, "SELECT sql FROM sqlite_master WHERE name = 'metrics'"),
		"\n\tCHECK (is_nan IN (0, 1)), \n"));
}

static void
figures_that_are_no_numbers_are_kept(void **state)
{
	const struct fixture *const f = *state;

	assert_int_equal(export(f, f->to), RS_OK);
	assert_string_equal(ask(f, "SELECT value || ' ' || is_nan FROM metrics WHERE key = "
		"'train.loss' AND step = 20"), "0.0 1");
	assert_string_equal(ask(f, "SELECT value > 1.797e308 AND NOT is_nan FROM metrics WHERE "
		"key = 'train.loss' AND step = 10"), "1");
	assert_string_equal(ask(f, "SELECT count(*) FROM metrics WHERE key = 'valid.auc'"), "2");
}

static void
the_newest_figure_of_each_metric_is_the_latest(void **state)
{
	const struct fixture *const f = *state;

	assert_int_equal(export(f, f->to), RS_OK);
	assert_string_equal(ask(f, "SELECT value FROM latest_metrics WHERE key = 'valid.auc'"),
		"0.25");
	assert_string_equal(ask(f, "SELECT is_nan FROM latest_metrics WHERE key = 'train.loss'"),
		"1");
	assert_string_equal(ask(f, "SELECT count(*) FROM latest_metrics"), "3");
}

static void
names_and_texts_are_such_as_the_reader_takes(void **state)
{
	const struct fixture *const f = *state;

	assert_int_equal(export(f, f->to), RS_OK);
	assert_string_equal(ask(f, "SELECT value FROM metrics WHERE key = 'valid.ndcg_at_20'"),
		"0.5");
	assert_string_equal(ask(f, "SELECT value FROM params WHERE key = 'train.note'"),
		"?\xc3\xa9");
	assert_string_equal(ask(f, "SELECT max(value) FROM tags WHERE key = 'mlflow.runName'"),
		"r0002");
	assert_string_equal(ask(f, "SELECT value FROM tags WHERE key = 'mlflow.note.content'"),
		"good");
	assert_string_equal(ask(f, "SELECT status FROM runs WHERE name = 'r0002'"), "FAILED");
	assert_string_equal(ask(f, "SELECT status FROM runs WHERE name = 'r0001'"), "RUNNING");
	assert_string_equal(ask(f, "SELECT typeof(end_time) FROM runs WHERE name = 'r0001'"),
		"null");
	assert_string_equal(ask(f, "SELECT count(*) FROM runs WHERE length(run_uuid) = 32 AND "
		"run_uuid NOT GLOB '*[^0-9a-f]*' AND start_time > 1700000000000"), "2");
	assert_string_equal(ask(f, "SELECT e.name FROM runs r JOIN experiments e USING "
		"(experiment_id)"), "model/ctr");
}

static void
a_second_export_names_the_run_as_the_first(void **state)
{
	const struct fixture *const f = *state;
	char uuid[64];

	assert_int_equal(export(f, f->to), RS_OK);
	snprintf(uuid, sizeof uuid, "%s", ask(f, "SELECT max(run_uuid) FROM runs"));
	assert_int_equal(export(f, f->to), RS_OK);
	assert_string_equal(ask(f, "SELECT max(run_uuid) FROM runs"), uuid);
}

static void
no_other_file_is_replaced(void **state)
{
	const struct fixture *const f = *state;
	char wal[128];

	assert_int_equal(export(f, f->from), RS_ECREATE);
	assert_int_equal(file_replace(f->to, "a letter\n", 9), RS_OK);
	assert_int_equal(export(f, f->to), RS_ECREATE);
	assert_int_equal(unlink(f->to), 0);
	assert_int_equal(export(f, f->to), RS_OK);
	snprintf(wal, sizeof wal, "%s-journal", f->to);
	assert_int_equal(file_replace(wal, "x", 1), RS_OK);
	assert_int_equal(export(f, f->to), RS_EBUSY);
}

static void
a_file_that_cannot_be_made_leaves_nothing(void **state)
{
	const struct fixture *const f = *state;
	struct store *s;
	uint64_t before = 0, after = 0;
	char path[128];

	snprintf(path, sizeof path, "%s/none/out.db", f->directory);
	assert_int_equal(export(f, path), RS_ECREATE);
	/* A run that is not there any more. */
	struct store_run gone = { .run = 77, .name = (char *)"r0077", .directory = (char *)"" };
	assert_int_equal(store_open(f->from, 0, 1000, &s), RS_OK);
	assert_int_equal(file_directory_bytes(f->directory, &before), RS_OK);
	assert_int_equal(mlflow_write(s, &gone, 1, f->to), RS_EBUSY);
	assert_int_equal(file_directory_bytes(f->directory, &after), RS_OK);
	store_close(s);
	assert_int_equal(access(f->to, F_OK), -1);
	assert_true(after == before);
}

/* Nor is a file with which nothing is wrong taken for another's. */
static void
too_many_open_files_are_told_as_such(void **state)
{
	const struct fixture *const f = *state;
	struct store *s;
	struct store_run *run;
	enum rs_status status = RS_ERESOURCE;
	size_t n;
	rlim_t n_files;

	assert_int_equal(export(f, f->to), RS_OK);
	assert_int_equal(store_open(f->from, 1, 1000, &s), RS_OK);
	assert_int_equal(store_runs(s, &(struct store_filter){ 0 }, &run, &n), RS_OK);
	for (n_files = 0; status == RS_ERESOURCE && n_files < 20; n_files++) {
		const struct rlimit former = open_files_leave(n_files);

		status = mlflow_write(s, run, n, f->to);
		open_files_restore(former);
	}
	assert_int_equal(status, RS_OK);
	assert_true(n_files >= 2);
	store_runs_free(run, n);
	store_close(s);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(all_tables_of_the_revision_are_there), TEST(each_column_has_a_line),
		TEST(figures_that_are_no_numbers_are_kept),
		TEST(the_newest_figure_of_each_metric_is_the_latest),
		TEST(names_and_texts_are_such_as_the_reader_takes),
		TEST(a_second_export_names_the_run_as_the_first), TEST(no_other_file_is_replaced),
		TEST(a_file_that_cannot_be_made_leaves_nothing),
		TEST(too_many_open_files_are_told_as_such),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
