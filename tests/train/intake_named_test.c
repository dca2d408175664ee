/* Files whose names tell the time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include <cmocka.h>

#include "base/file.h"
#include "tests/train/intake_case.h"

#define HOUR 3600
#define T CASE_BEGIN

static void
named(struct intake_case *c, const char *data, const char *incremental)
{
	char all[512];

	snprintf(all, sizeof all, "file_time = log-%%Y%%m%%d-%%H*\n%s", incremental);
	case_spec(c, data, all);
}

static void
whole_periods_in_order_of_time(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-15-b", "1\t1\tc\n", T + HOUR);
	case_write(c, "log-20251129-15-a", "1\t1\tb\n", T + HOUR);
	case_write(c, "log-20251129-14-z", "1\t1\ta\n", T);
	case_write(c, "log-20251129-17", "1\t1\td\n", T + 3 * HOUR);
	c->now = T + HOUR + 299;
	assert_int_equal(case_train(c), 0);
	assert_true(c->intake->waiting == T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 2);
	assert_true(c->intake->waiting == T + 3 * HOUR);
	assert_int_equal(c->trained.n, 3);
	assert_string_equal(c->trained.item[0], "1\t1\ta");
	assert_string_equal(c->trained.item[1], "1\t1\tb");
	assert_string_equal(c->trained.item[2], "1\t1\tc");
	assert_true(c->ledger.mark == T + 2 * HOUR);
	assert_int_equal(case_train(c), 0);
	assert_int_equal(c->intake->n_notices, 0);
	c->now = T + 5 * HOUR;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->n_empty, 1);
	assert_true(c->intake->empty[0] == T + 2 * HOUR);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(case_train(c), 0);
}

static void
no_more_than_asked_for(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	case_write(c, "log-20251129-15", "1\t1\tb\n", T);
	case_write(c, "log-20251129-16", "1\t1\tc\n", T);
	c->now = T + 9 * HOUR;
	c->most = 1;
	assert_int_equal(case_train(c), 1);
	assert_string_equal(c->trained.item[0], "1\t1\ta");
	assert_int_equal(case_train(c), 1);
	c->most = 0;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 3);
}

static void
since_and_until_leave_periods_alone(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	case_write(c, "log-20251129-15", "1\t1\tb\n", T);
	case_write(c, "log-20251129-16", "1\t1\tc\n", T);
	c->now = T + 9 * HOUR;
	c->since = T + HOUR;
	c->until = T + 2 * HOUR;
	assert_int_equal(case_train(c), 1);
	assert_string_equal(c->trained.item[0], "1\t1\tb");
	assert_int_equal(case_train(c), 0);
}

static void
files_that_still_change_are_waited_for(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14-a", "1\t1\ta\n", T);
	case_write(c, "log-20251129-14-b", "1\t1\tb\n", T + HOUR + 200);
	c->now = T + HOUR + 400;
	assert_int_equal(case_train(c), 0);
	c->now = T + HOUR + 500;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 2);
}

static void
marker_makes_a_period_complete(void **state)
{
	struct intake_case *const c = *state;
	char ready[256];

	snprintf(ready, sizeof ready, "ready = %s/%%Y%%m%%d-%%H.ready", c->directory);
	named(c, "", ready);
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	c->now = T + HOUR + 1;
	assert_int_equal(case_train(c), 0);
	case_write(c, "20251129-14.ready", "", T);
	assert_int_equal(case_train(c), 1);
	/* A clock that was set back sees a marker of what is not over for it. */
	case_write(c, "log-20251129-15", "1\t1\tb\n", T);
	case_write(c, "20251129-15.ready", "", T);
	c->now = T - 86400;
	assert_int_equal(case_train(c), 0);
	assert_true(c->ledger.mark == T + HOUR);
	c->now = T + 2 * HOUR;
	assert_int_equal(case_train(c), 1);
}

static void
marker_is_of_no_time_zone(void **state)
{
	struct intake_case *const c = *state;
	char ready[256], name[64];

	setenv("TZ", "EST5EDT", 1);
	tzset();
	snprintf(ready, sizeof ready, "ready = %s/%%s-%%H.%%%%ready", c->directory);
	named(c, "", ready);
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	snprintf(name, sizeof name, "%lld-14.%%ready", (long long)T);
	case_write(c, name, "", T);
	c->now = T + HOUR + 1;
	assert_int_equal(case_train(c), 1);
	unsetenv("TZ");
	tzset();
}

static void
late_file_joins_the_next_period(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-15", "1\t1\tb\n", T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_write(c, "log-20251129-14", "1\t1\tlate\n1\t1\tlater\n", T + 2 * HOUR);
	assert_int_equal(case_train(c), 0);
	case_write(c, "log-20251129-16", "1\t1\tc\n", T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->due[0].train.n, 2);
	assert_int_equal(c->intake->due[0].entry[0].late, 2);
	assert_int_equal(c->intake->due[0].entry[1].late, 0);
	assert_true(case_told(c, LEDGER_LATE, "trained with 2025-11-29T16:00Z"));
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(case_has(&c->trained, "1\t1\tlate"), 1);
}

static void
late_file_is_skipped_if_wanted(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "late = skip");
	case_write(c, "log-20251129-15", "1\t1\tb\n", T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_write(c, "log-20251129-14", "1\t1\tlate\n", T);
	case_write(c, "log-20251129-16", "1\t1\tc\n", T);
	case_write(c, "log-20251129-17", "1\t1\td\n", T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_LATE, "never trained"));
	assert_int_equal(case_uses(c, LEDGER_LATE), 1);
	c->now = T + 4 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->n_notices, 0);
	assert_int_equal(case_has(&c->trained, "1\t1\tlate"), 0);
}

static void
other_contents_under_a_name_are_told_once(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n1\t1\tb\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_write(c, "log-20251129-14", "1\t1\ta\n1\t1\tB\n1\t1\tc\n", T + 1);
	case_write(c, "log-20251129-15", "1\t1\td\n", T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_REPLACED, "other contents"));
	assert_int_equal(case_uses(c, LEDGER_REPLACED), 1);
	case_write(c, "log-20251129-16", "1\t1\te\n", T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->n_notices, 0);
	assert_int_equal(c->trained.n, 4);
	/* It becomes shorter than what was told. */
	case_write(c, "log-20251129-14", "1\t1\ta\n", T + 2);
	case_write(c, "log-20251129-17", "1\t1\tf\n", T);
	c->now = T + 4 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_REPLACED, "other contents"));
	assert_int_equal(c->trained.n, 5);
}

static void
other_contents_are_trained_if_wanted(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "replaced = train");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_write(c, "log-20251129-14", "1\t1\tb\n1\t1\tc\n", T + 1);
	case_write(c, "log-20251129-15", "1\t1\td\n", T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_REPLACED, "as if it were new"));
	assert_int_equal(c->trained.n, 4);
	case_write(c, "log-20251129-16", "1\t1\te\n", T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 5);
}

static void
rows_added_to_a_trained_file_are_late(void **state)
{
	struct intake_case *const c = *state;

	named(c, "header = yes", "");
	case_write(c, "log-20251129-14", "t\ty\tid\n1\t1\ta\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_append(c, "log-20251129-14", "1\t1\tb\n", T + 1);
	case_write(c, "log-20251129-15", "t\ty\tid\n1\t1\tc\n", T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->due[0].entry[0].late, 1);
	assert_int_equal(c->intake->due[0].entry[0].ranges.n, 2);
	assert_int_equal(case_has(&c->trained, "t\ty\tid"), 3);
	assert_int_equal(case_has(&c->trained, "1\t1\tb"), 1);
	assert_int_equal(c->trained.n, 6);
	case_write(c, "log-20251129-16", "t\ty\tid\n1\t1\td\n", T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 8);
}

static void
copies_are_not_trained_again(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14-a", "1\t1\ta\n", T);
	case_write(c, "log-20251129-14-b", "1\t1\ta\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 1);
	assert_true(case_told(c, LEDGER_DUPLICATE, "the same bytes as"));
	/* Of an older period, which is there still. */
	case_write(c, "log-20251129-15", "1\t1\ta\n", T);
	case_write(c, "log-20251129-16", "1\t1\tb\n", T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_DUPLICATE, "log-20251129-15: the same bytes as"));
	assert_int_equal(c->intake->n_empty, 1);
	assert_int_equal(c->trained.n, 2);
	assert_int_equal(case_uses(c, LEDGER_DUPLICATE), 2);
	case_write(c, "log-20251129-17", "1\t1\tc\n", T);
	c->now = T + 4 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->n_notices, 0);
}

static void
touched_and_renamed_files_are_known(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	case_write(c, "log-20251129-15", "1\t1\tb\n", T);
	case_write(c, "log-20251129-16", "1\t1\tc\n", T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 3);
	case_touch(c, "log-20251129-14", T + 5);
	case_rename(c, "log-20251129-15", "log-20251129-15-old");
	/* Copied and removed: another inode. */
	case_write(c, "log-20251129-16-old", "1\t1\tc\n", T);
	case_remove(c, "log-20251129-16");
	case_write(c, "log-20251129-17", "1\t1\td\n", T);
	c->now = T + 4 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(c->intake->n_notices, 0);
	case_remove(c, "log-20251129-14");
	c->now = T + 5 * HOUR + 300;
	assert_int_equal(case_train(c), 0);
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
gzip_of_a_trained_file_is_known(void **state)
{
	struct intake_case *const c = *state;

	case_spec(c, "", "file_time = log-%Y%m%d-%H.tsv");
	case_write(c, "log-20251129-14.tsv", "1\t1\ta\n1\t1\tb\n", T);
	write_gzip(c, "log-20251129-15.tsv.gz", "1\t1\tc\n", "w");
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 2);
	case_remove(c, "log-20251129-14.tsv");
	write_gzip(c, "log-20251129-14.tsv.gz", "1\t1\ta\n1\t1\tb\n", "w");
	write_gzip(c, "log-20251129-15.tsv.gz", "1\t1\tlate\n", "a");
	case_write(c, "log-20251129-16.tsv", "1\t1\td\n", T);
	c->now = T + 3 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 5);
	assert_int_equal(case_has(&c->trained, "1\t1\tlate"), 1);
	case_write(c, "log-20251129-17.tsv", "1\t1\te\n", T);
	c->now = T + 4 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 6);
}

static void
header_alone_is_an_empty_period(void **state)
{
	struct intake_case *const c = *state;

	named(c, "header = yes", "");
	case_write(c, "log-20251129-14", "t\ty\tid\n1\t1\ta\n", T);
	case_write(c, "log-20251129-15", "t\ty\tid\n", T);
	case_write(c, "log-20251129-16", "t\ty\tid\n", T);
	case_write(c, "log-20251129-17", "", T);
	c->now = T + 4 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->n_notices, 0);
	assert_int_equal(case_train(c), 0);
	case_write(c, "log-20251129-18", "t\ty\tid\n1\t1\tb\n", T);
	c->now = T + 5 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->n_empty, 3);
	assert_int_equal(c->intake->n_notices, 0);
}

static void
last_rows_are_held_out(void **state)
{
	struct intake_case *const c = *state;

	named(c, "header = yes", "holdout = 0.25");
	case_write(c, "log-20251129-14",
		"t\ty\tid\n1\t1\ta\n1\t1\tb\n1\t1\tc\n1\t1\td\n1\t1\te", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->due[0].held.n, 1);
	assert_int_equal(c->intake->due[0].n, 2);
	assert_int_equal(c->intake->due[0].entry[1].rows, 2);
	assert_int_equal(c->trained.n, 4);
	assert_int_equal(c->held.n, 3);
	assert_string_equal(c->held.item[0], "t\ty\tid");
	assert_string_equal(c->held.item[1], "1\t1\td");
	assert_string_equal(c->held.item[2], "1\t1\te");
	assert_int_equal(case_train(c), 0);
	case_write(c, "log-20251129-15", "t\ty\tid\n1\t1\tf\n", T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->intake->due[0].held.n, 0);
	assert_int_equal(case_has(&c->trained, "1\t1\tf"), 1);
	assert_int_equal(c->held.n, 3);
}

static void
name_that_tells_no_time_is_an_error(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	case_write(c, "logger.conf", "x\n", T);
	assert_int_equal(case_scan(c), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "logger.conf"));
	assert_non_null(strstr(rs_failure()->text, "log-%Y%m%d-%H*"));
}

static void
files_are_known_from_another_folder(void **state)
{
	struct intake_case *const c = *state;
	char directory[64];

	snprintf(directory, sizeof directory, "%s", c->directory);
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	assert_int_equal(chdir(directory), 0);
	snprintf(c->directory, sizeof c->directory, ".");
	named(c, "", "");
	snprintf(c->directory, sizeof c->directory, "%s", directory);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->ledger.entry[0].path[0], '/');
	assert_int_equal(chdir("/"), 0);
	named(c, "", "");
	case_write(c, "log-20251129-15", "1\t1\tb\n", T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->ledger.n, 2);
}

static void
file_of_two_names_is_refused(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	assert_int_equal(link(case_path(c, "log-20251129-14"), case_path(c, "log-20251129-15")), 0);
	assert_int_equal(case_scan(c), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "are the same file"));
}

static void
file_of_the_future_is_told(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	case_write(c, "log-20991129-14", "1\t1\tb\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_true(case_told(c, LEDGER_N_USES, "2099-11-29T14:00Z"));
	assert_true(c->ledger.mark == T + HOUR);
}

static void
files_that_are_gone_are_no_news(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	assert_int_equal(case_scan(c), RS_ENOINPUT);
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	case_remove(c, "log-20251129-14");
	assert_int_equal(case_train(c), 0);
	assert_int_equal(file_remove_tree(c->directory), RS_OK);
	assert_int_equal(case_scan(c), RS_ENOINPUT);
}

static void
file_of_a_plain_run_is_known(void **state)
{
	struct intake_case *const c = *state;
	struct loader_file file = { .size = 6, .tally = { .read = 1 } };
	struct lines lines = { .n = 0 };

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	file.path = case_path(c, "log-20251129-14");
	assert_int_equal(ledger_add_file(&c->ledger, &file), RS_OK);
	case_write(c, "log-20251129-15", "1\t1\tb\n", T);
	c->now = T + 2 * HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 1);
	assert_string_equal(c->trained.item[0], "1\t1\tb");
	(void)lines;
}

static void
file_that_was_renamed_since_the_scan_is_noticed(void **state)
{
	struct intake_case *const c = *state;

	named(c, "", "");
	case_write(c, "log-20251129-14", "1\t1\ta\n", T);
	c->now = T + HOUR + 300;
	assert_int_equal(case_scan(c), RS_OK);
	assert_int_equal(intake_check(&c->intake->due[0]), RS_OK);
	case_append(c, "log-20251129-14", "1\t1\tb\n", T);
	assert_int_equal(intake_check(&c->intake->due[0]), RS_OK);
	case_rename(c, "log-20251129-14", "log-20251129-14-old");
	assert_int_equal(intake_check(&c->intake->due[0]), RS_EBUSY);
	case_write(c, "log-20251129-14", "1\t1\tother bytes\n", T);
	assert_int_equal(intake_check(&c->intake->due[0]), RS_EBUSY);
}

static void
ten_thousand_files_are_looked_at_quickly(void **state)
{
	struct intake_case *const c = *state;
	double best = 1e9;

	named(c, "", "");
	for (int i = 0; i < 10000; i++) {
		char name[64], row[64];

		snprintf(name, sizeof name, "log-20251129-14-%05d", i);
		snprintf(row, sizeof row, "1\t1\t%d\n", i);
		case_write(c, name, row, T);
	}
	c->now = T + HOUR + 300;
	assert_int_equal(case_train(c), 1);
	assert_int_equal(c->trained.n, 10000);
	for (int i = 0; i < 5; i++) {
		struct timespec a, b;
		double took;

		clock_gettime(CLOCK_MONOTONIC, &a);
		assert_int_equal(case_scan(c), RS_OK);
		clock_gettime(CLOCK_MONOTONIC, &b);
		assert_int_equal(c->intake->n_due, 0);
		took = (double)(b.tv_sec - a.tv_sec) + 1e-9 * (double)(b.tv_nsec - a.tv_nsec);
		best = took < best ? took : best;
	}
	print_message("10,000 files: %.1f ms\n", 1e3 * best);
	assert_true(best < 0.5);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, case_set_up, case_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(whole_periods_in_order_of_time),
		TEST(no_more_than_asked_for),
		TEST(since_and_until_leave_periods_alone),
		TEST(files_that_still_change_are_waited_for),
		TEST(marker_makes_a_period_complete),
		TEST(marker_is_of_no_time_zone),
		TEST(late_file_joins_the_next_period),
		TEST(late_file_is_skipped_if_wanted),
		TEST(other_contents_under_a_name_are_told_once),
		TEST(other_contents_are_trained_if_wanted),
		TEST(rows_added_to_a_trained_file_are_late),
		TEST(copies_are_not_trained_again),
		TEST(touched_and_renamed_files_are_known),
		TEST(gzip_of_a_trained_file_is_known),
		TEST(header_alone_is_an_empty_period),
		TEST(last_rows_are_held_out),
		TEST(name_that_tells_no_time_is_an_error),
		TEST(files_are_known_from_another_folder),
		TEST(file_of_two_names_is_refused),
		TEST(file_of_the_future_is_told),
		TEST(files_that_are_gone_are_no_news),
		TEST(file_of_a_plain_run_is_known),
		TEST(file_that_was_renamed_since_the_scan_is_noticed),
		TEST(ten_thousand_files_are_looked_at_quickly),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
