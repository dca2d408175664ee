/*
 * The INI dialect as a list of entries, in the order of the text.
 *
 * UTF-8 with an optional BOM, LF or CRLF.  `[section]`, `[section NAME]`,
 * `[section "odd name"]`; `key = value`, `key += value`.  # and ; begin a comment
 * at the start of a line, and after white space outside quotes.  A quote opens at
 * the start of a value or after a comma; values stay as written here and
 * spec/value.h decodes them.  A backslash before the end of a line joins lines.
 * What cannot be read becomes an INI_PROBLEM entry, and reading goes on.
 */
#ifndef SPEC_INI_H
#define SPEC_INI_H

#include <stddef.h>

#include "base/status.h"
#include "spec/pool.h"

enum ini_kind { INI_SECTION, INI_KEY, INI_PROBLEM };

struct ini_entry {
	enum ini_kind kind;
	char  *section;       /* section                                             */
	char  *name;          /* section: its NAME decoded, or NULL                  */
	int    quoted;        /* section: NAME was in quotes                         */
	char  *key;           /* key                                                 */
	char  *value;         /* key: as written, trimmed                            */
	int    append;        /* key: +=                                             */
	char  *text, *hint;   /* problem                                             */
	size_t line, column, value_column;     /* from 1, columns in bytes           */
};

struct ini {
	struct ini_entry *entry;   /* [n]                                             */
	size_t n, capacity;
};

/* Strings live in the pool; the caller frees entry. */
enum rs_status ini_read(const char *text, size_t n, struct pool *pool, struct ini *out);
/* 1 when the byte may be in a bare section, field or key name. */
int ini_is_name_byte(unsigned char c);
/* Length of the valid UTF-8 sequence at text[0..n), 0 if there is none. */
size_t ini_utf8_length(const char *text, size_t n);

#endif
