/*
 * The buckets of a gradient: what is summed among the ranks while the backward pass goes on.
 *
 * The flat gradient is cut between parameters, from its end, where the backward pass begins,
 * into buckets of at most `bytes`, or of a parameter that has more and less than a quarter of
 * that besides; a rest of less than a quarter is one, too.  Their order is that in which they
 * become final, the same in every rank.
 * buckets_tell() has an exec tell the reducer of a slot's passes.
 */
#ifndef TRAIN_BUCKETS_H
#define TRAIN_BUCKETS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "reduce/reducer.h"
#include "train/model.h"

/* A frame and its answer between two hosts take a tenth to a fifth of a millisecond; a MiB
 * takes one at 10 Gbit/s.  Less in a bucket is mostly waiting, more leaves less to hide. */
#define BUCKETS_BYTES ((uint64_t)1 << 20)

struct buckets {
	struct reducer_bucket *bucket;     /* [n]                                     */
	size_t *after;                     /* [n] nodes of the passes backward        */
	size_t n;
};

/* bytes 0: one bucket. */
enum rs_status buckets_make(const struct model *m, uint64_t bytes, struct buckets *out);
void buckets_free(struct buckets *b);

struct buckets_watch {
	const struct buckets *buckets;
	struct reducer *reducer;
	size_t worker, slot;
	struct slot_sum *sum;
	size_t before;                     /* nodes of the passes before this one     */
};

/* From here on; watch NULL: no more. */
void buckets_tell(struct exec *e, struct buckets_watch *watch);

#endif
