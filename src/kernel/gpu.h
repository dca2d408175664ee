/*
 * How a GPU is used, whatever is behind it: `cuda`, or one emulated by tests.
 *
 * A queue is one block of the GPU's memory, made once by plan, and what is done there in
 * order: copies and the kernels of `kernel`, which take pointers into that block, memory of the
 * queue alone, and into what alloc() gave.  use() makes a queue that of the calling thread; what
 * the thread starts then returns before it was done, and wait() returns when it was, with the
 * first failure since it was last called; after one nothing more is done until then.  What is
 * copied from or to must stay as it is until wait().  A queue is used by one thread at a time.
 *
 * GPUs have numbers from 0, and memory of their own: a queue is on the one that its plan names.
 * What alloc() gave is for all queues of a GPU; what one wrote there, another may read when it
 * was waited for, or after a mark (struct gpu_order).
 */
#ifndef KERNEL_GPU_H
#define KERNEL_GPU_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernel/kernel_table.h"

#define GPU_ALIGNMENT   ((size_t)256)
#define GPU_DEVICES_MAX 32              /* that a process uses                        */
#define GPU_IDENTITY    16

struct gpu_plan {
	int    device;                 /* the GPU                                         */
	size_t bytes;                  /* of the block                                    */
	size_t rows, columns;          /* the most that a kernel gets                     */
	int    multiplies;             /* gemm and gemm_brain run, which need room too    */
};

/* Where a piece of a block begins, behind those before it, which end at *end. */
static inline size_t
gpu_cut(size_t *end, size_t bytes)
{
	const size_t at = *end;

	*end += (bytes + GPU_ALIGNMENT - 1) / GPU_ALIGNMENT * GPU_ALIGNMENT;
	return at;
}

struct gpu_queue;

/* What is asked for a library that works in queues of others, like NCCL. */
struct gpu_link {
	/* Bytes that no other GPU of any host has. */
	enum rs_status (*identity)(int device, unsigned char out[GPU_IDENTITY]);
	void *(*stream)(struct gpu_queue *q);      /* as that library takes it        */
	/* 1: all that is in the queue is over, 0: not yet, -1: the GPU failed.  Waits for
	 * nothing; wait() would. */
	int (*is_over)(struct gpu_queue *q);
};

/* Order between queues of a GPU, which nobody waits for. */
struct gpu_mark;
struct gpu_order {
	enum rs_status (*open)(int device, struct gpu_mark **out);
	void (*close)(struct gpu_mark *m);
	/* Behind all that the thread's queue was given until now; not within a graph. */
	void (*set)(struct gpu_mark *m);
	/* What the thread's queue is given from now on begins when all before the mark, where it
	 * was set last, is over; when it never was, at once. */
	void (*follow)(struct gpu_mark *m);
};

struct gpu_graph;

/* Kernels that are started as one, as often as they are wanted with the same arguments.  What
 * the driver keeps for a graph is beside the plan. */
struct gpu_replay {
	/* What the thread starts until end() is kept rather than run, or, for a graph of the
	 * same, nothing is done.  No copies. */
	void (*begin)(struct gpu_graph *graph);
	/* Runs it, *graph is made when it was NULL; 0: it cannot be made, and nothing has run. */
	int  (*end)(struct gpu_graph **graph);
	void (*destroy)(struct gpu_graph *graph);
};

struct gpu {
	const char *name;              /* "cuda"                                          */
	const struct kernel_set *kernel;
	/* What a queue takes of the GPU's memory: the block, and what kernels need besides. */
	size_t (*size)(const struct gpu_plan *plan);
	enum rs_status (*memory)(int device, size_t *free_bytes);
	/* RS_EPEER: no such GPU, or a library is missing; RS_ERESOURCE: not enough memory. */
	enum rs_status (*open)(const struct gpu_plan *plan, struct gpu_queue **out, char **block);
	/* Waits, and forgets failures; memory that it copies from or to is freed after. */
	void (*close)(struct gpu_queue *q);
	void (*use)(struct gpu_queue *q);
	void (*upload)(void *to, const void *from, size_t bytes);
	void (*download)(void *to, const void *from, size_t bytes);
	/* RS_EDEVICE: what was started failed, and the GPU may be of no more use to the process. */
	enum rs_status (*wait)(void);
	/* Memory of the host that copies go to and from at full speed; zeroed. */
	enum rs_status (*host_alloc)(size_t bytes, void *out);   /* out: any T **          */
	void (*host_free)(void *p);
	/* RS_ERESOURCE: not enough memory. */
	enum rs_status (*alloc)(int device, size_t bytes, void *out);   /* out: any T **   */
	void (*free)(void *p);
	const struct gpu_link *link;
	const struct gpu_order *order;
	const struct gpu_replay *replay;       /* NULL: kernels are started one by one    */
};

struct gpu_mesh_maker;

/* GPUs and what a run may take of them; queues of any thread count together.  A place is an
 * index of device[]. */
struct gpu_memory {
	const struct gpu *gpu;
	size_t limit;                  /* of each; 0: what is free there                  */
	size_t n_devices;              /* 0: it is GPU 0                                  */
	int    device[GPU_DEVICES_MAX];
	atomic_size_t used, used_of[GPU_DEVICES_MAX];    /* of all; by place              */
	const struct gpu_mesh_maker *mesh;     /* kernel/gpu_mesh.h; NULL: there is none  */
};

/* Leaves the i-th of n processes of a host its share: every n-th GPU from the i-th on, or one,
 * around them, where there are fewer than processes. */
void gpu_memory_deal(struct gpu_memory *m, size_t i, size_t n);
/* How many there are. */
size_t gpu_memory_places(const struct gpu_memory *m);
/* RS_ERESOURCE: so many bytes of each of them do not fit beside what is used now. */
enum rs_status gpu_memory_check(struct gpu_memory *m, const size_t *bytes);
/* Opens a queue on the GPU at that place, which plan->device says then.  RS_ERESOURCE: beyond
 * the limit. */
enum rs_status gpu_memory_open(struct gpu_memory *m, size_t place, struct gpu_plan *plan,
	struct gpu_queue **out, char **block);
void gpu_memory_close(struct gpu_memory *m, const struct gpu_plan *plan, struct gpu_queue *q);
/* Memory of the GPU at that place for all its queues, counted; RS_ERESOURCE: beyond the
 * limit. */
enum rs_status gpu_memory_alloc(struct gpu_memory *m, size_t place, size_t bytes, void *out);
void gpu_memory_free(struct gpu_memory *m, size_t place, void *p, size_t bytes);

#endif
