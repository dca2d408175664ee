/* Times in cells.  All are UTC. */
#include "data/row_time.h"

#include <math.h>

#include "base/number.h"

#define SECOND_LIMIT 100000000000              /* larger numbers are milliseconds, ... */

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
row_time_of_date(const struct row_time_date *d, int64_t *out)
{
	if (d->year < 1 || d->year > 9999 || d->month < 1 || d->month > 12 || d->day < 1 ||
	    d->day > days_in_month(d->year, d->month) || d->hour < 0 || d->hour > 23 ||
	    d->minute < 0 || d->minute > 59 || d->second < 0 || d->second > 60)
		return 0;
	*out = ((days_of(d->year, d->month, d->day) * 24 + d->hour) * 60 + d->minute) * 60 +
		d->second;
	return 1;
}

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
	*out = value / unit - (value % unit < 0);
	return 1;
}

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
take_date(struct text_at *t, struct row_time_date *d, int *basic)
{
	if (!take_digits(t, 4, &d->year))
		return 0;
	*basic = !take_byte(t, '-');
	return take_small(t, &d->month) && (*basic || take_byte(t, '-')) &&
		take_small(t, &d->day);
}

/* HH:MM, HH:MM:SS or HH:MM:SS.fff, the last cut to its second. */
static int
take_clock(struct text_at *t, struct row_time_date *d, int basic)
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

int
row_time_read_iso(const char *text, size_t n, int64_t *out)
{
	struct text_at t = { text, text + n };
	struct row_time_date d = { .year = 0 };
	int64_t east = 0;
	int basic;

	if (!take_date(&t, &d, &basic))
		return 0;
	if (t.at == t.end)
		return !basic && row_time_of_date(&d, out);
	if (!(take_byte(&t, 'T') || take_byte(&t, 't') || take_byte(&t, ' ')) ||
	    !take_clock(&t, &d, basic))
		return 0;
	(void)take_byte(&t, ' ');
	if (!take_zone(&t, &east) || !row_time_of_date(&d, out))
		return 0;
	*out -= east;
	return 1;
}

int
row_time_read(const char *text, size_t n, int64_t *out)
{
	return number_time(text, n, out) || row_time_read_iso(text, n, out);
}
