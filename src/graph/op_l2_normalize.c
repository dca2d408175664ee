/* Rows of length 1: y = x / |x|; a row of zeros stays one and passes no gradient. */
#include "graph/node.h"

struct node *
graph_l2_normalize(struct graph *g, struct node *x)
{
	if (x == NULL)
		return NULL;
	struct node *n = graph_append_rows(g, &op_l2_normalize, x, x->width);
	if (n == NULL)
		return NULL;
	n->saved_row = 1;           /* 1 / |x| */
	return n;
}

static void
l2_normalize_forward(const struct op_run *r, const struct node *n)
{
	r->kernel->l2_normalize_forward(op_rows(r, n), n->width, op_value(r, n->input[0]),
		op_value(r, n), op_saved(r, n));
}

static void
l2_normalize_backward(const struct op_run *r, const struct node *n)
{
	r->kernel->l2_normalize_backward(op_rows(r, n), n->width, op_value(r, n),
		op_saved(r, n), op_gradient(r, n), op_gradient(r, n->input[0]));
}

const struct op op_l2_normalize = {
	.name = "l2_normalize", .keeps_output = 1,
	.forward = l2_normalize_forward, .backward = l2_normalize_backward,
};
