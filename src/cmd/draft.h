/*
 * A spec being written by `init`: what is known of the data, and the text so far.
 *
 * draft_fields() looks at the columns and decides what each field is for the model;
 * the other functions append text.  Strings are borrowed from the sample or live
 * in the draft.  draft_sparse() writes the sections for formats without columns.
 */
#ifndef CMD_DRAFT_H
#define CMD_DRAFT_H

#include "base/memory.h"
#include "cmd/guess.h"
#include "cmd/guess_relation.h"

#define DRAFT_NONE ((size_t)-1)

struct draft_field {
	size_t column;
	struct guess guess;
	const char *name;
	char   generated[24];          /* of a column without a name: C7                */
	int    is_sequence;
	size_t share;                  /* number of the field whose ids these are       */
	size_t asked;                  /* ... or might be: a person should decide       */
	double likeness;
	size_t group;                  /* sequences of one number are aligned           */
	enum guess_side side;          /* two_tower                                     */
};

struct draft {
	const struct sample *sample;
	const char *model, *data, *name, *format;
	size_t label;
	int    is_regression;
	struct draft_field *field;     /* [n_fields] in the order of the columns        */
	size_t n_fields;
	size_t user, item;             /* two_tower: their fields; there may be no user */
	struct buffer text;
};

/* "key = value          # comment" */
enum rs_status draft_key(struct draft *d, const char *key, const char *value, const char *comment,
	...) __attribute__((format(printf, 4, 5)));
enum rs_status draft_section(struct draft *d, const char *name);
enum rs_status draft_field_section(struct draft *d, const char *name);
/* A key that names a column, by its name if it has one. */
enum rs_status draft_column(struct draft *d, const char *key, size_t column, const char *comment);
enum rs_status draft_buckets(struct draft *d, uint64_t buckets, const char *comment);
/* "comma"; out holds what has no word. */
const char *draft_separator(char c, char out[2]);

enum rs_status draft_fields(struct draft *d);
enum rs_status draft_print_fields(struct draft *d);
/* [embedding], the sections of the model, [eval] and [train]. */
enum rs_status draft_model(struct draft *d);
/* Keys of [data] and [model] that the model wants. */
enum rs_status draft_model_keys(struct draft *d);
enum rs_status draft_data_keys(struct draft *d);
/* The whole [data] and the fields of a file in d->format. */
enum rs_status draft_sparse(struct draft *d, const char *path, uint64_t rows);

#endif
