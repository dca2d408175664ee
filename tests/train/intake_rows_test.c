/* Files whose rows tell the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/train/intake_case.h"

#define HOUR 3600
#define T CASE_BEGIN
#define ROWS CASE_ROWS

static void
growing_log_is_trained_hour_by_hour(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 30, 59, 60, 70), T + 70 * 60);
	c->now = T + HOUR + 299;
	assert_int_equal(case_train(c), 0);
	assert_true(c->intake->waiting == T);
	c->now = T + HOUR + 600;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 3);
	assert_true(c->intake->waiting == T + HOUR);
	assert_int_equal(c->ledger.entry[0].ranges.n, 1);
	assert_int_equal(case_train(c), 0);
	case_append(c, "log", ROWS(6, 119, 120, 121), T + 121 * 60);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 6);
	case_append(c, "log", ROWS(9, 300), T + 5 * HOUR);
	c->now = T + 7 * HOUR;
	assert_int_equal(case_train(c), 2);
	assert_int_equal(c->trained.n, 9);
	assert_int_equal(c->intake->n_empty, 2);
	assert_true(c->intake->empty[0] == T + 3 * HOUR);
	assert_int_equal(case_train(c), 0);
	assert_int_equal(c->intake->n_notices, 0);
}

static void
period_of_the_last_row_waits_while_its_file_changes(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 70), T + 2 * HOUR + 200);
	c->now = T + 2 * HOUR + 400;
	assert_int_equal(case_train(c), 1);
	assert_true(c->intake->waiting == T + HOUR);
	c->now = T + 2 * HOUR + 500;
	assert_int_equal(case_train(c), 1);
}

static void
rows_of_two_hours_may_be_mixed(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log-a", ROWS(1, 58, 61, 59, 62, 57), T);
	case_write(c, "log-b", ROWS(6, 130, 1, 65), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 2);
	assert_int_equal(c->ledger.entry[0].ranges.n, 3);
	assert_int_equal(c->trained.n, 7);
	for (size_t i = 0; i < 4; i++)
		assert_true(strtoll(c->trained.item[i], NULL, 10) < T + HOUR);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 8);
	assert_int_equal(case_train(c), 0);
}

static void
header_goes_before_every_part(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "header = yes", "");
	case_write(c, "log", "when\tlabel\tid\n", T);
	case_append(c, "log", ROWS(1, 0, 60), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_append(c, "log", ROWS(3, 61), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 5);
	assert_int_equal(case_has(&c->trained, "when\tlabel\tid"), 2);
	assert_string_equal(c->trained.item[2], "when\tlabel\tid");
	assert_int_equal(case_train(c), 0);
}

static void
column_is_found_by_name_and_in_quotes(void **state)
{
	struct intake_case *const c = *state;

	case_spec(c, "time = when\nformat = csv\nheader = yes", "");
	case_write(c, "log", "id,label,n,when\n\"a \"\"x\"\",\n b\",1,7,\"2025-11-29T14:10:00Z\"\n"
		"c,1,8,2025-11-29 15:10:00\nd,0,9,2025-11-29T16:00:00+01:00\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 3);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(case_has(&c->trained, "c,1,8,2025-11-29 15:10:00"), 1);
	assert_int_equal(case_has(&c->trained, "d,0,9,2025-11-29T16:00:00+01:00"), 1);
}

static void
unfinished_line_waits_for_its_end(void **state)
{
	struct intake_case *const c = *state;
	char half[64];

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 10), T);
	snprintf(half, sizeof half, "%jd", (intmax_t)T + 1200);
	case_append(c, "log", half, T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 2);
	assert_true(case_told(c, LEDGER_N_USES, "waits"));
	assert_int_equal(case_train(c), 0);
	case_append(c, "log", "\t1\t3\n", T);
	case_append(c, "log", ROWS(4, 65), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(case_trained(c, 20, 3), 1);
	assert_true(case_told(c, LEDGER_LATE, "1 row of 2025-11-29T14:00Z"));
	assert_int_equal(c->intake->due[0].entry[0].late, 1);
}

static void
late_rows_are_skipped_if_wanted(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "late = skip");
	case_write(c, "log", ROWS(1, 0, 60), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_append(c, "log", ROWS(3, 5, 61, 6), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_LATE, "2 rows of 2025-11-29T14:00Z"));
	assert_int_equal(case_uses(c, LEDGER_LATE), 1);
	assert_int_equal(c->trained.n, 3);
	case_append(c, "log", ROWS(6, 121), T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->n_notices, 0);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(case_train(c), 0);
}

static void
rows_without_a_time_go_with_the_row_before(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", "nonsense\t1\ta\n", T);
	case_append(c, "log", ROWS(1, 0), T);
	case_append(c, "log", "\t1\tb\n\n", T);
	case_append(c, "log", ROWS(2, 60), T);
	case_append(c, "log", "short\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 4);
	assert_string_equal(c->trained.item[0], "nonsense\t1\ta");
	assert_true(case_told(c, LEDGER_N_USES, "log:1: 'nonsense'"));
	assert_true(case_told(c, LEDGER_N_USES, "3 rows"));
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(case_has(&c->trained, "short"), 1);
	/* No row of what is new has a time. */
	case_append(c, "log", "odd\t1\tx\n", T);
	case_write(c, "log2", ROWS(9, 121), T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(case_has(&c->trained, "odd\t1\tx"), 1);
	assert_int_equal(case_train(c), 0);
}

static void
file_without_any_time_is_an_error(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", "a\t1\t1\nb\t1\t2\n", T);
	assert_int_equal(case_scan(c), RS_EDATA);
	assert_int_equal(rs_failure()->line, 1);
	assert_non_null(strstr(rs_failure()->text, "'a'"));
}

static void
row_of_the_future_waits_and_holds_nothing(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 1000000, 1, 60), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 2);
	assert_true(case_told(c, LEDGER_N_USES, "a time to come"));
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(case_train(c), 0);
	c->now = T + 1000000 * 60 + 2 * HOUR;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 4);
}

static void
clock_set_back_makes_nothing_due(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "");
	case_write(c, "log", ROWS(1, 0, 60), T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	c->now -= 86400;
	assert_int_equal(case_train(c), 0);
	assert_true(c->ledger.mark == T + HOUR);
	c->now += 86400 + HOUR;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 2);
}

static void
last_rows_of_each_part_are_held_out(void **state)
{
	struct intake_case *const c = *state;

	case_by_rows(c, "", "holdout = 0.5");
	case_write(c, "log", ROWS(1, 0, 1, 2, 3, 60, 4, 5, 6, 7), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 2);
	assert_int_equal(c->trained.n, 5);
	assert_int_equal(c->held.n, 4);
	assert_int_equal(case_uses(c, LEDGER_HELD), 1);
	assert_int_equal(c->ledger.entry[1].rows, 4);
	assert_int_equal(case_trained(c, 60, 5), 1);
	assert_int_equal(case_train(c), 0);
}

static void
unsorted_file_is_refused(void **state)
{
	struct intake_case *const c = *state;
	FILE *f;

	case_by_rows(c, "", "");
	f = fopen(case_path(c, "log"), "w");
	for (int i = 0; i < 140000; i++)
		fprintf(f, "%jd\t1\t%d\n", (intmax_t)T + HOUR * (i % 2), i);
	fclose(f);
	c->now = T + 9 * HOUR;
	assert_int_equal(case_scan(c), RS_EDATA);
	assert_non_null(strstr(rs_failure()->hint, "sort the file by time"));
}

static void
wrong_settings_are_refused(void **state)
{
	struct intake_case *const c = *state;
	static const struct { const char *data, *incremental, *text; } wrong[] = {
		{ "", "", "incremental.file_time" },
		{ "format = libsvm\nindex_base = 1\ntime = 1", "", "libsvm" },
		{ "time = 1", "period = 1.5", "whole seconds" },
		{ "", "file_time = log-%Y-%d", "no day" },
		{ "", "file_time = log-%m", "no year" },
		{ "", "file_time = log-%Y%q", "%q" },
		{ "time = 1", "ready = log-%Q.ready", "%Q" },
		{ "time = 1", "ready = log-%z", "%z" },
		{ "time = 1", "ready = log-%", "%" },
	};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		case_spec(c, wrong[i].data, wrong[i].incremental);
		case_write(c, "log", "1\t1\t1\n", T);
		assert_int_equal(case_scan(c), RS_ESPEC);
		assert_non_null(strstr(rs_failure()->text, wrong[i].text));
	}
}

static void
joined_periods_are_one(void **state)
{
	struct intake_case *const c = *state;
	struct intake_period joined;
	struct lines lines = { .n = 0 };

	case_by_rows(c, "header = yes", "");
	case_write(c, "log-a", "t\ty\tid\n", T);
	case_append(c, "log-a", ROWS(1, 0, 60), T);
	case_write(c, "log-b", "t\ty\tid\n", T);
	case_append(c, "log-b", ROWS(3, 1), T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_scan(c), RS_OK);
	assert_int_equal(c->intake->n_due, 2);
	assert_int_equal(intake_join(c->intake->due, 2, &joined), RS_OK);
	assert_true(joined.begin == T + HOUR);
	assert_true(joined.end == T + 2 * HOUR);
	assert_int_equal(joined.train.n, 2);
	assert_int_equal(joined.n, 2);
	for (size_t i = 0; i < joined.train.n; i++)
		case_read(joined.train.item[i], &lines);
	assert_int_equal(lines.n, 5);
	for (size_t i = 0; i < lines.n; i++)
		free(lines.item[i]);
	free(lines.item);
	intake_join_free(&joined);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, case_set_up, case_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(growing_log_is_trained_hour_by_hour),
		TEST(period_of_the_last_row_waits_while_its_file_changes),
		TEST(rows_of_two_hours_may_be_mixed),
		TEST(header_goes_before_every_part),
		TEST(column_is_found_by_name_and_in_quotes),
		TEST(unfinished_line_waits_for_its_end),
		TEST(late_rows_are_skipped_if_wanted),
		TEST(rows_without_a_time_go_with_the_row_before),
		TEST(file_without_any_time_is_an_error),
		TEST(row_of_the_future_waits_and_holds_nothing),
		TEST(clock_set_back_makes_nothing_due),
		TEST(last_rows_of_each_part_are_held_out),
		TEST(unsorted_file_is_refused),
		TEST(wrong_settings_are_refused),
		TEST(joined_periods_are_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
