/* Normalisation over the rows of a slot. */
#include "graph/norm.h"

#include <stddef.h>

void
norm_add(struct graph *g, struct node *n, const struct graph_norm_options *o)
{
	struct graph_param like = {
		.rows = 1, .columns = n->width, .init = PARAM_ZERO, .is_statistic = 1,
		.momentum = o->momentum,
	};

	n->number = o->epsilon;
	n->saved_row = n->width;
	n->saved_fixed = 3 * n->width;
	n->param[NORM_MEAN] = graph_add_param(g, o->name, "mean", &like);
	like.init = PARAM_ONE;
	n->param[NORM_VAR] = graph_add_param(g, o->name, "var", &like);
}

/* mean, var, rstd lie behind xhat. */
static float *
norm_statistics(const struct op_run *r, const struct node *n)
{
	return op_saved(r, n) + r->B * n->width;
}

const float *
norm_xhat(const struct op_run *r, const struct node *n)
{
	return op_saved(r, n);
}

void
norm_forward(const struct op_run *r, const struct node *n, const float *gamma, const float *beta,
	float *y)
{
	const float *x = op_value(r, n->input[0]);
	float *mean = norm_statistics(r, n), *xhat = op_saved(r, n);

	if (r->training)
		r->kernel->batch_norm_forward(r->B, n->width, x, gamma, beta, n->number, xhat, y,
			mean, mean + n->width, mean + 2 * n->width);
	else
		r->kernel->batch_norm_apply(r->B, n->width, x, gamma, beta,
			op_param(r, n, NORM_MEAN), op_param(r, n, NORM_VAR), n->number,
			y == NULL ? xhat : y);
}

void
norm_backward(const struct op_run *r, const struct node *n, const float *gamma, const float *dy,
	float *dgamma, float *dbeta)
{
	const float *mean = norm_statistics(r, n), *var = mean + n->width, *rstd = var + n->width;

	r->kernel->batch_norm_backward(r->B, n->width, norm_xhat(r, n), rstd, gamma, dy,
		op_gradient(r, n->input[0]), dgamma, dbeta);
	for (size_t h = 0; h < n->width; h++) {
		op_param_gradient(r, n, NORM_MEAN)[h] = r->statistic_share * mean[h];
		op_param_gradient(r, n, NORM_VAR)[h] = r->statistic_share * var[h];
	}
}
