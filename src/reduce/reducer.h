/*
 * How dense gradients are summed: over the fixed binary tree of slots.
 *
 * A worker acquires a buffer for a slot, fills it, contributes it (the reducer
 * owns it from then on), and after all its slots calls finish, which waits for
 * the whole tree and gives the total, the same memory for every worker of the
 * process, valid until the next acquire.  Node i of a level is always left +
 * right, whoever adds it and whenever: x slots on any number of workers give the
 * same bits.  reducer_barrier waits for all workers.
 */
#ifndef REDUCE_REDUCER_H
#define REDUCE_REDUCER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernel/kernel_table.h"

/* What a slot hands over: sums in double, then the flat gradient. */
struct slot_sum {
	double loss, weight, label, prediction;    /* weighted sums                   */
	double rows;
	int    bad;                 /* a value was NaN, Inf or beyond 2^100           */
	float *grad;                /* [P]                                            */
};

struct reducer;
struct reducer_ops {
	const char *name;           /* "shm"                                          */
	struct slot_sum *(*acquire)(struct reducer *r, size_t worker);
	enum rs_status (*contribute)(
		struct reducer *r, size_t worker, size_t slot, struct slot_sum *sum);
	enum rs_status (*finish)(struct reducer *r, size_t worker, const struct slot_sum **total);
	enum rs_status (*barrier)(struct reducer *r, size_t worker);
	void (*close)(struct reducer *r);
};

struct reducer { const struct reducer_ops *ops; };

/* Threads of one process. */
enum rs_status reducer_shm_open(const struct kernel_set *kernel, size_t n_workers, size_t n_slots,
	size_t n_params, size_t n_cores, struct reducer **out);

#endif
