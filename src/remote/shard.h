/*
 * A parameter server shard: tables' parts in this process, served over one socket.
 *
 * INIT_TABLE names all parts at once and opens them as a local lookup; PULL gathers rows,
 * PUSH stages or applies gradients, SUM and GATHER serve the push-pull dense plane, SNAP_*
 * read and set whole rows.  In sync a pull of step t is answered when step t-1 is applied
 * (ssp: t-1-staleness; async: at once); of step 0 (no step), when what its rank pushed is.
 * Step t is applied when the last push of every worker for it is there, in slot order; every
 * worker pushes for every step, if only an empty body_push, to all shards with rows.  SNAP_GET
 * of step t sees exactly t-1 steps in every mode.  Answers and steps take turns, so a row that
 * is read is whole, whoever pushes meanwhile and whatever goes.  A push or sum that was had
 * already is acknowledged and dropped.  Requests of another job or epoch are refused
 * (RS_EPROTOCOL), and those of a worker that has not sent its INIT_TABLE, or under another key
 * than that.  WAITING_* read and set what exact tables have besides rows.
 * What a shard holds when a round ends it offers to the next one (OFFER), whose INIT_TABLE
 * says whether to keep it.  A shard that has a journal may send a copy of it to a peer,
 * which keeps it beside its own (DIRECTORY.copyK); one that is started without files has
 * them from there.  Formats: remote/body.h.
 */
#ifndef REMOTE_SHARD_H
#define REMOTE_SHARD_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/wire.h"
#include "kernel/kernel_table.h"
#include "remote/journal.h"

struct shard_counts {
	uint64_t pulls, pulled_rows, pulled_bytes, pushes, pushed_rows, pushed_bytes, repeated;
	uint64_t misses;            /* rows pulled that were never trained            */
	uint64_t refused;           /* async: pushes dropped for a NaN or Inf         */
	uint64_t waiting;           /* requests parked now                            */
	uint64_t staleness_max;     /* steps that a pulled row lagged                 */
	uint64_t step;              /* last one applied                               */
	uint64_t malformed, bytes;  /* bytes: of the tables                           */
	double   busy;              /* seconds spent at work                          */
};

struct shard_options {
	struct wire *wire;          /* bound, borrowed                                */
	struct wire_context *context_of_peers;  /* to connect; NULL: there are none     */
	const struct kernel_set *kernel;
	size_t   index;             /* which shard, for messages                      */
	size_t   n_threads;         /* that apply and gather; 0: auto                 */
	uint64_t memory_bytes;      /* that tables may take; 0: what the host has     */
	uint64_t job;
	const struct journal_options *journal;  /* of tables that come, or NULL: none */
	const atomic_int *stop;     /* set: the round is over; shard_serve() returns RS_OK */
	atomic_uint_fast64_t *progress;
	/* Called about once a second by the serving thread; may be NULL. */
	void (*report)(void *context, const struct shard_counts *counts);
	void  *context;
};

/* Where the others are in a round. */
struct shard_round {
	uint32_t epoch;
	size_t   peer;              /* the shard that keeps a copy of the journal     */
	const char *endpoint, *key; /* of it; endpoint NULL: there is none            */
};

struct shard;
/* options: borrowed. */
enum rs_status shard_open(const struct shard_options *options, struct shard **out);
/* Serves one round. */
enum rs_status shard_serve(struct shard *s, const struct shard_round *round);
/* The journal's files stay. */
void shard_close(struct shard *s);

#endif
