/* The file for Prometheus: whole, understood by promtool, counters go on. */
#include "cmd/textfile.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"

struct fixture { char directory[64], path[96]; };

static int
set_up(void **state)
{
	struct fixture *const f = calloc(1, sizeof *f);

	assert_non_null(f);
	snprintf(f->directory, sizeof f->directory, "/tmp/textfile.XXXXXX");
	assert_non_null(mkdtemp(f->directory));
	snprintf(f->path, sizeof f->path, "%s/ctr.prom", f->directory);
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

static struct textfile_figures
good_run(void)
{
	struct textfile_figures f;

	textfile_init(&f, "model/ctr/");
	f.exit_code = 0;
	f.ended = 1764468001.25;
	f.duration = 12.5;
	f.waiting = 0;
	f.version = 142;
	f.period_end = 1764466800;
	f.period_rows = 1000;
	f.auc = 0.75;
	f.logloss = 0.5;
	f.calibration = 1.01;
	f.rows = 1000;
	f.periods = 1;
	return f;
}

static void
assert_has(const struct fixture *f, const char *line, int has)
{
	char *text;
	size_t n;

	assert_int_equal(file_read(f->path, 1 << 20, &text, &n), RS_OK);
	if ((strstr(text, line) != NULL) != has)
		print_message("%s\n%s", line, text);
	assert_int_equal(strstr(text, line) != NULL, has);
	free(text);
}

static void
figures_are_written_with_help_and_type(void **state)
{
	const struct fixture *const f = *state;
	const struct textfile_figures run = good_run();

	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	assert_has(f, "# HELP recsys_train_model_version Version that is current.\n"
		"# TYPE recsys_train_model_version gauge\n"
		"recsys_train_model_version{model=\"ctr\"} 142\n", 1);
	assert_has(f, "recsys_train_progressive_auc{model=\"ctr\"} 0.75\n", 1);
	assert_has(f, "# TYPE recsys_train_rows_total counter\n"
		"recsys_train_rows_total{model=\"ctr\"} 1000\n", 1);
	assert_has(f, "recsys_train_rejected_total{model=\"ctr\"} 0\n", 1);
}

/* A gauge that went away would look as if the model had. */
static void
a_failed_run_keeps_what_it_does_not_know(void **state)
{
	const struct fixture *const f = *state;
	struct textfile_figures run = good_run();

	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	textfile_init(&run, "model/ctr");
	run.exit_code = 74;
	run.rejected = 2;
	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	run.rejected = 1;
	run.rows = 5;
	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	assert_has(f, "recsys_train_last_exit_code{model=\"ctr\"} 74\n", 1);
	assert_has(f, "recsys_train_progressive_auc{model=\"ctr\"} 0.75\n", 1);
	assert_has(f, "recsys_train_rows_total{model=\"ctr\"} 1005\n", 1);
	assert_has(f, "recsys_train_periods_total{model=\"ctr\"} 1\n", 1);
	assert_has(f, "recsys_train_rejected_total{model=\"ctr\"} 3\n", 1);
}

static void
what_was_never_known_is_left_out(void **state)
{
	const struct fixture *const f = *state;
	struct textfile_figures run;

	textfile_init(&run, "ctr");
	run.exit_code = 75;
	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	assert_has(f, "auc", 0);
	assert_has(f, "recsys_train_rows_total{model=\"ctr\"} 0\n", 1);
}

static void
a_file_of_another_model_or_of_nonsense_is_as_none(void **state)
{
	const struct fixture *const f = *state;
	static const char text[] = "recsys_train_rows_total{model=\"other\"} 7\n"
		"recsys_train_periods_total{model=\"ctr\"} seven\n"
		"recsys_train_rejected_total{model=\"ctr\"} -4\nrecsys_train_rows_total";
	const struct textfile_figures run = good_run();

	assert_int_equal(file_replace(f->path, text, sizeof text - 1), RS_OK);
	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	assert_has(f, "recsys_train_rows_total{model=\"ctr\"} 1000\n", 1);
	assert_has(f, "recsys_train_periods_total{model=\"ctr\"} 1\n", 1);
	assert_has(f, "recsys_train_rejected_total{model=\"ctr\"} 0\n", 1);
	assert_has(f, "other", 0);
}

static void
a_name_with_quotes_is_escaped_and_read_again(void **state)
{
	const struct fixture *const f = *state;
	struct textfile_figures run = good_run();

	run.directory = "models/a\"b\\c";
	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	assert_has(f, "recsys_train_rows_total{model=\"a\\\"b\\\\c\"} 2000\n", 1);
}

/* The collector reads every file whose name ends in .prom. */
static void
nothing_else_stays_in_the_directory(void **state)
{
	const struct fixture *const f = *state;
	const struct textfile_figures run = good_run();
	char command[128];

	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	snprintf(command, sizeof command, "test \"$(ls -A %s)\" = ctr.prom", f->directory);
	assert_int_equal(system(command), 0);
}

static void
a_directory_that_is_not_there_is_a_failure(void **state)
{
	const struct textfile_figures run = good_run();

	(void)state;
	assert_int_equal(textfile_write("/nowhere/ctr.prom", &run), RS_ECREATE);
}

static void
a_pipe_is_not_replaced(void **state)
{
	const struct fixture *const f = *state;
	const struct textfile_figures run = good_run();
	struct stat st;

	assert_int_equal(mkfifo(f->path, 0600), 0);
	assert_int_equal(textfile_write(f->path, &run), RS_ECREATE);
	assert_int_equal(lstat(f->path, &st), 0);
	assert_true(S_ISFIFO(st.st_mode));
}

static void
promtool_has_nothing_to_say(void **state)
{
	const struct fixture *const f = *state;
	struct textfile_figures run = good_run();
	char command[160];

	if (system("command -v promtool >/dev/null") != 0) {
		print_message("promtool is missing\n");
		skip();
	}
	run.directory = "a\"b";
	assert_int_equal(textfile_write(f->path, &run), RS_OK);
	snprintf(command, sizeof command, "promtool check metrics <%s", f->path);
	assert_int_equal(system(command), 0);
}

int
main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(figures_are_written_with_help_and_type),
		TEST(a_failed_run_keeps_what_it_does_not_know),
		TEST(what_was_never_known_is_left_out),
		TEST(a_file_of_another_model_or_of_nonsense_is_as_none),
		TEST(a_name_with_quotes_is_escaped_and_read_again),
		TEST(nothing_else_stays_in_the_directory),
		TEST(a_directory_that_is_not_there_is_a_failure),
		TEST(a_pipe_is_not_replaced),
		TEST(promtool_has_nothing_to_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
