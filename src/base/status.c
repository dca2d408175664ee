/* Status codes, the thread's last failure, and outside text made printable. */
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local struct rs_failure last;

static const struct {
	int         code;
	const char *name, *text;
} status_row[] = {
#define ROW(name, code, text) [RS_##name] = { code, #name, text },
	RS_STATUS_TABLE(ROW)
#undef ROW
};

enum { ESCAPE_MAX = 60 };

static enum rs_status
record(enum rs_status status, const char *format, va_list arguments)
{
	char text[sizeof(last.text)];

	/* Formatted apart: an argument may point into the former failure. */
	vsnprintf(text, sizeof(text), format, arguments);
	last.status = status;
	last.where[0] = '\0';
	last.file_bytes = last.line = last.column = 0;
	last.hint[0] = '\0';
	memcpy(last.text, text, sizeof(text));
	return status;
}

enum rs_status
rs_fail(enum rs_status status, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	record(status, format, arguments);
	va_end(arguments);
	return status;
}

enum rs_status
rs_fail_at(enum rs_status status, const char *file, size_t line, size_t column,
	const char *format, ...)
{
	const size_t n_file = strlen(file);
	va_list arguments;
	char    where[sizeof(last.where)];

	if (line == 0)
		snprintf(where, sizeof(where), "%s", file);
	else if (column == 0)
		snprintf(where, sizeof(where), "%s:%zu", file, line);
	else
		snprintf(where, sizeof(where), "%s:%zu:%zu", file, line, column);
	va_start(arguments, format);
	record(status, format, arguments);
	va_end(arguments);
	memcpy(last.where, where, sizeof(where));
	last.file_bytes = n_file < sizeof(where) ? n_file : sizeof(where) - 1;
	last.line = line;
	last.column = line > 0 ? column : 0;
	return status;
}

enum rs_status
rs_hint(const char *format, ...)
{
	va_list arguments;
	char    hint[sizeof(last.hint)];

	va_start(arguments, format);
	vsnprintf(hint, sizeof(hint), format, arguments);
	va_end(arguments);
	memcpy(last.hint, hint, sizeof(hint));
	return last.status;
}

const struct rs_failure *
rs_failure(void)
{
	return &last;
}

void
rs_failure_take(struct rs_failure *out)
{
	*out = last;
	memset(&last, 0, sizeof(last));
}

enum rs_status
rs_failure_put(const struct rs_failure *in)
{
	last = *in;
	return in->status;
}

int
rs_exit_code(enum rs_status status)
{
	return (unsigned)status < RS_N_STATUS ? status_row[status].code : status_row[RS_EBUG].code;
}

enum rs_status
rs_status_of_exit(int code)
{
	if (code > status_row[RS_ESIGNAL].code && code < status_row[RS_ESIGNAL].code + 65)
		return RS_ESIGNAL;
	for (int i = 0; i < RS_N_STATUS; i++)
		if (status_row[i].code == code)
			return (enum rs_status)i;
	return RS_EPEER;
}

const char *
rs_status_name(enum rs_status status)
{
	return (unsigned)status < RS_N_STATUS ? status_row[status].name : status_row[RS_EBUG].name;
}

const char *
rs_status_text(enum rs_status status)
{
	return (unsigned)status < RS_N_STATUS ? status_row[status].text : status_row[RS_EBUG].text;
}

/* Length of the well-formed, printable UTF-8 sequence at s, or 0. */
static size_t
utf8_length(const unsigned char *s, size_t n)
{
	const size_t want = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] < 0xc2 || s[0] > 0xf4 || want > n)
		return 0;
	for (size_t i = 1; i < want; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xc2 && s[1] < 0xa0) || (s[0] == 0xe0 && s[1] < 0xa0) ||
	    (s[0] == 0xed && s[1] >= 0xa0) || (s[0] == 0xf0 && s[1] < 0x90) ||
	    (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return want;
}

char *
rs_escape(char out[72], const char *bytes, size_t n)
{
	const unsigned char *s = (const unsigned char *)bytes;
	size_t               used = 0;

	for (size_t i = 0; i < n; ) {
		char         piece[8];
		const size_t sequence = s[i] < 0x80 ? (s[i] >= 0x20 && s[i] < 0x7f) :
			utf8_length(s + i, n - i);
		const size_t length = sequence > 0 ? sequence : 4;

		if (sequence > 0)
			memcpy(piece, s + i, sequence);
		else
			snprintf(piece, sizeof(piece), "\\x%02X", (unsigned)s[i]);
		if (used + length > ESCAPE_MAX) {
			memcpy(out + used, "...", 3);
			used += 3;
			break;
		}
		memcpy(out + used, piece, length);
		used += length;
		i += sequence > 0 ? sequence : 1;
	}
	out[used] = '\0';
	return out;
}
