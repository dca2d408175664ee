/* How alike two vectors of a row are: their product over a temperature. */
#include <math.h>

#include "graph/node.h"

struct node *
graph_similarity(struct graph *g, struct node *u, struct node *v,
	const struct graph_temperature *t)
{
	if (u == NULL || v == NULL)
		return NULL;
	if (u->width != v->width)
		return graph_fail(g, &op_similarity, "'%s' is [B,%zu] and '%s' is [B,%zu]",
			u->op->name, u->width, v->op->name, v->width);
	struct node *n = graph_append_rows(g, &op_similarity, u, 1);
	if (n == NULL)
		return NULL;
	n->input[n->n_inputs++] = v;
	n->number = t->start;
	n->act = t->learn;
	if (t->learn)
		n->param[0] = graph_add_param(g, t->name, "log_temperature", &(struct graph_param){
			.rows = 1, .columns = 1, .init = PARAM_CONSTANT,
			.init_value = (float)log(t->start),
		});
	return n;
}

static float
temperature_of(const struct op_run *r, const struct node *n)
{
	return n->act ? (float)exp(r->host_param[op_graph(r)->param[n->param[0]].offset])
		: n->number;
}

static void
similarity_forward(const struct op_run *r, const struct node *n)
{
	r->kernel->dot_rows_forward(op_rows(r, n), n->input[0]->width, op_value(r, n->input[0]),
		op_value(r, n->input[1]), 1 / temperature_of(r, n), op_value(r, n));
}

/* z = u.v / T, so d z / d log T = -z. */
static void
similarity_backward(const struct op_run *r, const struct node *n)
{
	const float *z = op_value(r, n), *dz = op_gradient(r, n);

	r->kernel->dot_rows_backward(op_rows(r, n), n->input[0]->width, op_value(r, n->input[0]),
		op_value(r, n->input[1]), 1 / temperature_of(r, n), dz,
		op_gradient(r, n->input[0]), op_gradient(r, n->input[1]));
	if (n->act)
		r->kernel->dot(op_rows(r, n), dz, z, -1, op_param_gradient(r, n, 0));
}

const struct op op_similarity = {
	.name = "similarity", .varies = 1, .keeps_input = 1, .keeps_output = 1,
	.forward = similarity_forward, .backward = similarity_backward,
};
