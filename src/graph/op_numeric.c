/*
 * Numeric columns as they are; a missing one has a trained value.  It is a column of
 * vectors of dim 1 that are all 1: saved: the ones; scratch: their gradient.
 */
#include <stdlib.h>

#include "graph/node.h"

struct node *
graph_numeric(struct graph *g, const struct graph_field *field, size_t n)
{
	size_t *column;

	if (n == 0)
		return graph_fail(g, &op_numeric, "there is no numeric field");
	if (memory_alloc(n, sizeof(*column), &column) != RS_OK)
		return graph_fail(g, &op_numeric, "out of memory");
	struct node *node = graph_append(g, &op_numeric, n);
	if (node == NULL) {
		free(column);
		return NULL;
	}
	node->config = column;
	node->saved_fixed = node->scratch_fixed = 1;
	for (size_t i = 0; i < n; i++) {
		const size_t index = graph_add_param(g, field[i].name, "missing",
			&(struct graph_param){ .rows = 1, .columns = 1, .init = PARAM_ZERO });
		column[i] = field[i].column;
		if (i == 0)
			node->param[0] = index;
	}
	return node;
}

static struct numeric_args
numeric_column(const struct op_run *r, const struct node *n, size_t i)
{
	const size_t *column = n->config;

	return (struct numeric_args){
		.B = r->B, .K = 1, .D = 1, .ldx = op_graph(r)->K,
		.x = r->data->dense + column[i],
		.missing = r->data->missing == NULL ? NULL : r->data->missing + column[i],
	};
}

static void
numeric_forward(const struct op_run *r, const struct node *n)
{
	float *one = op_saved(r, n);

	r->kernel->fill(1, one, 1);
	for (size_t i = 0; i < n->width; i++) {
		const struct numeric_args a = numeric_column(r, n, i);
		r->kernel->numeric_forward(
			&a, one, op_param(r, n, 0) + i, op_value(r, n) + i, n->width);
	}
}

static void
numeric_backward(const struct op_run *r, const struct node *n)
{
	float *unused = op_scratch(r, n), *du = op_param_gradient(r, n, 0);

	op_zero(r, du, n->width);
	for (size_t i = 0; i < n->width; i++) {
		const struct numeric_args a = numeric_column(r, n, i);
		op_zero(r, unused, 1);
		r->kernel->numeric_backward(
			&a, op_gradient(r, n) + i, n->width, unused, du + i);
	}
}

const struct op op_numeric = {
	.name = "numeric", .forward = numeric_forward, .backward = numeric_backward,
};
