/*
 * Where gradients of slots lie that stay on a GPU, and the marks behind which they are final.
 *
 * Memory of the first GPU, counted, begins as it comes.  A mark is set where somebody else may
 * read, and followed by who does (struct gpu_order).  Zeroed it is none, and closed.
 */
#ifndef REDUCE_GPU_SUMS_H
#define REDUCE_GPU_SUMS_H

#include <stddef.h>

#include "base/status.h"
#include "kernel/gpu.h"

struct gpu_sums {
	struct gpu_memory *gpu;        /* borrowed; NULL: none                            */
	char  *block;                  /* [bytes]                                         */
	size_t bytes, n_marks;
	struct gpu_mark **mark;        /* [n_marks]                                       */
};

/* Of n gradients, each from a multiple of GPU_ALIGNMENT on. */
size_t gpu_sums_bytes(size_t n, size_t n_params);
/* After a failure it is to be closed, too. */
enum rs_status gpu_sums_open(struct gpu_memory *gpu, size_t bytes, size_t n_marks,
	struct gpu_sums *out);
void gpu_sums_close(struct gpu_sums *s);

#endif
