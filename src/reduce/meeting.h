/*
 * Where the ranks of one host wait for each other: the first bytes of memory they share.
 *
 * Each rank has a desk that it alone writes to.  There it lays what it came for
 * (meeting_come), says that it is there and waits until all are (meeting_wait); what
 * each wrote before, all can read then.  A number that only grows says which meeting a
 * rank has come to, the round in its upper bits: nothing has to be reset, and what a
 * process that was killed left behind is too small to count.  One thread a rank.
 */
#ifndef REDUCE_MEETING_H
#define REDUCE_MEETING_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "reduce/exchange.h"

enum meeting_kind { MEETING_SUM, MEETING_GATHER, MEETING_BROADCAST };

/* What a rank came for; equal in all ranks, or it fails in all. */
struct meeting_call {
	uint64_t kind;
	uint64_t step, n_slots, n_heads;
	uint64_t n;                /* floats, or bytes                               */
	uint64_t offset;           /* of the piece                                   */
	uint64_t shape;            /* hash of who has which bytes                    */
	uint64_t n_ranks, bytes;   /* of the memory                                  */
};

struct meeting {
	const struct exchange *base;       /* borrowed: rank, stop, timeout          */
	struct meeting_control *control;
	uint64_t round, n;
	unsigned turn;                     /* of two calls                           */
	int    spin, over;
	int    quiet;                      /* this call does not spin                */
};

size_t meeting_bytes(size_t n_ranks);
/* epoch: see exchange_shm_open(). */
enum rs_status meeting_open(struct meeting *m, const struct exchange *base, void *memory,
	uint32_t epoch);
/* Nobody waits for this rank any more, and this rank for nobody. */
void meeting_leave(struct meeting *m);
/* RS_EPEER when the rank left, or others are in a later round. */
enum rs_status meeting_check(const struct meeting *m);

/* The first meeting of a turn: compares what all came for, RS_EPROTOCOL. */
enum rs_status meeting_come(struct meeting *m, const struct meeting_call *call);
/* A further one.  RS_EPEER names who did not come, or left. */
enum rs_status meeting_wait(struct meeting *m);
/* At the end of a turn.  Others may still be busy with it until the next meeting. */
void meeting_next(struct meeting *m);

#endif
