/*
 * Batch norm over the rows of the slot.  Parameters: gamma, beta, and the running
 * mean and variance as statistics; saved: xhat [B,H], mean, var, rstd [H].
 */
#include "graph/node.h"
#include "graph/norm.h"

struct node *
graph_batch_norm(struct graph *g, struct node *x, const struct graph_norm_options *o)
{
	if (x == NULL)
		return NULL;
	struct node *n = graph_append_rows(g, &op_batch_norm, x, x->width);
	if (n == NULL)
		return NULL;
	norm_add(g, n, o);
	n->param[NORM_N_PARAMS] = graph_add_param(g, o->name, "gamma", &(struct graph_param){
		.rows = 1, .columns = x->width, .init = PARAM_ONE,
	});
	n->param[NORM_N_PARAMS + 1] = graph_add_param(g, o->name, "beta", &(struct graph_param){
		.rows = 1, .columns = x->width, .init = PARAM_ZERO,
	});
	return n;
}

static void
batch_norm_forward(const struct op_run *r, const struct node *n)
{
	norm_forward(r, n, op_param(r, n, NORM_N_PARAMS), op_param(r, n, NORM_N_PARAMS + 1),
		op_value(r, n));
}

static void
batch_norm_backward(const struct op_run *r, const struct node *n)
{
	norm_backward(r, n, op_param(r, n, NORM_N_PARAMS), op_gradient(r, n),
		op_param_gradient(r, n, NORM_N_PARAMS), op_param_gradient(r, n, NORM_N_PARAMS + 1));
}

const struct op op_batch_norm = {
	.name = "batch_norm", .forward = batch_norm_forward, .backward = batch_norm_backward,
};
