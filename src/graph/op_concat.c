/* Two values beside each other. */
#include "graph/node.h"

struct node *
graph_concat(struct graph *g, struct node *a, struct node *b)
{
	if (a == NULL || b == NULL)
		return NULL;
	struct node *n = graph_append_rows(g, &op_concat, a, a->width + b->width);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = b;
	return n;
}

static void
concat_forward(const struct op_run *r, const struct node *n)
{
	const size_t rows = op_rows(r, n);
	size_t place = 0;

	for (size_t i = 0; i < n->n_inputs; i++) {
		const size_t width = n->input[i]->width;
		r->kernel->copy_rows(rows, width, op_value(r, n->input[i]), width,
			op_value(r, n) + place, n->width);
		place += width;
	}
}

static void
concat_backward(const struct op_run *r, const struct node *n)
{
	const size_t rows = op_rows(r, n);
	size_t place = 0;

	for (size_t i = 0; i < n->n_inputs; i++) {
		const size_t width = n->input[i]->width;
		r->kernel->add_rows(rows, width, op_gradient(r, n) + place, n->width,
			op_gradient(r, n->input[i]), width);
		place += width;
	}
}

const struct op op_concat = {
	.name = "concat", .forward = concat_forward, .backward = concat_backward,
};
