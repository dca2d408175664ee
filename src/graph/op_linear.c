/* Fully connected layer: y = act(x W + b), W [n,H]. */
#include <assert.h>

#include "graph/node.h"

struct node *
graph_linear(struct graph *g, struct node *x, const struct graph_linear_options *o)
{
	if (x == NULL)
		return NULL;
	if (o->H == 0)
		return graph_fail(g, &op_linear, "layer '%s' has no units", o->name);
	assert(o->act == KERNEL_ACT_NONE || o->act == KERNEL_ACT_RELU || o->act == KERNEL_ACT_TANH
		|| o->act == KERNEL_ACT_SIGMOID);
	struct node *n = graph_append_rows(g, &op_linear, x, o->H);
	if (n == NULL)
		return NULL;
	n->act = o->act;
	n->param[0] = graph_add_param(g, o->name, "weight", &(struct graph_param){
		.rows = x->width, .columns = o->H, .init = o->init, .l2 = o->l2, .decay = 1,
	});
	n->param[1] = graph_add_param(g, o->name, "bias", &(struct graph_param){
		.rows = 1, .columns = o->H, .init = PARAM_ZERO,
	});
	return n;
}

static void
linear_forward(const struct op_run *r, const struct node *n)
{
	const size_t rows = op_rows(r, n);

	if (rows > 0)
		layer_forward(r, n, &(struct layer_forward){ .rows = rows,
			.x = op_value(r, n->input[0]), .bias = op_param(r, n, 1), .act = n->act,
			.y = op_value(r, n) });
}

/* dz takes the place of dy. */
static void
linear_backward(const struct op_run *r, const struct node *n)
{
	const struct node *x = n->input[0];
	const size_t rows = op_rows(r, n);
	float *dz = op_gradient(r, n), *dbias = op_param_gradient(r, n, 1);

	op_zero(r, dbias, n->width);
	if (rows == 0) {
		op_zero(r, op_param_gradient(r, n, 0), x->width * n->width);
		return;
	}
	r->kernel->bias_act_backward(rows, n->width, op_value(r, n), dz, n->act, dz, dbias);
	layer_backward(r, n, &(struct layer_backward){ .rows = rows, .x = op_value(r, x),
		.dz = dz, .dx = op_gradient(r, x), .beta = op_is_first(r, n, 0) ? 0 : 1 });
}

const struct op op_linear = {
	.name = "linear", .keeps_input = 1, .keeps_output = 1, .writes_first = 1, .multiplies = 1,
	.narrows = 1, .has_bias = 1,
	.forward = linear_forward, .backward = linear_backward,
};
