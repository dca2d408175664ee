/* Product with a weight: y = x W, W [n,H]. */
#include "graph/node.h"

struct node *
graph_product(struct graph *g, struct node *x, size_t H, const struct graph_weight_options *o)
{
	if (x == NULL)
		return NULL;
	struct node *n = graph_append(g, &op_product, H);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = x;
	n->param[0] = graph_add_param(g, o->name, "weight", &(struct graph_param){
		.rows = x->width, .columns = H, .init = o->init, .l2 = o->l2, .decay = 1,
	});
	return n;
}

static void
product_forward(const struct op_run *r, const struct node *n)
{
	layer_forward(r, n, &(struct layer_forward){ .rows = r->B,
		.x = op_value(r, n->input[0]), .y = op_value(r, n) });
}

static void
product_backward(const struct op_run *r, const struct node *n)
{
	const struct node *x = n->input[0];

	layer_backward(r, n, &(struct layer_backward){ .rows = r->B, .x = op_value(r, x),
		.dz = op_gradient(r, n), .dx = op_gradient(r, x),
		.beta = op_is_first(r, n, 0) ? 0 : 1 });
}

const struct op op_product = {
	.name = "product", .keeps_input = 1, .writes_first = 1, .multiplies = 1, .narrows = 1,
	.forward = product_forward, .backward = product_backward,
};
