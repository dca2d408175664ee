/*
 * Duplicate ids of a step become one gradient and one update, private to embed/.
 *
 * merge_apply() takes the pushes of one table, in the order slot, input,
 * occurrence, keeps ids in [begin,end), sorts them stably by id and for each run
 * of equal ids sums occurrences in order inside a slot and slots over the tree of
 * base/tree.h, then updates the row once.  Work on different ranges of a table
 * may run at once when begin is a multiple of 64.  A scratch belongs to one
 * thread; it grows when a step has more occurrences than any before.
 */
#ifndef EMBED_MERGE_H
#define EMBED_MERGE_H

#include <stddef.h>
#include <stdint.h>

#include "embed/lookup.h"
#include "embed/table.h"

struct merge_scratch {
	size_t capacity;           /* occurrences                                    */
	uint64_t *key, *key2;      /* [capacity] id - begin << index bits | index    */
	const float **grad;        /* [capacity] by index                            */
	float    *scale;           /* [capacity] by index                            */
	const float **run_grad;    /* [capacity] of the run at hand                  */
	float    *run_scale;       /* [capacity]                                     */
	size_t   *slot_end;        /* [n_slots] occurrences of slots up to this one  */
	size_t   *present;         /* [n_slots] slots that have the row at hand      */
	float    *partial;         /* [n_slots, D_max] their sums                    */
	size_t    n_slots, D_max;
};

struct merge_job {
	struct table *table;
	const struct kernel_set *kernel;
	const struct lookup_push *const *push;     /* [n_push] by slot, then input     */
	size_t   n_push;
	size_t   n;                /* occurrences in all of them                     */
	uint64_t begin, end;       /* ids                                            */
	double   rate_factor;
};

enum rs_status merge_scratch_init(struct merge_scratch *s, size_t n_slots, size_t D_max);
void merge_scratch_free(struct merge_scratch *s);
enum rs_status merge_scratch_reserve(struct merge_scratch *s, size_t n);
size_t merge_scratch_bytes(const struct merge_scratch *s);

enum rs_status merge_apply(struct merge_scratch *s, const struct merge_job *job);

#endif
