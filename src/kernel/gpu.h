/*
 * How a GPU is used, whatever is behind it: `cuda`, or one emulated by tests.
 *
 * A queue is one block of the GPU's memory, made once by plan, and what is done there in
 * order: copies and the kernels of `kernel`, which take pointers into that block and memory
 * of the queue alone.  use() makes a queue that of the calling thread; what the thread starts
 * then returns before it was done, and wait() returns when it was, with the first failure
 * since it was last called; after one nothing more is done until then.  What is copied from
 * or to must stay as it is until wait().  A queue is used by one thread at a time.
 */
#ifndef KERNEL_GPU_H
#define KERNEL_GPU_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernel/kernel_table.h"

#define GPU_ALIGNMENT ((size_t)256)

struct gpu_plan {
	size_t bytes;                  /* of the block                                    */
	size_t rows, columns;          /* the most that a kernel gets                     */
};

struct gpu_queue;

struct gpu {
	const char *name;              /* "cuda"                                          */
	const struct kernel_set *kernel;
	/* What a queue takes of the GPU's memory: the block, and what kernels need besides. */
	size_t (*size)(const struct gpu_plan *plan);
	enum rs_status (*memory)(size_t *free_bytes);
	/* RS_EPEER: no GPU, or a library is missing; RS_ERESOURCE: not enough memory. */
	enum rs_status (*open)(const struct gpu_plan *plan, struct gpu_queue **out, char **block);
	void (*close)(struct gpu_queue *q);
	void (*use)(struct gpu_queue *q);
	void (*upload)(void *to, const void *from, size_t bytes);
	void (*download)(void *to, const void *from, size_t bytes);
	enum rs_status (*wait)(void);
	/* Memory of the host that copies go to and from at full speed; zeroed. */
	enum rs_status (*host_alloc)(size_t bytes, void *out);   /* out: any T **          */
	void (*host_free)(void *p);
};

/* A GPU and what a run may take of it; queues of any thread count together. */
struct gpu_memory {
	const struct gpu *gpu;
	size_t limit;                  /* 0: what is free there                           */
	atomic_size_t used;
};

/* RS_ERESOURCE: n queues of a plan do not fit.  Before any is opened. */
enum rs_status gpu_memory_check(struct gpu_memory *m, const struct gpu_plan *plan, size_t n);
/* Opens a queue and counts it; RS_ERESOURCE: beyond the limit. */
enum rs_status gpu_memory_open(struct gpu_memory *m, const struct gpu_plan *plan,
	struct gpu_queue **out, char **block);
void gpu_memory_close(struct gpu_memory *m, const struct gpu_plan *plan, struct gpu_queue *q);

#endif
