/*
 * A GPU for tests of what uses one.  Its memory is closed to the host, and begins as NaN;
 * kernels are those of nvcc, emulated, and stop the program when they get memory of the host.
 * What a download brings is there after wait(), before that it is NaN; what an upload takes
 * must be the same until then.  emulate_violations() tells what was not so.
 */
#ifndef TESTS_KERNEL_EMULATED_GPU_H
#define TESTS_KERNEL_EMULATED_GPU_H

#include "emulate.h"
#include "kernel/gpu.h"

/* EMULATED_PRODUCT_BYTES: what a queue with products has besides. */
enum {
	EMULATED_GPUS = EMULATE_DEVICES, EMULATED_GPU_BYTES = 1 << 30,
	EMULATED_PRODUCT_BYTES = 1 << 20
};

extern const struct gpu gpu_emulated;      /* each of them                            */
extern const struct gpu gpu_emulated_direct;   /* the same without graphs             */

/* Graphs that were started again since it was last called. */
unsigned emulated_gpu_replays(void);
/* The n-th graph from now on cannot be made; 0: each can. */
void emulated_gpu_refuse_graph(unsigned n);
/* The n-th open() or alloc() from now on finds no memory; 0: each does. */
void emulated_gpu_refuse_memory(unsigned n);
/* How often marks were set, and such followed, since it was last called.  One that is set again
 * before anyone followed it is a violation: what was before it the first time, nobody waits for. */
struct emulated_gpu_marks {
	unsigned n_set, n_followed;
	unsigned n_repeated;           /* set where the last was: nothing was started since */
};
struct emulated_gpu_marks emulated_gpu_marks(void);
/* Called before a mark is set, the n-th in its queue since that was waited for, from 0; NULL: no
 * more.  While nobody runs. */
void emulated_gpu_on_mark(void (*hook)(int device, unsigned n));
/* Bytes that were copied to GPUs and from them, since it was last called. */
struct emulated_gpu_copies { size_t up, down; };
struct emulated_gpu_copies emulated_gpu_copies(void);
/* Queues that are open, marks, graphs, and host_alloc() and alloc() that are not free. */
unsigned emulated_gpu_in_use(void);
/* Queues that are open on one. */
unsigned emulated_gpu_queues(int device);

/*
 * For a double of a library that works in queues: what comes after in such a queue,
 * which may be downloads, waits until is_over() says 1, or -1: it failed, which only is_over()
 * of the GPU asks.  Who waits or closes the queue before hangs on a GPU, and violates here.
 */
void emulated_gpu_hold(struct gpu_queue *q, int (*is_over)(void *context), void *context);
/* Between memory of the queue, or of all, and that of the test. */
void emulated_gpu_read(struct gpu_queue *q, void *to, const void *from, size_t bytes);
void emulated_gpu_write(struct gpu_queue *q, void *to, const void *from, size_t bytes);

#endif
