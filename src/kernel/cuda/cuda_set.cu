/* The kernels for GPUs, compiled by nvcc; every slot of the table is filled. */
#include <cuda_runtime.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>

extern "C" {
#include "kernel/cuda/cross_body.h"
#include "kernel/cuda/dense_body.h"
#include "kernel/cuda/embed_body.h"
#include "kernel/cuda/loss_body.h"
#include "kernel/cuda/optimizer_body.h"
#include "kernel/cuda/rows_body.h"
#include "kernel/cuda/segment_body.h"
#include "kernel/cuda/vector_body.h"

/* cross_v1_backward() and gate_backward() need B, sums of columns the rest. */
size_t
cuda_scratch_floats(size_t B, size_t H)
{
	return B + column_partial(H);
}

const struct kernel_set kernel_cuda = {
	.name = "cuda",
#define ROW(name, arguments) .name = name##_cuda,
	KERNEL_TABLE(ROW)
#undef ROW
};
}
