/*
 * Rows of a model's tables by number, for what cannot look up an id: exported models.
 *
 * Row r of a hashed table is that of id r.  An exact table has the rows of all ids that it or
 * another table of the same field knows, in the order of ids, and one behind them, of zeros,
 * for any other id.  The numbers hold until the model is trained.
 */
#ifndef TRAIN_ROW_NUMBERS_H
#define TRAIN_ROW_NUMBERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "train/model.h"

/* Makes them, or makes them again; a model without exact tables needs none. */
enum rs_status row_numbers_make(struct model *m);

/* Of a table of the graph. */
uint64_t row_numbers_count(const struct model *m, size_t table);
/* The id of row r; of the last one of an exact table: one that has no row. */
uint64_t row_numbers_id(const struct model *m, size_t table, uint64_t r);

/* Of a table of the schema: where the row of an id is.  known [*n]: ids in the order of rows,
 * borrowed; NULL: rows are ids. */
uint64_t row_numbers_of(const struct model *m, size_t schema_table, uint64_t id);
/* Where the row of an id is in a round of the table (data/hash_stack.h); -1: it has none. */
int64_t row_numbers_round(const struct model *m, size_t schema_table, uint64_t id, size_t round);
const uint64_t *row_numbers_known(const struct model *m, size_t schema_table, uint64_t *n);

#endif
