/*
 * First layer of the attention unit, Zhou et al. 2018: y = act([k, q, k-q, k*q] W + b)
 * for every item k of a history, q the vector of its row.  With W = [W1; W2; W3; W4]
 *
 *	[k, q, k-q, k*q] W = [k, k*q] U + q V,   U = [W1+W3; W4],  V = W2-W3,
 *
 * half the products over positions; gradients of U and V give those of W.  Positions
 * go in blocks that stay in the cache, or keep a GPU busy; [k, k*q] is made anew in the
 * backward pass.
 */
#include <assert.h>

#include "graph/node.h"

enum { ATTENTION_Q, ATTENTION_K, ATTENTION_BLOCK = 512, ATTENTION_GPU_BLOCK = 1 << 15 };

/* Pieces of the saved and of the scratch memory. */
struct attention {
	size_t D, H, N;             /* width of q and k, units, positions             */
	float *u, *v;               /* [2D,H] [D,H]                                   */
	float *x;                   /* [BLOCK,2D] [k, k*q] of the positions at hand   */
	float *t;                   /* [B,H] q V, then sums of dz over each row       */
	float *du, *dv;             /* [2D,H] [D,H]                                   */
	float *dx;                  /* [BLOCK,2D]                                     */
};

/* Positions at a time. */
static size_t
block_of(const struct graph *g)
{
	return g->gpu != NULL ? ATTENTION_GPU_BLOCK : ATTENTION_BLOCK;
}

struct node *
graph_attention_first(struct graph *g, struct node *q, struct node *k,
	const struct graph_linear_options *o)
{
	if (q == NULL || k == NULL)
		return NULL;
	if (k->ragged == 0 || q->ragged > 0 || q->width != k->width)
		return graph_fail(g, &op_attention_first,
			"needs a history as wide as what it is compared with, found %zu and %zu",
			k->width, q->width);
	assert(o->act == KERNEL_ACT_NONE || o->act == KERNEL_ACT_RELU || o->act == KERNEL_ACT_TANH
		|| o->act == KERNEL_ACT_SIGMOID);
	struct node *n = graph_append(g, &op_attention_first, o->H);
	if (n == NULL)
		return NULL;
	const size_t D = k->width;
	n->input[n->n_inputs++] = q;
	n->input[n->n_inputs++] = k;
	n->ragged = k->ragged;
	n->act = o->act;
	n->param[0] = graph_add_param(g, o->name, "weight", &(struct graph_param){
		.rows = 4 * D, .columns = o->H, .init = o->init, .l2 = o->l2, .decay = 1,
	});
	n->param[1] = graph_add_param(g, o->name, "bias", &(struct graph_param){
		.rows = 1, .columns = o->H, .init = PARAM_ZERO,
	});
	n->saved_fixed = 3 * D * o->H + 2 * D * block_of(g);
	n->saved_batch = o->H;
	n->scratch_fixed = n->saved_fixed;
	return n;
}

static struct attention
attention_of(const struct op_run *r, const struct node *n, int backward)
{
	const size_t D = n->input[ATTENTION_K]->width, H = n->width;
	float *saved = op_saved(r, n), *scratch = backward ? op_scratch(r, n) : NULL;
	struct attention a = { .D = D, .H = H, .N = op_rows(r, n), .u = saved };

	a.v = a.u + 2 * D * H;
	a.x = a.v + D * H;
	a.t = a.x + 2 * D * block_of(op_graph(r));
	if (backward) {
		a.du = scratch;
		a.dv = a.du + 2 * D * H;
		a.dx = a.dv + D * H;
	}
	return a;
}

static struct segment_args
attention_block(const struct op_run *r, const struct node *n, size_t begin)
{
	struct segment_args s = op_segments(r, n);
	const size_t most = block_of(op_graph(r));

	s.begin = begin;
	if (s.end > begin + most)
		s.end = begin + most;
	return s;
}

static void
attention_first_forward(const struct op_run *r, const struct node *n)
{
	const struct attention a = attention_of(r, n, 0);
	const float *q = op_value(r, n->input[ATTENTION_Q]);
	const float *k = op_value(r, n->input[ATTENTION_K]);

	r->kernel->attention_split(a.D * a.H, op_param(r, n, 0), a.u, a.v);
	op_multiply(r, &(struct gemm_args){ .m = r->B, .n = a.H, .k = a.D, .alpha = 1, .a = q,
		.lda = a.D, .b = a.v, .ldb = a.H, .c = a.t, .ldc = a.H });
	for (size_t i = 0; i < a.N; i += block_of(op_graph(r))) {
		const struct segment_args s = attention_block(r, n, i);
		float *y = op_value(r, n) + i * a.H;
		r->kernel->attention_expand(&s, a.D, q, k + i * a.D, a.x);
		op_multiply(r, &(struct gemm_args){ .m = s.end - i, .n = a.H, .k = 2 * a.D,
			.alpha = 1, .a = a.x, .lda = 2 * a.D, .b = a.u, .ldb = a.H, .c = y,
			.ldc = a.H });
		r->kernel->segment_add(&s, a.H, a.t, y);
		r->kernel->bias_act_forward(s.end - i, a.H, y, op_param(r, n, 1), n->act);
	}
}

/* One block: dz takes the place of dy. */
static void
attention_block_backward(const struct op_run *r, const struct node *n, const struct attention *a,
	const struct segment_args *s)
{
	const struct node *q = n->input[ATTENTION_Q], *k = n->input[ATTENTION_K];
	const size_t i = s->begin, rows = s->end - i, D = a->D, H = a->H;
	const float *kept = op_value(r, k) + i * D;
	float *dz = op_gradient(r, n) + i * H;

	r->kernel->bias_act_backward(rows, H, op_value(r, n) + i * H, dz, n->act, dz,
		op_param_gradient(r, n, 1));
	r->kernel->segment_sum(s, H, dz, a->t);
	r->kernel->attention_expand(s, D, op_value(r, q), kept, a->x);
	op_multiply(r, &(struct gemm_args){ .transpose_a = 1, .m = 2 * D, .n = H, .k = rows,
		.alpha = 1, .beta = 1, .a = a->x, .lda = 2 * D, .b = dz, .ldb = H, .c = a->du,
		.ldc = H });
	op_multiply(r, &(struct gemm_args){ .transpose_b = 1, .m = rows, .n = 2 * D, .k = H,
		.alpha = 1, .a = dz, .lda = H, .b = a->u, .ldb = H, .c = a->dx, .ldc = 2 * D });
	r->kernel->attention_fold(s, D, op_value(r, q), kept, a->dx, op_gradient(r, k) + i * D,
		op_gradient(r, q));
}

static void
attention_first_backward(const struct op_run *r, const struct node *n)
{
	const struct attention a = attention_of(r, n, 1);
	const struct node *q = n->input[ATTENTION_Q];

	op_zero(r, op_param_gradient(r, n, 1), a.H);
	op_zero(r, a.du, 2 * a.D * a.H);
	op_zero(r, a.t, r->B * a.H);
	for (size_t i = 0; i < a.N; i += block_of(op_graph(r))) {
		const struct segment_args s = attention_block(r, n, i);
		attention_block_backward(r, n, &a, &s);
	}
	op_multiply(r, &(struct gemm_args){ .transpose_a = 1, .m = a.D, .n = a.H, .k = r->B,
		.alpha = 1, .a = op_value(r, q), .lda = a.D, .b = a.t, .ldb = a.H, .c = a.dv,
		.ldc = a.H });
	op_multiply(r, &(struct gemm_args){ .transpose_b = 1, .m = r->B, .n = a.D, .k = a.H,
		.alpha = 1, .beta = 1, .a = a.t, .lda = a.H, .b = a.v, .ldb = a.H,
		.c = op_gradient(r, q), .ldc = a.D });
	r->kernel->attention_join(a.D * a.H, a.du, a.dv, op_param_gradient(r, n, 0));
}

const struct op op_attention_first = {
	.name = "attention_first", .multiplies = 1, .keeps_input = 1, .keeps_output = 1,
	.changes_rows = 1,
	.forward = attention_first_forward, .backward = attention_first_backward,
};
