/* The fields of an operator as runs: one id input each, or numeric columns together. */
#include <stdio.h>
#include <stdlib.h>

#include "base/memory.h"
#include "graph/node.h"

static size_t
dense_run_length(const struct graph_field *field, size_t n)
{
	size_t length = 1;

	while (length < n && field[length].is_dense && field[length].dim == field[0].dim
	    && field[length].column == field[0].column + length)
		length++;
	return length;
}

static void
dense_run_params(struct graph *g, const struct graph_field *field, int linear,
	struct field_run *run)
{
	const struct graph_param like = {
		.rows = 1, .columns = run->dim, .init = linear ? PARAM_ZERO : PARAM_NORMAL,
	};

	for (size_t missing = 0; missing < 2; missing++)
		for (size_t i = 0; i < run->n; i++) {
			struct graph_param p = like;
			p.init_value = field[i].init_stddev;
			const size_t index = graph_add_param(g, field[i].name,
				linear ? (missing ? "linear.missing" : "linear") :
					 (missing ? "missing" : "vector"),
				&p);
			if (i == 0)
				*(missing ? &run->param_u : &run->param_v) = index;
		}
}

enum rs_status
field_runs_create(struct graph *g, const struct graph_field *field, size_t n, int linear,
	struct field_runs **out, size_t *width)
{
	struct field_runs *runs;

	RS_TRY(memory_alloc(1, sizeof(*runs) + n * sizeof(runs->run[0]), &runs));
	*width = 0;
	runs->n_fields = n;
	runs->dim = n > 0 ? field[0].dim : 0;
	for (size_t i = 0; i < n;) {
		struct field_run *run = &runs->run[runs->n++];
		run->is_dense = field[i].is_dense;
		run->column = field[i].column;
		run->dim = linear ? 1 : field[i].dim;
		run->place = *width;
		run->n = run->is_dense ? dense_run_length(&field[i], n - i) : 1;
		if (run->is_dense)
			dense_run_params(g, &field[i], linear, run);
		else
			run->input = graph_add_input(g, &field[i], linear);
		if (field[i].dim != field[0].dim && runs->dim != 0) {
			runs->dim = 0;
			snprintf(runs->names[0], sizeof(runs->names[0]), "%s", field[0].name);
			snprintf(runs->names[1], sizeof(runs->names[1]), "%s", field[i].name);
		}
		*width += run->n * run->dim;
		i += run->n;
	}
	*out = runs;
	return RS_OK;
}

static int
is_scaled(const struct op_run *r, const struct field_run *run)
{
	return op_is_scaled(op_graph(r), r->feed, run->input);
}

struct bag_args
field_run_bag(const struct op_run *r, const struct field_run *run)
{
	const struct feed *data = r->data;

	return (struct bag_args){
		.B = r->B, .D = run->dim, .row = data->row[run->input],
		.offset = data->offset == NULL ? NULL : data->offset[run->input],
		.scale = is_scaled(r, run) ? op_scale(r, run->input) : NULL,
	};
}

struct numeric_args
field_run_numeric(const struct op_run *r, const struct field_run *run)
{
	return (struct numeric_args){
		.B = r->B, .K = run->n, .D = run->dim, .ldx = op_graph(r)->K,
		.x = r->data->dense + run->column,
		.missing = r->data->missing == NULL ? NULL : r->data->missing + run->column,
	};
}

void
field_run_scale(const struct op_run *r, const struct field_run *run)
{
	struct exec_input *in = op_input(r, run->input);

	in->out_scale = is_scaled(r, run) ? in->scale : NULL;
}

void
field_run_gradients(const struct op_run *r, const struct field_run *run, const float *dy,
	size_t lddy)
{
	struct exec_input *in = op_input(r, run->input);
	const uint32_t *offset = r->feed->offset == NULL ? NULL : r->feed->offset[run->input];

	field_run_scale(r, run);
	if (offset == NULL) {
		/* The block never moves, so this happens once. */
		for (size_t b = 0; b < op_B_max(r) && in->fixed[b] != dy + b * lddy; b++)
			in->fixed[b] = dy + b * lddy;
		in->out_grad = in->fixed;
		return;
	}
	for (size_t b = 0; b < r->B; b++)
		for (size_t i = offset[b]; i < offset[b + 1]; i++)
			in->grad[i - offset[0]] = dy + b * lddy;
	in->out_grad = in->grad;
}
