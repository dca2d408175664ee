/*
 * incremental.file_time: how the name of a file tells a time.
 *
 * %Y %m %d %H %M %S %j take as many digits as they always have, %s all there are, %% is a
 * percent sign, ? any character and * any number of them but no slash.  A name may end in
 * .gz besides.
 */
#include <string.h>

#include "data/row_time.h"
#include "train/intake_private.h"

static const char codes[] = "YmdHMSjs";

struct stamp { int64_t value[sizeof codes]; };         /* of a code; -1: not given            */

static int64_t *
value_of(struct stamp *s, char code)
{
	return &s->value[strchr(codes, code) - codes];
}

static int
code_width(char code)
{
	switch (code) {
	case 'Y':
		return 4;
	case 'j':
		return 3;
	case 'm': case 'd': case 'H': case 'M': case 'S':
		return 2;
	case 's':
		return 18;
	default:
		return 0;
	}
}

static int
take_code(char code, const char **at, struct stamp *s)
{
	int64_t value = 0;
	int n = 0;

	if (code_width(code) == 0)
		return 0;
	for (; n < code_width(code) && **at >= '0' && **at <= '9'; n++)
		value = 10 * value + (*(*at)++ - '0');
	if (*value_of(s, code) >= 0 && *value_of(s, code) != value)
		return 0;
	*value_of(s, code) = value;
	return code == 's' ? n > 0 : n == code_width(code);
}

/* Stars are tried shortest first. */
static int
match(const char *pattern, const char *name, struct stamp *s)
{
	for (; *pattern != '\0'; pattern++) {
		if (*pattern == '*') {
			for (;; name++) {
				struct stamp tried = *s;

				if (match(pattern + 1, name, &tried)) {
					*s = tried;
					return 1;
				}
				if (*name == '\0' || *name == '/')
					return 0;
			}
		}
		if (*pattern == '%' && pattern[1] != '%') {
			if (!take_code(*++pattern, &name, s))
				return 0;
			continue;
		}
		pattern += *pattern == '%';
		if (*pattern == '?' ? *name == '\0' || *name == '/' : *name != *pattern)
			return 0;
		name++;
	}
	return *name == '\0' || strcmp(name, ".gz") == 0;
}

static int64_t
value_or(struct stamp *s, char code, int64_t other)
{
	return *value_of(s, code) >= 0 ? *value_of(s, code) : other;
}

static int
stamp_seconds(struct stamp *s, int64_t *out)
{
	const int64_t day = value_or(s, 'j', 0);
	struct row_time_date d = { .year = value_or(s, 'Y', 0), .month = (int)value_or(s, 'm', 1),
		.day = (int)value_or(s, 'd', 1), .hour = (int)value_or(s, 'H', 0),
		.minute = (int)value_or(s, 'M', 0), .second = (int)value_or(s, 'S', 0) };
	int64_t next_year;

	if (*value_of(s, 's') >= 0) {
		*out = *value_of(s, 's');
		return 1;
	}
	if (!row_time_of_date(&d, out))
		return 0;
	if (*value_of(s, 'j') < 0)
		return 1;
	*out += (day - 1) * 86400;
	d = (struct row_time_date){ .year = d.year + 1, .month = 1, .day = 1 };
	return day > 0 && row_time_of_date(&d, &next_year) && *out < next_year;
}

/* As many folders of the end of the path as the pattern has. */
static const char *
path_tail(const char *pattern, const char *path)
{
	const char *at = path + strlen(path);
	size_t slashes = 0;

	if (*pattern == '/')
		return path;
	for (const char *p = pattern; *p != '\0'; p++)
		slashes += *p == '/';
	while (at > path && !(at[-1] == '/' && slashes-- == 0))
		at--;
	return at;
}

int
intake_pattern_match(const char *pattern, const char *path, int64_t *out)
{
	struct stamp s;

	memset(&s, 0xff, sizeof s);
	return match(pattern, path_tail(pattern, path), &s) && stamp_seconds(&s, out);
}

enum rs_status
intake_pattern_check(const char *pattern)
{
	int given[128] = { 0 };

	for (const char *p = pattern; *p != '\0'; p++) {
		if (*p != '%')
			continue;
		p++;
		if (*p != '%' && code_width(*p) == 0)
			return rs_fail(RS_ESPEC, "incremental.file_time = '%s': '%%%.1s' is none "
				"of %%Y %%m %%d %%H %%M %%S %%j %%s %%%%", pattern, p);
		given[(unsigned char)*p & 127] = 1;
	}
	if (given['s'])
		return RS_OK;
	if (!given['Y'])
		return rs_fail(RS_ESPEC, "incremental.file_time = '%s' has no year: wanted %%Y or "
			"%%s", pattern);
	if ((given['d'] && !given['m']) || (given['j'] && (given['m'] || given['d'])))
		return rs_fail(RS_ESPEC, "incremental.file_time = '%s' tells no day: wanted %%m "
			"and %%d, or %%j", pattern);
	return RS_OK;
}
