/*
 * How the workers of a round sum: as placement.dense says, and where that is auto or nccl, over
 * their GPUs if all of them can.  A call of all workers together.
 */
#ifndef CMD_NODE_EXCHANGE_H
#define CMD_NODE_EXCHANGE_H

#include "cmd/node.h"
#include "cmd/session.h"
#include "comm/client.h"
#include "reduce/nccl_exchange.h"

struct node_exchange_options {
	const struct node *node;
	size_t rank;
	struct client *client;          /* of the shards; NULL: there are none        */
	uint32_t epoch;
	struct gpu_memory *gpu;         /* as session_device() has it                 */
	const char *why_device;
};

/* The networks that NCCL may use, into the environment: before there are other threads, which
 * may read that. */
void node_exchange_name(const struct settings *s);
/*
 * *out is set as soon as there is something to close.  *why_not: "", or why GPUs are not used
 * where placement.dense left it open.  RS_EUNMET: they have to be and cannot, in all alike.
 */
enum rs_status node_exchange_open(const struct node_exchange_options *o, struct exchange **out,
	char why_not[NCCL_WHY]);

#endif
