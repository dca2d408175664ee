/* Sum of two values of one width. */
#include "graph/node.h"

struct node *
graph_add(struct graph *g, struct node *a, struct node *b)
{
	if (a == NULL || b == NULL)
		return NULL;
	if (a->width != b->width)
		return graph_fail(g, &op_add, "'%s' is [B,%zu] and '%s' is [B,%zu]", a->op->name,
			a->width, b->op->name, b->width);
	struct node *n = graph_append_rows(g, &op_add, a, a->width);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = b;
	return n;
}

static void
add_forward(const struct op_run *r, const struct node *n)
{
	const size_t size = op_rows(r, n) * n->width;

	r->kernel->copy_rows(op_rows(r, n), n->width, op_value(r, n->input[0]), n->width,
		op_value(r, n), n->width);
	r->kernel->add(size, op_value(r, n), op_value(r, n->input[1]));
}

static void
add_backward(const struct op_run *r, const struct node *n)
{
	const size_t size = op_rows(r, n) * n->width;

	for (size_t i = 0; i < n->n_inputs; i++)
		r->kernel->add(size, op_gradient(r, n->input[i]), op_gradient(r, n));
}

const struct op op_add = { .name = "add", .forward = add_forward, .backward = add_backward };
