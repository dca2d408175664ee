/*
 * A table of embedding rows in memory, private to embed/.
 *
 * The rows here are those with ids [begin,begin+n_rows) of the whole table.  A row is D
 * weights (embed/row.h), then the optimizer's slots, so that an update touches neighbouring
 * cache lines only.  Initial rows are a pure function of (seed, table name, id, column).
 *
 * Hashed: row i of those here is block + i * stride once it is there (embed/drawn.h), and one
 * bit a row says whether training ever updated it.  Hashed and spilled: rows are in `spill`,
 * which is a part of them in memory.
 * Exact: rows are in `exact`, where they come when they are first trained.
 * Any number of threads read; writers own disjoint rows, of an exact table whole segments.
 */
#ifndef EMBED_TABLE_H
#define EMBED_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "embed/drawn.h"
#include "embed/exact.h"
#include "embed/lookup.h"
#include "embed/row.h"
#include "embed/row_optimizer.h"
#include "embed/spill.h"
#include "embed/tenancy.h"

#define TABLE_TOUCHED_BITS 64
#define TABLE_LINE_FLOATS  16     /* of a cache line                                */

struct table {
	struct lookup_table settings;
	const struct row_optimizer *optimizer;
	row_kernel *update;
	int       for_training;
	size_t    D, n_slot;       /* floats of a row: weights, optimizer slots      */
	size_t    slot_at;         /* where slots begin: D, or the floats of room of the weights */
	size_t    stride;          /* slot_at + n_slot                               */
	uint64_t  begin, n_rows;
	struct row_start start;    /* what rows begin as; a file may bring its own   */
	uint64_t  row_key;         /* of stochastic rounding                         */
	float    *block;           /* [n_rows, stride] borrowed; exact, spilled: NULL */
	struct drawn drawn;        /* rows of the block that are there                */
	size_t    block_bytes;
	uint64_t *touched;         /* [(n_rows + 63) / 64]; exact: NULL              */
	uint64_t *changed;         /* the same, since changes were forgotten, if kept */
	uint64_t *kept;            /* the same: never updated, yet not as they begin, as a file
	                            * or another process has them; NULL: there are none.  Not
	                            * for training: they may be as they begin        */
	int       keeps_changes, changed_all;
	struct row_decays decays;  /* of all rows, since then                        */
	struct spill *spill;       /* NULL: rows are in memory                       */
	struct exact exact;
	struct tenancy tenancy;    /* who comes and goes; exact                      */
	const float *zero;         /* [D] what is read of an unknown id; exact       */
	int       state_anew;      /* a file read had no state of this optimizer     */
};

/* What a step has for every row of a table. */
struct table_step {
	uint64_t number;
	struct row_args args;
};

/* Sizes and settings; the caller then sets block to block_bytes bytes of zeros. */
enum rs_status table_open(struct table *t, const struct lookup_table *settings,
	const struct kernel_set *kernel, int for_training);
void table_close(struct table *t);
/* From now on it knows which rows changed since table_forget_changes(), and which decays all of
 * them had before; before the first all changed, and so they did when something else changed
 * more rows than training trained. */
enum rs_status table_keep_changes(struct table *t);
void table_forget_changes(struct table *t);
int table_knows_changes(const struct table *t);
/* One row, all of it, as it begins. */
void table_start_row(const struct table *t, uint64_t id, float *row);
/* Row i of those here, hashed in memory, that is not there, and its group.  Any thread. */
void table_draw(const struct table *t, uint64_t i);
/* All rows of a hashed table are now as `start` says, none was touched. */
void table_restart(struct table *t, const struct row_start *start);
/* The weights [D] that the row of an id starts with, as they read once they are stored. */
void table_init_weights(const struct table *t, uint64_t id, float *w);
/* The row of an id that a step trained n times, made if there is none; a touched row.  NULL:
 * it is not trained in this step.  Called in commit, in the order of ids, by the owner of its
 * segment; step: of an exact table. */
enum rs_status table_reach(struct table *t, const struct tenancy_step *step, uint64_t id,
	uint32_t n, float **row);
/* Rows [begin,end) of those here, hashed in memory, are going to be written over whole, by this
 * thread: they need not be drawn. */
void table_take_all(struct table *t, uint64_t begin, uint64_t end);
/* Row i of those here, hashed, to be written over whole. */
enum rs_status table_take(struct table *t, uint64_t i, float **row);
/* A row that table_take() or table_reach() gave is done with. */
void table_leave(struct table *t, uint64_t id);
/* Row i of those here, hashed: where it lies, or a copy in scratch [stride]. */
enum rs_status table_read(const struct table *t, uint64_t i, float *scratch, const float **row);
/* A row of a hashed table that was not touched is not as rows begin. */
enum rs_status table_keep(struct table *t, uint64_t i);
/* Row i of those here, hashed, is `row` [stride]; one that training did not touch and that is as
 * it begins takes no room where it takes none yet.  scratch [stride]. */
enum rs_status table_put(struct table *t, uint64_t i, const float *row, int is_touched,
	float *scratch);
/* The weights [D] of a row as they are stored, to and from floats. */
void table_get_weights(const struct table *t, const float *row, float *w);
void table_set_weights(const struct table *t, float *row, const float *w);
/* The slots of a row; NULL: they go to their start. */
void table_set_slots(const struct table *t, float *row, const float *slots);
/* The update of a row in a step, with the sum [D] of its gradients; scratch [D]. */
void table_update(const struct table *t, uint64_t id, float *row, const float *sum,
	const struct table_step *step, float *scratch);
/* All state of the optimizer goes back to its start. */
enum rs_status table_reset_state(struct table *t);
/* What lookup_commit.decay does to the rows that training has touched, and again, later. */
enum rs_status table_decay(struct table *t, double factor);
enum rs_status table_replay_decays(struct table *t, const struct row_decays *decays);
uint64_t table_bytes(const struct table *t);

/* Rows cannot be pointed at: their weights are no floats. */
static inline int
table_is_narrow(const struct table *t)
{
	return t->settings.storage != ROW_FP32;
}

static inline int
table_is_exact(const struct table *t)
{
	return t->settings.kind == TABLE_EXACT;
}

static inline int
table_is_spilled(const struct table *t)
{
	return t->spill != NULL;
}

/* Where a row of a hashed table in memory is, or will be. */
static inline float *
table_place(const struct table *t, uint64_t i)
{
	return t->block + (size_t)i * t->stride;
}

/* Hashed, in memory: the row, which is there from now on. */
static inline float *
table_row(const struct table *t, uint64_t i)
{
	if (__builtin_expect(!drawn_has(&t->drawn, i), 0))
		table_draw(t, i);
	return table_place(t, i);
}

/* The row of what was found in an exact table; NULL: there is none. */
static inline float *
table_entry_row(const struct table *t, const struct exact_entry *entry)
{
	return entry != NULL && tenancy_has(&t->tenancy, entry) ? exact_row(entry) : NULL;
}

/* NULL: there is none, of an exact table; not of a spilled one. */
static inline float *
table_find(const struct table *t, uint64_t id)
{
	return table_is_exact(t) ? table_entry_row(t, exact_find(&t->exact, id))
				 : table_row(t, id - t->begin);
}

static inline void
table_prefetch(const struct table *t, uint64_t id)
{
	const size_t floats = t->stride;
	const float *row;

	if (table_is_exact(t)) {
		exact_prefetch(&t->exact, id);
		return;
	}
	if (table_is_spilled(t)) {
		spill_prefetch(t->spill, id - t->begin);
		return;
	}
	row = table_place(t, id - t->begin);
	for (size_t i = 0; i < floats; i += TABLE_LINE_FLOATS)
		__builtin_prefetch(row + i, 1, 3);
}

static inline int
table_is_touched(const struct table *t, uint64_t i)
{
	return (int)(t->touched[i / TABLE_TOUCHED_BITS] >> (i % TABLE_TOUCHED_BITS) & 1);
}

static inline void
table_touch(struct table *t, uint64_t i)
{
	const uint64_t bit = (uint64_t)1 << (i % TABLE_TOUCHED_BITS);

	t->touched[i / TABLE_TOUCHED_BITS] |= bit;
	if (t->changed != NULL)
		t->changed[i / TABLE_TOUCHED_BITS] |= bit;
}

static inline void
table_set_touched(struct table *t, uint64_t i, int touched)
{
	const uint64_t bit = (uint64_t)1 << (i % TABLE_TOUCHED_BITS);
	uint64_t *word = &t->touched[i / TABLE_TOUCHED_BITS];

	*word = touched ? *word | bit : *word & ~bit;
}

#endif
