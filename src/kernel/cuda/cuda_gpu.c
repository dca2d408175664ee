/* GPUs that CUDA shows, as kernel/gpu.h has them: a queue is a context. */
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
		.device = plan->device, .bytes = plan->bytes,
		.scratch_floats = cuda_scratch_floats(plan->rows, plan->columns),
		.multiplies = plan->multiplies,
	};
}

static size_t
gpu_size(const struct gpu_plan *plan)
{
	const struct cuda_plan p = plan_of(plan);

	return cuda_context_bytes(&p);
}

static enum rs_status
gpu_memory(int device, size_t *free_bytes)
{
	size_t total;

	RS_TRY(cuda_status(cudaSetDevice(device), "cannot be used"));
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

static enum rs_status
gpu_alloc(int device, size_t bytes, void *out)
{
	void *p = NULL;

	RS_TRY(cuda_status(cudaSetDevice(device), "cannot be used"));
	RS_TRY(cuda_status(cudaMalloc(&p, bytes > 0 ? bytes : 1), "no memory for tables"));
	memcpy(out, &p, sizeof(p));
	return RS_OK;
}

static void
gpu_free(void *p)
{
	(void)cudaFree(p);
}

static enum rs_status
gpu_identity(int device, unsigned char out[GPU_IDENTITY])
{
	struct cudaDeviceProp properties;

	_Static_assert(sizeof(properties.uuid) == GPU_IDENTITY, "an identity is a UUID");
	RS_TRY(cuda_status(cudaGetDeviceProperties(&properties, device), "cannot be told"));
	memcpy(out, &properties.uuid, GPU_IDENTITY);
	return RS_OK;
}

static void *
gpu_stream(struct gpu_queue *q)
{
	return cuda_context_stream(context_of(q));
}

static int
gpu_is_over(struct gpu_queue *q)
{
	return cuda_is_over(context_of(q));
}

static const struct gpu_order gpu_order = {
	.open = cuda_mark_open, .close = cuda_mark_close, .set = cuda_mark_set,
	.follow = cuda_mark_follow,
};

static const struct gpu_replay gpu_replay = {
	.begin = cuda_graph_begin, .end = cuda_graph_end, .destroy = cuda_graph_destroy,
};

static const struct gpu_link gpu_link = {
	.identity = gpu_identity, .stream = gpu_stream, .is_over = gpu_is_over,
};

const struct gpu gpu_cuda = {
	.name = "cuda", .kernel = &kernel_cuda, .size = gpu_size, .memory = gpu_memory,
	.open = gpu_open, .close = gpu_close, .use = gpu_use, .upload = cuda_upload,
	.download = cuda_download, .wait = cuda_wait, .host_alloc = gpu_host_alloc,
	.host_free = gpu_host_free, .alloc = gpu_alloc, .free = gpu_free, .link = &gpu_link,
	.order = &gpu_order, .replay = &gpu_replay,
};
