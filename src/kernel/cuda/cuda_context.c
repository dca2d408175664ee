/* One GPU: its stream, its memory, what failed on it. */
#include <assert.h>
#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "kernel/cuda/cuda.h"
#include "kernel/cuda/cuda_private.h"

#define ALIGNMENT       ((size_t)256)
#define BLAS_WORKSPACE  ((size_t)32 << 20)      /* what cuBLAS wants on sm_90             */

/* The block: what kernels need between passes, what cuBLAS does where there are products, then
 * what is taken. */
struct cuda_context {
	int    device;
	cudaStream_t stream;
	struct cuda_blas *blas;         /* NULL: the plan has no products                  */
	char  *block;
	float *scratch;
	size_t scratch_floats, first, used, n_bytes;
	cudaError_t failure;            /* the first since cuda_wait()                     */
	int    is_capturing, is_replaying;   /* between cuda_graph_begin() and its end     */
};

struct gpu_graph { cudaGraphExec_t exec; };
struct gpu_mark { cudaEvent_t event; };

static _Thread_local struct cuda_context *current;

static size_t
aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* The runtime keeps a failure of this thread until it is asked for: a later kernel must not
 * find it there. */
static enum rs_status
fail(cudaError_t status, const char *what)
{
	(void)cudaGetLastError();
	return rs_fail(status == cudaErrorMemoryAllocation ? RS_ERESOURCE : RS_EPEER,
		"GPU: %s: %s", what, cudaGetErrorString(status));
}

enum rs_status
cuda_status(cudaError_t status, const char *what)
{
	return status == cudaSuccess ? RS_OK : fail(status, what);
}

/* Of the block: what comes before that which is taken. */
static size_t
own_bytes(const struct cuda_plan *plan)
{
	return aligned(plan->scratch_floats * sizeof(float))
		+ (plan->multiplies ? BLAS_WORKSPACE : 0);
}

size_t
cuda_context_bytes(const struct cuda_plan *plan)
{
	return own_bytes(plan) + aligned(plan->bytes);
}

static enum rs_status
open_block(struct cuda_context *c, const struct cuda_plan *plan)
{
	c->scratch_floats = plan->scratch_floats;
	c->first = own_bytes(plan);
	c->used = c->first;
	c->n_bytes = cuda_context_bytes(plan);
	const cudaError_t status = plan->is_shared
		? cudaMallocManaged((void **)&c->block, c->n_bytes, cudaMemAttachGlobal)
		: cudaMalloc((void **)&c->block, c->n_bytes);

	if (status != cudaSuccess) {
		char what[48];
		snprintf(what, sizeof(what), "no block of %zu bytes", c->n_bytes);
		return fail(status, what);
	}
	c->scratch = (float *)(void *)c->block;
	return !plan->multiplies ? RS_OK : cuda_blas_open(c->stream,
		c->block + c->first - BLAS_WORKSPACE, BLAS_WORKSPACE, &c->blas);
}

enum rs_status
cuda_open(const struct cuda_plan *plan, struct cuda_context **out)
{
	struct cuda_context *c;

	cudaError_t status = cudaSetDevice(plan->device);
	if (status != cudaSuccess)
		return fail(status, "cannot be used");
	RS_TRY(memory_alloc(1, sizeof(*c), &c));
	c->device = plan->device;
	status = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
	const enum rs_status opened = status != cudaSuccess ? fail(status, "no stream")
		: open_block(c, plan);
	if (opened != RS_OK) {
		cuda_close(c);
		return opened;
	}
	*out = c;
	return RS_OK;
}

void
cuda_close(struct cuda_context *c)
{
	if (c == NULL)
		return;
	/* What cuBLAS frees is of the GPU of the thread. */
	(void)cudaSetDevice(c->device);
	if (c->stream != NULL)
		(void)cudaStreamSynchronize(c->stream);
	cuda_blas_close(c->blas);
	if (c->block != NULL)
		(void)cudaFree(c->block);
	if (c->stream != NULL)
		(void)cudaStreamDestroy(c->stream);
	(void)cudaGetLastError();       /* of a GPU that failed: no later kernel's         */
	if (current == c)
		current = NULL;
	free(c);
}

void
cuda_use(struct cuda_context *c)
{
	current = c;
	/* A stream takes kernels only of threads that are on its GPU. */
	if (c != NULL)
		cuda_note(cudaSetDevice(c->device));
}

void *
cuda_take(struct cuda_context *c, size_t bytes)
{
	const size_t n = aligned(bytes);

	if (n < bytes || n > c->n_bytes - c->used)
		return NULL;
	c->used += n;
	return c->block + (c->used - n);
}

void
cuda_reset(struct cuda_context *c)
{
	c->used = c->first;
}

static void
copy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	if (cuda_is_well())
		cuda_note(cudaMemcpyAsync(to, from, bytes, kind, current->stream));
}

void
cuda_upload(void *to, const void *from, size_t bytes)
{
	copy(to, from, bytes, cudaMemcpyHostToDevice);
}

void
cuda_download(void *to, const void *from, size_t bytes)
{
	copy(to, from, bytes, cudaMemcpyDeviceToHost);
}

enum rs_status
cuda_wait(void)
{
	assert(current != NULL);
	const cudaError_t ended = cudaStreamSynchronize(current->stream);
	const cudaError_t first = current->failure != cudaSuccess ? current->failure : ended;

	current->failure = cudaSuccess;
	if (first == cudaSuccess)
		return RS_OK;
	(void)fail(first, "a kernel or copy failed");
	if (first == cudaErrorMemoryAllocation)
		return RS_ERESOURCE;
	rs_fail(RS_EDEVICE, "GPU %d: a kernel or copy failed: %s", current->device,
		cudaGetErrorString(first));
	return rs_hint("the log of the driver may say more (dmesg, nvidia-smi -q); --resume goes "
		"on from the last version");
}

int
cuda_is_over(struct cuda_context *c)
{
	const cudaError_t status = c->failure != cudaSuccess ? c->failure
		: cudaStreamQuery(c->stream);

	if (status == cudaSuccess)
		return 1;
	(void)cudaGetLastError();
	return status == cudaErrorNotReady ? 0 : -1;
}

void *
cuda_context_stream(struct cuda_context *c)
{
	return c->stream;
}

/* --- marks ----------------------------------------------------------------------------- */

enum rs_status
cuda_mark_open(int device, struct gpu_mark **out)
{
	struct gpu_mark *m;

	RS_TRY(cuda_status(cudaSetDevice(device), "cannot be used"));
	RS_TRY(memory_alloc(1, sizeof(*m), &m));
	const enum rs_status status = cuda_status(cudaEventCreateWithFlags(&m->event,
		cudaEventDisableTiming), "no event");
	if (status == RS_OK)
		*out = m;
	else
		free(m);
	return status;
}

void
cuda_mark_close(struct gpu_mark *m)
{
	(void)cudaEventDestroy(m->event);
	free(m);
}

void
cuda_mark_set(struct gpu_mark *m)
{
	assert(!current->is_capturing && !current->is_replaying);
	if (cuda_is_well())
		cuda_note(cudaEventRecord(m->event, current->stream));
}

void
cuda_mark_follow(struct gpu_mark *m)
{
	assert(!current->is_capturing && !current->is_replaying);
	if (cuda_is_well())
		cuda_note(cudaStreamWaitEvent(current->stream, m->event, 0));
}

/* --- graphs ---------------------------------------------------------------------------- */

/* Calls of other threads disturb no capture, and it none of theirs.  Where none begins kernels
 * run at once. */
void
cuda_graph_begin(struct gpu_graph *graph)
{
	assert(!current->is_replaying && !current->is_capturing);
	current->is_replaying = graph != NULL;
	if (graph == NULL && cuda_is_well())
		current->is_capturing = cudaStreamBeginCapture(current->stream,
			cudaStreamCaptureModeThreadLocal) == cudaSuccess;
	if (graph == NULL && !current->is_capturing)
		(void)cudaGetLastError();
}

static cudaError_t
instantiate(struct gpu_graph *graph)
{
	cudaGraph_t captured = NULL;
	cudaError_t status = cudaStreamEndCapture(current->stream, &captured);

	if (status == cudaSuccess)
		status = current->failure;
	if (status == cudaSuccess)
		status = cudaGraphInstantiate(&graph->exec, captured, 0);
	if (captured != NULL)
		(void)cudaGraphDestroy(captured);
	return status;
}

/* What failed while it was captured was not to run then, and fails again when it does. */
static int
make(struct gpu_graph **graph)
{
	struct gpu_graph *const made = calloc(1, sizeof(*made));
	struct gpu_graph none;

	current->is_capturing = 0;
	if (instantiate(made != NULL ? made : &none) != cudaSuccess || made == NULL) {
		current->failure = cudaSuccess;
		(void)cudaGetLastError();
		free(made);
		return 0;
	}
	*graph = made;
	return 1;
}

int
cuda_graph_end(struct gpu_graph **graph)
{
	if (current->is_capturing && !make(graph))
		return 0;
	current->is_replaying = 0;
	if (*graph != NULL && cuda_is_well())
		cuda_note(cudaGraphLaunch((*graph)->exec, current->stream));
	return 1;
}

void
cuda_graph_destroy(struct gpu_graph *graph)
{
	if (graph == NULL)
		return;
	(void)cudaGraphExecDestroy(graph->exec);
	free(graph);
}

/* --- for kernels ----------------------------------------------------------------------- */

cudaStream_t
cuda_stream(void)
{
	return current->stream;
}

int
cuda_is_well(void)
{
	assert(current != NULL);
	return current->failure == cudaSuccess && !current->is_replaying;
}

void
cuda_note(cudaError_t status)
{
	if (status != cudaSuccess && current->failure == cudaSuccess)
		current->failure = status;
}

float *
cuda_scratch(size_t n)
{
	assert(current != NULL);
	if (n > current->scratch_floats)
		cuda_note(cudaErrorMemoryAllocation);
	return current->scratch;
}

struct cuda_blas *
cuda_blas_of_thread(void)
{
	assert(current->blas != NULL);
	return current->blas;
}
