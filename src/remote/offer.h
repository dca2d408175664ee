/*
 * What the shards of a job hold from the round before, and can go on from together.
 *
 * Asked before INIT_TABLE.  A shard without rows of the model can go on from anything.
 */
#ifndef REMOTE_OFFER_H
#define REMOTE_OFFER_H

#include "comm/client.h"

struct offer {
	uint64_t tables;            /* their name, see remote_lookup_name()           */
	uint64_t lowest, highest;   /* after which steps; lowest > highest: none      */
	char     why[200];          /* none: which shard lacks what                   */
};

/* Of these tables; has_rows [shards of the client]. */
enum rs_status offer_ask(struct client *client, size_t rank, uint64_t tables,
	const uint8_t *has_rows, struct offer *out);

#endif
