/*
 * OpenBLAS, one thread a call: threads of this program are data parallel.
 * cpu_blas_start() is called once before the first product.
 */
#ifndef KERNEL_CPU_CPU_BLAS_H
#define KERNEL_CPU_CPU_BLAS_H

/* Sets the library to one thread; warns when its build cannot run in parallel
 * threads.  core_type: the library's name for the best code this processor can
 * run, used when the library does not know the processor; or NULL. */
void cpu_blas_start(const char *core_type);
/* "OpenBLAS 0.3.21 SkylakeX, 1 thread, pthread build"; static text. */
const char *cpu_blas_description(void);

#endif
