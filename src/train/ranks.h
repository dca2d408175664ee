/*
 * What the ranks of a run tell each other besides the sums of a step.
 *
 * A run without a place, or of one rank, is told nothing and never waits.  Work that rank
 * 0 does for all, such as a save, may take minutes: these calls wait RANKS_PATIENCE, not
 * the step's time.  Like all calls of an exchange they are made by every rank in the same
 * order.  A pulse counts as progress while a phase lasts in which nobody else counts.
 */
#ifndef TRAIN_RANKS_H
#define TRAIN_RANKS_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "spec/settings.h"
#include "train/place.h"

#define RANKS_MAX      1024
#define RANKS_PATIENCE 21600.0         /* seconds; who dies is told of by stop       */

/* The run is to have several processes. */
int ranks_wanted(const struct settings *settings);

static inline int
ranks_several(const struct train_place *p)
{
	return p != NULL && p->n_ranks > 1;
}

/* 1 in the rank that writes versions. */
static inline int
ranks_lead(const struct train_place *p)
{
	return p == NULL || p->rank == 0;
}

static inline size_t
ranks_own(const struct train_place *p)
{
	return p != NULL ? p->rank : 0;
}

/* The share of this rank in n things: [*begin,*end). */
void ranks_share(const struct train_place *p, size_t n, size_t *begin, size_t *end);
/* Something was done. */
void ranks_progress(const struct train_place *p);
/* Rank 0's status and failure become those of all. */
enum rs_status ranks_outcome(const struct train_place *p, enum rs_status status);
/* The same of any rank. */
enum rs_status ranks_outcome_of(
	const struct train_place *p, size_t rank, enum rs_status status);
/* Rank 0's bytes to all. */
enum rs_status ranks_broadcast(const struct train_place *p, void *bytes, size_t n);
/* Those of any rank. */
enum rs_status ranks_broadcast_of(const struct train_place *p, size_t rank, void *bytes, size_t n);
/* Things that ranks_share() shared out, `bytes` each, from all to all. */
enum rs_status ranks_gather(const struct train_place *p, void *things, size_t n, size_t bytes);
/* Bytes [begin[r],begin[r+1]) of block, rank r's, from all to all. */
enum rs_status ranks_gather_parts(
	const struct train_place *p, void *block, const size_t *begin);
/* A failure of this status says "worker N WHAT worker 0" of the first whose value is
 * another. */
enum rs_status ranks_compare(
	const struct train_place *p, uint64_t value, enum rs_status status, const char *what);

struct ranks_pulse {
	const struct train_place *place;
	pthread_t       thread;
	pthread_mutex_t lock;
	pthread_cond_t  changed;
	int             ended, beats;
};
void ranks_pulse_begin(struct ranks_pulse *pulse, const struct train_place *p);
void ranks_pulse_end(struct ranks_pulse *pulse);

#endif
