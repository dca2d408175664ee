/* Weighted sum over each history, Zhou et al. 2018 eq. (3). */
#include "graph/node.h"

enum { POOL_A, POOL_K };

struct node *
graph_segment_pool(struct graph *g, struct node *a, struct node *k)
{
	if (a == NULL || k == NULL)
		return NULL;
	if (k->ragged == 0 || a->ragged != k->ragged || a->width != 1)
		return graph_fail(g, &op_segment_pool,
			"needs one weight for every item of a history, found '%s' of width %zu",
			a->op->name, a->width);
	struct node *n = graph_append(g, &op_segment_pool, k->width);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = a;
	n->input[n->n_inputs++] = k;
	return n;
}

static void
segment_pool_forward(const struct op_run *r, const struct node *n)
{
	const struct segment_args s = op_segments(r, n->input[POOL_K]);

	r->kernel->segment_pool_forward(&s, n->width, op_value(r, n->input[POOL_A]),
		op_value(r, n->input[POOL_K]), op_value(r, n));
}

static void
segment_pool_backward(const struct op_run *r, const struct node *n)
{
	const struct node *a = n->input[POOL_A], *k = n->input[POOL_K];
	const struct segment_args s = op_segments(r, k);
	float *da = op_gradient(r, a);

	if (op_is_first(r, n, POOL_A))
		op_zero(r, da, s.end);
	r->kernel->segment_pool_backward(&s, n->width, op_value(r, a), op_value(r, k),
		op_gradient(r, n), op_is_first(r, n, POOL_K) ? 0 : 1, da, op_gradient(r, k));
}

const struct op op_segment_pool = {
	.name = "segment_pool", .keeps_input = 1, .writes_first = 1, .changes_rows = 1,
	.forward = segment_pool_forward, .backward = segment_pool_backward,
};
