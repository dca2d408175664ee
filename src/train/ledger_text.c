/* The ledger as text: printed, and read back. */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "train/ledger.h"

#define LEDGER_HEAD_LINE "recsys-train ledger "
#define LEDGER_FORM      1

static const char *const use_name[LEDGER_N_USES] = {
	[LEDGER_TRAINED] = "trained",
	[LEDGER_HELD] = "held",
	[LEDGER_LATE] = "late",
	[LEDGER_DUPLICATE] = "duplicate",
	[LEDGER_REPLACED] = "replaced",
	[LEDGER_REJECTED] = "rejected",
};

enum key_type { KEY_TEXT, KEY_USE, KEY_TIME, KEY_RANGES, KEY_HASH, KEY_U64, KEY_U32, KEY_I64 };

#define MEMBER(member) offsetof(struct ledger_entry, member)
static const struct ledger_key {
	const char   *name;
	enum key_type type;
	size_t        offset;
} key_table[] = {
	{ "path",     KEY_TEXT,   MEMBER(path) },
	{ "use",      KEY_USE,    MEMBER(use) },
	{ "period",   KEY_TIME,   MEMBER(period) },
	{ "ranges",   KEY_RANGES, MEMBER(ranges) },
	{ "hash",     KEY_HASH,   MEMBER(content_hash) },
	{ "rows",     KEY_U64,    MEMBER(rows) },
	{ "skipped",  KEY_U64,    MEMBER(skipped) },
	{ "late",     KEY_U64,    MEMBER(late) },
	{ "file",     KEY_U64,    MEMBER(file) },
	{ "size",     KEY_U64,    MEMBER(size) },
	{ "inode",    KEY_U64,    MEMBER(inode) },
	{ "modified", KEY_I64,    MEMBER(modified_ns) },
	{ "text",     KEY_U64,    MEMBER(text) },
	{ "head",     KEY_U32,    MEMBER(head) },
	{ "head_bytes", KEY_U32,  MEMBER(head_bytes) },
};
#undef MEMBER
enum { N_KEYS = sizeof key_table / sizeof *key_table };

const char *
ledger_use_name(enum ledger_use use)
{
	assert(use < LEDGER_N_USES);
	return use_name[use];
}

/* --- printing ---------------------------------------------------------------- */

/* A tab, a line end or a backslash of a path is no mark of ours. */
static enum rs_status
print_escaped(const char *text, struct buffer *out)
{
	for (; *text != '\0'; text++) {
		const unsigned char c = (unsigned char)*text;

		RS_TRY(c < 0x20 || c == 0x7f || c == '\\' ? buffer_printf(out, "\\x%02x", c)
			: buffer_append(out, text, 1));
	}
	return RS_OK;
}

static enum rs_status
print_ranges(const struct range_list *list, struct buffer *out)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct range *const r = &list->item[i];

		RS_TRY(buffer_printf(out, "%s%" PRIu64 "-", i > 0 ? "," : "", r->begin));
		if (r->end != RANGE_END)
			RS_TRY(buffer_printf(out, "%" PRIu64, r->end));
	}
	return RS_OK;
}

static enum rs_status
print_time(int64_t t, struct buffer *out)
{
	return t == LEDGER_NO_PERIOD ? buffer_printf(out, "none")
		: buffer_printf(out, "%" PRId64, t);
}

static enum rs_status
print_value(const struct ledger_key *key, const void *value, struct buffer *out)
{
	switch (key->type) {
	case KEY_TEXT:
		return print_escaped(*(char *const *)value, out);
	case KEY_USE:
		return buffer_printf(out, "%s",
			ledger_use_name(*(const enum ledger_use *)value));
	case KEY_TIME:
		return print_time(*(const int64_t *)value, out);
	case KEY_RANGES:
		return print_ranges(value, out);
	case KEY_HASH:
		return buffer_printf(out, "%016" PRIx64, *(const uint64_t *)value);
	case KEY_U64:
		return buffer_printf(out, "%" PRIu64, *(const uint64_t *)value);
	case KEY_U32:
		return buffer_printf(out, "%" PRIu32, *(const uint32_t *)value);
	case KEY_I64:
		return buffer_printf(out, "%" PRId64, *(const int64_t *)value);
	}
	return RS_OK;
}

/* What a reader assumes when the key is not there. */
static int
is_default(const struct ledger_key *key, const void *value)
{
	switch (key->type) {
	case KEY_TEXT:
	case KEY_USE:
		return 0;
	case KEY_TIME:
		return *(const int64_t *)value == LEDGER_NO_PERIOD;
	case KEY_RANGES:
		return ((const struct range_list *)value)->n == 0;
	case KEY_HASH:
	case KEY_U64:
		return *(const uint64_t *)value == 0;
	case KEY_U32:
		return *(const uint32_t *)value == 0;
	case KEY_I64:
		return *(const int64_t *)value == 0;
	}
	return 0;
}

static enum rs_status
print_entry(const struct ledger_entry *e, struct buffer *out)
{
	for (size_t k = 0; k < N_KEYS; k++) {
		const void *const value = (const char *)e + key_table[k].offset;

		if (is_default(&key_table[k], value))
			continue;
		RS_TRY(buffer_printf(out, "%s%s=", k > 0 ? "\t" : "", key_table[k].name));
		RS_TRY(print_value(&key_table[k], value, out));
	}
	return buffer_append(out, "\n", 1);
}

enum rs_status
ledger_print(const struct ledger *l, struct buffer *out)
{
	RS_TRY(buffer_printf(out, LEDGER_HEAD_LINE "%d\nmark=", LEDGER_FORM));
	RS_TRY(print_time(l->mark, out));
	RS_TRY(buffer_append(out, "\n", 1));
	for (size_t i = 0; i < l->n; i++)
		RS_TRY(print_entry(&l->entry[i], out));
	return RS_OK;
}

/* --- reading ----------------------------------------------------------------- */

static int
read_hex(const char *text, size_t n, uint64_t *out)
{
	*out = 0;
	for (size_t i = 0; i < n; i++) {
		static const char digits[] = "0123456789abcdef";
		const char *const digit = memchr(digits, text[i], 16);

		if (digit == NULL)
			return 0;
		*out = *out << 4 | (uint64_t)(digit - digits);
	}
	return n > 0 && n <= 16;
}

static int
read_path(const char *text, size_t n, char **out)
{
	char *to;

	free(*out);
	if (n == 0 || (*out = malloc(n + 1)) == NULL)
		return 0;
	to = *out;
	for (size_t i = 0; i < n; i++) {
		uint64_t c = (unsigned char)text[i];

		if (text[i] == '\\') {
			if (n - i < 4 || text[i + 1] != 'x' || !read_hex(text + i + 2, 2, &c))
				return 0;
			i += 3;
		}
		if (c == 0)
			return 0;
		*to++ = (char)c;
	}
	*to = '\0';
	return 1;
}

static int
read_range(const char *text, size_t n, struct range_list *list)
{
	const char *const dash = memchr(text, '-', n);
	const size_t digits = dash != NULL ? (size_t)(dash - text) : 0;
	uint64_t begin, end = RANGE_END;

	return dash != NULL && number_u64(text, digits, &begin) &&
		(digits + 1 == n || number_u64(dash + 1, n - digits - 1, &end)) &&
		range_list_add(list, begin, end) == RS_OK;
}

static int
read_ranges(const char *text, size_t n, struct range_list *list)
{
	range_list_free(list);
	for (size_t at = 0; at <= n; ) {
		const char *const comma = memchr(text + at, ',', n - at);
		const size_t end = comma != NULL ? (size_t)(comma - text) : n;

		if (!read_range(text + at, end - at, list))
			return 0;
		at = end + 1;
	}
	return 1;
}

static int
read_time(const char *text, size_t n, int64_t *out)
{
	*out = LEDGER_NO_PERIOD;
	return (n == 4 && memcmp(text, "none", 4) == 0) || number_i64(text, n, out);
}

static int
read_use(const char *text, size_t n, enum ledger_use *out)
{
	for (size_t u = 0; u < LEDGER_N_USES; u++)
		if (strlen(use_name[u]) == n && memcmp(use_name[u], text, n) == 0) {
			*out = (enum ledger_use)u;
			return 1;
		}
	return 0;
}

static int
read_u32(const char *text, size_t n, uint32_t *out)
{
	uint64_t value;

	if (!number_u64(text, n, &value) || value > UINT32_MAX)
		return 0;
	*out = (uint32_t)value;
	return 1;
}

static int
read_value(const struct ledger_key *key, const char *text, size_t n, void *out)
{
	switch (key->type) {
	case KEY_TEXT:
		return read_path(text, n, out);
	case KEY_USE:
		return read_use(text, n, out);
	case KEY_TIME:
		return read_time(text, n, out);
	case KEY_RANGES:
		return read_ranges(text, n, out);
	case KEY_HASH:
		return read_hex(text, n, out);
	case KEY_U64:
		return number_u64(text, n, out);
	case KEY_U32:
		return read_u32(text, n, out);
	case KEY_I64:
		return number_i64(text, n, out);
	}
	return 0;
}

/* KEY=VALUE; 0 when it is wrong. */
static int
read_pair(const char *text, size_t n, struct ledger_entry *e)
{
	const char *const equals = memchr(text, '=', n);

	if (equals == NULL)
		return 0;
	const size_t n_name = (size_t)(equals - text);
	for (size_t k = 0; k < N_KEYS; k++)
		if (strlen(key_table[k].name) == n_name &&
		    memcmp(key_table[k].name, text, n_name) == 0)
			return read_value(&key_table[k], equals + 1, n - n_name - 1,
				(char *)e + key_table[k].offset);
	return n_name > 0;
}

/* *wrong of *n_wrong bytes is what cannot be read. */
static int
read_entry(const char *line, size_t n, struct ledger_entry *e, const char **wrong,
	size_t *n_wrong)
{
	*e = (struct ledger_entry){ .period = LEDGER_NO_PERIOD, .use = LEDGER_N_USES };
	for (size_t at = 0; at <= n; ) {
		const char *const tab = memchr(line + at, '\t', n - at);
		const size_t end = tab != NULL ? (size_t)(tab - line) : n;

		*wrong = line + at;
		*n_wrong = end - at;
		if (!read_pair(line + at, end - at, e))
			return 0;
		at = end + 1;
	}
	*wrong = line;
	*n_wrong = n;
	return e->path != NULL && e->use != LEDGER_N_USES;
}

static enum rs_status
add_line(const char *line, size_t n, const char *name, size_t number, struct ledger *out)
{
	struct ledger_entry entry;
	const char *wrong;
	size_t n_wrong;
	char shown[72];

	if (read_entry(line, n, &entry, &wrong, &n_wrong))
		return ledger_add(out, &entry);
	ledger_entry_free(&entry);
	return rs_fail_at(RS_EDATA, name, number, 0, "no entry of a ledger: '%s'",
		rs_escape(shown, wrong, n_wrong));
}

static enum rs_status
check_head(const char *line, size_t n, const char *name)
{
	const size_t n_head = strlen(LEDGER_HEAD_LINE);
	uint64_t form;

	if (n <= n_head || memcmp(line, LEDGER_HEAD_LINE, n_head) != 0 ||
	    !number_u64(line + n_head, n - n_head, &form) || form == 0)
		return rs_fail_at(RS_EDATA, name, 1, 0, "this is no ledger");
	if (form > LEDGER_FORM) {
		(void)rs_fail_at(RS_EPROTOCOL, name, 1, 0,
			"form %" PRIu64 " of a ledger, wanted %d", form, LEDGER_FORM);
		return rs_hint("a newer program wrote it: use that one");
	}
	return RS_OK;
}

static enum rs_status
read_line(const char *line, size_t n, const char *name, size_t number, struct ledger *out)
{
	if (number == 1)
		return check_head(line, n, name);
	if (number > 2)
		return add_line(line, n, name, number, out);
	if (n < 5 || memcmp(line, "mark=", 5) != 0 || !read_time(line + 5, n - 5, &out->mark))
		return rs_fail_at(RS_EDATA, name, number, 0, "wanted the mark of the ledger");
	return RS_OK;
}

enum rs_status
ledger_parse(const char *text, size_t n, const char *name, struct ledger *out)
{
	enum rs_status status = RS_OK;
	size_t number = 0;

	ledger_init(out);
	for (size_t at = 0; at < n && status == RS_OK; ) {
		const char *const end = memchr(text + at, '\n', n - at);

		number++;
		if (end == NULL) {
			status = rs_fail_at(RS_EDATA, name, number, 0, "the ledger is cut off");
			break;
		}
		status = read_line(text + at, (size_t)(end - text) - at, name, number, out);
		at = (size_t)(end - text) + 1;
	}
	if (status == RS_OK && number < 2)
		status = rs_fail_at(RS_EDATA, name, 1, 0, "the ledger is cut off");
	if (status != RS_OK)
		ledger_free(out);
	return status;
}
