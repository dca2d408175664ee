/*
 * One cell to its place in the batch row being filled.
 *
 * A feature is a field ready for use: its column, its buckets with their inverse,
 * its missing words.  feature_cell() writes the value of one cell for row
 * batch->B; feature_close() completes the columns of the row (an id column that
 * got nothing gets its missing row, a sequence stays empty); feature_undo() takes
 * back what the row has so far.  A cell that cannot be read makes a cell_error.
 */
#ifndef DATA_FEATURE_H
#define DATA_FEATURE_H

#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/batch.h"
#include "data/id_hash.h"
#include "data/schema.h"

struct cell {
	const char *text;
	size_t      n;
};

/* What was wrong with a row: where, and in words. */
struct cell_error {
	const char *at;            /* in the text of the row                         */
	char text[400];
	char hint[200];            /* "" none                                        */
};

/* Values of one field in the row being read, beside its ids, for crosses. */
struct cross_values {
	uint64_t *value;           /* [n]                                            */
	size_t n, capacity;
};

/* FEATURE_GENERAL: feature_cell(); the others may take the way of fast_cell.h. */
enum feature_path { FEATURE_GENERAL, FEATURE_ID, FEATURE_PLAIN_NUMBER, FEATURE_LOG1P_NUMBER };

struct feature {
	enum feature_path path;
	size_t index;              /* of its column                                  */
	const struct schema_field *field;
	struct id_divisor buckets;
	const struct text_list *missing;
	int    only_empty;         /* missing is the empty cell and nothing else     */
	const float *log1p;        /* [FEATURE_LOG1P] of 0, 1, 2, ...                */
	struct cross_values *values;   /* NULL: in no cross                          */
	int    keeps_places;       /* a missing item of a list is an item (history.h) */
};

#define FEATURE_LOG1P 65536

/* log1p is a table of FEATURE_LOG1P values that outlives the features. */
void feature_init(
	struct feature *feature, const struct schema *schema, size_t field, const float *log1p);
void feature_log1p_table(float table[FEATURE_LOG1P]);

int feature_is_missing(const struct feature *feature, struct cell cell);
/* RS_OK, RS_EDATA with *error filled (the caller reports), or RS_ERESOURCE. */
enum rs_status feature_cell(const struct feature *feature, struct cell cell, struct batch *batch,
	struct buffer *scratch, struct cell_error *error);
/* One id with its weight into a multi or single id column (libsvm, libffm). */
enum rs_status feature_item(const struct feature *feature, struct cell id, float weight,
	struct batch *batch, struct buffer *scratch, struct cell_error *error);
/* The id that batch.item has for a cell of the field: Fingerprint64 of the text
 * that is hashed for its table; of "" when the cell is missing. */
enum rs_status feature_key(const struct feature *feature, struct cell cell, struct buffer *scratch,
	uint64_t *key, struct cell_error *error);
/* A number that needs no reading: rounded to a float, transformed, stored. */
enum rs_status feature_number(const struct feature *feature, double value, struct batch *batch);
/* Items of the row being read, numbered from 0: copies one over another; takes the
 * first n out. */
void feature_move_item(const struct feature *feature, struct batch *batch, size_t to, size_t from);
void feature_drop_items(const struct feature *feature, struct batch *batch, size_t n);
/* Items of one more value of the row's list, which feature_trim() ends. */
enum rs_status feature_add(const struct feature *feature, struct cell value, struct batch *batch,
	struct buffer *scratch, struct cell_error *error);
/* The row's list is complete: of repeated items the newest counts (unique), then
 * only the newest are kept; histories of several fields are cut by history.h. */
void feature_trim(const struct feature *feature, struct batch *batch);

/* Features of rows that come as cells: those of single cells need no closing. */
int feature_needs_close(const struct feature *feature);
enum rs_status feature_close(const struct feature *feature, size_t n, struct batch *batch);
void feature_undo(const struct schema *schema, struct batch *batch);

enum rs_status cell_error_set(struct cell_error *error, const char *at, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
