/*
 * Sums of dense gradients over GPUs by NCCL, which is loaded when it is wanted, so that its
 * absence is a message.
 *
 * All ranks make the same calls in the same order, one thread a rank.  nccl_sum() puts sums of
 * buckets into a queue of the GPU and returns before they are made, so that the backward pass
 * goes on; nccl_wait() returns when they are.  Nothing here waits without an end: whatever is
 * not over within the timeout, what NCCL says went wrong in the background (asked every
 * NCCL_WATCH_SECONDS) and *stop end in RS_EPEER, once the communicator is aborted so that the
 * GPU is free of it.  After that only nccl_close() is of use; ranks that are left form a new
 * group with a new id.  Sums are those of the other planes to a tolerance, not to the bit.
 */
#ifndef REDUCE_NCCL_H
#define REDUCE_NCCL_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "reduce/reducer.h"

#define NCCL_ID_BYTES      128
#define NCCL_WATCH_SECONDS 0.1
#define NCCL_END_SECONDS   5.0

/* Made by one rank and told to the others by other means. */
struct nccl_id { char bytes[NCCL_ID_BYTES]; };

/* NCCL, as it is used; a test has its own.  Returned: 0, NCCL_IN_PROGRESS or what failed. */
enum { NCCL_IN_PROGRESS = 7 };
struct nccl_calls {
	int (*make_id)(struct nccl_id *out);
	int (*start)(void **comm, size_t n_ranks, const struct nccl_id *id, size_t rank);
	int (*sum)(float *x, size_t n, void *comm, void *stream);       /* in place       */
	int (*watch)(void *comm, int *state);      /* state: of what goes on in it        */
	int (*end)(void *comm);                    /* in order; may be in progress        */
	int (*destroy)(void *comm);
	int (*abort)(void *comm);
	/* What one thread calls of several ranks between these two is one call; sends to a
	 * rank and what it receives pair up in their order. */
	int (*group_begin)(void);
	int (*group_end)(void);
	int (*send)(const float *x, size_t n, size_t to, void *comm, void *stream);
	int (*receive)(float *x, size_t n, size_t from, void *comm, void *stream);
	const char *(*text)(int failure);
};

/* Finds and loads NCCL; RS_EPEER says what is missing. */
enum rs_status nccl_load(const struct nccl_calls **out);
enum rs_status nccl_make_id(const struct nccl_calls *calls, struct nccl_id *out);

struct nccl_options {
	const struct nccl_calls *calls;
	size_t rank, n_ranks;
	struct nccl_id id;
	double timeout;                /* seconds for each wait                           */
	double start_timeout;          /* for the start; 0: the same                      */
	const atomic_int *stop;        /* not 0: give up at once; NULL: nobody says so    */
	const char *kind;              /* of a rank, in messages; NULL: "worker"          */
};

/* A queue of the GPU, of which there may be several. */
struct nccl_queue {
	void  *stream;                 /* a cudaStream_t                                  */
	/* 1: all that is in the queue is over, 0: not yet, -1: the GPU failed. */
	int  (*is_over)(void *context);
	void  *context;
};

struct nccl;
/* When all ranks have come, to the GPU of the thread. */
enum rs_status nccl_open(const struct nccl_options *options, struct nccl **out);
/* Floats [begin,end) of x, which is on the GPU, become the sums over all ranks. */
enum rs_status nccl_sum(struct nccl *n, const struct nccl_queue *q, float *x,
	const struct reducer_bucket *bucket, size_t n_buckets);
/* All that is in the queue is over; RS_EDEVICE: the GPU failed.  step: for messages. */
enum rs_status nccl_wait(struct nccl *n, const struct nccl_queue *q, uint64_t step);
/* The GPU is free of what this rank has going on; as after a failure. */
void nccl_give_up(struct nccl *n);
/* In order, for which it waits NCCL_END_SECONDS at most, unless it was given up. */
void nccl_close(struct nccl *n);

#endif
