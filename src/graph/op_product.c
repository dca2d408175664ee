/* Product with a weight: y = x W, W [n,H]. */
#include "graph/node.h"
#include "graph/product.h"

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
	struct gemm_args y = product_y(r->B, n->input[0]->width, n->width);

	y.a = op_value(r, n->input[0]);
	y.b = op_param(r, n, 0);
	y.c = op_value(r, n);
	r->kernel->gemm(&y);
}

static void
product_backward(const struct op_run *r, const struct node *n)
{
	const struct node *x = n->input[0];
	struct gemm_args dw = product_dw(r->B, x->width, n->width);
	struct gemm_args dx = product_dx(r->B, x->width, n->width);

	dw.a = op_value(r, x);
	dw.b = op_gradient(r, n);
	dw.c = op_param_gradient(r, n, 0);
	r->kernel->gemm(&dw);
	dx.a = op_gradient(r, n);
	dx.b = op_param(r, n, 0);
	dx.c = op_gradient(r, x);
	dx.beta = op_is_first(r, n, 0) ? 0 : 1;
	r->kernel->gemm(&dx);
}

const struct op op_product = {
	.name = "product", .keeps_input = 1, .writes_first = 1, .multiplies = 1,
	.forward = product_forward, .backward = product_backward,
};
