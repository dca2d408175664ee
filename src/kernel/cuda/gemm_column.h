/*
 * The product as cuBLAS has it: matrices by columns, ld the distance between columns in
 * floats.  C [m,n] = alpha op(A) op(B) + beta C
 */
#ifndef KERNEL_CUDA_GEMM_COLUMN_H
#define KERNEL_CUDA_GEMM_COLUMN_H

#include <stddef.h>

struct gemm_column {
	int    transpose_a, transpose_b;
	size_t m, n, k;
	float  alpha, beta;
	const float *a; size_t lda;
	const float *b; size_t ldb;
	float *c;       size_t ldc;
};

void gemm_column_cuda(const struct gemm_column *a);
void gemm_column_emulated(const struct gemm_column *a);    /* of tests/kernel/emulate.c */

#endif
