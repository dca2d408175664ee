/* Lines "key = value": what control messages and tickets are made of. */
#include "comm/fields.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

#define SEPARATOR   " = "
#define N_SEPARATOR (sizeof(SEPARATOR) - 1)

static int
is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

static enum rs_status
append_value(struct buffer *b, const char *format, va_list arguments)
{
	va_list again;

	va_copy(again, arguments);
	const int n = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (n < 0)
		return rs_fail(RS_EBUG, "a value cannot be formatted as '%s'", format);
	RS_TRY(buffer_reserve(b, (size_t)n + 1));
	vsnprintf(b->data + b->n, (size_t)n + 1, format, arguments);
	for (size_t i = b->n; i < b->n + (size_t)n; i++)
		if (is_control(b->data[i]))
			b->data[i] = ' ';
	b->n += (size_t)n;
	return RS_OK;
}

enum rs_status
fields_put(struct buffer *b, const char *key, const char *format, ...)
{
	va_list arguments;

	assert(key[0] != '\0' && strpbrk(key, " =\n") == NULL);
	RS_TRY(buffer_append(b, key, strlen(key)));
	RS_TRY(buffer_append(b, SEPARATOR, N_SEPARATOR));
	va_start(arguments, format);
	const enum rs_status status = append_value(b, format, arguments);
	va_end(arguments);
	RS_TRY(status);
	return buffer_append(b, "\n", 1);
}

int
fields_next(const struct fields *f, const char *key, size_t *at, const char **value, size_t *n)
{
	const size_t n_all = f->n < FIELDS_MAX ? f->n : FIELDS_MAX, n_key = strlen(key);

	while (*at < n_all) {
		const char *line = f->text + *at, *end = memchr(line, '\n', n_all - *at);
		const size_t n_line = end != NULL ? (size_t)(end - line) : n_all - *at;

		*at += n_line + (end != NULL);
		if (n_line < n_key + N_SEPARATOR || memcmp(line, key, n_key) != 0 ||
		    memcmp(line + n_key, SEPARATOR, N_SEPARATOR) != 0)
			continue;
		*value = line + n_key + N_SEPARATOR;
		*n = n_line - n_key - N_SEPARATOR;
		return 1;
	}
	return 0;
}

int
fields_find(const struct fields *f, const char *key, size_t i, const char **value, size_t *n)
{
	size_t at = 0;

	for (size_t k = 0; k <= i; k++)
		if (!fields_next(f, key, &at, value, n))
			return 0;
	return 1;
}

static enum rs_status
want(const struct fields *f, const char *key, const char **value, size_t *n)
{
	if (fields_find(f, key, 0, value, n))
		return RS_OK;
	return rs_fail(RS_EPROTOCOL, "a message lacks '%s'", key);
}

static enum rs_status
malformed(const char *key, const char *value, size_t n, const char *what)
{
	char escaped[72];

	return rs_fail(RS_EPROTOCOL, "a message has '%s = %s', wanted %s", key,
		rs_escape(escaped, value, n), what);
}

enum rs_status
fields_text(const struct fields *f, const char *key, char *out, size_t capacity)
{
	const char *value;
	size_t n;

	RS_TRY(want(f, key, &value, &n));
	if (n >= capacity)
		return rs_fail(RS_EPROTOCOL, "a message has %zu bytes of '%s', wanted at most %zu",
			n, key, capacity - 1);
	for (size_t i = 0; i < n; i++)
		if (is_control(value[i]))
			return malformed(key, value, n, "text");
	memcpy(out, value, n);
	out[n] = '\0';
	return RS_OK;
}

enum rs_status
fields_u64(const struct fields *f, const char *key, uint64_t *out)
{
	const char *value;
	size_t n;

	RS_TRY(want(f, key, &value, &n));
	return number_u64(value, n, out) ? RS_OK : malformed(key, value, n, "a whole number");
}

enum rs_status
fields_double(const struct fields *f, const char *key, double *out)
{
	const char *value;
	size_t n;

	RS_TRY(want(f, key, &value, &n));
	return number_double(value, n, out) ? RS_OK : malformed(key, value, n, "a number");
}

enum rs_status
fields_put_failure(struct buffer *b, const struct rs_failure *failure)
{
	RS_TRY(fields_put(b, "status", "%s", rs_status_name(failure->status)));
	RS_TRY(fields_put(b, "text", "%s", failure->text));
	if (failure->hint[0] != '\0')
		RS_TRY(fields_put(b, "hint", "%s", failure->hint));
	if (failure->where[0] == '\0')
		return RS_OK;
	RS_TRY(fields_put(b, "where", "%s", failure->where));
	return fields_put(b, "place", "%zu %zu %zu", failure->file_bytes, failure->line,
		failure->column);
}

/* 0: there is no such status, or it is no failure. */
static enum rs_status
status_of(const char *name, size_t n)
{
	for (enum rs_status s = RS_OK + 1; s < RS_N_STATUS; s++)
		if (strlen(rs_status_name(s)) == n && memcmp(rs_status_name(s), name, n) == 0)
			return s;
	return RS_OK;
}

/* The place is optional and never makes a failure unreadable. */
static void
read_place(const struct fields *f, struct rs_failure *out)
{
	char place[80];

	if (fields_text(f, "where", out->where, sizeof(out->where)) != RS_OK) {
		out->where[0] = '\0';
		return;
	}
	out->file_bytes = strlen(out->where);
	if (fields_text(f, "place", place, sizeof(place)) != RS_OK)
		return;
	size_t file_bytes, line, column;
	if (sscanf(place, "%zu %zu %zu", &file_bytes, &line, &column) == 3 &&
	    file_bytes <= out->file_bytes) {
		out->file_bytes = file_bytes;
		out->line = line;
		out->column = column;
	}
}

enum rs_status
fields_failure(const struct fields *f, const char *from)
{
	struct rs_failure out = { 0 };
	const char *name;
	size_t n;

	if (fields_find(f, "status", 0, &name, &n))
		out.status = status_of(name, n);
	if (out.status == RS_OK ||
	    fields_text(f, "text", out.text, sizeof(out.text)) != RS_OK)
		return rs_fail(RS_EPROTOCOL, "%s refused a request for a reason that cannot be "
			"read", from);
	if (fields_text(f, "hint", out.hint, sizeof(out.hint)) != RS_OK)
		out.hint[0] = '\0';
	read_place(f, &out);
	return rs_failure_put(&out);
}
