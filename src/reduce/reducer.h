/*
 * How dense gradients are summed: over the fixed binary tree of slots.
 *
 * A worker acquires a buffer for a slot, fills it, contributes it (the reducer
 * owns it from then on), and after all its slots calls finish, which waits for
 * the whole tree and gives the total, the same memory for every worker of the
 * process, valid until the next acquire.  Node i of a level is always left +
 * right, whoever adds it and whenever: x slots on any number of workers give the
 * same bits, and on any number of processes: with an exchange this process has the
 * slots of its rank, and finish waits for those of the others.  What of a slot is final
 * before the rest, bucket by bucket, may be given earlier by advance; a thread then tells
 * it to the other ranks meanwhile.  barrier waits for the workers of this process.
 *
 * Gradients of slots may be on a GPU, where the exchange takes them, and only the total comes to
 * the host.  It then adds up those of a rank, in the order of slots, so bits are those of the
 * exchange and the same in each run.
 */
#ifndef REDUCE_REDUCER_H
#define REDUCE_REDUCER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernel/kernel_table.h"
#include "reduce/exchange.h"

#define SLOT_VOTES 16               /* bits of slot_sum.votes                         */

/* What a slot hands over: sums in double, then the flat gradient. */
struct slot_sum {
	double loss, weight, label, prediction;    /* weighted sums                   */
	double rows;
	int    bad;                 /* a value was NaN, Inf or beyond 2^100           */
	unsigned votes;             /* bits, set in the total when any slot set them  */
	float *grad;                /* [P] on the GPU of the options, that of the total
	                               on the host                                    */
	uint64_t step;              /* for messages about an exchange                 */
	size_t n_given;             /* buckets that went already; the reducer's       */
};

/* Floats [begin,end) of a gradient, which are summed together. */
struct reducer_bucket { size_t begin, end; };

struct reducer;
struct reducer_ops {
	const char *name;           /* "shm"                                          */
	struct slot_sum *(*acquire)(struct reducer *r, size_t worker);
	/* The gradient is final in the first n buckets; they may be summed from here on.
	 * On a GPU: the thread's queue has all that makes them so. */
	void (*advance)(struct reducer *r, size_t worker, size_t slot, struct slot_sum *sum,
		size_t n);
	/* All is final; on a GPU what the reducer was not told of before is over. */
	enum rs_status (*contribute)(
		struct reducer *r, size_t worker, size_t slot, struct slot_sum *sum);
	/* Fails in all workers alike.  RS_EPEER: other ranks did not come; RS_EDIVERGED or
	 * hash_failure: dense_hash differs among them, which names the first that is not like
	 * rank 0. */
	enum rs_status (*finish)(struct reducer *r, size_t worker, const struct slot_sum **total);
	enum rs_status (*barrier)(struct reducer *r, size_t worker);
	void (*close)(struct reducer *r);
};

struct reducer {
	const struct reducer_ops *ops;
	/* With an exchange set by worker 0 before it calls finish: the step whose sum this
	 * is, and a hash of what must be equal in all ranks then (all ranks set one, or all
	 * leave it 0). */
	uint64_t step, dense_hash;
	/* What else it is a hash of, and what it is that they differ; NULL: dense
	 * parameters, RS_EDIVERGED. */
	const char *hash_of;
	enum rs_status hash_failure;
};

struct reducer_options {
	const struct kernel_set *kernel;
	size_t n_workers, n_cores;  /* of this process                                */
	size_t n_slots, n_params;
	struct exchange *exchange;  /* borrowed; NULL: all slots are in this process  */
	struct gpu_memory *gpu;     /* the exchange's; NULL: gradients are on the host */
	/* With an exchange: the gradient in the order in which it becomes final, together all
	 * of it; copied.  The same in all ranks.  n_buckets 0: it is one. */
	const struct reducer_bucket *bucket;
	size_t n_buckets;
};

/* Threads of one process.  With an exchange, slots are those of its rank; worker 0 calls it
 * in finish, and before that in the step a thread of the reducer, if there is more than one
 * bucket. */
enum rs_status reducer_shm_open(const struct reducer_options *options, struct reducer **out);

#endif
