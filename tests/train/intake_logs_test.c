/* Logs that are rotated, copied, truncated, compressed and written again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "tests/train/intake_case.h"

#define HOUR 3600
#define T CASE_BEGIN
#define ROWS CASE_ROWS

static void
rotated_log_goes_on_where_it_was(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 60), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_append(c, "log", ROWS(3, 61), T);
	case_rename(c, "log", "log.1");
	case_write(c, "log", ROWS(4, 62, 120), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(case_trained(c, 0, 1), 1);
	assert_int_equal(c->intake->n_notices, 0);
	case_rename(c, "log.1", "log.2");
	case_rename(c, "log", "log.1");
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 5);
	assert_int_equal(case_train(c), 0);
}

/* The copy begins with what was trained, the file is another one. */
static void
log_may_be_copied_and_truncated(void **state)
{
	struct intake_case *const c = *state;
	char all[4096];

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 60), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	snprintf(all, sizeof all, "%s", ROWS(1, 0, 60));
	snprintf(all + strlen(all), sizeof all - strlen(all), "%s", ROWS(3, 61));
	case_write(c, "log.1", all, T);
	case_write(c, "log", ROWS(4, 62), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(c->intake->n_notices, 0);
	/* And when the new one is longer already. */
	case_append(c, "log", ROWS(5, 121), T);
	case_write(c, "log.2", all, T);
	snprintf(all, sizeof all, "%s", ROWS(4, 62));
	snprintf(all + strlen(all), sizeof all - strlen(all), "%s", ROWS(5, 121));
	case_write(c, "log.1", all, T);
	case_write(c, "log", ROWS(6, 122, 123, 124, 125, 126, 127, 128), T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 12);
	assert_int_equal(case_train(c), 0);
}

static void
old_log_may_be_out_of_sight(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 60), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 2);
	case_rename(c, "log", "old");
	case_write(c, "log", ROWS(3, 119, 120), T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 4);
	assert_false(case_told(c, LEDGER_REPLACED, ""));
}

static void
write_gzip(struct intake_case *c, const char *name, const char *text, const char *mode)
{
	gzFile f = gzopen(case_path(c, name), mode);

	assert_non_null(f);
	assert_int_equal(gzwrite(f, text, (unsigned)strlen(text)), strlen(text));
	assert_int_equal(gzclose(f), Z_OK);
	case_touch(c, name, T);
}

static void
compressed_log_is_the_same_file(void **state)
{
	struct intake_case *const c = *state;
	char all[4096];

	case_by_rows(c, "", "");
	case_write(c, "log.1", ROWS(1, 0, 60), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	snprintf(all, sizeof all, "%s", ROWS(1, 0, 60));
	write_gzip(c, "log.1.gz", all, "w");
	/* Both are there for a moment. */
	assert_int_equal(case_train(c), 0);
	case_remove(c, "log.1");
	write_gzip(c, "log.1.gz", ROWS(3, 61, 130), "a");
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 3);
	assert_int_equal(case_train(c), 0);
	write_gzip(c, "log.1.gz", ROWS(5, 131), "a");
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 5);
	assert_int_equal(case_train(c), 0);
}

static void
copies_are_not_trained_again(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log-a", ROWS(1, 0, 60), T);
	case_write(c, "log-b", ROWS(1, 0, 60), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 1);
	/* What waits in the first must not be lost with it. */
	assert_int_equal(case_uses(c, LEDGER_DUPLICATE), 0);
	case_remove(c, "log-a");
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 2);
	case_write(c, "log-c", ROWS(1, 0, 60), T);
	case_append(c, "log-b", ROWS(3, 121), T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_DUPLICATE, "log-c: the same bytes as"));
	assert_int_equal(c->trained.n, 3);
	case_append(c, "log-c", ROWS(4, 181), T);
	c->now = T + 4 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(case_trained(c, 181, 4), 1);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(case_train(c), 0);
}

static void
copy_of_a_log_that_grows_is_its_beginning(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 60), T);
	case_write(c, "log.bak", ROWS(1, 0, 60), T);
	case_append(c, "log", ROWS(3, 61), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 1);
	case_append(c, "log", ROWS(4, 121), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 3);
	assert_true(case_told(c, LEDGER_DUPLICATE, "log.bak: the same bytes as"));
	/* A copy that is made anew under its name. */
	case_write(c, "log.bak", ROWS(1, 0, 60), T + 1);
	case_append(c, "log.bak", ROWS(3, 61), T + 1);
	case_append(c, "log.bak", ROWS(4, 121), T + 1);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(case_train(c), 0);
}

static void
rewritten_file_is_replaced_where_it_was_trained(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 60, 61), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 2);
	case_write(c, "log", ROWS(11, 0, 60, 61, 130), T + 1);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_REPLACED, "not trained again"));
	assert_int_equal(case_uses(c, LEDGER_REPLACED), 2);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(case_trained(c, 130, 14), 1);
	assert_int_equal(case_train(c), 0);
	assert_int_equal(c->intake->n_notices, 0);
	case_append(c, "log", ROWS(15, 190), T + 2);
	c->now = T + 4 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->n_notices, 0);
	assert_int_equal(c->trained.n, 5);
}

static void
rewritten_file_is_trained_if_wanted(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "replaced = train");
	case_write(c, "log", ROWS(1, 0, 60, 61), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 2);
	case_write(c, "log", ROWS(11, 0, 60, 61, 130), T + 1);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_REPLACED, "as if it were new"));
	assert_int_equal(c->trained.n, 7);
	assert_int_equal(c->intake->due[0].entry[0].late, 3);
	assert_int_equal(case_train(c), 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, case_set_up, case_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rotated_log_goes_on_where_it_was),
		TEST(log_may_be_copied_and_truncated),
		TEST(old_log_may_be_out_of_sight),
		TEST(compressed_log_is_the_same_file),
		TEST(copies_are_not_trained_again),
		TEST(copy_of_a_log_that_grows_is_its_beginning),
		TEST(rewritten_file_is_replaced_where_it_was_trained),
		TEST(rewritten_file_is_trained_if_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
