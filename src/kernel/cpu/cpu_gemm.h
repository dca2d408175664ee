/*
 * The matrix product through OpenBLAS, one thread a call: threads of this program
 * are data parallel.  gemm_cpu_start() is called once before the first product.
 */
#ifndef KERNEL_CPU_CPU_GEMM_H
#define KERNEL_CPU_CPU_GEMM_H

#include "kernel/kernel_table.h"

kernel_gemm gemm_cpu;

/* Sets the library to one thread; warns when its build cannot run in parallel threads. */
void gemm_cpu_start(void);
/* "OpenBLAS 0.3.21 SkylakeX, 1 thread, pthread build"; static text. */
const char *gemm_cpu_description(void);

#endif
