/*
 * Which kernels run.  kernel_select() is called once at start; the set is
 * constant and may be used by any number of threads.  "auto" takes the best the
 * processor has; "ref", "avx512", "avx2", "baseline" force one (tests, bug
 * reports; RECSYS_TRAIN_KERNELS).  A name the processor cannot run is RS_EUSAGE.
 */
#ifndef KERNEL_KERNEL_H
#define KERNEL_KERNEL_H

#include "base/status.h"
#include "kernel/kernel_table.h"

extern const struct kernel_set kernel_ref;

enum rs_status kernel_select(const char *name, const struct kernel_set **out);
/* Makes "auto" mean the set of this name, which is borrowed; before the first thread.  RS_EUSAGE
 * as above. */
enum rs_status kernel_force(const char *name);
/* That name, or NULL. */
const char *kernel_forced(void);

/* y[i] = the bfloat16 nearest to x[i], half_brain_of(), whichever set was chosen. */
void kernel_round(size_t n, const float *x, uint16_t *y);

/* RS_ERESOURCE: the limit of the address space leaves no room for products of n threads. */
enum rs_status kernel_blas_room(size_t n_threads);
/* "OpenBLAS 0.3.21 SkylakeX, 1 thread, pthread build"; static text. */
const char *kernel_blas_description(void);

#endif
