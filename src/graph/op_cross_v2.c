/*
 * Cross layer of DCN-V2, Wang et al. 2021 eq. (1), y = x0 * (W x + b) + x.  Of low
 * rank, eq. (2), W = U V^T: the input t is V^T x, the weight here is U.  saved: t W.
 */
#include "graph/node.h"

enum { CROSS_X0, CROSS_X, CROSS_T };

struct node *
graph_cross_v2(struct graph *g, struct node *x0, struct node *x, struct node *t,
	const struct graph_weight_options *o)
{
	if (x0 == NULL || x == NULL || t == NULL)
		return NULL;
	if (x0->width != x->width)
		return graph_fail(g, &op_cross_v2, "x0 is [B,%zu] and x is [B,%zu]", x0->width,
			x->width);
	struct node *n = graph_append(g, &op_cross_v2, x->width);
	if (n == NULL)
		return NULL;
	n->input[CROSS_X0] = x0;
	n->input[CROSS_X] = x;
	n->input[CROSS_T] = t;
	n->n_inputs = CROSS_T + 1;
	n->saved_row = n->width;
	n->param[0] = graph_add_param(g, o->name, "weight", &(struct graph_param){
		.rows = t->width, .columns = n->width, .init = o->init, .l2 = o->l2, .decay = 1,
	});
	n->param[1] = graph_add_param(g, o->name, "bias", &(struct graph_param){
		.rows = 1, .columns = n->width, .init = PARAM_ZERO,
	});
	return n;
}

static void
cross_v2_forward(const struct op_run *r, const struct node *n)
{
	const struct node *t = n->input[CROSS_T];
	float *z = op_saved(r, n);

	layer_forward(r, n, &(struct layer_forward){ .rows = r->B, .x = op_value(r, t), .y = z });
	r->kernel->cross_v2_forward(r->B, n->width, op_value(r, n->input[CROSS_X0]),
		op_value(r, n->input[CROSS_X]), z, op_param(r, n, 1), op_value(r, n));
}

/* dz takes the place of dy. */
static void
cross_v2_backward(const struct op_run *r, const struct node *n)
{
	const struct node *t = n->input[CROSS_T];
	float *dz = op_gradient(r, n), *dbias = op_param_gradient(r, n, 1);

	op_zero(r, dbias, n->width);
	r->kernel->cross_v2_backward(r->B, n->width, op_value(r, n->input[CROSS_X0]),
		op_saved(r, n), op_param(r, n, 1), dz, dz, op_gradient(r, n->input[CROSS_X0]),
		op_gradient(r, n->input[CROSS_X]), dbias);
	layer_backward(r, n, &(struct layer_backward){ .rows = r->B, .x = op_value(r, t),
		.dz = dz, .dx = op_gradient(r, t), .beta = 1 });
}

const struct op op_cross_v2 = {
	.name = "cross_v2", .keeps_input = 1, .multiplies = 1, .narrows = 1,
	.forward = cross_v2_forward, .backward = cross_v2_backward,
};
