/* The kernels for GPUs, compiled for the CPU: the text that nvcc compiles. */
#include "emulate.h"
#include "kernel/cuda/cross_body.h"
#include "kernel/cuda/dense_body.h"
#include "kernel/cuda/embed_body.h"
#include "kernel/cuda/loss_body.h"
#include "kernel/cuda/optimizer_body.h"
#include "kernel/cuda/rows_body.h"
#include "kernel/cuda/segment_body.h"
#include "kernel/cuda/vector_body.h"

const struct kernel_set kernel_emulated = {
	.name = "emulated",
#define ROW(name, arguments) .name = name##_emulated,
	KERNEL_TABLE(ROW)
#undef ROW
};
