/* Products with the vectors of numeric columns, two columns for each of them. */
#include "graph/fold.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "graph/node.h"
#include "graph/product.h"

enum { PAIR = 2 };                     /* columns of z, and rows of A, of a column    */

/* Columns [begin,end) of x; run NULL: those of ids. */
struct fold_piece {
	size_t begin, end;
	const struct field_run *run;
	size_t first;                  /* numeric columns before the run              */
};

struct fold {
	size_t K;                      /* numeric columns                             */
	size_t z_before, a_before;     /* floats of saved(): a row's before z, and, behind
	                                  all rows, before A                          */
	float *value, *missing;        /* [2K] what the pair of a column is made of   */
	size_t n_pieces;
	struct fold_piece piece[];
};

static int
is_foldable(const struct field_run *run)
{
	return run->is_dense && run->dim >= FOLD_MIN_DIM;
}

/* Pieces of runs, neighbours that stay as they are together. */
static void
cut_pieces(struct fold *f, const struct field_runs *runs)
{
	for (size_t i = 0; i < runs->n; i++) {
		const struct field_run *run = &runs->run[i];
		const size_t end = run->place + run->n * run->dim;
		struct fold_piece *last = f->n_pieces > 0 ? &f->piece[f->n_pieces - 1] : NULL;

		if (!is_foldable(run) && last != NULL && last->run == NULL) {
			last->end = end;
			continue;
		}
		f->piece[f->n_pieces++] = (struct fold_piece){ .begin = run->place, .end = end,
			.run = is_foldable(run) ? run : NULL, .first = f->K };
		f->K += is_foldable(run) ? run->n : 0;
	}
}

static enum rs_status
fold_node(struct node *n, const struct field_runs *runs)
{
	struct fold *f;

	RS_TRY(memory_alloc(1, sizeof(*f) + runs->n * sizeof(f->piece[0]), &f));
	cut_pieces(f, runs);
	if (f->K == 0) {
		free(f);
		return RS_OK;
	}
	n->fold = f;
	RS_TRY(memory_alloc(2 * PAIR * f->K, sizeof(*f->value), &f->value));
	f->missing = f->value + PAIR * f->K;
	for (size_t k = 0; k < f->K; k++) {
		f->value[PAIR * k] = 1;
		f->missing[PAIR * k + 1] = 1;
	}
	f->z_before = n->saved_row;
	f->a_before = n->saved_fixed;
	n->saved_row += PAIR * f->K;
	n->saved_fixed += PAIR * f->K * n->width;
	return RS_OK;
}

enum rs_status
fold_create(const struct graph *g)
{
	for (size_t i = 0; i < g->n_nodes; i++) {
		struct node *const n = g->node[i];
		const struct node *x;

		if (!n->op->narrows || n->ragged > 0 || n->width < FOLD_MIN_UNITS)
			continue;
		x = n->input[axes_multiplied(n)];
		if (x->op == &op_embedding)
			RS_TRY(fold_node(n, x->config));
	}
	return RS_OK;
}

void
fold_destroy(struct fold *f)
{
	if (f != NULL)
		free(f->value);
	free(f);
}

const struct fold *
fold_of(const struct op_run *r, const struct node *n, size_t rows)
{
	return r->training && op_graph(r)->gpu == NULL && rows >= FOLD_MIN_ROWS ? n->fold : NULL;
}

/* [B,2K] */
static float *
fold_z(const struct op_run *r, const struct node *n)
{
	return op_saved(r, n) + op_B_max(r) * n->fold->z_before;
}

/* [2K,H], or its gradient. */
static float *
fold_a(const struct op_run *r, const struct node *n)
{
	return op_saved(r, n) + op_B_max(r) * n->saved_row + n->fold->a_before;
}

/* ---- a numeric column --------------------------------------------------- */

struct column {
	const float *vectors;          /* V_k, and U_k a step behind it               */
	size_t step, dim;
	size_t row;                    /* of W: the first                             */
	size_t pair;                   /* of A: the first                             */
};

static struct column
column_of(const struct op_run *r, const struct fold_piece *p, size_t k)
{
	const struct graph_param *const param = op_graph(r)->param;
	const struct field_run *const run = p->run;
	const size_t v = param[run->param_v + k].offset;

	return (struct column){ .vectors = r->param + v, .dim = run->dim,
		.step = param[run->param_u + k].offset - v,
		.row = p->begin + k * run->dim, .pair = PAIR * (p->first + k) };
}

/* A_k = [V_k; U_k] W_k */
static void
column_forward(const struct op_run *r, const struct node *n, const struct column *c)
{
	const size_t H = n->width;

	op_multiply(r, &(struct gemm_args){ .m = PAIR, .n = H, .k = c->dim, .alpha = 1,
		.a = c->vectors, .lda = c->step, .b = op_param(r, n, 0) + c->row * H, .ldb = H,
		.c = fold_a(r, n) + c->pair * H, .ldc = H });
}

static void
column_backward(const struct op_run *r, const struct node *n, const struct column *c)
{
	const size_t H = n->width;
	const float *const da = fold_a(r, n) + c->pair * H;

	op_multiply(r, &(struct gemm_args){ .transpose_a = 1, .m = c->dim, .n = H, .k = PAIR,
		.alpha = 1, .a = c->vectors, .lda = c->step, .b = da, .ldb = H,
		.c = op_param_gradient(r, n, 0) + c->row * H, .ldc = H });
	op_multiply(r, &(struct gemm_args){ .transpose_b = 1, .m = PAIR, .n = c->dim, .k = H,
		.alpha = 1, .beta = 1, .a = da, .lda = H, .b = op_param(r, n, 0) + c->row * H,
		.ldb = H, .c = r->grad + (c->vectors - r->param), .ldc = c->step });
}

/* ---- a layer ------------------------------------------------------------ */

static void
write_z(const struct op_run *r, const struct node *n, size_t rows)
{
	const struct fold *const f = n->fold;
	const size_t width = PAIR * f->K;

	for (size_t i = 0; i < f->n_pieces; i++) {
		const struct fold_piece *const p = &f->piece[i];
		struct numeric_args a;

		if (p->run == NULL)
			continue;
		a = field_run_numeric(r, p->run);
		a.D = PAIR;
		assert(a.B == rows);
		r->kernel->numeric_forward(&a, f->value + PAIR * p->first,
			f->missing + PAIR * p->first, fold_z(r, n) + PAIR * p->first, width);
	}
}

void
fold_forward(const struct op_run *r, const struct node *n, const struct layer_forward *l)
{
	const struct fold *const f = n->fold;
	const size_t H = n->width, width = n->input[axes_multiplied(n)]->width;
	struct gemm_args y = product_y(l->rows, PAIR * f->K, H);

	write_z(r, n, l->rows);
	for (size_t i = 0; i < f->n_pieces; i++)
		for (size_t k = 0; f->piece[i].run != NULL && k < f->piece[i].run->n; k++) {
			const struct column c = column_of(r, &f->piece[i], k);
			column_forward(r, n, &c);
		}
	y.a = fold_z(r, n);
	y.b = fold_a(r, n);
	y.c = l->y;
	op_multiply(r, &y);
	y.lda = width;
	y.beta = 1;
	for (size_t i = 0; i < f->n_pieces; i++) {
		const struct fold_piece *const p = &f->piece[i];
		if (p->run != NULL)
			continue;
		y.k = p->end - p->begin;
		y.a = l->x + p->begin;
		y.b = op_param(r, n, 0) + p->begin * H;
		op_multiply(r, &y);
	}
}

/* Columns of ids: as in any layer. */
static void
piece_backward(const struct op_run *r, const struct node *n, const struct layer_backward *l,
	const struct fold_piece *p)
{
	const size_t H = n->width, width = n->input[axes_multiplied(n)]->width;
	struct gemm_args dw = product_dw(l->rows, p->end - p->begin, H);
	struct gemm_args dx = product_dx(l->rows, p->end - p->begin, H);

	dw.a = l->x + p->begin;
	dw.lda = width;
	dw.b = l->dz;
	dw.c = op_param_gradient(r, n, 0) + p->begin * H;
	op_multiply(r, &dw);
	dx.a = l->dz;
	dx.b = op_param(r, n, 0) + p->begin * H;
	dx.c = l->dx + p->begin;
	dx.ldc = width;
	dx.beta = l->beta;
	op_multiply(r, &dx);
}

static void
run_backward(const struct op_run *r, const struct node *n, const struct layer_backward *l,
	const struct fold_piece *p)
{
	const size_t width = n->input[axes_multiplied(n)]->width;

	for (size_t k = 0; k < p->run->n; k++) {
		const struct column c = column_of(r, p, k);
		column_backward(r, n, &c);
	}
	for (size_t b = 0; l->beta == 0 && b < l->rows; b++)
		op_zero(r, l->dx + b * width + p->begin, p->end - p->begin);
}

void
fold_backward(const struct op_run *r, const struct node *n, const struct layer_backward *l)
{
	const struct fold *const f = n->fold;
	struct gemm_args da = product_dw(l->rows, PAIR * f->K, n->width);

	da.a = fold_z(r, n);
	da.b = l->dz;
	da.c = fold_a(r, n);
	op_multiply(r, &da);
	for (size_t i = 0; i < f->n_pieces; i++)
		if (f->piece[i].run == NULL)
			piece_backward(r, n, l, &f->piece[i]);
		else
			run_backward(r, n, l, &f->piece[i]);
}
