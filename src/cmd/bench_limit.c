/* GEMM limit, random rows, memory bandwidth. */
#include "cmd/bench_limit.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/thread.h"
#include "graph/product.h"
#include "kernel/narrow.h"
#include "train/contrast.h"

#define MEMORY_BYTES ((size_t)256 << 20)
#define RANDOM_ROWS  ((size_t)1 << 20)
#define AHEAD        16
#define PASSES       3

/* Floats that a row-major matrix of op(X) = rows x columns takes. */
static size_t
operand_floats(int transposed, size_t rows, size_t columns, size_t ld)
{
	return (transposed ? columns : rows) * ld;
}

/* Every product has operands of its own, as in the model. */
static size_t
place(struct gemm_args *p, float *block, size_t used)
{
	const size_t a = operand_floats(p->transpose_a, p->m, p->k, p->lda);
	const size_t b = operand_floats(p->transpose_b, p->k, p->n, p->ldb);
	const size_t c = p->m * p->ldc;

	if (block != NULL) {
		p->a = block + used;
		p->b = block + used + a;
		p->c = block + used + a + b;
	}
	return used + a + b + c;
}

/* Ids of an input in the rows of a slot, on average. */
static size_t
slot_ids(const struct bench_batches *batches, size_t column, size_t n_slots)
{
	size_t n = 0;

	for (size_t i = 0; i < batches->n; i++)
		n += batches->batch[i].column[column].N;
	return n / (batches->n * n_slots);
}

static enum rs_status
list_products(struct bench_gemm *g, const struct model *m, const struct bench_batches *batches)
{
	const size_t rows = batches->batch[0].B, n = graph_n_inputs(m->graph);
	const size_t B = rows > g->n_slots ? rows / g->n_slots : 1;
	size_t *N;

	RS_TRY(memory_alloc(n + 1, sizeof(*N), &N));
	for (size_t i = 0; i < n; i++)
		N[i] = slot_ids(batches, graph_input(m->graph, i)->column, g->n_slots);
	g->n = graph_gemms(m->graph, B, N, NULL, 0);
	const enum rs_status status =
		memory_alloc(g->n + CONTRAST_GEMMS, sizeof(*g->product), &g->product);
	if (status == RS_OK) {
		graph_gemms(m->graph, B, N, g->product, g->n);
		g->n += contrast_gemms(m, &batches->batch[0], B, g->product + g->n);
	}
	free(N);
	return status;
}

/* The three products from i on by the layer that trains; dz is any numbers.  rounds: else the
 * operands are rounded already, where they are at all. */
static void
run_layer(const struct bench_gemm *g, size_t i, int rounds)
{
	const struct gemm_args *y = &g->product[i], *dw = y + 1, *dx = y + 2;
	const struct bench_lane *const l = &g->lane[i];
	const struct narrow_set *const set = l->lane->narrow->set;
	const int reads = rounds || l->lane->narrow->element == 0;
	const float *const x = reads ? y->a : NULL;
	const float *const dz = reads ? dw->b : NULL;

	set->forward(l->lane, &(struct narrow_forward){ .B = y->m, .x = x, .bias = g->zeros,
		.kept = l->kept, .y = y->c, .scratch = g->scratch });
	set->backward(l->lane, &(struct narrow_backward){ .B = y->m, .x = x, .kept = l->kept,
		.dz = dz,
		.rounded = l->rounded, .dw = dw->c, .dx = dx->c, .scratch = g->scratch });
}

static enum rs_status
open_lane(struct bench_gemm *g, size_t i, struct narrow *layer, size_t *scratch_bytes)
{
	const struct gemm_args *const y = &g->product[i];
	struct bench_lane *const l = &g->lane[i];

	RS_TRY(layer->set->lane_open(layer, y->m, &l->lane));
	RS_TRY(memory_alloc(y->m * y->k, layer->element, &l->kept));
	RS_TRY(memory_alloc(y->m * y->n, layer->element, &l->rounded));
	if (l->lane->scratch_bytes > *scratch_bytes)
		*scratch_bytes = l->lane->scratch_bytes;
	layer->set->pack(layer, y->b);
	g->has_plain |= layer->element == 0;
	return RS_OK;
}

/* What trains by other products than the kernel's is measured so; operands are rounded ahead. */
static enum rs_status
open_lanes(struct bench_gemm *g, const struct model *m)
{
	size_t scratch_bytes = 1, widest = 1;
	struct narrow *layer;

	RS_TRY(memory_alloc(g->n + 1, sizeof(*g->lane), &g->lane));
	for (size_t i = 0; i < g->n; i++) {
		layer = graph_gemm_layer(m->graph, i);
		if (layer != NULL && narrow_takes(layer, g->product[i].m))
			RS_TRY(open_lane(g, i, layer, &scratch_bytes));
		widest = g->product[i].n > widest ? g->product[i].n : widest;
	}
	RS_TRY(memory_alloc(widest, sizeof(*g->zeros), &g->zeros));
	RS_TRY(memory_alloc(scratch_bytes, 1, &g->scratch));
	for (size_t i = 0; i < g->n; i++)
		if (g->lane[i].lane != NULL)
			run_layer(g, i, 1);
	return RS_OK;
}

enum rs_status
bench_gemm_open(
	struct bench_gemm *g, const struct model *m, const struct bench_batches *batches)
{
	size_t floats = 0;

	memset(g, 0, sizeof(*g));
	g->kernel = m->kernel;
	g->n_slots = model_slots(spec_settings(m->spec));
	RS_TRY(list_products(g, m, batches));
	for (size_t i = 0; i < g->n; i++)
		floats = place(&g->product[i], NULL, floats);
	RS_TRY(memory_alloc(floats + 1, sizeof(float), &g->block));
	g->floats = floats;
	for (size_t i = 0; i < floats; i++)
		g->block[i] = (float)(rng_uniform(1, i) - 0.5);
	floats = 0;
	for (size_t i = 0; i < g->n; i++) {
		const struct gemm_args *p = &g->product[i];

		floats = place(&g->product[i], g->block, floats);
		g->flop += 2.0 * (double)p->m * (double)p->n * (double)p->k * (double)g->n_slots;
	}
	return open_lanes(g, m);
}

void
bench_gemm_close(struct bench_gemm *g)
{
	for (size_t i = 0; g->lane != NULL && i < g->n; i++) {
		if (g->lane[i].lane != NULL)
			g->lane[i].lane->narrow->set->lane_close(g->lane[i].lane);
		free(g->lane[i].kept);
		free(g->lane[i].rounded);
	}
	free(g->lane);
	free(g->scratch);
	free(g->zeros);
	free(g->product);
	free(g->block);
	memset(g, 0, sizeof(*g));
}

double
bench_gemm_run_kernel(const struct bench_gemm *g)
{
	const double start = clock_seconds();

	for (size_t slot = 0; slot < g->n_slots; slot++)
		for (size_t i = 0; i < g->n; i++)
			g->kernel->gemm(&g->product[i]);
	return clock_seconds() - start;
}

double
bench_gemm_run(const struct bench_gemm *g)
{
	const double start = clock_seconds();

	for (size_t slot = 0; slot < g->n_slots; slot++)
		for (size_t i = 0; i < g->n; i++)
			if (g->lane[i].lane != NULL) {
				run_layer(g, i, 0);
				i += PRODUCTS_PER_LAYER - 1;
			} else {
				g->kernel->gemm(&g->product[i]);
			}
	return clock_seconds() - start;
}

static void
touch_rows(float *block, const uint32_t *row, size_t n, size_t floats)
{
	for (size_t i = 0; i < n; i++) {
		float *w = block + row[i] * floats;

		if (i + AHEAD < n)
			for (size_t d = 0; d < floats; d += 16)
				__builtin_prefetch(block + row[i + AHEAD] * floats + d, 1);
		for (size_t d = 0; d < floats; d++)
			w[d] += 1;
	}
}

static float
read_all(const float *block, size_t n)
{
	float sum[16] = { 0 };

	for (size_t i = 0; i + 16 <= n; i += 16)
		for (size_t k = 0; k < 16; k++)
			sum[k] += block[i + k];
	for (size_t k = 1; k < 16; k++)
		sum[0] += sum[k];
	return sum[0];
}

enum rs_status
bench_memory(size_t floats, double *rows_per_s, double *bytes_per_s)
{
	const size_t n_rows = MEMORY_BYTES / sizeof(float) / floats;
	enum rs_status status;
	volatile float sink;
	uint32_t *row = NULL;
	float *block;

	RS_TRY(large_alloc(MEMORY_BYTES, &block));
	status = memory_alloc(RANDOM_ROWS, sizeof(*row), &row);
	*rows_per_s = *bytes_per_s = 0;
	memset(block, 0, MEMORY_BYTES);
	for (size_t i = 0; status == RS_OK && i < RANDOM_ROWS; i++)
		row[i] = (uint32_t)rng_below(1, i, n_rows);
	for (size_t pass = 0; status == RS_OK && pass < PASSES; pass++) {
		const double begin = clock_seconds();
		double middle, rows, bytes;

		touch_rows(block, row, RANDOM_ROWS, floats);
		middle = clock_seconds();
		sink = read_all(block, MEMORY_BYTES / sizeof(float));
		(void)sink;
		rows = (double)RANDOM_ROWS / (middle - begin);
		bytes = (double)MEMORY_BYTES / (clock_seconds() - middle);
		*rows_per_s = rows > *rows_per_s ? rows : *rows_per_s;
		*bytes_per_s = bytes > *bytes_per_s ? bytes : *bytes_per_s;
	}
	free(row);
	large_free(block, MEMORY_BYTES);
	return status;
}
