/* The first GPU that CUDA shows, as kernel/gpu.h has it: a queue is a context. */
#include <cuda_runtime_api.h>
#include <string.h>

#include "kernel/cuda/cuda.h"
#include "kernel/cuda/cuda_private.h"
#include "kernel/gpu.h"

static struct cuda_context *
context_of(struct gpu_queue *q)
{
	return (struct cuda_context *)(void *)q;
}

static struct cuda_plan
plan_of(const struct gpu_plan *plan)
{
	return (struct cuda_plan){
		.bytes = plan->bytes, .precision = CUDA_FP32,
		.scratch_floats = cuda_scratch_floats(plan->rows, plan->columns),
	};
}

static size_t
gpu_size(const struct gpu_plan *plan)
{
	const struct cuda_plan p = plan_of(plan);

	return cuda_context_bytes(&p);
}

static enum rs_status
gpu_memory(size_t *free_bytes)
{
	size_t total;

	return cuda_status(cudaMemGetInfo(free_bytes, &total), "its memory cannot be told");
}

static enum rs_status
gpu_open(const struct gpu_plan *plan, struct gpu_queue **out, char **block)
{
	const struct cuda_plan p = plan_of(plan);
	struct cuda_context *c;

	RS_TRY(cuda_open(&p, &c));
	*out = (struct gpu_queue *)(void *)c;
	*block = cuda_take(c, plan->bytes);
	return RS_OK;
}

static void
gpu_close(struct gpu_queue *q)
{
	cuda_close(context_of(q));
}

static void
gpu_use(struct gpu_queue *q)
{
	cuda_use(context_of(q));
}

static enum rs_status
gpu_host_alloc(size_t bytes, void *out)
{
	void *p = NULL;

	/* Of every GPU: threads that ask for it have not chosen one. */
	RS_TRY(cuda_status(cudaHostAlloc(&p, bytes > 0 ? bytes : 1, cudaHostAllocPortable),
		"no memory for copies"));
	memset(p, 0, bytes);
	memcpy(out, &p, sizeof(p));
	return RS_OK;
}

static void
gpu_host_free(void *p)
{
	(void)cudaFreeHost(p);
}

const struct gpu gpu_cuda = {
	.name = "cuda", .kernel = &kernel_cuda, .size = gpu_size, .memory = gpu_memory,
	.open = gpu_open, .close = gpu_close, .use = gpu_use, .upload = cuda_upload,
	.download = cuda_download, .wait = cuda_wait, .host_alloc = gpu_host_alloc,
	.host_free = gpu_host_free,
};
