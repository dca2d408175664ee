/* The table of lowerings, and what they share. */
#include "export/lower.h"

#include <stdio.h>
#include <string.h>

static const struct { const struct op *op; size_t (*lower)(const struct lowering *,
	const struct node *); } lower_table[] = {
#define OP(name) { &op_##name, lower_##name },
	LOWERED(OP)
#undef OP
};

/* --- what the operators share ---------------------------------------- */

size_t
lower_input(const struct lowering *l, const struct node *n, size_t i)
{
	return l->value[n->input[i]->index];
}

static size_t
constant(const struct lowering *l, const struct graph_param *param, const int64_t *dim,
	size_t rank)
{
	return program_constant(l->p, param->name, l->m->param + param->offset, dim, rank);
}

size_t
lower_matrix(const struct lowering *l, const struct node *n, size_t k)
{
	const struct graph_param *const param = &l->g->param[n->param[k]];
	const int64_t dim[] = { (int64_t)param->rows, (int64_t)param->columns };

	return constant(l, param, dim, 2);
}

size_t
lower_row(const struct lowering *l, const struct node *n, size_t k)
{
	const struct graph_param *const param = &l->g->param[n->param[k]];
	const int64_t dim[] = { (int64_t)(param->rows * param->columns) };

	return constant(l, param, dim, 1);
}

size_t
lower_rows(const struct lowering *l, const struct node *n, size_t k, size_t begin, size_t end)
{
	const struct graph_param *const param = &l->g->param[n->param[k]];
	const int64_t dim[] = { (int64_t)(end - begin), (int64_t)param->columns };
	char name[96];

	snprintf(name, sizeof name, "%s.%zu", param->name, begin);
	return program_constant(l->p, name, l->m->param + param->offset
		+ begin * param->columns, dim, 2);
}

enum rs_status
lower_node(const struct lowering *l, const struct node *n)
{
	for (size_t k = 0; k < sizeof lower_table / sizeof *lower_table; k++) {
		if (lower_table[k].op != n->op)
			continue;
		l->value[n->index] = lower_table[k].lower(l, n);
		return l->p->failure.status != RS_OK ? rs_failure_put(&l->p->failure) : RS_OK;
	}
	return rs_fail(RS_ESPEC, "export: no tool is known to have '%s'", n->op->name);
}
