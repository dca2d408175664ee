/*
 * A sample of delimited text, looked at without a spec: separator, header, and
 * what each column holds.  Made by sample_read(), freed with sample_free().
 */
#ifndef CMD_SAMPLE_H
#define CMD_SAMPLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "cmd/distinct.h"

enum { SAMPLE_VALUES = 8, SAMPLE_VALUE_BYTES = 32, SAMPLE_EXAMPLES = 64 };

struct sample_cell { const char *text; size_t n; };

struct sample_column {
	char    *name;                 /* of the header, or NULL                      */
	uint64_t rows, missing;        /* missing: empty cells                        */
	uint64_t numbers, wholes;      /* cells that are numbers, whole numbers       */
	uint64_t hexadecimal;          /* cells of 8 or more hexadecimal digits       */
	uint64_t zero_padded;          /* cells like 007                              */
	double   min, max;             /* of the numbers                              */
	struct distinct distinct;
	/* the first few different values with their counts */
	struct { char text[SAMPLE_VALUE_BYTES]; uint64_t n; } value[SAMPLE_VALUES];
	size_t   n_values;
	int      more_values;
	uint64_t with[128];            /* cells that contain the byte, at most once   */
	struct sample_cell example[SAMPLE_EXAMPLES];   /* of the first rows           */
};

struct sample {
	char     separator;
	int      has_header, quoted;   /* quoted: cells may be in double quotes       */
	int      trim;                 /* a blank follows every separator             */
	int      is_records;           /* columns are features of tf.Example          */
	size_t   n_columns;
	struct sample_column *column;  /* [n_columns]                                 */
	uint64_t rows;
	char    *text;                 /* what was read                               */
	size_t   n;
};

/* What a file is; SAMPLE_GUESSED: columns whose separator is found out. */
enum sample_form { SAMPLE_GUESSED, SAMPLE_TSV, SAMPLE_CSV, SAMPLE_RECORDS };

enum rs_status sample_read(const char *path, uint64_t rows, enum sample_form form,
	struct sample *out);
void sample_free(struct sample *s);
size_t sample_examples(const struct sample *s);        /* how many a column has   */
/* Appends whole lines of the file, about so many. */
enum rs_status sample_text(const char *path, uint64_t rows, struct buffer *out);
/* Appends records of tf.Example as tsv with a header, lists joined by |. */
enum rs_status sample_records(const char *path, uint64_t rows, struct buffer *out);

#endif
