/* Factorisation machine, second order, over the vectors of the fields. */
#include "graph/node.h"

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

static void
fm2_backward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->input[0]->config;

	r->kernel->fm2_backward(r->B, runs->n_fields, runs->dim, op_value(r, n->input[0]),
		n->input[0]->width, op_saved(r, n), op_gradient(r, n), op_gradient(r, n->input[0]),
		n->input[0]->width);
}

const struct op op_fm2 = {
	.name = "fm2", .keeps_input = 1, .forward = fm2_forward, .backward = fm2_backward,
};
