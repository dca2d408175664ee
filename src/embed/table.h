/*
 * A table of embedding rows in memory, private to embed/.
 *
 * The rows here are those with ids [begin,begin+n_rows) of the whole table.  Row i of
 * them is block + i * stride: D weights, then the optimizer's slots, so that an update
 * touches neighbouring cache lines only.  One bit a row says whether training ever
 * updated it.  Initial rows are a pure function of (seed, table name, id, column).
 * Any number of threads read; writers own disjoint rows.
 */
#ifndef EMBED_TABLE_H
#define EMBED_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "embed/lookup.h"
#include "embed/row_optimizer.h"

#define TABLE_TOUCHED_BITS 64

struct table {
	struct lookup_table settings;
	const struct row_optimizer *optimizer;
	row_kernel *update;
	size_t    D, n_slot;       /* floats of a row: weights, optimizer slots      */
	size_t    stride;          /* D + n_slot                                     */
	uint64_t  begin, n_rows;
	float    *block;           /* [n_rows, stride] borrowed                      */
	size_t    block_bytes;
	uint64_t *touched;         /* [(n_rows + 63) / 64]                           */
	int       state_anew;      /* a file read had no state of this optimizer     */
};

/* Sizes and settings; the caller then sets block to block_bytes bytes, and calls
 * table_init_rows() on all rows. */
enum rs_status table_open(struct table *t, const struct lookup_table *settings,
	const struct kernel_set *kernel, int for_training);
void table_close(struct table *t);
/* Initial values of rows [begin,end) of those here; no row counts as touched. */
void table_init_rows(struct table *t, uint64_t begin, uint64_t end);
/* What lookup_commit.decay does to the rows that training has touched. */
void table_decay(struct table *t, double decay);
uint64_t table_bytes(const struct table *t);

static inline float *
table_row(const struct table *t, uint64_t i)
{
	return t->block + (size_t)i * t->stride;
}

static inline int
table_is_touched(const struct table *t, uint64_t i)
{
	return (int)(t->touched[i / TABLE_TOUCHED_BITS] >> (i % TABLE_TOUCHED_BITS) & 1);
}

static inline void
table_touch(struct table *t, uint64_t i)
{
	t->touched[i / TABLE_TOUCHED_BITS] |= (uint64_t)1 << (i % TABLE_TOUCHED_BITS);
}

static inline void
table_set_touched(struct table *t, uint64_t i, int touched)
{
	const uint64_t bit = (uint64_t)1 << (i % TABLE_TOUCHED_BITS);
	uint64_t *word = &t->touched[i / TABLE_TOUCHED_BITS];

	*word = touched ? *word | bit : *word & ~bit;
}

#endif
