/* What an exec takes: ids that it is planned for, bytes. */
#include <stdlib.h>

#include "base/memory.h"
#include "graph/mirror.h"
#include "graph/node.h"
#include "graph/plan.h"

size_t
exec_most_ids(const struct graph *g, size_t input, size_t B_max)
{
	return B_max * (g->input[input].max_ids > 0 ? g->input[input].max_ids : 1);
}

void
exec_set_most_ids(const struct graph *g, size_t B_max, size_t *N_max)
{
	for (size_t i = 0; i < g->n_inputs && g->gpu != NULL; i++)
		N_max[i] = exec_most_ids(g, i, B_max);
}

size_t
exec_gemm_floats(const struct graph *g)
{
	return g->gpu == NULL && graph_multiplies(g) ? KERNEL_GEMM_SCRATCH : 0;
}

enum rs_status
exec_gpu_bytes(const struct graph *g, size_t B_max, size_t *out)
{
	struct plan plan = { 0 };
	struct gpu_plan gpu;
	size_t *N_max;

	*out = 0;
	if (g->gpu == NULL)
		return RS_OK;
	RS_TRY(memory_alloc(g->n_inputs + 1, sizeof(*N_max), &N_max));
	exec_set_most_ids(g, B_max, N_max);
	enum rs_status status = plan_create(g, B_max, N_max, &plan);
	if (status == RS_OK)
		status = mirror_plan(g, &plan, B_max, N_max, &gpu);
	if (status == RS_OK)
		*out = g->gpu->gpu->size(&gpu);
	plan_free(&plan);
	free(N_max);
	return status;
}

size_t
exec_bytes(const struct graph *g, size_t B_max, const size_t *N)
{
	struct plan plan;
	size_t bytes = 0;

	if (plan_create(g, B_max, N, &plan) == RS_OK)
		bytes = large_size((plan.floats + exec_gemm_floats(g)) * sizeof(float));
	plan_free(&plan);
	return bytes;
}
