/* Fully connected layer: y = act(x W + b), W [n,H]. */
#include <assert.h>
#include <string.h>

#include "graph/node.h"
#include "graph/product.h"

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
	struct gemm_args y = product_y(rows, n->input[0]->width, n->width);

	if (rows == 0)
		return;
	y.a = op_value(r, n->input[0]);
	y.b = op_param(r, n, 0);
	y.c = op_value(r, n);
	r->kernel->gemm(&y);
	r->kernel->bias_act_forward(rows, n->width, y.c, op_param(r, n, 1), n->act);
}

/* dz takes the place of dy. */
static void
linear_backward(const struct op_run *r, const struct node *n)
{
	const struct node *x = n->input[0];
	const size_t rows = op_rows(r, n);
	struct gemm_args dw = product_dw(rows, x->width, n->width);
	struct gemm_args dx = product_dx(rows, x->width, n->width);
	float *dz = op_gradient(r, n), *dbias = op_param_gradient(r, n, 1);

	memset(dbias, 0, n->width * sizeof(*dbias));
	if (rows == 0) {
		memset(op_param_gradient(r, n, 0), 0, x->width * n->width * sizeof(*dz));
		return;
	}
	r->kernel->bias_act_backward(rows, n->width, op_value(r, n), dz, n->act, dz, dbias);
	dw.a = op_value(r, x);
	dw.b = dz;
	dw.c = op_param_gradient(r, n, 0);
	r->kernel->gemm(&dw);
	dx.a = dz;
	dx.b = op_param(r, n, 0);
	dx.c = op_gradient(r, x);
	dx.beta = op_is_first(r, n, 0) ? 0 : 1;
	r->kernel->gemm(&dx);
}

const struct op op_linear = {
	.name = "linear", .keeps_input = 1, .keeps_output = 1, .writes_first = 1, .multiplies = 1,
	.forward = linear_forward, .backward = linear_backward,
};
