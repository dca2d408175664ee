/* Cross layer of DCN, Wang et al. 2017 eq. (3): w and b are vectors. */
#include "graph/node.h"

struct node *
graph_cross_v1(struct graph *g, struct node *x0, struct node *x,
	const struct graph_weight_options *o)
{
	if (x0 == NULL || x == NULL)
		return NULL;
	if (x0->width != x->width)
		return graph_fail(g, &op_cross_v1, "x0 is [B,%zu] and x is [B,%zu]", x0->width,
			x->width);
	struct node *n = graph_append(g, &op_cross_v1, x->width);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = x0;
	n->input[n->n_inputs++] = x;
	n->saved_row = 1;                   /* x . w                                  */
	n->param[0] = graph_add_param(g, o->name, "weight", &(struct graph_param){
		.rows = x->width, .columns = 1, .init = o->init, .l2 = o->l2, .decay = 1,
	});
	n->param[1] = graph_add_param(g, o->name, "bias", &(struct graph_param){
		.rows = 1, .columns = x->width, .init = PARAM_ZERO,
	});
	return n;
}

static void
cross_v1_forward(const struct op_run *r, const struct node *n)
{
	r->kernel->cross_v1_forward(r->B, n->width, op_value(r, n->input[0]),
		op_value(r, n->input[1]), op_param(r, n, 0), op_param(r, n, 1), op_saved(r, n),
		op_value(r, n));
}

static void
cross_v1_backward(const struct op_run *r, const struct node *n)
{
	float *dw = op_param_gradient(r, n, 0), *dbias = op_param_gradient(r, n, 1);

	op_zero(r, dw, n->width);
	op_zero(r, dbias, n->width);
	r->kernel->cross_v1_backward(r->B, n->width, op_value(r, n->input[0]),
		op_value(r, n->input[1]), op_param(r, n, 0), op_saved(r, n), op_gradient(r, n),
		op_gradient(r, n->input[0]), op_gradient(r, n->input[1]), dw, dbias);
}

const struct op op_cross_v1 = {
	.name = "cross_v1", .keeps_input = 1,
	.forward = cross_v1_forward, .backward = cross_v1_backward,
};
