/*
 * The shard's side of the push-pull dense plane: parts of sums and gathers come in from
 * every rank, the whole goes out to every rank.  Called by the serving thread of the shard.
 *
 *	SUM       struct collect_head, struct collect_node[n_parts]; heads; floats
 *	GATHER    struct collect_head; bytes
 *	COLLECT_R struct collect_head; heads; floats, or bytes
 *
 * frame.step numbers the collective calls of a round from 1, frame.slot is the rank,
 * frame.chunk the piece.  A call is answered when all ranks' parts of a piece are there,
 * summed along the tree; a rank that asks again is answered again, until all ranks have
 * begun a later call.
 */
#ifndef REMOTE_COLLECT_H
#define REMOTE_COLLECT_H

#include <stdint.h>

#include "base/status.h"
#include "comm/wire.h"
#include "kernel/kernel_table.h"

struct collect_head {
	uint32_t n_ranks, n_slots, n_heads, n_parts;
	uint64_t n;                 /* floats of the piece, or bytes                  */
	uint64_t total;             /* bytes of a gather, all ranks together          */
	uint64_t offset;            /* of this rank's bytes in them                   */
};

struct collect_node { uint32_t begin, end; };

struct collect;
enum rs_status collect_open(const struct kernel_set *kernel, struct collect **out);
void collect_close(struct collect *c);
/* SUM or GATHER; answers over w what can be answered now.  A failure is for the sender
 * (RS_EPROTOCOL) and changes nothing else. */
enum rs_status collect_take(struct collect *c, struct wire *w, const struct wire_message *m);

#endif
