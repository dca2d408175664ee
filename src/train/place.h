/*
 * Where a training run has its parts; NULL instead of it: all in this process.
 *
 * A run of n_ranks processes is the same program in each: all read the same rows in the
 * same order, each works on its slots of every batch, all take the same decisions at the
 * same step (what depends on a clock or a signal is voted on with the gradients).  Rank 0
 * writes versions; the others get their start from it and need no model directory.  A
 * rank that fails just leaves: the exchange's stop is what tells the others.
 */
#ifndef TRAIN_PLACE_H
#define TRAIN_PLACE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "embed/lookup.h"
#include "reduce/exchange.h"

/* What shards can go on from together. */
struct place_offer {
	uint64_t tables;                /* their name for the tables they have        */
	uint64_t lowest, highest;       /* after which steps; lowest > highest: none  */
	char     why[200];              /* none: which one lacks what                 */
};

/* Tables that are elsewhere and outlive a round; steps count those that were skipped. */
struct place_tables {
	/* Before open_lookup(). */
	enum rs_status (*offer)(void *context, struct place_offer *out);
	/* What open_lookup() is to do: go on from the tables after this step, or (keep 0) with
	 * new ones, step 0.  origin: the round in which they began. */
	void (*begin)(void *context, int keep, uint32_t origin, uint64_t step);
	/* Their name for the tables that open_lookup() opened. */
	uint64_t (*name)(void *context);
};

struct train_place {
	size_t rank, n_ranks;
	uint32_t round;                 /* of the job, from 1; for messages           */
	struct exchange *exchange;      /* borrowed; NULL when n_ranks == 1           */
	/* Opens the tables; NULL: in this process (each rank has all of them).  A lookup of
	 * several ranks without fetch has all tables in each of them. */
	enum rs_status (*open_lookup)(void *context, const struct lookup_local_options *options,
		struct lookup **out);
	const struct place_tables *tables;     /* NULL: they end with the round       */
	void *context;
	uint64_t bucket_bytes;          /* see train/buckets.h; the same in all; 0: one */
	atomic_uint_fast64_t *progress; /* counts what was done, for the watch; or NULL */
};

#endif
