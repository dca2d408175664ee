/* Gradients of embedding occurrences, kept until the lookup has taken them. */
#include <stdlib.h>

#include "base/memory.h"
#include "graph/node.h"
#include "graph/plan.h"

static enum rs_status
rows_allocate(const struct graph *g, size_t place, size_t B_max, struct row_grads *rows)
{
	struct plan plan;

	RS_TRY(plan_create(g, B_max, NULL, &plan));
	rows->block_bytes = plan.kept_floats * sizeof(*rows->block);
	plan_free(&plan);
	rows->g = g;
	rows->B_max = B_max;
	rows->place = place;
	rows->there = g->rows_are_there ? g->gpu : NULL;
	rows->gpu = g->gpu != NULL ? g->gpu->gpu : NULL;
	if (rows->there == NULL)
		RS_TRY(rows->gpu != NULL ? rows->gpu->host_alloc(rows->block_bytes, &rows->block)
			: large_alloc(rows->block_bytes, &rows->block));
	RS_TRY(memory_alloc(g->n_inputs + 1, sizeof(*rows->input), &rows->input));
	for (rows->n_inputs = 0; rows->n_inputs < g->n_inputs; rows->n_inputs++) {
		struct exec_input *in = &rows->input[rows->n_inputs];
		RS_TRY(memory_alloc(B_max, sizeof(*in->fixed), &in->fixed));
	}
	return RS_OK;
}

enum rs_status
row_grads_create(const struct graph *g, size_t place, size_t B_max, struct row_grads **out)
{
	struct row_grads *rows;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*rows), &rows));
	status = rows_allocate(g, place, B_max, rows);
	if (status != RS_OK) {
		row_grads_destroy(rows);
		return status;
	}
	*out = rows;
	return RS_OK;
}

static size_t
buffer_bytes(const struct graph *g, size_t input, size_t n)
{
	return n * g->buffered[input] * sizeof(float);
}

size_t
row_grads_bytes(const struct graph *g, size_t B_max, const size_t *N)
{
	const int is_here = !g->rows_are_there;
	size_t bytes = g->n_inputs * B_max * sizeof(const float *);
	struct plan plan;

	if (is_here && plan_create(g, B_max, NULL, &plan) == RS_OK) {
		bytes += large_size(plan.kept_floats * sizeof(float));
		plan_free(&plan);
	}
	for (size_t i = 0; i < g->n_inputs; i++)
		if (N[i] > B_max || g->buffered[i] > 0)
			bytes += N[i] * (sizeof(const float *) + sizeof(float))
				+ (is_here ? buffer_bytes(g, i, N[i]) : 0);
	return bytes;
}

/* --- on a GPU ---------------------------------------------------------------------------- */

enum rs_status
row_grads_gpu_bytes(const struct graph *g, size_t B_max, size_t *out)
{
	struct plan plan;

	*out = 0;
	if (!g->rows_are_there)
		return RS_OK;
	RS_TRY(plan_create(g, B_max, NULL, &plan));
	*out = plan.kept_floats * sizeof(float);
	plan_free(&plan);
	for (size_t i = 0; i < g->n_inputs; i++)
		*out += buffer_bytes(g, i, exec_most_ids(g, i, B_max));
	return RS_OK;
}

static void
give_back(struct row_grads *rows)
{
	if (rows->block != NULL)
		gpu_memory_free(rows->there, rows->place, rows->block, rows->block_bytes);
	for (size_t i = 0; i < rows->n_inputs; i++) {
		struct exec_input *in = &rows->input[i];
		if (in->buffer != NULL)
			gpu_memory_free(rows->there, rows->place, in->buffer,
				buffer_bytes(rows->g, i, in->n_there));
		in->buffer = NULL;
	}
	rows->block = NULL;
}

/* What had no room before gets an eighth to spare. */
static enum rs_status
reserve_buffer(struct row_grads *rows, size_t i, size_t n)
{
	const size_t planned = exec_most_ids(rows->g, i, rows->B_max);
	struct exec_input *in = &rows->input[i];

	if (n <= in->n_there)
		return RS_OK;
	if (in->buffer != NULL)
		gpu_memory_free(rows->there, rows->place, in->buffer,
			buffer_bytes(rows->g, i, in->n_there));
	in->buffer = NULL;
	in->n_there = 0;
	n = n > planned ? n + n / 8 : planned;
	RS_TRY(gpu_memory_alloc(rows->there, rows->place, buffer_bytes(rows->g, i, n),
		&in->buffer));
	in->n_there = n;
	return RS_OK;
}

enum rs_status
row_grads_reserve_there(struct row_grads *rows, const size_t *N)
{
	if (rows->block == NULL && rows->block_bytes > 0)
		RS_TRY(gpu_memory_alloc(rows->there, rows->place, rows->block_bytes,
			&rows->block));
	for (size_t i = 0; i < rows->n_inputs; i++)
		if (rows->g->buffered[i] > 0)
			RS_TRY(reserve_buffer(rows, i, N[i]));
	return RS_OK;
}

/* --- anywhere ---------------------------------------------------------------------------- */

void
row_grads_destroy(struct row_grads *rows)
{
	if (rows == NULL)
		return;
	if (rows->there != NULL)
		give_back(rows);
	for (size_t i = 0; i < rows->n_inputs; i++) {
		free(rows->input[i].fixed);
		free(rows->input[i].grad);
		free(rows->input[i].scale);
		free(rows->input[i].buffer);
	}
	free(rows->input);
	if (rows->gpu != NULL && rows->block != NULL)
		rows->gpu->host_free(rows->block);
	else if (rows->gpu == NULL && rows->block != NULL)
		large_free(rows->block, rows->block_bytes);
	free(rows);
}

/* Room for n occurrences; grows by doubling, so a step seldom allocates. */
enum rs_status
row_grads_reserve(struct row_grads *rows, size_t input, size_t n, size_t buffered)
{
	struct exec_input *in = &rows->input[input];
	size_t capacity = in->capacity == 0 ? 256 : in->capacity;

	if (n <= in->capacity)
		return RS_OK;
	while (capacity < n)
		capacity *= 2;
	free(in->grad);
	free(in->scale);
	in->capacity = 0;
	in->grad = NULL;
	in->scale = NULL;
	if (rows->there == NULL) {
		free(in->buffer);
		in->buffer = NULL;
	}
	RS_TRY(memory_alloc(capacity, sizeof(*in->grad), &in->grad));
	RS_TRY(memory_alloc(capacity, sizeof(*in->scale), &in->scale));
	if (buffered > 0 && rows->there == NULL)
		RS_TRY(memory_alloc(capacity, buffered * sizeof(*in->buffer), &in->buffer));
	in->capacity = capacity;
	return RS_OK;
}
