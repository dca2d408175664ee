/* Lifetimes of values, gradients and scratch, and their places in one block. */
#include "graph/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

enum { LINE_FLOATS = 16 };

struct span {
	size_t node, size, begin, end;    /* alive in [begin, end] */
	size_t offset;
	enum plan_kind kind;
};

static size_t
backward_time(const struct graph *g, size_t node)
{
	return 2 * g->n_nodes - 1 - node;
}

/* Every value lives until the end of the forward pass, so that exec_culprit()
 * can look at all of them. */
static void
span_value(const struct graph *g, const struct node *n, struct span *span)
{
	span->begin = n->index;
	span->end = g->n_nodes;
	if (n->op->keeps_output)
		span->end = backward_time(g, n->index);
	for (size_t j = n->index + 1; j < g->n_nodes; j++) {
		const struct node *user = g->node[j];
		const size_t t = backward_time(g, j);
		for (size_t i = 0; i < user->n_inputs; i++)
			if (user->input[i] == n && user->op->keeps_input && t > span->end)
				span->end = t;
	}
	if (n == g->logit)
		span->end = 2 * g->n_nodes;
}

static void
span_gradient(const struct graph *g, const struct node *n, struct span *span)
{
	span->begin = n == g->logit ? g->n_nodes : backward_time(g, n->index);
	span->end = backward_time(g, n->index);
	for (size_t j = g->n_nodes; j-- > n->index + 1;)
		for (size_t i = 0; i < g->node[j]->n_inputs; i++)
			if (g->node[j]->input[i] == n && backward_time(g, j) < span->begin)
				span->begin = backward_time(g, j);
}

static size_t
round_up(size_t n)
{
	return (n + LINE_FLOATS - 1) / LINE_FLOATS * LINE_FLOATS;
}

/* B: most rows of the batch, rows: of the node. */
static void
spans_of_node(const struct graph *g, const struct node *n, size_t B, size_t rows,
	struct span span[PLAN_N_KINDS])
{
	for (size_t k = 0; k < PLAN_N_KINDS; k++)
		span[k] = (struct span){ .node = n->index, .kind = k };
	span[PLAN_VALUE].size = round_up(rows * n->width);
	span_value(g, n, &span[PLAN_VALUE]);
	span[PLAN_GRADIENT].size = n->op->keeps_gradient ? 0 : round_up(rows * n->width);
	span_gradient(g, n, &span[PLAN_GRADIENT]);
	span[PLAN_SAVED].size = round_up(rows * n->saved_row + B * n->saved_batch + n->saved_fixed);
	span[PLAN_SAVED].begin = n->index;
	span[PLAN_SAVED].end = backward_time(g, n->index);
	span[PLAN_SCRATCH].size = round_up(rows * n->scratch_row + n->scratch_fixed);
	span[PLAN_SCRATCH].begin = span[PLAN_SCRATCH].end = backward_time(g, n->index);
}

static int
compare_spans(const void *pa, const void *pb)
{
	const struct span *a = pa, *b = pb;

	if (a->size != b->size)
		return a->size < b->size ? 1 : -1;
	if (a->node != b->node)
		return a->node < b->node ? -1 : 1;
	return a->kind < b->kind ? -1 : a->kind > b->kind;
}

static int
spans_meet(const struct span *a, const struct span *b)
{
	const int in_time = a->begin <= b->end && b->begin <= a->end;
	const int in_space = a->offset < b->offset + b->size && b->offset < a->offset + a->size;

	return in_time && in_space;
}

/* Moves span[i] up past every placed one it meets until it meets none. */
static void
span_place(struct span *span, size_t i)
{
	for (size_t j = 0; j < i; j++)
		if (spans_meet(&span[i], &span[j])) {
			span[i].offset = span[j].offset + span[j].size;
			j = (size_t)-1;
		}
}

static void
plan_place(struct span *span, size_t n, struct plan *out)
{
	qsort(span, n, sizeof(*span), compare_spans);
	for (size_t i = 0; i < n; i++) {
		span_place(span, i);
		out->offset[span[i].node][span[i].kind] = span[i].offset;
		if (span[i].offset + span[i].size > out->floats)
			out->floats = span[i].offset + span[i].size;
	}
}

static void
plan_kept(const struct graph *g, size_t B_max, struct plan *out)
{
	for (size_t i = 0; i < g->n_nodes; i++) {
		if (!g->node[i]->op->keeps_gradient || g->node[i]->ragged > 0)
			continue;
		out->offset[i][PLAN_GRADIENT] = out->kept_floats;
		out->kept_floats += round_up(B_max * g->node[i]->width);
	}
}

static void
plan_first(const struct graph *g, struct plan *out)
{
	for (size_t j = 0; j < g->n_nodes; j++)
		for (size_t i = 0; i < g->node[j]->n_inputs; i++) {
			int first = 1;
			for (size_t before = 0; before < i; before++)
				first &= g->node[j]->input[before] != g->node[j]->input[i];
			for (size_t later = j + 1; later < g->n_nodes; later++)
				for (size_t k = 0; k < g->node[later]->n_inputs; k++)
					first &= g->node[later]->input[k] != g->node[j]->input[i];
			out->first[j][i] = first;
		}
}

enum rs_status
plan_create(const struct graph *g, size_t B_max, const size_t *N_max, struct plan *out)
{
	struct span *span;
	enum rs_status status;

	memset(out, 0, sizeof(*out));
	RS_TRY(memory_alloc(g->n_nodes * PLAN_N_KINDS, sizeof(*span), &span));
	if ((status = memory_alloc(g->n_nodes, sizeof(*out->offset), &out->offset)) != RS_OK)
		goto out;
	if ((status = memory_alloc(g->n_nodes, sizeof(*out->first), &out->first)) != RS_OK)
		goto out;
	for (size_t i = 0; i < g->n_nodes; i++) {
		const struct node *n = g->node[i];
		const size_t positions = n->ragged > 0 && N_max != NULL ? N_max[n->ragged - 1] : 0;
		spans_of_node(g, n, B_max, n->ragged > 0 ? positions : B_max,
			&span[i * PLAN_N_KINDS]);
	}
	plan_place(span, g->n_nodes * PLAN_N_KINDS, out);
	plan_kept(g, B_max, out);
	plan_first(g, out);
out:
	free(span);
	if (status != RS_OK)
		plan_free(out);
	return status;
}

void
plan_free(struct plan *plan)
{
	free(plan->offset);
	free(plan->first);
	memset(plan, 0, sizeof(*plan));
}
