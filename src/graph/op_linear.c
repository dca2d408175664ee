/* Fully connected layer: y = act(x W + b), W [n,H]. */
#include <assert.h>
#include <string.h>

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

/* The three products of a layer with n inputs and H units: y, dW, dx. */
static struct gemm_args
product_y(size_t B, size_t n, size_t H)
{
	return (struct gemm_args){
		.m = B, .n = H, .k = n, .lda = n, .ldb = H, .ldc = H, .alpha = 1,
	};
}

static struct gemm_args
product_dw(size_t B, size_t n, size_t H)
{
	return (struct gemm_args){
		.transpose_a = 1, .m = n, .n = H, .k = B, .lda = n, .ldb = H, .ldc = H, .alpha = 1,
	};
}

static struct gemm_args
product_dx(size_t B, size_t n, size_t H)
{
	return (struct gemm_args){
		.transpose_b = 1, .m = B, .n = n, .k = H, .lda = H, .ldb = H, .ldc = n, .alpha = 1,
	};
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
	.name = "linear", .keeps_input = 1, .keeps_output = 1, .writes_first = 1,
	.forward = linear_forward, .backward = linear_backward,
};

size_t
graph_gemms(const struct graph *g, size_t B, struct gemm_args *out, size_t n_max)
{
	size_t n = 0;

	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct node *node = g->node[i];
		if (node->op != &op_linear)
			continue;
		const size_t width = node->input[0]->width, H = node->width;
		const struct gemm_args product[] = {
			product_y(B, width, H), product_dw(B, width, H), product_dx(B, width, H),
		};
		for (size_t k = 0; k < sizeof(product) / sizeof(product[0]); k++, n++)
			if (n < n_max)
				out[n] = product[k];
	}
	return n;
}
