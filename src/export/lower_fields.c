/* Fields: ids, bags, sequences and numeric columns become vectors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "export/lower.h"
#include "kernel/kernel_table.h"

/* --- one graph input ---------------------------------------- */

static size_t
field_of(const struct lowering *l, size_t input)
{
	return l->m->schema.column_field[graph_input(l->g, input)->column];
}

/* An id with a weight is a bag of one. */
int
lower_is_single(const struct lowering *l, size_t input)
{
	return l->m->schema.field[field_of(l, input)].single
		&& !l->has_weight[graph_input(l->g, input)->column];
}

size_t
lower_ids(const struct lowering *l, size_t input)
{
	return program_feature_add(l->p, lower_is_single(l, input) ? PROGRAM_ID : PROGRAM_BAG,
		field_of(l, input));
}

size_t
lower_mask(const struct lowering *l, size_t input)
{
	return program_unary(l->p, PROGRAM_number,
		program_unary(l->p, PROGRAM_known, lower_ids(l, input)));
}

static size_t
weights(const struct lowering *l, size_t input)
{
	const size_t mask = lower_mask(l, input);

	if (!l->has_weight[graph_input(l->g, input)->column])
		return mask;
	return program_binary(l->p, PROGRAM_mul, mask,
		program_feature_add(l->p, PROGRAM_WEIGHT, field_of(l, input)));
}

/* Of an empty bag 1 instead of 0, so that 0 / 1 is 0. */
static size_t
never_zero(const struct lowering *l, size_t input, size_t total)
{
	const size_t any = program_reduce(l->p, PROGRAM_most, lower_mask(l, input), 1);

	return program_binary(l->p, PROGRAM_add, total,
		program_binary(l->p, PROGRAM_sub, program_scalar(l->p, 1), any));
}

size_t
lower_factors(const struct lowering *l, size_t input)
{
	const size_t w = weights(l, input);
	size_t total;

	switch (graph_input(l->g, input)->combiner) {
	case KERNEL_MEAN:
	case KERNEL_LAST:
		total = program_reduce(l->p, PROGRAM_sum, w, 1);
		break;
	case KERNEL_SQRTN:
		total = program_unary(l->p, PROGRAM_sqrt, program_reduce(l->p, PROGRAM_sum,
			program_binary(l->p, PROGRAM_mul, w, w), 1));
		break;
	default:
		return w;
	}
	return program_binary(l->p, PROGRAM_div, w, never_zero(l, input, total));
}

/* 1 where an id has a row in a round, beside its vector. */
static size_t
has_round(const struct lowering *l, size_t input, size_t ids)
{
	return program_axis(l->p, PROGRAM_expand, program_unary(l->p, PROGRAM_number,
		program_unary(l->p, PROGRAM_known, ids)), lower_is_single(l, input) ? 1 : 2);
}

/* The rows of the rounds behind the first, of ids that have them, and what scales the sum. */
static size_t
add_rounds(const struct lowering *l, size_t input, size_t table, size_t sum)
{
	const struct lookup_table *const t = &l->m->table[graph_input(l->g, input)->table];
	size_t has = 0;

	for (size_t r = 1; r < t->rounds; r++) {
		const size_t ids = program_round_add(l->p, lower_is_single(l, input) ? PROGRAM_ID
			: PROGRAM_BAG, field_of(l, input), r);
		const size_t row = program_binary(l->p, PROGRAM_gather, table,
			program_unary(l->p, PROGRAM_clamp, ids));

		has = has_round(l, input, ids);
		sum = program_binary(l->p, PROGRAM_add, sum,
			program_binary(l->p, PROGRAM_mul, row, has));
	}
	if (has == 0 || !t->scales_rounds)
		return sum;
	/* 1 of "missing", which has one row */
	const size_t less = program_binary(l->p, PROGRAM_mul, has,
		program_scalar(l->p, (float)(1 / sqrt((double)t->rounds)) - 1));
	return program_binary(l->p, PROGRAM_mul, sum,
		program_binary(l->p, PROGRAM_add, program_scalar(l->p, 1), less));
}

static size_t
gather(const struct lowering *l, size_t input)
{
	const size_t table = program_table(l->p, graph_input(l->g, input)->table);
	const size_t ids = lower_ids(l, input);

	return add_rounds(l, input, table, program_binary(l->p, PROGRAM_gather, table,
		lower_is_single(l, input) ? ids : program_unary(l->p, PROGRAM_clamp, ids)));
}

size_t
lower_vectors(const struct lowering *l, size_t input)
{
	return program_binary(l->p, PROGRAM_mul, gather(l, input),
		program_axis(l->p, PROGRAM_expand, lower_factors(l, input), 2));
}

/* An empty bag is 0. */
static size_t
pooled_max(const struct lowering *l, size_t input)
{
	const size_t known = program_unary(l->p, PROGRAM_known, lower_ids(l, input));
	const size_t any = program_reduce(l->p, PROGRAM_most, lower_mask(l, input), 1);
	const size_t rows = program_where(l->p, program_axis(l->p, PROGRAM_expand, known, 2),
		lower_vectors(l, input), program_scalar(l->p, -3e38f));
	const size_t most = program_axis(l->p, PROGRAM_squeeze,
		program_reduce(l->p, PROGRAM_most, rows, 1), 1);

	return program_binary(l->p, PROGRAM_mul, most, any);
}

static size_t
summed(const struct lowering *l, size_t input)
{
	if (lower_is_single(l, input))
		return gather(l, input);
	return program_axis(l->p, PROGRAM_squeeze,
		program_reduce(l->p, PROGRAM_sum, lower_vectors(l, input), 1), 1);
}

size_t
lower_pooled(const struct lowering *l, size_t input)
{
	if (!lower_is_single(l, input) && graph_input(l->g, input)->combiner == KERNEL_MAX)
		return pooled_max(l, input);
	return summed(l, input);
}

/* --- numeric columns ---------------------------------------- */

/* [N,K] of dense columns column[0..K). */
static size_t
numbers(const struct lowering *l, const size_t *column, size_t K)
{
	size_t part[64], n = 0, all = 0;

	for (size_t k = 0; k < K; k++) {
		part[n++] = program_axis(l->p, PROGRAM_expand, program_feature_add(l->p,
			PROGRAM_VALUE, l->m->schema.dense_field[column[k]]), 1);
		if (n < 64 && k + 1 < K)
			continue;
		all = program_concat(l->p, part, n);
		part[0] = all;
		n = 1;
	}
	return all;
}

static size_t
run_numbers(const struct lowering *l, const struct field_run *run)
{
	size_t *column;

	if (memory_alloc(run->n, sizeof *column, &column) != RS_OK)
		return 0;
	for (size_t k = 0; k < run->n; k++)
		column[k] = run->column + k;
	const size_t x = numbers(l, column, run->n);
	free(column);
	return x;
}

/* The n parameters from `first` on lie behind each other: [n,D], or [n] for D 1. */
static size_t
run_params(const struct lowering *l, const struct field_run *run, size_t first, const char *what)
{
	const struct graph_param *const param = &l->g->param[first];
	const int64_t dim[] = { (int64_t)run->n, (int64_t)run->dim };
	char name[96];

	snprintf(name, sizeof name, "%s.%s", param->name, what);
	return program_constant(l->p, name, l->m->param + param->offset, dim, 2);
}

/* [N,K,D]: x V, or U where x is missing. */
static size_t
run_vectors(const struct lowering *l, const struct field_run *run)
{
	const size_t x = program_axis(l->p, PROGRAM_expand, run_numbers(l, run), 2);

	return program_where(l->p, program_unary(l->p, PROGRAM_is_nan, x),
		run_params(l, run, run->param_u, "missing"),
		program_binary(l->p, PROGRAM_mul, x, run_params(l, run, run->param_v, "all")));
}

size_t
lower_numeric(const struct lowering *l, const struct node *n)
{
	const struct graph_param *const param = &l->g->param[n->param[0]];
	const int64_t dim[] = { (int64_t)n->width };
	char name[96];

	snprintf(name, sizeof name, "%s.all", param->name);
	const size_t missing = program_constant(l->p, name, l->m->param + param->offset, dim, 1);
	const size_t x = numbers(l, n->config, n->width);
	return program_where(l->p, program_unary(l->p, PROGRAM_is_nan, x), missing, x);
}

/* --- operators over fields ---------------------------------------- */

size_t
lower_embedding(const struct lowering *l, const struct node *n)
{
	const struct field_runs *const runs = n->config;
	size_t part = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *const run = &runs->run[i];
		const int64_t dim[] = { PROGRAM_N, (int64_t)(run->n * run->dim) };
		const size_t x = run->is_dense
			? program_reshape(l->p, run_vectors(l, run), dim, 2)
			: lower_pooled(l, run->input);

		part = i == 0 ? x : program_concat(l->p, (const size_t []){ part, x }, 2);
	}
	return part;
}

size_t
lower_first_order(const struct lowering *l, const struct node *n)
{
	const struct field_runs *const runs = n->config;
	size_t y = lower_row(l, n, 0);

	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *const run = &runs->run[i];
		const size_t x = run->is_dense ? program_axis(l->p, PROGRAM_squeeze,
			program_reduce(l->p, PROGRAM_sum, run_vectors(l, run), 1), 1)
			: summed(l, run->input);       /* combiner max is of vectors */

		y = program_binary(l->p, PROGRAM_add, x, y);
	}
	return y;
}

size_t
lower_history(const struct lowering *l, const struct node *n)
{
	const struct field_runs *const runs = n->config;
	size_t part = 0;

	for (size_t i = 0; i < runs->n; i++) {
		const size_t x = lower_vectors(l, runs->run[i].input);

		part = i == 0 ? x : program_concat(l->p, (const size_t []){ part, x }, 2);
	}
	return part;
}

static size_t
half_of_squares(const struct lowering *l, size_t sum, size_t squares)
{
	const size_t square = program_binary(l->p, PROGRAM_mul, sum, sum);

	return program_binary(l->p, PROGRAM_mul, program_scalar(l->p, 0.5f), program_reduce(l->p,
		PROGRAM_sum, program_binary(l->p, PROGRAM_sub, square, squares), -1));
}

size_t
lower_fm2(const struct lowering *l, const struct node *n)
{
	const struct field_runs *const runs = n->input[0]->config;
	const int64_t dim[] = { PROGRAM_N, (int64_t)runs->n_fields, (int64_t)runs->dim };
	const size_t e = program_reshape(l->p, lower_input(l, n, 0), dim, 3);
	const size_t sum = program_reduce(l->p, PROGRAM_sum, e, 1);
	const size_t squares = program_reduce(l->p, PROGRAM_sum,
		program_binary(l->p, PROGRAM_mul, e, e), 1);

	return program_axis(l->p, PROGRAM_squeeze, half_of_squares(l, sum, squares), 1);
}

size_t
lower_bag_pairs(const struct lowering *l, const struct node *n)
{
	const struct field_runs *const runs = n->input[0]->config;
	const size_t e = lower_input(l, n, 0);
	size_t y = program_binary(l->p, PROGRAM_mul, program_slice(l->p, e, 0, 1),
		program_scalar(l->p, 0));

	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *const run = &runs->run[i];

		if (run->is_dense || lower_is_single(l, run->input))
			continue;
		const size_t v = lower_vectors(l, run->input);
		const size_t squares = program_axis(l->p, PROGRAM_squeeze, program_reduce(l->p,
			PROGRAM_sum, program_binary(l->p, PROGRAM_mul, v, v), 1), 1);
		y = program_binary(l->p, PROGRAM_add, y, half_of_squares(l, program_slice(l->p, e,
			run->place, run->place + run->dim), squares));
	}
	return y;
}
