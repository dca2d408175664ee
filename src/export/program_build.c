/* A model becomes a program: its nodes one after the other. */
#include <stdio.h>
#include <stdlib.h>

#include "export/lower.h"

static size_t
field_of(const struct lowering *l, size_t input)
{
	return l->m->schema.column_field[graph_input(l->g, input)->column];
}

static void
align_sequences(const struct lowering *l)
{
	const size_t n = l->m->schema.n_fields;

	for (size_t i = 0; i < n; i++)
		l->p->leader[i] = i;
	for (size_t i = 0; i < graph_n_inputs(l->g); i++) {
		const struct graph_input *const in = graph_input(l->g, i);

		if (in->history > 0)
			l->p->leader[field_of(l, i)] = field_of(l, in->history - 1);
	}
}

static void
add_output(struct program *p, const char *name, size_t value)
{
	struct program_output *const o = &p->output[p->n_outputs++];

	snprintf(o->name, sizeof o->name, "%s", name);
	o->value = value;
}

/* What is added to the logit, as at most `room` parts. */
static void
add_parts(const struct lowering *l, const struct node *n, size_t room)
{
	struct program *const p = l->p;
	const size_t before = p->n_parts;

	if (n->op == &op_add && room >= 2) {
		add_parts(l, n->input[0], room - 1);
		add_parts(l, n->input[1], room - (p->n_parts - before));
		return;
	}
	p->part[p->n_parts++] = (struct program_part){ n->op->name, l->value[n->index] };
}

static enum rs_status
lower_nodes(const struct lowering *l, enum graph_output output)
{
	const struct node *const last = output == GRAPH_LOGIT ? l->g->logit
		: l->g->output[output];

	if (last == NULL)
		return rs_fail(RS_EUSAGE, "the model has no such vector");
	for (size_t i = 0; i < l->g->n_nodes; i++)
		if (l->g->part[output][i])
			RS_TRY(lower_node(l, l->g->node[i]));
	const size_t value = l->value[last->index];
	if (output != GRAPH_LOGIT) {
		add_output(l->p, "vector", value);
		return RS_OK;
	}
	add_parts(l, last, PROGRAM_PARTS);
	add_output(l->p, l->g->loss_is_mse ? "prediction" : "logit", value);
	if (!l->g->loss_is_mse)
		add_output(l->p, "probability", program_unary(l->p, PROGRAM_sigmoid, value));
	return l->p->failure.status != RS_OK ? rs_failure_put(&l->p->failure) : RS_OK;
}

/* Which id columns come with weights. */
static enum rs_status
find_weights(const struct model *m, unsigned char *has_weight)
{
	struct batch batch;
	const enum rs_status status = batch_init(&batch, &m->schema);

	for (size_t f = 0; status == RS_OK && f < m->schema.F; f++)
		has_weight[f] = batch.column[f].weight != NULL;
	batch_free(&batch);
	return status;
}

enum rs_status
program_build(const struct model *m, enum graph_output output, struct program **out)
{
	unsigned char *has_weight = NULL;
	struct lowering l = { .m = m, .g = m->graph };

	RS_TRY(memory_alloc(1, sizeof **out, out));
	l.p = *out;
	l.p->model = m;
	enum rs_status status = memory_alloc(m->schema.n_fields, sizeof *l.p->leader,
		&l.p->leader);
	if (status == RS_OK)
		status = memory_alloc(l.g->n_nodes, sizeof *l.value, &l.value);
	if (status == RS_OK)
		status = memory_alloc(m->schema.F + 1, 1, &has_weight);
	if (status == RS_OK)
		status = find_weights(m, has_weight);
	l.has_weight = has_weight;
	if (status == RS_OK) {
		align_sequences(&l);
		status = lower_nodes(&l, output);
	}
	free(has_weight);
	free(l.value);
	if (status != RS_OK) {
		program_free(*out);
		*out = NULL;
	}
	return status;
}
