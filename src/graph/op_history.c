/*
 * The vectors of sequence fields that belong together item by item, beside each
 * other: a row for every position of the histories of the slot.  Gradients lie in
 * the buffer of the first field, one row a position.
 */
#include <stdlib.h>

#include "graph/node.h"

/* The first input leads: its occurrences are the rows, its buffer the gradient. */
static void
history_align(struct graph *g, const struct field_runs *runs, size_t width)
{
	const size_t first = runs->run[0].input;

	for (size_t i = 0; i < runs->n; i++) {
		struct graph_input *in = &g->input[runs->run[i].input];
		in->history = 1 + first;
		in->combiner = KERNEL_SUM;     /* factors are the weights of the items   */
	}
	g->buffered[first] = width;
}

struct node *
graph_history(struct graph *g, const struct graph_field *field, size_t n)
{
	struct field_runs *runs;
	size_t width;

	if (n == 0)
		return graph_fail(g, &op_history, "no sequence field");
	for (size_t i = 0; i < n; i++)
		if (field[i].is_dense)
			return graph_fail(
				g, &op_history, "field '%s' has no ids", field[i].name);
	if (field_runs_create(g, field, n, 0, &runs, &width) != RS_OK)
		return graph_fail(g, &op_history, "out of memory");
	struct node *node = graph_append(g, &op_history, width);
	if (node == NULL || g->n_inputs == 0) {
		free(runs);
		return NULL;
	}
	node->config = runs;
	node->ragged = 1 + runs->run[0].input;
	history_align(g, runs, width);
	return node;
}

static const float *
history_scale(const struct op_run *r, size_t input, const float *scale)
{
	const int weighted = r->feed->id_weight != NULL && r->feed->id_weight[input] != NULL;

	return weighted ? scale : NULL;
}

static void
history_forward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->config;

	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *run = &runs->run[i];
		const struct bag_args gather = {
			.B = op_rows(r, n), .D = run->dim, .row = r->data->row[run->input],
			.scale = history_scale(r, run->input, op_scale(r, run->input)),
			.y = op_value(r, n) + run->place, .ldy = n->width,
		};
		r->kernel->bag_forward(&gather);
	}
}

/* The buffer stays where it is until it grows, then all pointers are new. */
static void
history_backward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->config;

	for (size_t i = 0; i < runs->n; i++) {
		struct exec_input *in = op_input(r, runs->run[i].input);
		const float *grad = op_kept(r, n) + runs->run[i].place;
		for (size_t j = 0; j < in->capacity && in->grad[j] != grad + j * n->width; j++)
			in->grad[j] = grad + j * n->width;
		in->out_grad = in->grad;
		in->out_scale = history_scale(r, runs->run[i].input, in->scale);
	}
}

const struct op op_history = {
	.name = "history", .keeps_gradient = 1,
	.forward = history_forward, .backward = history_backward,
};
