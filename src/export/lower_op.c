/* Layers, products, attention: operators whose inputs are other operators. */
#include <math.h>
#include <stdlib.h>

#include "export/lower.h"
#include "graph/norm.h"
#include "kernel/kernel_table.h"

#define ROOT_HALF 0.70710678118654752f

static size_t
mul(const struct lowering *l, size_t a, size_t b)
{
	return program_binary(l->p, PROGRAM_mul, a, b);
}

static size_t
add(const struct lowering *l, size_t a, size_t b)
{
	return program_binary(l->p, PROGRAM_add, a, b);
}

static size_t
sub(const struct lowering *l, size_t a, size_t b)
{
	return program_binary(l->p, PROGRAM_sub, a, b);
}

static size_t
product(const struct lowering *l, size_t a, size_t b)
{
	return program_binary(l->p, PROGRAM_matmul, a, b);
}

/* z Phi(z) */
static size_t
gelu(const struct lowering *l, size_t z)
{
	const size_t erf = program_unary(l->p, PROGRAM_erf,
		mul(l, z, program_scalar(l->p, ROOT_HALF)));

	return mul(l, z, mul(l, program_scalar(l->p, 0.5f),
		add(l, program_scalar(l->p, 1), erf)));
}

size_t
lower_activate(const struct lowering *l, size_t x, int act)
{
	switch (act) {
	case KERNEL_ACT_RELU:    return program_unary(l->p, PROGRAM_relu, x);
	case KERNEL_ACT_TANH:    return program_unary(l->p, PROGRAM_tanh, x);
	case KERNEL_ACT_SIGMOID: return program_unary(l->p, PROGRAM_sigmoid, x);
	case KERNEL_ACT_GELU:    return gelu(l, x);
	default:                 return x;
	}
}

size_t
lower_activation(const struct lowering *l, const struct node *n)
{
	const size_t x = lower_input(l, n, 0);

	if (n->act != KERNEL_ACT_PRELU)
		return lower_activate(l, x, n->act);
	const size_t below = program_binary(l->p, PROGRAM_min, x, program_scalar(l->p, 0));
	return add(l, program_unary(l->p, PROGRAM_relu, x), mul(l, below, lower_row(l, n, 0)));
}

size_t
lower_linear(const struct lowering *l, const struct node *n)
{
	const size_t y = product(l, lower_input(l, n, 0), lower_matrix(l, n, 0));

	return lower_activate(l, add(l, y, lower_row(l, n, 1)), n->act);
}

size_t
lower_product(const struct lowering *l, const struct node *n)
{
	return product(l, lower_input(l, n, 0), lower_matrix(l, n, 0));
}

size_t
lower_cross_v1(const struct lowering *l, const struct node *n)
{
	const size_t x = lower_input(l, n, 1);
	const size_t dot = product(l, x, lower_matrix(l, n, 0));

	return add(l, add(l, mul(l, lower_input(l, n, 0), dot), lower_row(l, n, 1)), x);
}

size_t
lower_cross_v2(const struct lowering *l, const struct node *n)
{
	const size_t z = add(l, product(l, lower_input(l, n, 2), lower_matrix(l, n, 0)),
		lower_row(l, n, 1));

	return add(l, mul(l, lower_input(l, n, 0), z), lower_input(l, n, 1));
}

size_t
lower_gate(const struct lowering *l, const struct node *n)
{
	const size_t E = n->input[1]->width;
	const int64_t parts[] = { PROGRAM_N, (int64_t)E, (int64_t)(n->width / E) };
	const int64_t flat[] = { PROGRAM_N, (int64_t)n->width };
	const size_t share = program_unary(l->p, PROGRAM_softmax, lower_input(l, n, 1));
	const size_t t = program_reshape(l->p, lower_input(l, n, 0), parts, 3);

	return program_reshape(l->p, mul(l, t, program_axis(l->p, PROGRAM_expand, share, 2)), flat,
		2);
}

size_t
lower_dots(const struct lowering *l, const struct node *n)
{
	const size_t F = (size_t)n->number, D = n->input[0]->width / F;
	const int64_t apart[] = { PROGRAM_N, (int64_t)F, (int64_t)D };
	const int64_t flat[] = { PROGRAM_N, (int64_t)(F * F) };
	const size_t x = program_reshape(l->p, lower_input(l, n, 0), apart, 3);
	const size_t all = program_reshape(l->p, product(l, x,
		program_unary(l->p, PROGRAM_transpose, x)), flat, 2);
	int64_t *index;
	size_t k = 0;

	if (memory_alloc(n->width, sizeof *index, &index) != RS_OK)
		return 0;
	for (size_t i = 1; i < F; i++)
		for (size_t j = 0; j < i; j++)
			index[k++] = (int64_t)(i * F + j);
	const size_t y = program_pick(l->p, all, index, n->width);
	free(index);
	return y;
}

/* (x - mean) / sqrt(var + epsilon) */
static size_t
normalised(const struct lowering *l, const struct node *n)
{
	const size_t deviation = program_unary(l->p, PROGRAM_sqrt, add(l, lower_row(l, n, NORM_VAR),
		program_scalar(l->p, n->number)));

	return program_binary(l->p, PROGRAM_div, sub(l, lower_input(l, n, 0),
		lower_row(l, n, NORM_MEAN)), deviation);
}

size_t
lower_batch_norm(const struct lowering *l, const struct node *n)
{
	return add(l, mul(l, normalised(l, n), lower_row(l, n, NORM_N_PARAMS)),
		lower_row(l, n, NORM_N_PARAMS + 1));
}

size_t
lower_dice(const struct lowering *l, const struct node *n)
{
	const size_t z = lower_input(l, n, 0), alpha = lower_row(l, n, NORM_N_PARAMS);
	const size_t p = program_unary(l->p, PROGRAM_sigmoid, normalised(l, n));
	const size_t rest = sub(l, program_scalar(l->p, 1), p);

	return mul(l, z, add(l, p, mul(l, rest, alpha)));
}

size_t
lower_dropout(const struct lowering *l, const struct node *n)
{
	return lower_input(l, n, 0);
}

size_t
lower_add(const struct lowering *l, const struct node *n)
{
	return add(l, lower_input(l, n, 0), lower_input(l, n, 1));
}

size_t
lower_concat(const struct lowering *l, const struct node *n)
{
	const size_t part[] = { lower_input(l, n, 0), lower_input(l, n, 1) };

	return program_concat(l->p, part, 2);
}

/* A row of zeros stays one. */
size_t
lower_l2_normalize(const struct lowering *l, const struct node *n)
{
	const size_t x = lower_input(l, n, 0);
	const size_t length = program_unary(l->p, PROGRAM_sqrt,
		program_reduce(l->p, PROGRAM_sum, mul(l, x, x), -1));

	return program_binary(l->p, PROGRAM_div, x,
		program_binary(l->p, PROGRAM_max, length, program_scalar(l->p, 1e-30f)));
}

size_t
lower_similarity(const struct lowering *l, const struct node *n)
{
	const float temperature = n->act ? expf(l->m->param[l->g->param[n->param[0]].offset])
		: n->number;
	const size_t dot = program_reduce(l->p, PROGRAM_sum,
		mul(l, lower_input(l, n, 0), lower_input(l, n, 1)), -1);

	return mul(l, dot, program_scalar(l->p, 1 / temperature));
}

/* --- histories ---------------------------------------- */

/* [k, q, k-q, k*q] W with W = [W1; W2; W3; W4] */
size_t
lower_attention_first(const struct lowering *l, const struct node *n)
{
	const size_t D = n->input[0]->width, k = lower_input(l, n, 1);
	const size_t q = program_axis(l->p, PROGRAM_expand, lower_input(l, n, 0), 1);
	const size_t part[] = { k, q, sub(l, k, q), mul(l, k, q) };
	size_t y = lower_row(l, n, 1);

	for (size_t i = 0; i < 4; i++)
		y = add(l, product(l, part[i], lower_rows(l, n, 0, i * D, (i + 1) * D)), y);
	return lower_activate(l, y, n->act);
}

static size_t
mask_of(const struct lowering *l, const struct node *ragged)
{
	return lower_mask(l, ragged->ragged - 1);
}

size_t
lower_segment_softmax(const struct lowering *l, const struct node *n)
{
	const size_t a = program_axis(l->p, PROGRAM_squeeze, lower_input(l, n, 0), 2);
	const size_t known = program_unary(l->p, PROGRAM_known,
		lower_ids(l, n->input[0]->ragged - 1));
	const size_t share = program_unary(l->p, PROGRAM_softmax,
		program_where(l->p, known, a, program_scalar(l->p, -1e30f)));

	return program_axis(l->p, PROGRAM_expand, mul(l, share, mask_of(l, n->input[0])), 2);
}

size_t
lower_segment_pool(const struct lowering *l, const struct node *n)
{
	const size_t mask = program_axis(l->p, PROGRAM_expand, mask_of(l, n->input[1]), 2);
	const size_t a = mul(l, lower_input(l, n, 0), mask);

	return program_axis(l->p, PROGRAM_squeeze, program_reduce(l->p, PROGRAM_sum,
		mul(l, a, lower_input(l, n, 1)), 1), 1);
}
