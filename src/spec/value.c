/* Quoting and lists of the INI dialect. */
#include "spec/value.h"

#include <string.h>

#include "spec/ini.h"

/* \x of the double quotes and what it means. */
static const char escape_letter[] = "\"\\ntr";
static const char escape_byte[]   = "\"\\\n\t\r";

size_t
value_quoted_length(const char *text, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (text[i] == '\\' && text[0] == '"')
			i++;
		else if (text[i] == text[0])
			return i + 1;
	}
	return 0;
}

static int
hex_digit(char c)
{
	const char *digits = "0123456789abcdef", *at;

	at = c != '\0' ? strchr(digits, c >= 'A' && c <= 'F' ? c + ('a' - 'A') : c) : NULL;
	return at != NULL ? (int)(at - digits) : -1;
}

/* Decodes the escape at text[0] == '\\' of n bytes; *used is its length. */
static enum rs_status
decode_escape(const char *text, size_t n, char *out, size_t *used)
{
	const char *letter = n > 1 && text[1] != '\0' ? strchr(escape_letter, text[1]) : NULL;
	char escaped[72];

	if (letter != NULL) {
		*out = escape_byte[letter - escape_letter];
		*used = 2;
		return RS_OK;
	}
	if (n >= 4 && text[1] == 'x' && hex_digit(text[2]) >= 0 && hex_digit(text[3]) >= 0) {
		*out = (char)(hex_digit(text[2]) * 16 + hex_digit(text[3]));
		*used = 4;
		return *out != '\0' ? RS_OK : rs_fail(RS_ESPEC, "\\x00 is not allowed");
	}
	rs_fail(RS_ESPEC, "'%s' is not an escape; double quotes know \\\" \\\\ \\n \\t \\r \\xHH",
		rs_escape(escaped, text, n > 2 ? 2 : n));
	return rs_hint("single quotes keep a backslash as it is");
}

/* text[0..n) with both quotes. */
static enum rs_status
decode_quoted(const char *text, size_t n, struct pool *pool, char **out)
{
	size_t length = 0;

	RS_TRY(pool_text(pool, text + 1, n - 2, out));
	if (text[0] == '\'')
		return RS_OK;
	for (size_t i = 1; i < n - 1;) {
		size_t used = 1;

		(*out)[length] = text[i];
		if (text[i] == '\\')
			RS_TRY(decode_escape(text + i, n - 1 - i, *out + length, &used));
		length++;
		i += used;
	}
	(*out)[length] = '\0';
	return RS_OK;
}

static enum rs_status
not_closed(const char *text, size_t n)
{
	char escaped[72];

	return rs_fail(RS_ESPEC, "the quote that opens at '%s' is not closed", rs_escape(escaped,
		text, n));
}

enum rs_status
value_scalar(const char *text, size_t n, struct pool *pool, char **out)
{
	size_t quoted;

	if (n == 0 || (text[0] != '"' && text[0] != '\''))
		return pool_text(pool, text, n, out);
	quoted = value_quoted_length(text, n);
	if (quoted == 0)
		return not_closed(text, n);
	if (quoted != n) {
		rs_fail(RS_ESPEC, "text after the closing quote");
		return rs_hint("put the whole value in quotes");
	}
	return decode_quoted(text, n, pool, out);
}

static size_t
skip_blanks(const char *text, size_t n, size_t at)
{
	while (at < n && (text[at] == ' ' || text[at] == '\t'))
		at++;
	return at;
}

/* Reads the item at text[*at] and goes to the comma behind it, or to n. */
static enum rs_status
read_item(const char *text, size_t n, size_t *at, struct pool *pool, char **out)
{
	const size_t begin = *at;
	size_t end = begin;

	if (begin < n && (text[begin] == '"' || text[begin] == '\'')) {
		const size_t quoted = value_quoted_length(text + begin, n - begin);

		if (quoted == 0)
			return not_closed(text + begin, n - begin);
		*at = skip_blanks(text, n, begin + quoted);
		if (*at < n && text[*at] != ',')
			return rs_fail(RS_ESPEC, "text after the closing quote; a comma was "
				"expected");
		return decode_quoted(text + begin, quoted, pool, out);
	}
	while (end < n && text[end] != ',')
		end++;
	*at = end;
	while (end > begin && (text[end - 1] == ' ' || text[end - 1] == '\t'))
		end--;
	if (end == begin) {
		rs_fail(RS_ESPEC, "an empty item in a list");
		return rs_hint("write \"\" if an empty text is meant");
	}
	return pool_text(pool, text + begin, end - begin, out);
}

enum rs_status
value_list(const char *text, size_t n, struct pool *pool, struct text_list *out)
{
	size_t commas = 0, at = skip_blanks(text, n, 0);

	*out = (struct text_list){ 0 };
	if (at == n)
		return RS_OK;
	for (size_t i = 0; i < n; i++)
		commas += text[i] == ',';
	RS_TRY(pool_alloc(pool, commas + 1, sizeof(*out->item), &out->item));
	for (;;) {
		RS_TRY(read_item(text, n, &at, pool, &out->item[out->n]));
		out->n++;
		if (at == n)
			return RS_OK;
		at = skip_blanks(text, n, at + 1);
	}
}

static int
needs_quotes(const char *text, int is_item)
{
	const size_t n = strlen(text);

	if (n == 0 || strchr(" \t\"'#;", text[0]) != NULL || strchr(" \t\\", text[n - 1]) != NULL)
		return 1;
	for (size_t i = 0; i < n;) {
		const size_t length = ini_utf8_length(text + i, n - i);

		if (length == 0 || (unsigned char)text[i] < 0x20 || text[i] == 0x7f ||
		    strchr(is_item ? ",#;\"'" : "#;\"'", text[i]) != NULL)
			return 1;
		i += length;
	}
	return 0;
}

static enum rs_status
print_quoted_byte(struct buffer *out, const char *text, size_t n, size_t *used)
{
	const char *byte = strchr(escape_byte, text[0]);

	*used = 1;
	if (byte != NULL)
		return buffer_printf(out, "\\%c", escape_letter[byte - escape_byte]);
	*used = ini_utf8_length(text, n);
	if (*used > 0 && (unsigned char)text[0] >= 0x20 && text[0] != 0x7f)
		return buffer_append(out, text, *used);
	*used = 1;
	return buffer_printf(out, "\\x%02x", (unsigned char)text[0]);
}

enum rs_status
value_print(struct buffer *out, const char *text, int is_item)
{
	const size_t n = strlen(text);
	size_t used;

	if (!needs_quotes(text, is_item))
		return buffer_printf(out, "%s", text);
	RS_TRY(buffer_append(out, "\"", 1));
	for (size_t i = 0; i < n; i += used)
		RS_TRY(print_quoted_byte(out, text + i, n - i, &used));
	return buffer_printf(out, "\"");
}
