/*
 * One column of a delimited file: where rows end and what its cell holds, for those who
 * look at a file before it is parsed.  The header and the column are found as the parser
 * finds them.
 */
#ifndef DATA_ROW_COLUMN_H
#define DATA_ROW_COLUMN_H

#include <stddef.h>

#include "base/status.h"
#include "data/schema.h"

struct row_column {
	char   separator;
	int    quoted, trim;
	size_t max_line;
	size_t column;             /* from 0                                          */
	int    found;              /* 0: the file has no row 1                        */
	size_t skip, lines;        /* bytes and lines before the first data row       */
};

/* text[0..n) are the first bytes of a file, up to 1 MiB or all of it; reference is a name
 * or a number from 1. */
enum rs_status row_column_find(const struct schema *schema, const char *reference,
	const char *file, const char *text, size_t n, struct row_column *out);

/* Bytes of the first row of text[0..n), line end included; 0: it does not end there.  A row
 * that is longer than max_line ends at the first line end behind that. */
size_t row_column_end(const struct row_column *c, const char *text, size_t n);
/* Nothing between its ends, so no row. */
int row_column_is_blank(const char *row, size_t n);
/* The cell of a row of n bytes, without its quotes; 0: the row is too short. */
int row_column_cell(const struct row_column *c, const char *row, size_t n, const char **cell,
	size_t *n_cell);

#endif
