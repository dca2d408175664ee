/* Products and copies of one batch on a GPU. */
#include "cmd/bench_gpu.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "graph/layer.h"

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

/* A matrix as it is stored: its rows and columns. */
static void
stored(int transposed, size_t rows, size_t columns, size_t out[2])
{
	out[0] = transposed ? columns : rows;
	out[1] = transposed ? rows : columns;
}

/* Rounds p->a and p->b to what comes behind `used` bytes of the block; its end.  block NULL:
 * only the end. */
static size_t
round_operands(const struct bench_gpu *g, size_t i, char *block, size_t used)
{
	struct gemm_args *const p = &g->product[i];
	size_t a[2], b[2];

	stored(p->transpose_a, p->m, p->k, a);
	stored(p->transpose_b, p->k, p->n, b);
	const size_t lda = layer_brain_ld(a[1]), ldb = layer_brain_ld(b[1]);
	const size_t at_b = used + a[0] * lda * sizeof(uint16_t);

	if (block != NULL) {
		const struct kernel_set *const kernel = g->memory->gpu->kernel;

		g->brain[i].a = (uint16_t *)(void *)(block + used);
		g->brain[i].b = (uint16_t *)(void *)(block + at_b);
		kernel->round_rows(a[0], a[1], p->a, p->lda, g->brain[i].a, lda);
		kernel->round_rows(b[0], b[1], p->b, p->ldb, g->brain[i].b, ldb);
		p->lda = lda;
		p->ldb = ldb;
	}
	return at_b + b[0] * ldb * sizeof(uint16_t);
}

static size_t
round_all(const struct bench_gpu *g, const struct model *m, char *block, size_t used)
{
	used = (used + GPU_ALIGNMENT - 1) / GPU_ALIGNMENT * GPU_ALIGNMENT;
	for (size_t i = 0; i < g->n; i++)
		if (graph_gemm_is_brain(m->graph, i))
			used = round_operands(g, i, block, used);
	return used;
}

static void
plan_shapes(const struct bench_gpu *g, struct gpu_plan *plan)
{
	plan->rows = plan->columns = plan->multiplies = 1;
	for (size_t i = 0; i < g->n; i++) {
		plan->rows = g->product[i].m > plan->rows ? g->product[i].m : plan->rows;
		plan->columns = g->product[i].n > plan->columns ? g->product[i].n : plan->columns;
	}
}

/* The block has the operands, and room for what is copied when that is more. */
static enum rs_status
open_queue(struct bench_gpu *g, const struct bench_gemm *gemm, const struct model *m)
{
	const size_t operands = gemm->floats * sizeof(float);
	const size_t all = round_all(g, m, NULL, operands);
	const struct gpu *const gpu = g->memory->gpu;

	g->plan = (struct gpu_plan){ .bytes = all > g->copy_bytes ? all : g->copy_bytes };
	plan_shapes(g, &g->plan);
	RS_TRY(gpu_memory_check(g->memory,
		(const size_t [GPU_DEVICES_MAX]){ gpu->size(&g->plan) }));
	RS_TRY(gpu_memory_open(g->memory, 0, &g->plan, &g->queue, &g->block));
	RS_TRY(gpu->host_alloc(g->copy_bytes, &g->host));
	gpu->use(g->queue);
	gpu->upload(g->block, gemm->block, operands);
	place_there(g, gemm);
	(void)round_all(g, m, g->block, operands);
	return gpu->wait();
}

enum rs_status
bench_gpu_open(struct bench_gpu *g, const struct bench_gemm *gemm, const struct model *m,
	const struct bench_batches *batches)
{
	*g = (struct bench_gpu){ .memory = m->gpu, .n = gemm->n, .n_slots = gemm->n_slots,
		.copy_bytes = bytes_of_batch(m, batches) };
	RS_TRY(memory_alloc(g->n + 1, sizeof *g->product, &g->product));
	RS_TRY(memory_alloc(g->n + 1, sizeof *g->brain, &g->brain));
	memcpy(g->product, gemm->product, g->n * sizeof *g->product);
	for (size_t i = 0; i < g->n; i++)
		g->product[i].is_tf32 = spec_settings(m->spec)->gpu.tf32;
	return open_queue(g, gemm, m);
}

void
bench_gpu_close(struct bench_gpu *g)
{
	if (g->queue != NULL)
		gpu_memory_close(g->memory, &g->plan, g->queue);
	if (g->host != NULL)
		g->memory->gpu->host_free(g->host);
	free(g->product);
	free(g->brain);
	*g = (struct bench_gpu){ .memory = NULL };
}

static void
multiply(const struct bench_gpu *g, size_t i)
{
	const struct kernel_set *const kernel = g->memory->gpu->kernel;

	if (g->brain[i].a != NULL)
		kernel->gemm_brain(&g->product[i], g->brain[i].a, g->brain[i].b);
	else
		kernel->gemm(&g->product[i]);
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
			multiply(g, i);
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
