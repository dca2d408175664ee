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
	return op_saved(r, n) + op_rows(r, n) * n->width;
}

const float *
norm_xhat(const struct op_run *r, const struct node *n)
{
	return op_saved(r, n);
}

/* A slot without a position has no statistics: it leaves the running ones alone. */
static void
norm_keep_running(const struct op_run *r, const struct node *n)
{
	float *mean = norm_statistics(r, n);

	r->kernel->copy_rows(1, n->width, op_param(r, n, NORM_MEAN), 0, mean, 0);
	r->kernel->copy_rows(1, n->width, op_param(r, n, NORM_VAR), 0, mean + n->width, 0);
	op_zero(r, mean + 2 * n->width, n->width);
}

void
norm_forward(const struct op_run *r, const struct node *n, const float *gamma, const float *beta,
	float *y)
{
	const float *x = op_value(r, n->input[0]);
	float *mean = norm_statistics(r, n), *xhat = op_saved(r, n);
	const size_t rows = op_rows(r, n);

	if (!r->training)
		r->kernel->batch_norm_apply(rows, n->width, x, gamma, beta,
			op_param(r, n, NORM_MEAN), op_param(r, n, NORM_VAR), n->number,
			y == NULL ? xhat : y);
	else if (rows > 0)
		r->kernel->batch_norm_forward(rows, n->width, x, gamma, beta, n->number, xhat, y,
			mean, mean + n->width, mean + 2 * n->width);
	else
		norm_keep_running(r, n);
}

/* A statistic of the slot as its part of the batch's. */
static void
norm_share(const struct op_run *r, size_t n, const float *statistic, float *out)
{
	r->kernel->copy_rows(1, n, statistic, 0, out, 0);
	r->kernel->scale(n, out, r->statistic_share);
}

void
norm_backward(const struct op_run *r, const struct node *n, const float *gamma, const float *dy,
	float *dgamma, float *dbeta)
{
	const float *mean = norm_statistics(r, n), *var = mean + n->width, *rstd = var + n->width;
	const size_t rows = op_rows(r, n);

	op_zero(r, dgamma, n->width);
	op_zero(r, dbeta, n->width);
	if (rows > 0)
		r->kernel->batch_norm_backward(rows, n->width, norm_xhat(r, n), rstd, gamma, dy,
			op_gradient(r, n->input[0]), dgamma, dbeta);
	norm_share(r, n->width, mean, op_param_gradient(r, n, NORM_MEAN));
	norm_share(r, n->width, var, op_param_gradient(r, n, NORM_VAR));
}
