/*
 * A batch is B rows of ids, dense inputs, labels and weights, column by column.
 *
 * Ids of row b in column f are column[f].ids[offset[b]] .. ids[offset[b+1]-1];
 * offset is NULL for a column with exactly one id a row (then N == B).  Ids are
 * bucket numbers of the column's table (hashed) or fingerprints (exact); the
 * missing row of a hashed table is id == buckets.  batch_clear() keeps the
 * memory; nothing allocates once the largest batch was seen.  One thread fills,
 * any number read.
 */
#ifndef DATA_BATCH_H
#define DATA_BATCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/schema.h"

struct batch_column {
	uint64_t *ids;             /* [N]                                            */
	float    *weight;          /* [N] or NULL: all 1                             */
	uint32_t *offset;          /* [B+1] or NULL                                  */
	size_t    N, capacity;
};

struct batch {
	size_t   B, capacity;
	float   *label;            /* [B] 0 or 1, a probability, or a real           */
	float   *weight;           /* [B] 1 when the spec names no weight            */
	float   *dense;            /* [B,K] transformed; 0 where missing             */
	uint8_t *missing;          /* [B,K] 1 where the cell was missing             */
	uint64_t *group;           /* [B] Fingerprint64 of the data.group cell, or NULL */
	uint64_t *item;            /* [B] Fingerprint64 of the items.key cell, or NULL */
	int64_t *time;             /* [B] seconds since 1970, 0 where not known, or NULL */
	struct batch_column *column;   /* [F]                                        */
	size_t   K, F;
	/* Filled by the loader for the trainer: */
	uint64_t first_row;        /* rows of this epoch before this batch           */
	uint64_t epoch;            /* from 0                                         */
	int      last;             /* the last batch of the epoch                    */
	size_t   drawn;            /* rows that are drawn negatives, not of the log  */
	struct batch_candidates *candidates;   /* owned; NULL: the loss needs none   */
};

/* Items that a batch's rows are compared with: its own and drawn ones, each once
 * (losses over drawn items), or the whole catalogue (full_softmax).  Filled by
 * data/sampler.h, a pure function of (seed, epoch, first_row). */
struct batch_candidates {
	const struct batch *items; /* [M] rows: the columns of the item's fields      */
	struct batch own;          /* items points here unless it is the catalogue    */
	uint32_t *number;          /* [M] in the catalogue                           */
	uint32_t *positive;        /* [B] row's item as a row of items               */
	uint32_t *negative;        /* [B,n] drawn for each row (bpr, ccl), or NULL   */
	size_t    n;
	uint8_t  *drawn;           /* [M] sampled_softmax: 1 = drawn for the batch; or NULL */
	float    *log_q;           /* [M] log of the probability to be drawn; or NULL */
	size_t    M, capacity, negative_capacity, positive_capacity;
};

void batch_candidates_free(struct batch_candidates *candidates);

enum rs_status batch_init(struct batch *batch, const struct schema *schema);
void batch_free(struct batch *batch);
void batch_clear(struct batch *batch);
/* Appends rows[0..n) of src in that order. */
enum rs_status batch_gather(
	struct batch *batch, const struct batch *src, const uint32_t *row, size_t n);
/* The same of the columns that have an offset alone, behind whose rows the others are written
 * by batch_rows_gather(); 0 of them: only B grows, and there is room for its rows. */
enum rs_status batch_add_lists(
	struct batch *batch, const struct batch *src, const uint32_t *row, size_t n);
/* One row of a batch of the same schema. */
struct batch_place { const struct batch *batch; uint32_t row; };
/* Appends n rows: batch.item and the columns of the schema's of_item come from
 * item[i], everything else from rest[i]. */
enum rs_status batch_join(struct batch *batch, const struct schema *schema,
	const struct batch_place *rest, const struct batch_place *item, size_t n);
/* Appends a row in which every cell is missing: label 0, weight 1. */
enum rs_status batch_add_missing(struct batch *batch, const struct schema *schema);
/* The newest time of its rows, at least 0, but for those more than `ahead` seconds later than the
 * middle one, of an even number the earlier: a few rows with a wrong time do not count.  *n_later:
 * how many these are.  O(B), times the bits of the span of times if there are such rows. */
int64_t batch_newest(const struct batch *batch, int64_t ahead, size_t *n_later);
/* Makes room for B rows (and n_ids ids in column f). */
enum rs_status batch_reserve(struct batch *batch, size_t B);
enum rs_status batch_reserve_ids(struct batch *batch, size_t f, size_t n_ids);

#endif
