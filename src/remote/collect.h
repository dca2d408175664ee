/*
 * The shard's side of the push-pull dense plane: parts of sums and gathers come in from
 * every rank, the whole goes out to every rank.  Called by the serving thread of the shard.
 *
 * Bodies are those of comm/collective.h.  A piece of a call is answered when all ranks'
 * parts of it are there, summed along the tree of slots; a rank that asks again is answered
 * again, or told to wait (ACK), until it has begun a later call.  At most two calls are
 * kept, of at most COLLECT_BYTES_MAX together.
 */
#ifndef REMOTE_COLLECT_H
#define REMOTE_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/wire.h"
#include "kernel/kernel_table.h"

#define COLLECT_BYTES_MAX ((size_t)16 << 30)

struct collect;
enum rs_status collect_open(const struct kernel_set *kernel, struct collect **out);
void collect_close(struct collect *c);
/* SUM or GATHER; answers over w what can be answered now.  A failure is the answer to the
 * sender (RS_EPROTOCOL; RS_EPEER: the others did not come in time) and changes nothing else. */
enum rs_status collect_take(struct collect *c, struct wire *w, const struct wire_message *m);
/* Parts that wait for other ranks, and the bytes of all that is kept. */
void collect_counts(const struct collect *c, uint64_t *waiting, uint64_t *bytes);

#endif
