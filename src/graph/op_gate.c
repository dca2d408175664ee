/* A softmax gate over the parts of a value, Wang et al. 2021 eq. (3); saved: softmax. */
#include "graph/node.h"

struct node *
graph_gate(struct graph *g, struct node *t, struct node *logit)
{
	if (t == NULL || logit == NULL)
		return NULL;
	if (t->width % logit->width != 0)
		return graph_fail(g, &op_gate, "%zu units are not %zu equal parts", t->width,
			logit->width);
	struct node *n = graph_append(g, &op_gate, t->width);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = t;
	n->input[n->n_inputs++] = logit;
	n->saved_row = logit->width;
	return n;
}

static void
gate_forward(const struct op_run *r, const struct node *n)
{
	const size_t E = n->input[1]->width;

	r->kernel->gate_forward(r->B, E, n->width / E, op_value(r, n->input[0]),
		op_value(r, n->input[1]), op_saved(r, n), op_value(r, n));
}

static void
gate_backward(const struct op_run *r, const struct node *n)
{
	const size_t E = n->input[1]->width;

	r->kernel->gate_backward(r->B, E, n->width / E, op_value(r, n->input[0]), op_saved(r, n),
		op_gradient(r, n), op_gradient(r, n->input[0]), op_gradient(r, n->input[1]));
}

const struct op op_gate = {
	.name = "gate", .keeps_input = 1, .forward = gate_forward, .backward = gate_backward,
};
