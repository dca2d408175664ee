/* An activation of its own, for those that linear cannot apply in place. */
#include "graph/node.h"

enum { PRELU_SLOPE_PERCENT = 25 };   /* where the slope starts, He et al. 2015 */

struct node *
graph_activation(struct graph *g, struct node *z, const char *name, int act)
{
	if (z == NULL || act == KERNEL_ACT_NONE)
		return z;
	if (act == KERNEL_ACT_DICE)
		return graph_fail(g, &op_activation, "dice has an operator of its own");
	struct node *n = graph_append_rows(g, &op_activation, z, z->width);
	if (n == NULL)
		return NULL;
	n->act = act;
	if (act == KERNEL_ACT_PRELU)
		n->param[0] = graph_add_param(g, name, "slope", &(struct graph_param){
			.rows = 1, .columns = z->width, .init = PARAM_CONSTANT,
			.init_value = PRELU_SLOPE_PERCENT / 100.0,
		});
	return n;
}

static void
activation_forward(const struct op_run *r, const struct node *n)
{
	const float *slope = n->act == KERNEL_ACT_PRELU ? op_param(r, n, 0) : NULL;

	r->kernel->act_forward(op_rows(r, n), n->width, op_value(r, n->input[0]), n->act, slope,
		op_value(r, n));
}

static void
activation_backward(const struct op_run *r, const struct node *n)
{
	const int has_slope = n->act == KERNEL_ACT_PRELU;
	const float *slope = has_slope ? op_param(r, n, 0) : NULL;
	float *dslope = has_slope ? op_param_gradient(r, n, 0) : NULL;

	if (has_slope)
		op_zero(r, dslope, n->width);
	r->kernel->act_backward(op_rows(r, n), n->width, op_value(r, n->input[0]),
		op_gradient(r, n), n->act, slope, op_gradient(r, n->input[0]), dslope);
}

const struct op op_activation = {
	.name = "activation", .keeps_input = 1,
	.forward = activation_forward, .backward = activation_backward,
};
