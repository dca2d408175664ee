/*
 * Pairs of ids inside one field.  fm2 takes the pooled vector of a field as one
 * feature; a factorisation machine counts every id as a feature of its own.  The
 * difference is 1/2 sum_d ((sum_i x_i)^2 - sum_i x_i^2) over each field's ids.
 */
#include "graph/node.h"

struct node *
graph_bag_pairs(struct graph *g, struct node *embedding)
{
	if (embedding == NULL)
		return NULL;
	if (embedding->op != &op_embedding)
		return graph_fail(g, &op_bag_pairs, "needs the vectors of fields, found '%s'",
			embedding->op->name);
	const struct field_runs *runs = embedding->config;
	for (size_t i = 0; i < runs->n; i++) {
		if (runs->run[i].is_dense)
			continue;
		const struct graph_input *in = &g->input[runs->run[i].input];
		if (in->combiner == KERNEL_MAX)
			return graph_fail(g, &op_bag_pairs,
				"field '%s' has combiner max; a factorisation machine sums",
				in->field);
		g->buffered[runs->run[i].input] = in->dim;
	}
	struct node *n = graph_append(g, &op_bag_pairs, 1);
	if (n != NULL)
		n->input[n->n_inputs++] = embedding;
	return n;
}

/* The bag of a run with y at its place in the embedding block. */
static struct bag_args
bag_of(const struct op_run *r, const struct node *n, const struct field_run *run)
{
	struct bag_args bag = field_run_bag(r, run);

	bag.y = op_value(r, n->input[0]) + run->place;
	bag.ldy = n->input[0]->width;
	return bag;
}

static void
bag_pairs_forward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->input[0]->config;

	op_zero(r, op_value(r, n), r->B);
	for (size_t i = 0; i < runs->n; i++) {
		if (runs->run[i].is_dense)
			continue;
		const struct bag_args bag = bag_of(r, n, &runs->run[i]);
		r->kernel->bag_pairs_forward(&bag, op_value(r, n));
	}
}

static void
bag_pairs_backward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->input[0]->config;

	for (size_t i = 0; i < runs->n; i++) {
		if (runs->run[i].is_dense)
			continue;
		const struct bag_args bag = bag_of(r, n, &runs->run[i]);
		r->kernel->bag_pairs_backward(&bag, op_gradient(r, n),
			op_gradient(r, n->input[0]) + runs->run[i].place, n->input[0]->width,
			op_buffer(r, runs->run[i].input));
	}
}

const struct op op_bag_pairs = {
	.name = "bag_pairs", .keeps_input = 1,
	.forward = bag_pairs_forward, .backward = bag_pairs_backward,
};
