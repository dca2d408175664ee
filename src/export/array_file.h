/*
 * Files of arrays: how each form is written, and how it is read again.
 *
 * A writer is given the arrays of one file; forms of one array a file get them one by one.
 * A reader shares nothing with the writer: it maps the file, believes nothing it says and
 * refuses what is not exactly of the form, with the file and what is wrong.
 */
#ifndef EXPORT_ARRAY_FILE_H
#define EXPORT_ARRAY_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "export/arrays.h"

struct array_found {
	char name[ARRAY_NAME];
	enum array_type type;
	size_t   rank;
	uint64_t rows;
	size_t   columns;
	const char *data;                  /* in the map                              */
	size_t   stride;                   /* bytes from row to row                   */
};

struct array_file {
	const char *path;                  /* for messages, borrowed                  */
	struct file_map map;
	struct array_found *item;          /* [n]                                     */
	size_t n, capacity;
	int      is_text;                  /* rows come in order, one array           */
	const char *at;                    /* text: of the next row                   */
	float   *row;                      /* text: [columns]                         */
	const char *word;                  /* text: name of the last row              */
	size_t   word_n;
};

struct array_metadata { const char *key, *value; };

struct array_output {
	const struct array *item;          /* [n]                                     */
	size_t n;
	const struct array_metadata *metadata;     /* [n_metadata]                    */
	size_t n_metadata;
	struct file_writer *file;
};

struct array_format {
	const char *name, *suffix;
	int one_each;                      /* an array a file                         */
	int only_floats;                   /* has no f16 and no int8                  */
	int has_words;                     /* names of rows are in the file           */
	enum rs_status (*write)(const struct array_output *out);
	/* name: of the array where the file does not say. */
	enum rs_status (*read)(struct array_file *f, const char *name);
};

extern const struct array_format array_npy, array_npz, array_safetensors, array_text, array_fvecs;

/* Maps the file and reads what is in it.  label: its name in messages, borrowed. */
enum rs_status array_file_open(const struct array_format *format, const char *path,
	const char *label, const char *name, struct array_file *out);
void array_file_close(struct array_file *f);
/* For readers. */
enum rs_status array_file_add(struct array_file *f, const struct array_found *found);
enum rs_status array_file_bad(const struct array_file *f, const char *what);
/* Row r of array i; of a text r counts from 0 on, each once. */
enum rs_status array_file_row(struct array_file *f, size_t i, uint64_t r, const void **out);
/* The next row of a text. */
enum rs_status array_text_next(struct array_file *f, const void **out);
/* The name of row r as a text has it: of a column of words without blanks. */
enum rs_status array_text_word(const struct array *a, uint64_t r, struct buffer *out);

/* For writers: array_bytes() into the file. */
enum rs_status array_file_put(void *file, const void *bytes, size_t n);
/* The head of a .npy file of the array; *n bytes. */
#define NPY_HEAD 256
void array_npy_head(const struct array *a, char out[NPY_HEAD], size_t *n);
/* Reads one: the array is bytes [data,data+n) without its head. */
enum rs_status array_npy_parse(const struct array_file *f, const char *bytes, uint64_t n,
	struct array_found *out);
/* limit: numbers from there on have 64 bits; otherwise as array_npz.write. */
enum rs_status array_npz_write(const struct array_output *out, uint64_t limit);

#endif
