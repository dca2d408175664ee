/* Memory and marks of a GPU for gradients of slots. */
#include "reduce/gpu_sums.h"

#include <stdlib.h>

#include "base/memory.h"

size_t
gpu_sums_bytes(size_t n, size_t n_params)
{
	return n * ((n_params * sizeof(float) + GPU_ALIGNMENT - 1) / GPU_ALIGNMENT * GPU_ALIGNMENT);
}

enum rs_status
gpu_sums_open(struct gpu_memory *gpu, size_t bytes, size_t n_marks, struct gpu_sums *out)
{
	*out = (struct gpu_sums){ .gpu = gpu };
	RS_TRY(gpu_memory_alloc(gpu, 0, bytes, &out->block));
	out->bytes = bytes;
	RS_TRY(memory_alloc(n_marks, sizeof(*out->mark), &out->mark));
	for (; out->n_marks < n_marks; out->n_marks++)
		RS_TRY(gpu->gpu->order->open(gpu->device[0], &out->mark[out->n_marks]));
	return RS_OK;
}

void
gpu_sums_close(struct gpu_sums *s)
{
	while (s->n_marks > 0)
		s->gpu->gpu->order->close(s->mark[--s->n_marks]);
	free(s->mark);
	if (s->block != NULL)
		gpu_memory_free(s->gpu, 0, s->block, s->bytes);
	*s = (struct gpu_sums){ .gpu = NULL };
}
