/*
 * Inverted dropout; the mask is a function of (seed, step, operator, row, unit).
 * The row of a position of a history is its place among those of the batch.
 */
#include "base/rng.h"
#include "graph/node.h"

struct node *
graph_dropout(struct graph *g, struct node *x, float p)
{
	if (x == NULL || p == 0)
		return x;
	if (!(p > 0 && p < 1))
		return graph_fail(g, &op_dropout, "the rate must be in [0,1), found %g", (double)p);
	struct node *n = graph_append_rows(g, &op_dropout, x, x->width);
	if (n == NULL)
		return NULL;
	n->number = p;
	return n;
}

static uint64_t
dropout_key(const struct op_run *r, const struct node *n)
{
	return rng_key(rng_key(rng_key(r->feed->seed, RNG_DROPOUT), r->feed->step), n->index);
}

static uint64_t
dropout_row(const struct op_run *r, const struct node *n)
{
	const size_t input = n->ragged - 1;

	if (n->ragged == 0 || r->feed->offset == NULL || r->feed->offset[input] == NULL)
		return r->feed->first_row;
	return r->feed->offset[input][0];
}

static void
dropout_forward(const struct op_run *r, const struct node *n)
{
	const float *x = op_value(r, n->input[0]);
	const size_t rows = op_rows(r, n);

	if (r->training)
		r->kernel->dropout(rows, n->width, dropout_key(r, n), dropout_row(r, n), n->number,
			x, op_value(r, n));
	else
		r->kernel->copy_rows(rows, n->width, x, n->width, op_value(r, n), n->width);
}

static void
dropout_backward(const struct op_run *r, const struct node *n)
{
	r->kernel->dropout_backward(op_rows(r, n), n->width, dropout_key(r, n), dropout_row(r, n),
		n->number, op_gradient(r, n), op_gradient(r, n->input[0]));
}

const struct op op_dropout = {
	.name = "dropout", .varies = 1, .forward = dropout_forward, .backward = dropout_backward,
};
