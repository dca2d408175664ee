/* Reader of the INI dialect. */
#include "spec/ini.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "spec/value.h"

/* One logical line: physical lines joined, comment removed. */
struct line {
	char  *text;          /* [capacity], NUL-terminated                          */
	size_t n;
	size_t value_at;      /* offset of the first byte of the value in text       */
	size_t column, value_column;
};

struct reader {
	const char  *text;
	size_t       n, at;
	size_t       line;    /* number of the physical line at `at`                 */
	size_t       begin;   /* offset of the physical line at `at`                 */
	struct pool *pool;
	struct ini  *ini;
	struct line  now;
};

int
ini_is_name_byte(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		c == '_' || c == '.' || c == '-';
}

size_t
ini_utf8_length(const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	const size_t   want = s[0] < 0x80 ? 1 : s[0] < 0xc2 ? 0 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ?
		3 :
		s[0] < 0xf5 ? 4 : 0;
	const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	uint32_t       code = want == 1 ? s[0] : s[0] & (0x7fu >> want);

	if (want == 0 || want > n)
		return 0;
	for (size_t i = 1; i < want; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (s[i] & 0x3f);
	}
	if (want > 1 && (code < least[want] || code > 0x10ffff || (code >= 0xd800 &&
		code < 0xe000)))
		return 0;
	return want;
}

static int
is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static enum rs_status
add_entry(struct reader *r, const struct ini_entry *entry)
{
	struct ini *ini = r->ini;

	if (ini->n == ini->capacity) {
		const size_t capacity = ini->capacity > 0 ? 2 * ini->capacity : 64;
		struct ini_entry *grown = realloc(ini->entry, capacity * sizeof(*grown));

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory");
		ini->entry = grown;
		ini->capacity = capacity;
	}
	ini->entry[ini->n++] = *entry;
	return RS_OK;
}

static enum rs_status
add_problem(struct reader *r, size_t line, size_t column, const char *text, const char *hint)
{
	struct ini_entry e = { .kind = INI_PROBLEM, .line = line, .column = column };

	RS_TRY(pool_text(r->pool, text, strlen(text), &e.text));
	if (hint != NULL)
		RS_TRY(pool_text(r->pool, hint, strlen(hint), &e.hint));
	return add_entry(r, &e);
}

/* Bytes of the end of line at text[at], 0 if there is none. */
static size_t
newline_length(const struct reader *r, size_t at)
{
	if (at < r->n && r->text[at] == '\n')
		return 1;
	return at + 1 < r->n && r->text[at] == '\r' && r->text[at + 1] == '\n' ? 2 : 0;
}

static int
is_line_end(const struct reader *r, size_t at)
{
	return at >= r->n || newline_length(r, at) > 0;
}

/* Offset of the quote that closes the one at `open`, on the same logical line; 0
 * when none does. */
static size_t
find_close(const struct reader *r, size_t open)
{
	const char quote = r->text[open];

	for (size_t at = open + 1; at < r->n; at++) {
		if (r->text[at] == '\\' && newline_length(r, at + 1) > 0)
			at += newline_length(r, at + 1);
		else if (r->text[at] == '\\' && quote == '"')
			at++;
		else if (r->text[at] == quote)
			return at;
		else if (is_line_end(r, at))
			return 0;
	}
	return 0;
}

/* Goes behind a newline at `at`. */
static void
pass_newline(struct reader *r, size_t length)
{
	r->at += length;
	r->line++;
	r->begin = r->at;
}

static void
skip_to_line_end(struct reader *r)
{
	while (!is_line_end(r, r->at))
		r->at++;
}

/* Copies one byte of the logical line, or passes a join. */
static void
copy_byte(struct reader *r)
{
	const size_t join = r->text[r->at] == '\\' ? newline_length(r, r->at + 1) : 0;

	if (join > 0) {
		r->at++;
		pass_newline(r, join);
		return;
	}
	r->now.text[r->now.n++] = r->text[r->at++];
}

/* The next logical line.  A quote opens at the start of a value, after a comma,
 * and in a section line after a blank. */
static void
read_line(struct reader *r)
{
	struct line *now = &r->now;
	char last = 0;                     /* last byte that is no blank, outside quotes */
	int  is_section;

	*now = (struct line){ .text = now->text };
	while (r->at < r->n && is_blank(r->text[r->at]))
		now->text[now->n++] = r->text[r->at++];
	now->column = r->at - r->begin + 1;
	is_section = r->at < r->n && r->text[r->at] == '[';
	while (!is_line_end(r, r->at)) {
		const char c = r->text[r->at];
		const int  after_blank = now->n == 0 || is_blank(now->text[now->n - 1]);
		const int  may_open = last == ',' || (last == '=' && now->value_at > 0) ||
			(is_section && after_blank);

		if ((c == '#' || c == ';') && after_blank) {
			skip_to_line_end(r);
			break;
		}
		if (now->value_at > 0 && now->value_column == 0 && !is_blank(c))
			now->value_column = r->at - r->begin + 1;
		if ((c == '"' || c == '\'') && may_open && find_close(r, r->at) > 0) {
			const size_t close = find_close(r, r->at);

			while (r->at <= close)
				copy_byte(r);
			last = c;
			continue;
		}
		if (c == '=' && now->value_at == 0 && !is_section)
			now->value_at = now->n + 1;
		if (!is_blank(c))
			last = now->value_at > 0 && c == '=' && now->n + 1 != now->value_at ? 'x' :
				c;
		copy_byte(r);
	}
	now->text[now->n] = '\0';
	if (now->value_column == 0)
		now->value_column = r->at - r->begin + 1;
}

static size_t
trim(const char *text, size_t begin, size_t *end)
{
	while (*end > begin && (is_blank(text[*end - 1]) || text[*end - 1] == '\r'))
		(*end)--;
	while (begin < *end && is_blank(text[begin]))
		begin++;
	return begin;
}

static size_t
name_length(const char *text)
{
	size_t n = 0;

	while (ini_is_name_byte((unsigned char)text[n]))
		n++;
	return n;
}

/* "name]" at text, already behind the section's own name and blanks. */
static enum rs_status
read_section_name(struct reader *r, const char *text, struct ini_entry *e, const char **end)
{
	size_t n = 0;

	if (text[0] == '"' || text[0] == '\'') {
		e->quoted = 1;
		n = value_quoted_length(text, strlen(text));
		if (n == 0)
			return rs_fail(RS_ESPEC, "the quote of the section's name is not closed");
		RS_TRY(value_scalar(text, n, r->pool, &e->name));
	} else {
		char escaped[72];

		n = name_length(text);
		if (text[n] != ']' && text[n] != '\0' && !is_blank(text[n])) {
			rs_fail(RS_ESPEC, "the character '%s' in a section's name needs quotes",
				rs_escape(escaped, text + n, ini_utf8_length(text + n,
				strlen(text + n))));
			return rs_hint("write [%s \"NAME\"]", e->section);
		}
		RS_TRY(pool_text(r->pool, text, n, &e->name));
	}
	*end = text + n;
	return RS_OK;
}

static enum rs_status
read_section(struct reader *r, const char *text, struct ini_entry *e)
{
	size_t n;

	text++;
	text += strspn(text, " \t");
	n = name_length(text);
	if (n == 0)
		return rs_fail(RS_ESPEC, "a section needs a name, as in [train]");
	RS_TRY(pool_text(r->pool, text, n, &e->section));
	text += n;
	if (!is_blank(*text) && *text != ']' && *text != '\0') {
		char escaped[72];

		return rs_fail(RS_ESPEC, "the character '%s' is not allowed in a section's name",
			rs_escape(escaped, text, ini_utf8_length(text, strlen(text))));
	}
	text += strspn(text, " \t");
	if (*text != ']' && *text != '\0')
		RS_TRY(read_section_name(r, text, e, &text));
	text += strspn(text, " \t");
	if (*text == '\0' || *text == '\r')
		return rs_fail(RS_ESPEC, "']' is missing at the end of the section");
	if (*text != ']' && e->name != NULL && !e->quoted) {
		rs_fail(RS_ESPEC, "a section's name with blanks needs quotes");
		return rs_hint("write [%s \"NAME\"]", e->section);
	}
	if (*text != ']' || text[1 + strspn(text + 1, " \t\r")] != '\0')
		return rs_fail(RS_ESPEC, "text after the section's name");
	return RS_OK;
}

static enum rs_status
read_key(struct reader *r, size_t begin, struct ini_entry *e)
{
	const struct line *now = &r->now;
	size_t end = now->value_at > 0 ? now->value_at - 1 : now->n, value_end = now->n, value;
	char   escaped[72];

	if (now->value_at == 0) {
		rs_fail(RS_ESPEC, "'%s' is not 'key = value'",
			rs_escape(escaped, now->text + begin, now->n - begin));
		return begin > 0 ? rs_hint("end the line before with a backslash to continue it") :
			rs_failure()->status;
	}
	if (end > begin && now->text[end - 1] == '+') {
		e->append = 1;
		end--;
	}
	trim(now->text, begin, &end);
	if (end == begin)
		return rs_fail(RS_ESPEC, "a key is missing before '='");
	for (size_t i = begin; i < end; i++)
		if (!ini_is_name_byte((unsigned char)now->text[i]))
			return rs_fail(RS_ESPEC, "'%s' is not a key",
				rs_escape(escaped, now->text + begin, end - begin));
	RS_TRY(pool_text(r->pool, now->text + begin, end - begin, &e->key));
	value = trim(now->text, now->value_at, &value_end);
	return pool_text(r->pool, now->text + value, value_end - value, &e->value);
}

static enum rs_status
read_entry(struct reader *r, size_t line)
{
	struct ini_entry e = { .line = line, .column = r->now.column,
		.value_column = r->now.value_column };
	size_t end = r->now.n;
	const size_t begin = trim(r->now.text, 0, &end);
	enum rs_status status;
	struct rs_failure failure;

	if (begin == end)
		return RS_OK;
	e.kind = r->now.text[begin] == '[' ? INI_SECTION : INI_KEY;
	status = e.kind == INI_SECTION ? read_section(r, r->now.text + begin, &e) :
		read_key(r, begin, &e);
	if (status == RS_OK)
		return add_entry(r, &e);
	if (status != RS_ESPEC)
		return status;
	rs_failure_take(&failure);
	RS_TRY(add_problem(r, line, r->now.column, failure.text,
		failure.hint[0] != '\0' ? failure.hint : NULL));
	/* What follows belongs to a section nobody knows. */
	e = (struct ini_entry){ .kind = INI_SECTION, .line = line };
	return r->now.text[begin] == '[' ? add_entry(r, &e) : RS_OK;
}

/* 1 when the text can be read; else the problem was added. */
static enum rs_status
check_text(struct reader *r, int *usable)
{
	size_t line = 1, begin = 0;

	*usable = 0;
	if (r->n >= 2 && ((uint8_t)r->text[0] ^ (uint8_t)r->text[1]) == 1 &&
		(uint8_t)r->text[0] >= 0xfe)
		return add_problem(r, 1, 1, "the file is UTF-16, not UTF-8", "save it as UTF-8");
	for (size_t at = 0; at < r->n;) {
		const size_t n = ini_utf8_length(r->text + at, r->n - at);

		if (n == 0 || r->text[at] == '\0')
			return add_problem(r, line, at - begin + 1, n == 0 ?
				"a byte that is not UTF-8" : "a NUL byte: this is not a text file",
				n == 0 ? "inside double quotes write it as \\xHH" : NULL);
		at += n;
		if (r->text[at - 1] == '\n') {
			line++;
			begin = at;
		}
	}
	*usable = 1;
	return RS_OK;
}

enum rs_status
ini_read(const char *text, size_t n, struct pool *pool, struct ini *out)
{
	struct reader r = { .text = text, .n = n, .line = 1, .pool = pool, .ini = out };
	int usable;

	*out = (struct ini){ 0 };
	RS_TRY(check_text(&r, &usable));
	if (!usable)
		return RS_OK;
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0) {
		r.text += 3;
		r.n -= 3;
	}
	RS_TRY(pool_alloc(pool, r.n + 1, 1, &r.now.text));
	while (r.at < r.n) {
		const size_t line = r.line;

		read_line(&r);
		RS_TRY(read_entry(&r, line));
		if (r.at < r.n)
			pass_newline(&r, newline_length(&r, r.at));
	}
	return RS_OK;
}
