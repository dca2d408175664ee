/* Factorisation machine, second order, over the vectors of the fields. */
#include <stdint.h>

#include "graph/node.h"

#define CACHED_BYTES ((size_t)128 << 10)

struct node *
graph_fm2(struct graph *g, struct node *embedding)
{
	if (embedding == NULL)
		return NULL;
	if (embedding->op != &op_embedding)
		return graph_fail(g, &op_fm2, "needs the vectors of fields, found '%s'",
			embedding->op->name);
	const struct field_runs *runs = embedding->config;
	if (runs->dim == 0)
		return graph_fail(g, &op_fm2,
			"needs vectors of one dim, but fields '%s' and '%s' differ", runs->names[0],
			runs->names[1]);
	struct node *n = graph_append(g, &op_fm2, 1);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = embedding;
	n->saved_row = runs->dim;
	return n;
}

static void
fm2_forward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->input[0]->config;

	r->kernel->fm2_forward(r->B, runs->n_fields, runs->dim, op_value(r, n->input[0]),
		n->input[0]->width, op_saved(r, n), op_value(r, n));
}

/* Rows that stay in a cache between being zeroed and being added to; a GPU has many at work. */
static size_t
rows_at_once(const struct graph *g, size_t width)
{
	const size_t bytes = g->gpu != NULL ? SIZE_MAX : CACHED_BYTES;
	const size_t n = bytes / (width * sizeof(float));

	return n > 0 ? n : 1;
}

static void
fm2_backward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->input[0]->config;
	const size_t width = n->input[0]->width, D = runs->dim;
	const int is_first = op_is_first(r, n, 0);
	const size_t most = is_first ? rows_at_once(op_graph(r), width) : r->B;
	const float *x = op_value(r, n->input[0]), *s = op_saved(r, n), *dy = op_gradient(r, n);
	float *dx = op_gradient(r, n->input[0]);

	for (size_t b = 0; b < r->B; b += most) {
		const size_t rows = r->B - b < most ? r->B - b : most;

		if (is_first)
			op_zero(r, dx + b * width, rows * width);
		r->kernel->fm2_backward(rows, runs->n_fields, D, x + b * width, width, s + b * D,
			dy + b, dx + b * width, width);
	}
}

const struct op op_fm2 = {
	.name = "fm2", .keeps_input = 1, .writes_first = 1,
	.forward = fm2_forward, .backward = fm2_backward,
};
