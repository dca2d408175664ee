/*
 * What a GPU can do at most, measured with nothing else in the loop: the products of the GEMM
 * limit made there (cmd/bench_limit.h) as precise as training makes them, of operands that were
 * rounded before, and copies of what a step brings there and back, the
 * rows of a batch with their gradients and the dense parameters with theirs.
 */
#ifndef CMD_BENCH_GPU_H
#define CMD_BENCH_GPU_H

#include "cmd/bench_limit.h"
#include "kernel/gpu.h"

struct bench_brain { uint16_t *a, *b; };   /* operands of two bytes, or NULL         */

struct bench_gpu {
	struct gpu_memory *memory;
	struct gpu_plan plan;
	struct gpu_queue *queue;
	char   *block;
	struct gemm_args *product;     /* [n] of one slot, in the block               */
	struct bench_brain *brain;     /* [n] its operands where training rounds them */
	size_t  n, n_slots;
	char   *host;                  /* [copy_bytes] that copies go through          */
	size_t  copy_bytes;            /* of a batch, one way                         */
};

/* RS_ERESOURCE: there is not as much memory left on the GPU. */
enum rs_status bench_gpu_open(struct bench_gpu *g, const struct bench_gemm *gemm,
	const struct model *m, const struct bench_batches *batches);
void bench_gpu_close(struct bench_gpu *g);
/* Seconds of the products of a batch, and of its copies there and back, one after the other. */
enum rs_status bench_gpu_run(const struct bench_gpu *g, double *gemm_s, double *copy_s);

#endif
