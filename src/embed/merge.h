/*
 * Duplicate ids of a step become one gradient a row.
 *
 * merge_begin() takes pushes of one table, in the order slot, input, occurrence, keeps ids
 * in [begin,end) and sorts them stably; merge_next() then gives row after row, in the order
 * of ids: occurrences are summed in order inside a slot, slots over the tree of base/tree.h.
 * The sum of a node of the tree takes the pushes of the node's slots only.  merge_apply()
 * does both for the whole tree and updates the rows of a table in memory.
 *
 * Work on different ranges of a table may run at once, updates when they begin a multiple of
 * 64 rows after the table's first here.  A scratch belongs to one thread; it grows when a
 * step has more occurrences than any before.
 */
#ifndef EMBED_MERGE_H
#define EMBED_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"
#include "embed/lookup.h"
#include "embed/table.h"

struct merge_scratch {
	size_t capacity;           /* occurrences                                    */
	uint64_t *key, *key2;      /* [capacity] upper bits of id - begin, then an index */
	uint64_t *id;              /* [capacity] by index                            */
	const float **grad;        /* [capacity] by index                            */
	float    *scale;           /* [capacity] by index                            */
	uint32_t *count;           /* [capacity] by index                            */
	const float **run_grad;    /* [capacity] of the run at hand                  */
	float    *run_scale;       /* [capacity]                                     */
	size_t   *slot_end;        /* [n_slots] occurrences of slots up to this one  */
	size_t   *present;         /* [n_slots] slots that have the row at hand      */
	float    *partial;         /* [n_slots, D_max] their sums                    */
	size_t    n_slots, D_max;
	float    *row;             /* [D_max] weights of the row that is updated     */
	/* Where merge_next() is. */
	const struct merge_job *job;
	const uint64_t *sorted;    /* [n]                                            */
	size_t    n, next;
	unsigned  index_bits;
	unsigned  dropped_bits;    /* lower ones of id - begin that keys have no room for */
	int       has_scale, has_count;
	uint32_t  run;             /* occurrences of the row merge_next() gave       */
};

struct merge_job {
	const struct kernel_set *kernel;
	const char *name;          /* of the table, for messages                     */
	size_t   D;
	const struct lookup_push *const *push;     /* [n_push] by slot, then input     */
	size_t   n_push;
	size_t   n;                /* occurrences in all of them                     */
	struct tree_node node;     /* their slots; {0, n_slots}: the whole tree      */
	uint64_t begin, end;       /* ids                                            */
	int      again;            /* occurrences and range are those of the scratch's job
	                            * before: its order is taken, ids are not looked at but
	                            * for the range                                  */
};

enum rs_status merge_scratch_init(struct merge_scratch *s, size_t n_slots, size_t D_max);
void merge_scratch_free(struct merge_scratch *s);
enum rs_status merge_scratch_reserve(struct merge_scratch *s, size_t n);
size_t merge_scratch_bytes(const struct merge_scratch *s);

/* The job is borrowed until the last merge_next(). */
enum rs_status merge_begin(struct merge_scratch *s, const struct merge_job *job);
/* 0 when there is no other row.  *sum [D] stays until the next call. */
int merge_next(struct merge_scratch *s, uint64_t *id, const float **sum);

/* Work that shares a table with other threads' is cut where table_reach() needs it. */
enum rs_status merge_apply(struct merge_scratch *s, const struct merge_job *job, struct table *t,
	const struct tenancy_step *step, double rate_factor);

#endif
