/* Times of messages and of options.  All are UTC. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/number.h"
#include "base/thread.h"
#include "data/row_time.h"
#include "train/intake_private.h"

int64_t
intake_floor(int64_t t, int64_t period)
{
	const int64_t rest = t % period;

	return t - rest - (rest < 0 ? period : 0);
}

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
	if (number_i64(text, strlen(text), out) || row_time_read_iso(text, strlen(text), out))
		return RS_OK;
	(void)rs_fail(RS_EUSAGE, "'%s' is no time", rs_escape(shown, text, strlen(text)));
	return rs_hint("a time is 2026-11-29T14:00Z, a date, seconds since 1970, or now");
}
