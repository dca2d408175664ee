/*
 * What the shards of a job counted, for the record of the run: every line "pulls = 12" that a
 * shard answers becomes the figure "shard.0.pulls".
 */
#ifndef CMD_NODE_SHARDS_H
#define CMD_NODE_SHARDS_H

#include "cmd/record.h"
#include "comm/client.h"

/* Of the n servers of the client, whether they answer or not: the run is over and well. */
void node_shards_record(struct client *client, size_t n, struct record *record);

#endif
