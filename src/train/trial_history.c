/* figures.txt: read and added to. */
#include "train/trial_history.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "train/ledger.h"

#define PERIOD "period="

struct line { const char *text; size_t n; };

/* The value of a key, n 0: it is not there. */
static struct line
value_of(const struct line *line, const char *key)
{
	const size_t n_key = strlen(key);

	for (const char *at = line->text, *const end = at + line->n; at < end; ) {
		const char *const tab = memchr(at, '\t', (size_t)(end - at));
		const size_t n = (size_t)((tab != NULL ? tab : end) - at);

		if (n > n_key && memcmp(at, key, n_key) == 0 && at[n_key] == '=')
			return (struct line){ at + n_key + 1, n - n_key - 1 };
		at += n + 1;
	}
	return (struct line){ "", 0 };
}

/* NaN: it is not there. */
static double
number_of(const struct line *line, const char *key)
{
	const struct line value = value_of(line, key);
	double out;

	return number_double(value.text, value.n, &out) ? out : NAN;
}

static int64_t
period_of(const struct line *line)
{
	const struct line value = value_of(line, "period");
	int64_t out;

	return number_i64(value.text, value.n, &out) ? out : LEDGER_NO_PERIOD;
}

/* The line that ends before `end`, of a text that begins at `text`. */
static struct line
line_before(const char *text, const char *end)
{
	const char *const last = end > text && end[-1] == '\n' ? end - 1 : end;
	const char *begin = last;

	while (begin > text && begin[-1] != '\n')
		begin--;
	return (struct line){ begin, (size_t)(last - begin) };
}

enum rs_status
trial_history_check(const char *text)
{
	size_t number = 1;

	for (const char *at = text; *at != '\0'; number++) {
		const struct line line = { at, strcspn(at, "\n") };
		const struct line period = value_of(&line, "period");
		const int is_none = period.n == 1 && *period.text == '-';

		if (strncmp(at, PERIOD, strlen(PERIOD)) != 0 || at[line.n] != '\n'
		    || (!is_none && period_of(&line) == LEDGER_NO_PERIOD))
			return rs_fail_at(RS_EDATA, "figures.txt", number, 0,
				"a line 'period=SECONDS<tab>...' was expected");
		at += line.n + 1;
	}
	return RS_OK;
}

size_t
trial_history_past(const char *text, const char *rows, const char *metric,
	struct trial_past *out, size_t most)
{
	char key[96], variance[112], count[96];
	size_t n = 0;

	snprintf(key, sizeof key, "%s.%s", rows, metric);
	snprintf(variance, sizeof variance, "%s.variance", key);
	snprintf(count, sizeof count, "%s.rows", rows);
	for (const char *end = text + strlen(text); n < most && end > text; ) {
		const struct line line = line_before(text, end);
		const double value = number_of(&line, key), counted = number_of(&line, count);

		end = line.text;
		if (!isnan(value))
			out[n++] = (struct trial_past){ .period = period_of(&line),
				.rows = counted > 0 ? (uint64_t)counted : 0,
				.figure = { value, number_of(&line, variance) } };
	}
	return n;
}

/* Where the last `most` lines begin. */
static const char *
last_lines(const char *text, size_t most)
{
	const char *at = text + strlen(text);

	for (size_t n = 0; n < most && at > text; n++)
		at = line_before(text, at).text;
	return at;
}

enum rs_status
trial_history_keep(const char *text, int64_t period, struct buffer *out)
{
	const char *at = text != NULL ? last_lines(text, TRIAL_HISTORY_LINES - 1) : "";

	while (*at != '\0') {
		const struct line line = { at, strcspn(at, "\n") };

		at += line.n + 1;
		if (period == LEDGER_NO_PERIOD || period_of(&line) != period)
			RS_TRY(buffer_append(out, line.text, line.n + 1));
	}
	return RS_OK;
}

enum rs_status
trial_history_begin(int64_t period, struct buffer *out)
{
	return period == LEDGER_NO_PERIOD ? buffer_printf(out, PERIOD "-")
		: buffer_printf(out, PERIOD "%" PRId64, period);
}

enum rs_status
trial_history_rows(const char *rows, uint64_t n, struct buffer *out)
{
	return buffer_printf(out, "\t%s.rows=%" PRIu64, rows, n);
}

enum rs_status
trial_history_figure(const char *rows, const char *metric, const struct gate_figure *figure,
	struct buffer *out)
{
	char number[32];

	if (!isfinite(figure->value))
		return RS_OK;
	RS_TRY(buffer_printf(out, "\t%s.%s=%s", rows, metric,
		number_print_double(number, figure->value)));
	if (!isfinite(figure->variance))
		return RS_OK;
	return buffer_printf(out, "\t%s.%s.variance=%s", rows, metric,
		number_print_double(number, figure->variance));
}
