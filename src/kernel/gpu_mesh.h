/*
 * How GPUs of a process give each other floats of their memory.
 *
 * One thread at a time makes the calls.  start() puts moves into queues, [n_places] one a GPU, and
 * returns before they are done: what a move takes must be there for its queue, and stays until
 * wait() returns, when all that is in the queues was done.  Two moves between the same GPUs are
 * in the order they were given.  Nothing is waited for without an end; what is not over in time or
 * fails is RS_EPEER, or RS_EDEVICE of a GPU, after which only close() is of use.
 */
#ifndef KERNEL_GPU_MESH_H
#define KERNEL_GPU_MESH_H

#include <stddef.h>

#include "base/status.h"
#include "kernel/gpu.h"

/* n floats from the GPU at one place (struct gpu_memory) to that at another, or the same. */
struct gpu_move {
	size_t from, to;
	const float *source;
	float *target;
	size_t n;
};

struct gpu_mesh;
struct gpu_mesh_ops {
	const char *name;              /* "nccl"                                          */
	enum rs_status (*start)(struct gpu_mesh *m, struct gpu_queue *const *queue,
		const struct gpu_move *move, size_t n);
	enum rs_status (*wait)(struct gpu_mesh *m, struct gpu_queue *const *queue);
	void (*close)(struct gpu_mesh *m);
};
struct gpu_mesh { const struct gpu_mesh_ops *ops; };

/* Who makes one. */
struct gpu_mesh_maker {
	/* RS_EPEER: why there cannot be one, as far as can be told without the GPUs. */
	enum rs_status (*check)(void);
	/* Of all GPUs of m, which is borrowed; RS_EPEER: they cannot. */
	enum rs_status (*open)(struct gpu_memory *m, struct gpu_mesh **out);
};

#endif
