/* Times of cells, of names and of options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/hash.h"
#include "train/intake_private.h"

static void
cells_with_a_time_are_read(void **state)
{
	static const struct { const char *text; int64_t time; } cell[] = {
		{ "0", 0 },
		{ "1764424800", 1764424800 },
		{ "1764424800.999", 1764424800 },
		{ "1.7644248e9", 1764424800 },
		{ "1764424800123", 1764424800 },
		{ "1764424800123456", 1764424800 },
		{ "1764424800123456789", 1764424800 },
		{ "-1", -1 },
		{ "-1.5", -2 },
		{ "99999999999", 99999999999 },
		{ "100000000000", 100000000 },
		{ "2025-11-29T14:00:00Z", 1764424800 },
		{ "2025-11-29T14:00Z", 1764424800 },
		{ "2025-11-29t14:00:00.250Z", 1764424800 },
		{ "2025-11-29 14:00:00", 1764424800 },
		{ "2025-11-29 14:00:00,5", 1764424800 },
		{ "2025-11-29 14:00:00 +00:00", 1764424800 },
		{ "2025-11-29T15:00:00+01:00", 1764424800 },
		{ "2025-11-29T15:00:00+0100", 1764424800 },
		{ "2025-11-29T15:00:00+01", 1764424800 },
		{ "2025-11-29T08:30:00-05:30", 1764424800 },
		{ "20251129T140000Z", 1764424800 },
		{ "20251129T1400", 1764424800 },
		{ "2025-11-29", 1764374400 },
		{ "1970-01-01", 0 },
		{ "1969-12-31T23:59:59Z", -1 },
		{ "2000-02-29", 951782400 },
		{ "2024-12-31T23:59:60Z", 1735689600 },
		{ "0001-01-01", -62135596800 },
		{ "9999-12-31T23:59:59Z", 253402300799 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof cell / sizeof *cell; i++) {
		int64_t t = -77;

		if (!intake_read_time(cell[i].text, strlen(cell[i].text), &t))
			fail_msg("'%s' is not read", cell[i].text);
		if (t != cell[i].time)
			fail_msg("'%s' is %jd", cell[i].text, (intmax_t)t);
	}
}

static void
other_cells_are_no_time(void **state)
{
	static const char *const cell[] = {
		"", " ", "now", "nan", "inf", "0x10", "1764424800s", " 1", "+1", "2025-13-01",
		"2025-02-29", "1900-02-29", "2025-11-00", "2025-11-31", "2025-11",
		"2025-11-29T", "2025-11-29T14", "2025-11-29T24:00", "2025-11-29T14:60",
		"2025-11-29T14:00:", "2025-11-29T14:00:00.", "2025-11-29T14:00:00X",
		"2025-11-29T14:00:00+", "2025-11-29T14:00:00+1", "2025-11-29T14:00:00+01:",
		"2025-11-29T14:00:00+01:60", "2025-11-29T14:00:00Zx", "2025/11/29",
		"29.11.2025", "2025-1129", "1e300", "99999999999999999999", "0000-01-01",
	};

	(void)state;
	for (size_t i = 0; i < sizeof cell / sizeof *cell; i++) {
		int64_t t;

		if (intake_read_time(cell[i], strlen(cell[i]), &t))
			fail_msg("'%s' is read as %jd", cell[i], (intmax_t)t);
	}
}

static void
dates_agree_with_the_library(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		const time_t t = (time_t)(hash_mix(i) % 284012524800u) - 30610224000;
		struct intake_date d;
		struct tm tm;
		char text[32];
		int64_t back;

		gmtime_r(&t, &tm);
		d = (struct intake_date){ tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour,
			tm.tm_min, tm.tm_sec };
		assert_true(intake_date_seconds(&d, &back));
		assert_true(back == t);
		assert_int_equal(intake_parse_time(intake_time(t, text), &back), RS_OK);
		assert_true(back == t);
	}
}

static void
names_tell_times(void **state)
{
	static const struct { const char *pattern, *path; int64_t time; } name[] = {
		{ "click-%Y%m%d-%H.tsv", "/data/click-20251129-14.tsv", 1764424800 },
		{ "click-%Y%m%d-%H.tsv", "click-20251129-14.tsv.gz", 1764424800 },
		{ "%Y-%m-%dT%H%M%S*", "log/2025-11-29T140501-host-7.csv", 1764425101 },
		{ "*-%Y%m%d", "a-b-c-20251129", 1764374400 },
		{ "*%H-%Y%m%d", "host14-20251129", 1764424800 },
		{ "%Y/%m/%d/%H.tsv", "/var/log/2025/11/29/14.tsv", 1764424800 },
		{ "/var/%Y/%m/%d.tsv", "/var/2025/11/29.tsv", 1764374400 },
		{ "%Y%j", "2025333", 1764374400 },
		{ "%Y%j", "2024366", 1735603200 },
		{ "%s.log", "1764424800.log", 1764424800 },
		{ "100%%-%s", "100%-12", 12 },
		{ "day?-%Y%m%d", "dayX-20251129", 1764374400 },
		{ "%Y%m%d-%Y%m%d", "20251129-20251129", 1764374400 },
		{ "*%Y%m%d*", "1-20251129-2", 1764374400 },
	};
	static const char *const other[][2] = {
		{ "click-%Y%m%d-%H.tsv", "click-20251129-14.tsv.bz2" },
		{ "click-%Y%m%d-%H.tsv", "click-20251129-1.tsv" },
		{ "click-%Y%m%d-%H.tsv", "click-20251129-24.tsv" },
		{ "click-%Y%m%d-%H.tsv", "click-20251329-14.tsv" },
		{ "click-%Y%m%d-%H.tsv", "xclick-20251129-14.tsv" },
		{ "%Y%j", "2025366" },
		{ "%Y%j", "2025000" },
		{ "%Y%m%d-%Y%m%d", "20251129-20251130" },
		{ "%Y/%m/%d.tsv", "2025-11-29.tsv" },
		{ "*%Y%m%d", "a/b20251129x" },
		{ "%s", "" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
		int64_t t = -1;

		assert_int_equal(intake_pattern_check(name[i].pattern), RS_OK);
		if (!intake_pattern_match(name[i].pattern, name[i].path, &t) || t != name[i].time)
			fail_msg("'%s' of '%s' is %jd", name[i].path, name[i].pattern, (intmax_t)t);
	}
	for (size_t i = 0; i < sizeof other / sizeof *other; i++) {
		int64_t t;

		if (intake_pattern_match(other[i][0], other[i][1], &t))
			fail_msg("'%s' is of '%s'", other[i][1], other[i][0]);
	}
}

static void
patterns_without_a_day_are_refused(void **state)
{
	static const char *const pattern[] = { "", "log", "%m%d", "%Y%d", "%Y%m%j", "%Y%q", "%Y%",
		"%H:%M" };

	(void)state;
	for (size_t i = 0; i < sizeof pattern / sizeof *pattern; i++)
		assert_int_equal(intake_pattern_check(pattern[i]), RS_ESPEC);
}

static void
periods_begin_at_or_before(void **state)
{
	(void)state;
	assert_true(intake_floor(7200, 3600) == 7200);
	assert_true(intake_floor(7199, 3600) == 3600);
	assert_true(intake_floor(-1, 3600) == -3600);
	assert_true(intake_floor(-3600, 3600) == -3600);
}

static void
options_take_times(void **state)
{
	const int64_t now = (int64_t)time(NULL);
	int64_t t;
	char text[24];

	(void)state;
	assert_int_equal(intake_parse_time("2025-11-29T14:00Z", &t), RS_OK);
	assert_true(t == 1764424800);
	assert_int_equal(intake_parse_time("2025-11-29", &t), RS_OK);
	assert_true(t == 1764374400);
	assert_int_equal(intake_parse_time("1764424800", &t), RS_OK);
	assert_true(t == 1764424800);
	assert_int_equal(intake_parse_time("now", &t), RS_OK);
	assert_true(t >= now && t < now + 60);
	assert_int_equal(intake_parse_time("yesterday", &t), RS_EUSAGE);
	assert_string_equal(intake_time(1764424800, text), "2025-11-29T14:00Z");
	assert_string_equal(intake_time(1764424801, text), "2025-11-29T14:00:01Z");
	assert_string_equal(intake_time(INT64_MAX, text), "9223372036854775807");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_with_a_time_are_read),
		cmocka_unit_test(other_cells_are_no_time),
		cmocka_unit_test(dates_agree_with_the_library),
		cmocka_unit_test(names_tell_times),
		cmocka_unit_test(patterns_without_a_day_are_refused),
		cmocka_unit_test(periods_begin_at_or_before),
		cmocka_unit_test(options_take_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
