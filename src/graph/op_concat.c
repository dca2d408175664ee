/* Two values beside each other. */
#include <string.h>

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
		for (size_t b = 0; b < rows; b++)
			memcpy(op_value(r, n) + b * n->width + place,
				op_value(r, n->input[i]) + b * width, width * sizeof(float));
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
		for (size_t b = 0; b < rows; b++)
			r->kernel->add(width, op_gradient(r, n->input[i]) + b * width,
				op_gradient(r, n) + b * n->width + place);
		place += width;
	}
}

const struct op op_concat = {
	.name = "concat", .forward = concat_forward, .backward = concat_backward,
};
