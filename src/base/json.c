/*
 * The JSON writer.  A document that outgrows its limit or the memory keeps what
 * fitted; nothing that is printed comes near the limit.
 */
#include "base/json.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"

#define JSON_LIMIT ((size_t)256 << 20)

void
json_init(struct json *j)
{
	memset(j, 0, sizeof(*j));
	buffer_init(&j->text, JSON_LIMIT);
	j->first[0] = 1;
}

void
json_free(struct json *j)
{
	buffer_free(&j->text);
}

void
json_reset(struct json *j)
{
	j->text.n = 0;
	j->depth = 0;
	j->first[0] = 1;
}

static void
put(struct json *j, const char *bytes, size_t n)
{
	(void)buffer_append(&j->text, bytes, n);
}

/* Length of a well-formed UTF-8 sequence at s (never an ASCII one), or 0. */
static size_t
sequence_length(const unsigned char *s)
{
	const size_t want = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;

	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < want; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return want;
}

static void
put_escape(struct json *j, unsigned char c)
{
	static const char short_form[128] = {
		['"'] = '"', ['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r',
		['\t'] = 't',
	};
	char text[8];

	if (c < 128 && short_form[c] != 0)
		snprintf(text, sizeof(text), "\\%c", short_form[c]);
	else
		snprintf(text, sizeof(text), "\\u%04x", (unsigned)c);
	put(j, text, strlen(text));
}

static void
put_quoted(struct json *j, const char *value)
{
	const unsigned char *s = (const unsigned char *)value;

	put(j, "\"", 1);
	while (*s != '\0') {
		const size_t n = *s < 0x80 ? (*s >= 0x20 && *s != 0x7f && *s != '"' && *s != '\\') :
			sequence_length(s);

		if (n > 0)
			put(j, (const char *)s, n);
		else
			put_escape(j, *s);
		s += n > 0 ? n : 1;
	}
	put(j, "\"", 1);
}

static void
put_key(struct json *j, const char *key)
{
	if (!j->first[j->depth])
		put(j, ",", 1);
	j->first[j->depth] = 0;
	if (key != NULL) {
		put_quoted(j, key);
		put(j, ":", 1);
	}
}

void
json_open(struct json *j, const char *key, char bracket)
{
	assert(j->depth + 1 < sizeof(j->first) && (bracket == '{' || bracket == '['));
	put_key(j, key);
	put(j, &bracket, 1);
	j->depth++;
	j->first[j->depth] = 1;
	j->array[j->depth] = bracket == '[';
}

void
json_close(struct json *j)
{
	assert(j->depth > 0);
	put(j, j->array[j->depth] ? "]" : "}", 1);
	j->depth--;
}

void
json_string(struct json *j, const char *key, const char *value)
{
	put_key(j, key);
	if (value == NULL)
		put(j, "null", 4);
	else
		put_quoted(j, value);
}

void
json_double(struct json *j, const char *key, double value)
{
	char text[32];

	put_key(j, key);
	if (!isfinite(value)) {
		put(j, "null", 4);
		return;
	}
	number_print_double(text, value);
	put(j, text, strlen(text));
}

void
json_int(struct json *j, const char *key, int64_t value)
{
	char text[32];

	put_key(j, key);
	snprintf(text, sizeof(text), "%lld", (long long)value);
	put(j, text, strlen(text));
}

void
json_uint(struct json *j, const char *key, uint64_t value)
{
	char text[32];

	put_key(j, key);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	put(j, text, strlen(text));
}

void
json_bool(struct json *j, const char *key, int value)
{
	put_key(j, key);
	if (value)
		put(j, "true", 4);
	else
		put(j, "false", 5);
}

const char *
json_text(const struct json *j)
{
	struct buffer *text = (struct buffer *)&j->text;

	if (buffer_reserve(text, 1) != RS_OK)
		return "";
	text->data[text->n] = '\0';
	return text->data;
}
