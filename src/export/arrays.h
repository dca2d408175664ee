/*
 * The arrays of a model as files of arrays hold them: tables and dense parameters, whole.
 *
 * Of an array in int8 there are two, NAME and NAME.scale with a float for each row: the
 * number is the int8 times the scale of its row, which is the largest of the row / 127.
 * Arrays of one column and vectors stay float then.  Rows are made one after the other;
 * nothing is copied.
 */
#ifndef EXPORT_ARRAYS_H
#define EXPORT_ARRAYS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "train/model.h"

/* name of --dtype, bytes, of numpy, of safetensors */
#define ARRAY_TYPES(ROW) \
	ROW(f32,  4, "<f4", "F32") \
	ROW(f16,  2, "<f2", "F16") \
	ROW(int8, 1, "|i1", "I8")

enum array_type {
#define ROW(name, bytes, numpy, safetensors) ARRAY_##name,
	ARRAY_TYPES(ROW)
#undef ROW
	ARRAY_N_TYPES
};

struct array_kind { const char *name; size_t bytes; const char *numpy, *safetensors; };
extern const struct array_kind array_kind[ARRAY_N_TYPES];

#define ARRAY_NAME 192

/* Name r is text[end[r-1] .. end[r]). */
struct array_words { const char *text; const uint64_t *end; size_t n; };

struct array {
	char name[ARRAY_NAME];
	enum array_type type;
	size_t   rank;                     /* 1: [rows], 2: [rows,columns]            */
	uint64_t rows;
	size_t   columns;
	/* Where the floats are: [rows,width], or of a table of a model. */
	const float *data;
	const struct model *model;
	size_t   table, width;
	int      is_scale;                 /* one number a row of these: its scale    */
	const struct array_words *words;   /* names of the rows; NULL: their numbers  */
};

struct arrays {
	struct array *item;                /* [n]                                     */
	size_t n, capacity;
};

/* Both borrow the model. */
enum rs_status arrays_of_model(const struct model *m, enum array_type type, struct arrays *out);
/* One, or two of them when it becomes int8; like->type, is_scale are set here. */
enum rs_status arrays_add(struct arrays *set, const struct array *like, enum array_type type);
void arrays_free(struct arrays *set);

/* Name of row r: *n bytes, without an end. */
const char *array_word(const struct array_words *words, uint64_t r, size_t *n);

uint64_t array_size(const struct array *a);        /* bytes                         */
float array_scale(const float *row, size_t n);
/* take(context, row, width) for the floats of rows 0, 1, .. */
enum rs_status array_rows(const struct array *a,
	enum rs_status (*take)(void *context, const float *row, size_t width), void *context);
/* put() for the bytes of the array in order; what is not finite or too large for its type is
 * RS_EDATA. */
enum rs_status array_bytes(const struct array *a,
	enum rs_status (*put)(void *context, const void *bytes, size_t n), void *context);

#endif
