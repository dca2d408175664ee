/* Times of names and of options. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "base/hash.h"
#include "data/row_time.h"
#include "train/intake_private.h"

static void
dates_agree_with_the_library(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 100000; i++) {
		const time_t t = (time_t)(hash_mix(i) % 284012524800u) - 30610224000;
		struct row_time_date d;
		struct tm tm;
		char text[32];
		int64_t back;

		gmtime_r(&t, &tm);
		d = (struct row_time_date){ tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
			tm.tm_hour, tm.tm_min, tm.tm_sec };
		assert_true(row_time_of_date(&d, &back));
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
		cmocka_unit_test(dates_agree_with_the_library),
		cmocka_unit_test(names_tell_times),
		cmocka_unit_test(patterns_without_a_day_are_refused),
		cmocka_unit_test(periods_begin_at_or_before),
		cmocka_unit_test(options_take_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
