/*
 * The exchange whose floats are summed by NCCL, one GPU a rank, and whose everything else goes
 * over another exchange.
 *
 * A rank adds up its own parts from left to right, on the host or, where a rank has one GPU,
 * there, if that is where they are.  The sum goes in pieces through NCCL_LANES blocks of the first
 * of its GPUs: added or brought there, summed over the ranks, to the host, so that copies of one
 * go on beside the sum of another.  Heads follow the tree to the bit over `inner`.  Floats
 * do so to a tolerance, and exactly where they are whole numbers and sums below 2^24; they are
 * the same in all ranks.  A rank whose own sum the kernel's guard refuses tells a NaN instead,
 * which then is in the total of all.
 * Whatever of it fails ends in RS_EPEER, or RS_EDEVICE when it was the GPU of this rank, with the
 * communicator aborted; ranks that are left open
 * another exchange over another inner one, with a new id.
 */
#ifndef REDUCE_NCCL_EXCHANGE_H
#define REDUCE_NCCL_EXCHANGE_H

#include "kernel/gpu.h"
#include "reduce/exchange.h"
#include "reduce/nccl.h"

#define NCCL_LANES    3
#define NCCL_PIECE    ((size_t)1 << 18)        /* floats                              */
/* That a lane takes of the GPU's memory. */
#define NCCL_LANE_BYTES (NCCL_PIECE * sizeof(float) + GPU_ALIGNMENT)
#define NCCL_WHY      256

struct nccl_exchange_options {
	struct exchange *inner;            /* the new one's, once there is one         */
	const char *why_not;               /* this rank cannot; NULL: it can           */
	const struct nccl_calls *calls;
	struct gpu_memory *gpu;            /* borrowed                                 */
};

/*
 * Collective.  *out NULL: it cannot be, and `why` [NCCL_WHY] says why, the same in all ranks:
 * inner is as it was.  A failure is that of inner: it is of no more use.
 */
enum rs_status nccl_exchange_open(const struct exchange *base,
	const struct nccl_exchange_options *options, struct exchange **out, char *why);

#endif
