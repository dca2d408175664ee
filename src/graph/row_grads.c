/* Gradients of embedding occurrences, kept until the lookup has taken them. */
#include <stdlib.h>

#include "base/memory.h"
#include "graph/node.h"
#include "graph/plan.h"

static enum rs_status
rows_allocate(const struct graph *g, size_t B_max, struct row_grads *rows)
{
	struct plan plan;

	RS_TRY(plan_create(g, B_max, NULL, &plan));
	rows->block_bytes = plan.kept_floats * sizeof(*rows->block);
	plan_free(&plan);
	rows->gpu = g->gpu != NULL ? g->gpu->gpu : NULL;
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
row_grads_create(const struct graph *g, size_t B_max, struct row_grads **out)
{
	struct row_grads *rows;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*rows), &rows));
	status = rows_allocate(g, B_max, rows);
	if (status != RS_OK) {
		row_grads_destroy(rows);
		return status;
	}
	*out = rows;
	return RS_OK;
}

size_t
row_grads_bytes(const struct graph *g, size_t B_max, const size_t *N)
{
	size_t bytes = g->n_inputs * B_max * sizeof(const float *);
	struct plan plan;

	if (plan_create(g, B_max, NULL, &plan) == RS_OK)
		bytes += large_size(plan.kept_floats * sizeof(float));
	plan_free(&plan);
	for (size_t i = 0; i < g->n_inputs; i++)
		if (N[i] > B_max || g->buffered[i] > 0)
			bytes += N[i] * (sizeof(const float *)
			    + (1 + g->buffered[i]) * sizeof(float));
	return bytes;
}

void
row_grads_destroy(struct row_grads *rows)
{
	if (rows == NULL)
		return;
	for (size_t i = 0; i < rows->n_inputs; i++) {
		free(rows->input[i].fixed);
		free(rows->input[i].grad);
		free(rows->input[i].scale);
		free(rows->input[i].buffer);
	}
	free(rows->input);
	if (rows->gpu != NULL && rows->block != NULL)
		rows->gpu->host_free(rows->block);
	else if (rows->gpu == NULL)
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
	free(in->buffer);
	in->capacity = 0;
	in->grad = NULL;
	in->scale = in->buffer = NULL;
	RS_TRY(memory_alloc(capacity, sizeof(*in->grad), &in->grad));
	RS_TRY(memory_alloc(capacity, sizeof(*in->scale), &in->scale));
	if (buffered > 0)
		RS_TRY(memory_alloc(capacity, buffered * sizeof(*in->buffer), &in->buffer));
	in->capacity = capacity;
	return RS_OK;
}
