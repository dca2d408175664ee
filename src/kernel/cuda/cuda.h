/*
 * The kernels for NVIDIA GPUs, as the rest of the program sees them: plain C, no type of
 * CUDA.  The runtime is linked in and asks for the driver when it is first called, so a
 * binary with it runs where there is none.
 */
#ifndef KERNEL_CUDA_CUDA_H
#define KERNEL_CUDA_CUDA_H

#include <stddef.h>

/* How many GPUs can be used; text: the name of the first, or why there is none. */
int cuda_look(char *text, size_t n);

#endif
