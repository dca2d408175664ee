/*
 * The lookup whose rows are on parameter server shards.
 *
 * fetch takes the occurrences of a step, makes the ids of every table unique and sorted,
 * pulls each row once, and remembers where every occurrence finds its row.  commit sums the
 * gradients of every row over each node of this rank's frontier and pushes them; the next
 * fetch waits until the shards applied them (sync), or not (ssp, async), and in any case
 * until they have them: a fetch of nothing does only this.
 *
 * What compression rounds off is added to the next gradient of the row.  It is kept by the
 * worker, in 256 MiB at most, and is no part of a version.
 */
#ifndef REMOTE_LOOKUP_H
#define REMOTE_LOOKUP_H

#include "comm/client.h"
#include "embed/lookup.h"
#include "data/schema.h"
#include "remote/parts.h"

struct remote_lookup_options {
	struct lookup_local_options base;  /* tables, kernel, slots, inputs, threads  */
	struct client *client;             /* of the shards, borrowed                 */
	size_t rank, n_ranks;
	enum consistency consistency;
	uint64_t staleness;
	enum compression compress;         /* resolved: none, fp16 or int8            */
	uint64_t min_shard_bytes;
	uint64_t first_step;               /* the step that comes next; 0: 1          */
	int keep;                          /* the tables are those after the step before */
	uint32_t origin;                   /* round in which these tables began       */
	size_t message_bytes;              /* of rows in one message, about; 0: 32 MiB */
};

struct remote_lookup_counts {
	uint64_t pulled_rows, pushed_rows;     /* in training, all tables             */
	uint64_t pull_bytes;            /* bodies of PULL and PULL_R, in training      */
	uint64_t push_bytes, steps;     /* bodies of PUSH, keys included               */
	uint64_t dropped_residuals;     /* rounding errors for which there was no room */
	double   waited;                /* seconds that training stood still           */
};

/* Every rank opens; rank 0's INIT_TABLE and those of the others must agree. */
enum rs_status remote_lookup_open(const struct remote_lookup_options *options,
	struct lookup **out);
void remote_lookup_counts(const struct lookup *l, struct remote_lookup_counts *out);
/* By what name the shards offer these tables, see body_offer. */
uint64_t remote_lookup_name(const struct lookup *l);
/* has_rows [n_shards]: 1 for a shard that has rows of the model. */
void remote_lookup_shards(const struct lookup *l, uint8_t *has_rows);

#endif
