/*
 * The exchange whose sums and gathers are made by the shards (remote/collect.h).
 *
 * Values are dealt to the shards in equal ranges and go in pieces of PUSHPULL_FLOATS, of
 * which some are under way at each shard, so that sending, summing and answering overlap.
 * The client is borrowed and may be the lookup's: no other call of it is waited for while
 * an exchange runs.  One exchange a round: its calls are numbered from 1.
 */
#ifndef REDUCE_PUSHPULL_H
#define REDUCE_PUSHPULL_H

#include "comm/client.h"
#include "reduce/exchange.h"

#define PUSHPULL_FLOATS ((size_t)1 << 18)
#define PUSHPULL_WINDOW 4           /* pieces under way at a shard                    */

enum rs_status pushpull_open(const struct exchange *base, struct client *client,
	struct exchange **out);

#endif
