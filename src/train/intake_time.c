/* Times: of messages, of options, of cells.  All are UTC. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/thread.h"
#include "train/intake_private.h"

#define SECOND_LIMIT 100000000000              /* larger numbers are milliseconds, ... */

int64_t
intake_floor(int64_t t, int64_t period)
{
	const int64_t rest = t % period;

	return t - rest - (rest < 0 ? period : 0);
}

static int
days_in_month(int64_t year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };

	return days[month - 1] + (month == 2 && year % 4 == 0 &&
		(year % 100 != 0 || year % 400 == 0));
}

/* Days since 1970-01-01, the year beginning in March: its leap day is the last. */
static int64_t
days_of(int64_t year, int month, int day)
{
	const int64_t y = year - (month <= 2), era = y / 400, in_era = y % 400;
	const int64_t in_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;

	return era * 146097 + in_era * 365 + in_era / 4 - in_era / 100 + in_year - 719468;
}

int
intake_date_seconds(const struct intake_date *d, int64_t *out)
{
	if (d->year < 1 || d->year > 9999 || d->month < 1 || d->month > 12 || d->day < 1 ||
	    d->day > days_in_month(d->year, d->month) || d->hour < 0 || d->hour > 23 ||
	    d->minute < 0 || d->minute > 59 || d->second < 0 || d->second > 60)
		return 0;
	*out = ((days_of(d->year, d->month, d->day) * 24 + d->hour) * 60 + d->minute) * 60 +
		d->second;
	return 1;
}

/* --- numbers ----------------------------------------------------------------- */

/* By magnitude: a time in seconds has at most eleven digits until the year 5138. */
static int
number_time(const char *text, size_t n, int64_t *out)
{
	int64_t value, unit = 1;
	double  real;

	if (n > 0 && *text == '+')
		return 0;
	if (!number_i64(text, n, &value)) {
		if (!number_double(text, n, &real) || fabs(real) >= 1e18)
			return 0;
		value = (int64_t)floor(real);
	}
	while (value / unit >= SECOND_LIMIT || value / unit <= -SECOND_LIMIT)
		unit *= 1000;
	*out = intake_floor(value, unit) / unit;
	return 1;
}

/* --- ISO 8601 ---------------------------------------------------------------- */

struct text_at { const char *at, *end; };

static int
take_digits(struct text_at *t, int n, int64_t *out)
{
	*out = 0;
	for (int i = 0; i < n; i++, t->at++) {
		if (t->at == t->end || *t->at < '0' || *t->at > '9')
			return 0;
		*out = 10 * *out + (*t->at - '0');
	}
	return 1;
}

static int
take_small(struct text_at *t, int *out)
{
	int64_t value;

	if (!take_digits(t, 2, &value))
		return 0;
	*out = (int)value;
	return 1;
}

static int
take_byte(struct text_at *t, char c)
{
	if (t->at == t->end || *t->at != c)
		return 0;
	t->at++;
	return 1;
}

/* YYYY-MM-DD; in the form without hyphens a time of the day must follow. */
static int
take_date(struct text_at *t, struct intake_date *d, int *basic)
{
	if (!take_digits(t, 4, &d->year))
		return 0;
	*basic = !take_byte(t, '-');
	return take_small(t, &d->month) && (*basic || take_byte(t, '-')) &&
		take_small(t, &d->day);
}

/* HH:MM, HH:MM:SS or HH:MM:SS.fff, the last cut to its second. */
static int
take_clock(struct text_at *t, struct intake_date *d, int basic)
{
	if (!take_small(t, &d->hour) || !(basic || take_byte(t, ':')) ||
	    !take_small(t, &d->minute))
		return 0;
	if (!(basic ? t->at < t->end && *t->at >= '0' && *t->at <= '9' : take_byte(t, ':')))
		return 1;
	if (!take_small(t, &d->second))
		return 0;
	if (take_byte(t, '.') || take_byte(t, ',')) {
		const char *const first = t->at;

		while (t->at < t->end && *t->at >= '0' && *t->at <= '9')
			t->at++;
		return t->at > first;
	}
	return 1;
}

/* Z, +HH, +HHMM or +HH:MM; none is UTC. */
static int
take_zone(struct text_at *t, int64_t *east)
{
	int hours = 0, minutes = 0;

	*east = 0;
	if (t->at == t->end || (take_byte(t, 'Z') && t->at == t->end))
		return 1;
	const int west = take_byte(t, '-');
	if (!west && !take_byte(t, '+'))
		return 0;
	if (!take_small(t, &hours))
		return 0;
	if (t->at < t->end) {
		(void)take_byte(t, ':');
		if (!take_small(t, &minutes))
			return 0;
	}
	*east = (west ? -1 : 1) * (hours * 3600 + minutes * 60);
	return t->at == t->end && hours <= 24 && minutes < 60;
}

static int
iso_time(const char *text, size_t n, int64_t *out)
{
	struct text_at t = { text, text + n };
	struct intake_date d = { .year = 0 };
	int64_t east = 0;
	int basic;

	if (!take_date(&t, &d, &basic))
		return 0;
	if (t.at == t.end)
		return !basic && intake_date_seconds(&d, out);
	if (!(take_byte(&t, 'T') || take_byte(&t, 't') || take_byte(&t, ' ')) ||
	    !take_clock(&t, &d, basic))
		return 0;
	(void)take_byte(&t, ' ');
	if (!take_zone(&t, &east) || !intake_date_seconds(&d, out))
		return 0;
	*out -= east;
	return 1;
}

int
intake_read_time(const char *text, size_t n, int64_t *out)
{
	return number_time(text, n, out) || iso_time(text, n, out);
}

/* --- of options and messages ------------------------------------------------- */

const char *
intake_time(int64_t t, char out[24])
{
	struct tm tm;
	const time_t when = (time_t)t;

	if (t < -30610224000 || t > 253402300799 || gmtime_r(&when, &tm) == NULL)
		snprintf(out, 24, "%" PRId64, t);
	else
		(void)strftime(out, 24, tm.tm_sec == 0 ? "%Y-%m-%dT%H:%MZ" : "%Y-%m-%dT%H:%M:%SZ",
			&tm);
	return out;
}

enum rs_status
intake_parse_time(const char *text, int64_t *out)
{
	char shown[72];

	if (strcmp(text, "now") == 0) {
		*out = clock_wall_ms() / 1000;
		return RS_OK;
	}
	if (number_i64(text, strlen(text), out) || iso_time(text, strlen(text), out))
		return RS_OK;
	(void)rs_fail(RS_EUSAGE, "'%s' is no time", rs_escape(shown, text, strlen(text)));
	return rs_hint("a time is 2026-11-29T14:00Z, a date, seconds since 1970, or now");
}
