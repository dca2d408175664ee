/*
 * What the parts of kernel/cuda share: the context of the thread, as kernels see it, and
 * cuBLAS.
 */
#ifndef KERNEL_CUDA_CUDA_PRIVATE_H
#define KERNEL_CUDA_CUDA_PRIVATE_H

#include <driver_types.h>
#include <stddef.h>

#include "base/status.h"
#include "kernel/cuda/cuda.h"
#include "kernel/kernel_table.h"

struct cuda_blas;

/* RS_OK, or the failure as a message: what is wrong. */
enum rs_status cuda_status(cudaError_t status, const char *what);

cudaStream_t cuda_stream(void);
/* 0: nothing is to be started: something failed since cuda_wait(), or a graph stands for it. */
int  cuda_is_well(void);
void cuda_note(cudaError_t status);
/* At least n floats that the kernels of one slot may use; more than the plan's is a failure
 * that keeps them from running. */
float *cuda_scratch(size_t n);

enum rs_status cuda_blas_open(cudaStream_t stream, void *workspace, size_t workspace_bytes,
	struct cuda_blas **out);
void cuda_blas_close(struct cuda_blas *b);
struct cuda_blas *cuda_blas_of_thread(void);
/* gemm of matrices by columns, as cuBLAS has it: ld is the distance between columns. */
kernel_gemm gemm_column_cuda;
kernel_gemm_brain gemm_brain_column_cuda;

#endif
