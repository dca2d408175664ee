/*
 * Tables and numbers for people, on stdout.
 *
 * A layout is filled cell by cell, row by row; layout_print() knows the widths
 * (in characters of UTF-8) and writes it.  Cells that are not printable text are
 * escaped.  Numbers are in the C locale, thousands parted by commas.
 */
#ifndef CMD_LAYOUT_H
#define CMD_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

#define LAYOUT_COLUMNS 64

struct layout {
	struct buffer text;        /* NUL-ended cells one after the other             */
	size_t n_cells, n_columns;
	uint64_t right;            /* bit i: column i is aligned to the right         */
};

void layout_init(struct layout *l, size_t n_columns, uint64_t right);
void layout_free(struct layout *l);
/* Headings are the first row. */
enum rs_status layout_cells(struct layout *l, const char *const *cell);  /* [n_columns] */
enum rs_status layout_cell(struct layout *l, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
enum rs_status layout_print(const struct layout *l);

/* All return out. */
char *layout_count(char out[32], int64_t n);                  /* 596,100             */
char *layout_took(char out[32], double seconds);              /* 2.4s 3m12s 2h05m; "-" for NaN */
char *layout_bytes(char out[32], uint64_t bytes);             /* 287 MiB             */
char *layout_figure(char out[32], double value, int digits);  /* 0.7981; n.a. for NaN */

#endif
