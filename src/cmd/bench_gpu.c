/* Products and copies of one batch on a GPU. */
#include "cmd/bench_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"

/* Rows of the inputs and dense parameters, as floats. */
static size_t
bytes_of_batch(const struct model *m, const struct bench_batches *batches)
{
	size_t floats = m->P;

	for (size_t i = 0; i < graph_n_inputs(m->graph); i++) {
		const struct graph_input *const in = graph_input(m->graph, i);
		size_t n = 0;

		for (size_t k = 0; k < batches->n; k++)
			n += batches->batch[k].column[in->column].N;
		floats += n / batches->n * in->dim;
	}
	return floats * sizeof(float);
}

/* The same place in the block there as in that of the host. */
static void
place_there(const struct bench_gpu *g, const struct bench_gemm *gemm)
{
	float *const block = (float *)(void *)g->block;

	for (size_t i = 0; i < g->n; i++) {
		struct gemm_args *const p = &g->product[i];

		p->a = block + (p->a - gemm->block);
		p->b = block + (p->b - gemm->block);
		p->c = block + (p->c - gemm->block);
	}
}

static size_t
most_rows(const struct bench_gpu *g)
{
	size_t n = 1;

	for (size_t i = 0; i < g->n; i++)
		n = g->product[i].m > n ? g->product[i].m : n;
	return n;
}

static size_t
most_columns(const struct bench_gpu *g)
{
	size_t n = 1;

	for (size_t i = 0; i < g->n; i++)
		n = g->product[i].n > n ? g->product[i].n : n;
	return n;
}

/* The block has the operands, and room for what is copied when that is more. */
static enum rs_status
open_queue(struct bench_gpu *g, const struct bench_gemm *gemm)
{
	const size_t operands = gemm->floats * sizeof(float);
	const struct gpu *const gpu = g->memory->gpu;

	g->plan = (struct gpu_plan){
		.bytes = operands > g->copy_bytes ? operands : g->copy_bytes,
		.rows = most_rows(g), .columns = most_columns(g) };
	RS_TRY(gpu_memory_check(g->memory,
		&(struct gpu_claim){ .bytes = gpu->size(&g->plan), .n = 1 }, 1));
	RS_TRY(gpu_memory_open(g->memory, &g->plan, &g->queue, &g->block));
	RS_TRY(gpu->host_alloc(g->copy_bytes, &g->host));
	gpu->use(g->queue);
	gpu->upload(g->block, gemm->block, operands);
	place_there(g, gemm);
	return gpu->wait();
}

enum rs_status
bench_gpu_open(struct bench_gpu *g, const struct bench_gemm *gemm, const struct model *m,
	const struct bench_batches *batches)
{
	*g = (struct bench_gpu){ .memory = m->gpu, .n = gemm->n, .n_slots = gemm->n_slots,
		.copy_bytes = bytes_of_batch(m, batches) };
	RS_TRY(memory_alloc(g->n + 1, sizeof *g->product, &g->product));
	memcpy(g->product, gemm->product, g->n * sizeof *g->product);
	return open_queue(g, gemm);
}

void
bench_gpu_close(struct bench_gpu *g)
{
	if (g->host != NULL)
		g->memory->gpu->host_free(g->host);
	if (g->queue != NULL)
		gpu_memory_close(g->memory, &g->plan, g->queue);
	free(g->product);
	*g = (struct bench_gpu){ .memory = NULL };
}

/* Copies last: what they bring back is not multiplied. */
enum rs_status
bench_gpu_run(const struct bench_gpu *g, double *gemm_s, double *copy_s)
{
	const struct gpu *const gpu = g->memory->gpu;
	double start = clock_seconds();

	gpu->use(g->queue);
	for (size_t slot = 0; slot < g->n_slots; slot++)
		for (size_t i = 0; i < g->n; i++)
			gpu->kernel->gemm(&g->product[i]);
	RS_TRY(gpu->wait());
	*gemm_s = clock_seconds() - start;
	start = clock_seconds();
	gpu->download(g->host, g->block, g->copy_bytes);
	RS_TRY(gpu->wait());
	gpu->upload(g->block, g->host, g->copy_bytes);
	RS_TRY(gpu->wait());
	*copy_s = clock_seconds() - start;
	return RS_OK;
}
