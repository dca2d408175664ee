/*
 * OpenBLAS, one thread a call: threads of this program are data parallel.
 * cpu_blas_start() is called once before the first product.
 */
#ifndef KERNEL_CPU_CPU_BLAS_H
#define KERNEL_CPU_CPU_BLAS_H

#include <stddef.h>

#include "base/status.h"

/* Sets the library to one thread; warns when its build cannot run in parallel
 * threads.  core_type: the library's name for the best code this processor can
 * run, used when the library does not know the processor; or NULL. */
void cpu_blas_start(const char *core_type);
/* Under a limit of the address space: whether it has room for the blocks that the library takes
 * when n threads multiply at once.  Without that the library asks again for ever.  RS_ERESOURCE. */
enum rs_status cpu_blas_room(size_t n_threads);
/* "OpenBLAS 0.3.21 SkylakeX, 1 thread, pthread build"; static text. */
const char *cpu_blas_description(void);

#endif
