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

enum { EMULATED_GPU_BYTES = 1 << 30 };

extern const struct gpu gpu_emulated;

/* Queues that are open, and host_alloc() that are not free. */
unsigned emulated_gpu_in_use(void);

#endif
