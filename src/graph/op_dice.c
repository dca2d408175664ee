/* Dice, Zhou et al. 2018 eq. (3): a PReLU whose bend follows the data. */
#include "graph/node.h"
#include "graph/norm.h"

struct node *
graph_dice(struct graph *g, struct node *z, const struct graph_norm_options *o)
{
	if (z == NULL)
		return NULL;
	struct node *n = graph_append_rows(g, &op_dice, z, z->width);
	if (n == NULL)
		return NULL;
	norm_add(g, n, o);
	n->scratch_row = n->width;          /* dzhat                                  */
	n->scratch_fixed = 2 * n->width;    /* dgamma and dbeta, which nobody wants   */
	n->param[NORM_N_PARAMS] = graph_add_param(g, o->name, "alpha", &(struct graph_param){
		.rows = 1, .columns = z->width, .init = PARAM_ZERO,
	});
	return n;
}

static void
dice_forward(const struct op_run *r, const struct node *n)
{
	norm_forward(r, n, NULL, NULL, NULL);
	r->kernel->dice_forward(op_rows(r, n), n->width, op_value(r, n->input[0]),
		norm_xhat(r, n), op_param(r, n, NORM_N_PARAMS), op_value(r, n));
}

static void
dice_backward(const struct op_run *r, const struct node *n)
{
	const size_t rows = op_rows(r, n);
	float *dzhat = op_scratch(r, n), *unused = dzhat + rows * n->width;
	float *dalpha = op_param_gradient(r, n, NORM_N_PARAMS);

	op_zero(r, dalpha, n->width);
	r->kernel->dice_backward(rows, n->width, op_value(r, n->input[0]), norm_xhat(r, n),
		op_param(r, n, NORM_N_PARAMS), op_gradient(r, n), op_gradient(r, n->input[0]),
		dzhat, dalpha);
	norm_backward(r, n, NULL, dzhat, unused, unused + n->width);
}

const struct op op_dice = {
	.name = "dice", .keeps_input = 1, .forward = dice_forward, .backward = dice_backward,
};
