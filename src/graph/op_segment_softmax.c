/* Weights of a history that sum to 1. */
#include "graph/node.h"

struct node *
graph_segment_softmax(struct graph *g, struct node *a)
{
	if (a == NULL)
		return NULL;
	if (a->ragged == 0 || a->width != 1)
		return graph_fail(g, &op_segment_softmax,
			"needs one number for every item of a history, found '%s' of width %zu",
			a->op->name, a->width);
	return graph_append_rows(g, &op_segment_softmax, a, 1);
}

static void
segment_softmax_forward(const struct op_run *r, const struct node *n)
{
	const struct segment_args s = op_segments(r, n);

	r->kernel->segment_softmax_forward(&s, op_value(r, n->input[0]), op_value(r, n));
}

static void
segment_softmax_backward(const struct op_run *r, const struct node *n)
{
	const struct segment_args s = op_segments(r, n);

	r->kernel->segment_softmax_backward(
		&s, op_value(r, n), op_gradient(r, n), op_gradient(r, n->input[0]));
}

const struct op op_segment_softmax = {
	.name = "segment_softmax", .keeps_output = 1,
	.forward = segment_softmax_forward, .backward = segment_softmax_backward,
};
