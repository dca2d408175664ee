/*
 * The rows of batches one after the other, so that rows taken out of order cost a few lines of
 * memory each and not one a column.
 *
 * A row has the cells of which every row has one: label, weight, numbers, what else a batch
 * has of a row, and the ids of columns without an offset, in four bytes where they fit.  Columns
 * with an offset stay in a batch: batch_add_lists().  One thread adds, any number reads.
 */
#ifndef DATA_BATCH_ROWS_H
#define DATA_BATCH_ROWS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/batch.h"

struct batch_cell;

/* Arrays of rows in other bytes, as those of a batch but for ids of short tables, which have four
 * bytes; nothing need be aligned.  NULL: not there, but weight: all are 1. */
struct batch_view {
	const unsigned char *label, *weight, *dense, *missing, *group, *item, *time;
	const unsigned char **ids;     /* [F] of columns without an offset            */
};

struct batch_rows {
	struct batch_cell *cell;       /* [n_cells] of a row                          */
	size_t n_cells;
	size_t stride;                 /* bytes of a row                              */
	size_t B, capacity;
	unsigned char *bytes;          /* [capacity,stride]                           */
};

/* Bytes of a row. */
size_t batch_rows_stride(const struct schema *schema);
enum rs_status batch_rows_init(struct batch_rows *rows, const struct schema *schema);
void batch_rows_free(struct batch_rows *rows);
/* Keeps the memory. */
void batch_rows_clear(struct batch_rows *rows);
/* Room for B rows; memory is taken as they come. */
enum rs_status batch_rows_reserve(struct batch_rows *rows, size_t B);
/* Appends the rows of a batch of the schema. */
enum rs_status batch_rows_add(struct batch_rows *rows, const struct batch *batch);
/* Appends B rows of what the schema's batches have. */
enum rs_status batch_rows_add_view(
	struct batch_rows *rows, const struct batch_view *view, size_t B);
/* Appends rows of the same schema. */
enum rs_status batch_rows_append(struct batch_rows *rows, const struct batch_rows *from);
/* Writes the cells of rows[row[0..n)] behind the rows of the batch, for which there is room;
 * its B stays. */
void batch_rows_gather(
	const struct batch_rows *rows, const uint32_t *row, size_t n, struct batch *batch);

#endif
