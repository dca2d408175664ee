/* The vectors of all fields, written beside each other into one block. */
#include <stdlib.h>

#include "graph/node.h"

struct node *
graph_embedding(struct graph *g, const struct graph_field *field, size_t n)
{
	struct field_runs *runs;
	size_t width;

	if (n == 0)
		return graph_fail(g, &op_embedding, "no field has a vector");
	if (field_runs_create(g, field, n, 0, &runs, &width) != RS_OK)
		return graph_fail(g, &op_embedding, "out of memory");
	struct node *node = graph_append(g, &op_embedding, width);
	if (node == NULL) {
		free(runs);
		return NULL;
	}
	node->config = runs;
	for (size_t i = 0; i < runs->n; i++)
		if (!runs->run[i].is_dense && g->input[runs->run[i].input].combiner == KERNEL_MAX)
			g->buffered[runs->run[i].input] = runs->run[i].dim;
	return node;
}

static void
embedding_forward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->config;
	const struct graph *g = op_graph(r);

	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *run = &runs->run[i];
		float *y = op_value(r, n) + run->place;
		if (run->is_dense) {
			const struct numeric_args a = field_run_numeric(r, run);
			r->kernel->numeric_forward(&a, r->param + g->param[run->param_v].offset,
				r->param + g->param[run->param_u].offset, y, n->width);
			continue;
		}
		struct bag_args bag = field_run_bag(r, run);
		bag.y = y;
		bag.ldy = n->width;
		if (g->input[run->input].combiner == KERNEL_MAX)
			r->kernel->bag_max_forward(&bag);
		else
			r->kernel->bag_forward(&bag);
	}
}

/* bag_pairs left the part of each occurrence in its buffer; to that comes the bag's. */
static void
buffered_backward(const struct op_run *r, const struct field_run *run, const float *dy, size_t lddy)
{
	struct exec_input *in = op_input(r, run->input);
	const struct bag_args bag = field_run_bag(r, run);
	const size_t N = op_n_ids(r->feed, run->input);

	if (op_graph(r)->input[run->input].combiner == KERNEL_MAX)
		r->kernel->bag_max_backward(&bag, dy, lddy, op_buffer(r, run->input));
	else
		r->kernel->bag_add(&bag, dy, lddy, op_buffer(r, run->input));
	for (size_t i = 0; i < N; i++)
		in->grad[i] = in->buffer + i * run->dim;
	in->out_grad = in->grad;
	field_run_scale(r, run);
}

/* To the gradients of numeric vectors layers add, too. */
static void
embedding_begin_backward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->config;
	const struct graph *g = op_graph(r);

	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *run = &runs->run[i];
		if (!run->is_dense)
			continue;
		op_zero(r, r->grad + g->param[run->param_v].offset, run->n * run->dim);
		op_zero(r, r->grad + g->param[run->param_u].offset, run->n * run->dim);
	}
}

static void
embedding_backward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->config;
	const struct graph *g = op_graph(r);

	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *run = &runs->run[i];
		const float *dy = op_gradient(r, n) + run->place;
		if (!run->is_dense && g->buffered[run->input]) {
			buffered_backward(r, run, dy, n->width);
		} else if (!run->is_dense) {
			field_run_gradients(r, run, op_kept(r, n) + run->place, n->width);
		} else {
			const struct numeric_args a = field_run_numeric(r, run);
			float *dv = r->grad + g->param[run->param_v].offset;
			float *du = r->grad + g->param[run->param_u].offset;
			r->kernel->numeric_backward(&a, dy, n->width, dv, du);
		}
	}
}

const struct op op_embedding = {
	.name = "embedding", .keeps_gradient = 1,
	.begin_backward = embedding_begin_backward, .forward = embedding_forward,
	.backward = embedding_backward,
};
