/* First-order weights: a bias, one weight an id, one weight a numeric field. */
#include <stdlib.h>

#include "graph/node.h"

struct node *
graph_first_order(struct graph *g, const struct graph_field *field, size_t n)
{
	struct field_runs *runs;
	size_t width;

	if (field_runs_create(g, field, n, 1, &runs, &width) != RS_OK)
		return graph_fail(g, &op_first_order, "out of memory");
	struct node *node = graph_append(g, &op_first_order, 1);
	if (node == NULL) {
		free(runs);
		return NULL;
	}
	node->config = runs;
	node->param[0] = graph_add_param(g, "linear", "bias", &(struct graph_param){
		.rows = 1, .columns = 1, .init = PARAM_ZERO,
	});
	return node;
}

static void
first_order_forward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->config;
	const struct graph_param *param = op_graph(r)->param;
	float *y = op_value(r, n);

	op_zero(r, y, r->B);
	r->kernel->bias_act_forward(r->B, 1, y, op_param(r, n, 0), KERNEL_ACT_NONE);
	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *run = &runs->run[i];
		if (run->is_dense) {
			const struct numeric_args a = field_run_numeric(r, run);
			r->kernel->numeric_linear_forward(&a, r->param + param[run->param_v].offset,
				r->param + param[run->param_u].offset, y);
		} else {
			struct bag_args bag = field_run_bag(r, run);
			bag.y = y;
			bag.ldy = 1;
			r->kernel->bag_linear_forward(&bag);
		}
	}
}

static void
first_order_backward(const struct op_run *r, const struct node *n)
{
	const struct field_runs *runs = n->config;
	const struct graph_param *param = op_graph(r)->param;
	const float *dy = op_gradient(r, n);

	r->kernel->dot(r->B, dy, NULL, 1, op_param_gradient(r, n, 0));
	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *run = &runs->run[i];
		if (!run->is_dense) {
			field_run_gradients(r, run, op_kept(r, n), 1);
			continue;
		}
		const struct numeric_args a = field_run_numeric(r, run);
		float *dw = r->grad + param[run->param_v].offset;
		float *du = r->grad + param[run->param_u].offset;
		op_zero(r, dw, run->n);
		op_zero(r, du, run->n);
		r->kernel->numeric_linear_backward(&a, dy, dw, du);
	}
}

const struct op op_first_order = {
	.name = "first_order", .keeps_gradient = 1,
	.forward = first_order_forward, .backward = first_order_backward,
};
