/*
 * The kernels for NVIDIA GPUs, as the rest of the program sees them: plain C, no type of
 * CUDA.  The runtime is linked in and asks for the driver when it is first called, so a
 * binary with it runs where there is none; cuBLAS is loaded by cuda_open().
 *
 * A context is one GPU, a stream on it and one block of its memory, allocated once by plan;
 * nothing is allocated after.  Kernels of kernel_cuda take pointers into memory of the GPU, run in
 * the stream of the context their thread uses, in order, and return before they have run.
 * After a failure the others do nothing, until cuda_wait() returns it.
 */
#ifndef KERNEL_CUDA_CUDA_H
#define KERNEL_CUDA_CUDA_H

#include <stddef.h>

#include "base/status.h"
#include "kernel/kernel_table.h"

struct cuda_plan {
	int    device;                 /* its number                                      */
	size_t bytes;                  /* that cuda_take() cuts                           */
	size_t scratch_floats;         /* of cuda_scratch_floats()                        */
	int    is_shared;              /* the host may touch the block after cuda_wait()  */
	int    multiplies;             /* gemm and gemm_brain run; else there is no cuBLAS */
};

struct cuda_context;
struct gpu;                        /* kernel/gpu.h                                    */

extern const struct kernel_set kernel_cuda;
extern const struct gpu gpu_cuda;

/* How many GPUs there are, of which one or more can be used; text: the name of the first such, or
 * why there is none. */
int cuda_look(char *text, size_t n);

/* Loads cuBLAS; RS_EPEER says what was looked for. */
enum rs_status cuda_blas_load(void);

/* What kernels over B rows of at most H columns need between their passes; B is rows times
 * experts where there is a gate. */
size_t cuda_scratch_floats(size_t B, size_t H);

/* What cuda_open() takes of the GPU's memory. */
size_t cuda_context_bytes(const struct cuda_plan *plan);

/* RS_EPEER: no such GPU, or no cuBLAS; RS_ERESOURCE: the plan is larger than its memory. */
enum rs_status cuda_open(const struct cuda_plan *plan, struct cuda_context **out);
void cuda_close(struct cuda_context *c);

/* Kernels that this thread starts run there from now on. */
void cuda_use(struct cuda_context *c);

/* The next bytes of the block, at a multiple of 256; NULL: the plan has no more.  cuda_reset()
 * makes all of it free again. */
void *cuda_take(struct cuda_context *c, size_t bytes);
void  cuda_reset(struct cuda_context *c);

/* Between host and block, in the order of the kernels; over when cuda_wait() returns. */
void cuda_upload(void *to, const void *from, size_t bytes);
void cuda_download(void *to, const void *from, size_t bytes);

/* 1: all that was started there has ended, 0: not yet, -1: something failed. */
int cuda_is_over(struct cuda_context *c);
/* Its cudaStream_t, for a library that works in it. */
void *cuda_context_stream(struct cuda_context *c);

/* As struct gpu_order has them. */
struct gpu_mark;
enum rs_status cuda_mark_open(int device, struct gpu_mark **out);
void cuda_mark_close(struct gpu_mark *m);
void cuda_mark_set(struct gpu_mark *m);
void cuda_mark_follow(struct gpu_mark *m);

/* As struct gpu_replay has them. */
struct gpu_graph;
void cuda_graph_begin(struct gpu_graph *graph);
int  cuda_graph_end(struct gpu_graph **graph);
void cuda_graph_destroy(struct gpu_graph *graph);

/* All that this thread started has ended; the first failure since it was last called: RS_EDEVICE,
 * or RS_ERESOURCE when a plan was too small. */
enum rs_status cuda_wait(void);

#endif
