/*
 * Option rows: one row is one key of the spec, and everything about it.
 *
 * The parser, check, the printed spec, the sample, the manual and the shell
 * completion are made from option_table[]; adding a key is adding a row and a
 * member of struct settings.  Rows of section "field" have offsets in struct
 * field_settings, all others in struct settings.
 */
#ifndef SPEC_OPTION_H
#define SPEC_OPTION_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "spec/pool.h"
#include "spec/settings.h"

#define OPTION_TYPES(ROW) \
	ROW(INT,         "whole number",  "int64_t") \
	ROW(SIZE,        "whole number; k, M, G multiply by 1024, 1024^2, 1024^3", "int64_t") \
	ROW(NUMBER,      "number",        "double") \
	ROW(SECONDS,     "duration: seconds, or a number with s, m, h or d", "double") \
	ROW(BOOL,        "yes or no",     "int") \
	ROW(CHOICE,      "one word of the list", "enum") \
	ROW(WORD,        "one word of the list", "char *") \
	ROW(TEXT,        "text",          "char *") \
	ROW(BYTE,        "one byte or tab, space, comma, semicolon, pipe", "char *") \
	ROW(PATH,        "path",          "char *") \
	ROW(TEXT_LIST,   "list",          "struct text_list") \
	ROW(PATH_LIST,   "list of paths", "struct text_list") \
	ROW(INT_LIST,    "list of whole numbers", "struct number_list") \
	ROW(NUMBER_LIST, "list of numbers", "struct number_list")

enum option_type {
#define ROW(name, text, c) OPTION_##name,
	OPTION_TYPES(ROW)
#undef ROW
	OPTION_N_TYPES
};

struct option_row {
	const char *section, *key;
	enum option_type type;
	const char *dflt;       /* as written in a spec; NULL: not set             */
	const char *inherits;   /* "embedding.dim": default when not given, or NULL */
	double      min, max;   /* of numbers, both included                       */
	int         above_min;  /* min itself is not included                      */
	const char *choices;    /* words in the order of the enum, or NULL         */
	const char *unit;       /* "rows", or NULL                                 */
	unsigned    types;      /* field: 1 << field_type of those it concerns, 0 all */
	size_t      offset;
	const char *text;       /* one sentence without a full stop                */
	const char *example;    /* a value, when the default shows too little      */
	int         is_free;    /* a run that is resumed with another value trains
	                         * what it would have; others are told             */
};

extern const struct option_row option_table[];      /* ends with a NULL section   */

struct option_section {
	const char *name, *text;
	const char *models;     /* names of those that use it, or NULL: all          */
};
extern const struct option_section option_section[];    /* ends with a NULL name  */

/* What a value may need besides its text. */
struct option_context {
	struct pool *pool;
	const char  *base;      /* directory of relative paths, "" none            */
	const char *(*environment)(const char *name);
	int          append;    /* += : after the items that are there             */
};

size_t option_count(void);
const char *option_type_text(enum option_type type);
/* NULL when there is none. */
const struct option_row *option_find(const char *section, const char *key);
int option_is_list(const struct option_row *row);
/* 1 when the model of that name uses the section. */
int option_section_concerns(const char *section, const char *model);

/* Puts the value as written into the struct at base_of_struct + row->offset. */
enum rs_status option_read(const struct option_row *row, const char *text,
	const struct option_context *context, void *settings);
/* Appends the value so that it reads back equal. */
enum rs_status option_print(const struct option_row *row, const void *settings, struct buffer *out);
/* Sets the "not set" of the type: "", an empty list, an int below its minimum, 0. */
void option_clear(const struct option_row *row, void *settings);
/* Copies the value between two rows of one type. */
void option_copy(const struct option_row *to, void *to_settings,
	const struct option_row *from, const void *from_settings);
int option_equal(const struct option_row *a, const void *a_settings,
	const struct option_row *b, const void *b_settings);
/* 1 when the value is the "not set" of the type. */
int option_is_unset(const struct option_row *row, const void *settings);

#endif
