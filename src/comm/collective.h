/*
 * Bodies of the collective calls that workers make through the shards, little-endian.
 *
 *	SUM       struct collective_head, struct collective_node[n_parts]; heads, double
 *	          [n_parts,n_heads]; values, float [n_parts,n]
 *	GATHER    struct collective_head; bytes [n]
 *	COLLECT_R struct collective_head; heads [n_heads] and values [n], or bytes [total]
 *	ACK       "waits_for = worker N": asked again while worker N is missing
 *
 * frame.step numbers the collective calls of a round from 1, frame.slot is the rank,
 * frame.chunk the piece of the call at this shard.  A piece stands alone: n, total and
 * offset are within it, and its COLLECT_R has n, n_heads or total as its own size.
 */
#ifndef COMM_COLLECTIVE_H
#define COMM_COLLECTIVE_H

#include <stdint.h>

#define COLLECTIVE_RANKS_MAX 4096
#define COLLECTIVE_SLOTS_MAX 65536
#define COLLECTIVE_HEADS_MAX 64

struct collective_head {
	uint32_t n_ranks, n_slots, n_heads, n_parts;
	uint64_t n;                 /* floats of a part, or bytes of this rank        */
	uint64_t total;             /* GATHER: bytes of all ranks                     */
	uint64_t offset;            /* GATHER: of this rank's bytes in them           */
	uint64_t patience_ms;       /* how long the sender waits for other ranks      */
};

struct collective_node { uint32_t begin, end; };

#endif
