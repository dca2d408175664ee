/* Dots of all pairs of vectors, Naumov et al. 2019: what lies below the diagonal of X X^T. */
#include "graph/node.h"

/* The vectors beside each other: those of the fields, behind one that came otherwise. */
static struct node *
dots_vectors(struct graph *g, struct node *embedding, struct node *beside)
{
	const struct field_runs *runs = embedding->config;

	if (runs->dim == 0)
		return graph_fail(g, &op_dots,
			"needs vectors of one dim, but fields '%s' and '%s' differ", runs->names[0],
			runs->names[1]);
	if (beside == NULL)
		return embedding;
	if (beside->width != runs->dim)
		return graph_fail(g, &op_dots, "'%s' is [B,%zu], the vectors of the fields are %zu",
			beside->op->name, beside->width, runs->dim);
	return graph_concat(g, beside, embedding);
}

struct node *
graph_dots(struct graph *g, struct node *embedding, struct node *beside)
{
	if (embedding == NULL)
		return NULL;
	if (embedding->op != &op_embedding)
		return graph_fail(g, &op_dots, "needs the vectors of fields, found '%s'",
			embedding->op->name);
	const struct field_runs *runs = embedding->config;
	const size_t F = runs->n_fields + (beside != NULL);
	struct node *x = dots_vectors(g, embedding, beside);
	if (x == NULL)
		return NULL;
	if (F < 2)
		return graph_fail(g, &op_dots, "there is one vector, and no pair");
	struct node *n = graph_append(g, &op_dots, F * (F - 1) / 2);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = x;
	n->number = (float)F;
	return n;
}

static void
dots_forward(const struct op_run *r, const struct node *n)
{
	const size_t F = (size_t)n->number;

	r->kernel->dots_forward(r->B, F, n->input[0]->width / F, op_value(r, n->input[0]),
		op_value(r, n));
}

static void
dots_backward(const struct op_run *r, const struct node *n)
{
	const size_t F = (size_t)n->number;

	r->kernel->dots_backward(r->B, F, n->input[0]->width / F, op_value(r, n->input[0]),
		op_gradient(r, n), op_gradient(r, n->input[0]));
}

const struct op op_dots = {
	.name = "dots", .keeps_input = 1, .forward = dots_forward, .backward = dots_backward,
};
