/* Products with weights, in floats or with operands of two bytes. */
#include "graph/layer.h"

#include <assert.h>
#include <stdlib.h>

#include "base/memory.h"
#include "graph/node.h"
#include "graph/product.h"

/* Floats that n elements take. */
static size_t
floats_of(const struct narrow *w, size_t n)
{
	return (n * w->element + sizeof(float) - 1) / sizeof(float);
}

static int
can_be_narrow(const struct graph *g, const struct node *n)
{
	return n->op->narrows && n->ragged == 0
	    && g->param[n->param[0]].rows >= LAYER_NARROW_MIN && n->width >= LAYER_NARROW_MIN;
}

static enum rs_status
set_narrow(const struct graph *g, struct node *n, const struct narrow_set *set, size_t rows)
{
	struct layer *const l = &g->layer[n->index];
	const struct narrow_shape shape = { .B = rows, .n = g->param[n->param[0]].rows,
		.H = n->width, .has_bias = n->op->has_bias, .act = n->act, .kernel = g->kernel };

	RS_TRY(set->open(set, &shape, &l->narrow));
	n->saved_row += floats_of(l->narrow, shape.n);
	n->scratch_row += floats_of(l->narrow, shape.H);
	return RS_OK;
}

/* So many floats. */
enum { FLOAT_ALIGNMENT = LAYER_BRAIN_ALIGNMENT / 2 };

/* Of a piece, what comes before the numbers. */
static size_t
floats_before(size_t floats)
{
	return (floats + FLOAT_ALIGNMENT - 1) / FLOAT_ALIGNMENT * FLOAT_ALIGNMENT;
}

static void
set_brain(struct graph *g, struct node *n)
{
	struct layer *const l = &g->layer[n->index];
	const size_t width = g->param[n->param[0]].rows;

	l->is_brain = 1;
	l->rounded = g->n_rounded;
	g->n_rounded += width * layer_brain_ld(n->width);
	n->saved_row += layer_brain_ld(width) / 2;
	n->saved_fixed += FLOAT_ALIGNMENT - 1;
	n->scratch_row += layer_brain_ld(n->width) / 2;
	n->scratch_fixed += FLOAT_ALIGNMENT - 1;
}

enum rs_status
graph_set_narrow(struct graph *g, const struct narrow_set *set, size_t rows)
{
	assert(g->finished && g->layer == NULL && (set == NULL) == (g->gpu != NULL));
	RS_TRY(memory_alloc(g->n_nodes, sizeof(*g->layer), &g->layer));
	for (size_t i = 0; i < g->n_nodes; i++) {
		struct node *n = g->node[i];

		if (!can_be_narrow(g, n))
			continue;
		g->layer[i].saved_before = n->saved_row;
		g->layer[i].scratch_before = n->scratch_row;
		if (set == NULL)
			set_brain(g, n);
		else
			RS_TRY(set_narrow(g, n, set, rows));
	}
	return RS_OK;
}

void
graph_set_tf32(struct graph *g)
{
	g->has_tf32 = 1;
}

void
graph_set_library(struct graph *g)
{
	g->by_library = 1;
}

void
graph_close_narrow(struct graph *g)
{
	for (size_t i = 0; g->layer != NULL && i < g->n_nodes; i++)
		if (g->layer[i].narrow != NULL)
			g->layer[i].narrow->set->close(g->layer[i].narrow);
	free(g->layer);
}

void
graph_weights_changed(struct graph *g)
{
	g->weights++;
}

/* The layer of product k of graph_gemms(), or NULL. */
static const struct layer *
layer_of_gemm(const struct graph *g, size_t k)
{
	size_t n = 0;

	for (size_t i = 0; g->layer != NULL && i < g->n_nodes; i++)
		if (g->node[i]->op->multiplies && n++ == k / PRODUCTS_PER_LAYER)
			return &g->layer[i];
	return NULL;
}

struct narrow *
graph_gemm_layer(const struct graph *g, size_t k)
{
	const struct layer *const l = layer_of_gemm(g, k);

	return l != NULL && k % PRODUCTS_PER_LAYER == 0 ? l->narrow : NULL;
}

int
graph_gemm_is_brain(const struct graph *g, size_t k)
{
	const struct layer *const l = layer_of_gemm(g, k);

	return l != NULL && l->is_brain;
}

/* ---- lanes -------------------------------------------------------------- */

static enum rs_status
lane_reserve(struct layer *l, struct narrow_lane **lane, size_t rows)
{
	if (l->narrow == NULL || (*lane != NULL && (*lane)->B_max >= rows))
		return RS_OK;
	if (l->narrow->element == 0) {
		if (*lane != NULL)
			return RS_OK;
		rows = l->narrow->shape.B;
	}
	if (*lane != NULL)
		l->narrow->set->lane_close(*lane);
	*lane = NULL;
	return l->narrow->set->lane_open(l->narrow, rows, lane);
}

enum rs_status
layer_lanes_reserve(const struct graph *g, enum graph_output output, size_t rows,
	struct layer_lanes *lanes)
{
	size_t bytes = lanes->scratch_bytes;

	if (g->layer == NULL)
		return RS_OK;
	if (lanes->lane == NULL)
		RS_TRY(memory_alloc(g->n_nodes, sizeof(*lanes->lane), &lanes->lane));
	for (size_t i = 0; i < g->n_nodes; i++) {
		if (!g->part[output][i])
			continue;
		RS_TRY(lane_reserve(&g->layer[i], &lanes->lane[i], rows));
		if (lanes->lane[i] != NULL && lanes->lane[i]->scratch_bytes > bytes)
			bytes = lanes->lane[i]->scratch_bytes;
	}
	if (bytes <= lanes->scratch_bytes)
		return RS_OK;
	free(lanes->scratch);
	lanes->scratch_bytes = 0;
	RS_TRY(memory_alloc(bytes, 1, &lanes->scratch));
	lanes->scratch_bytes = bytes;
	return RS_OK;
}

void
layer_lanes_free(const struct graph *g, struct layer_lanes *lanes)
{
	for (size_t i = 0; lanes->lane != NULL && i < g->n_nodes; i++)
		if (lanes->lane[i] != NULL)
			g->layer[i].narrow->set->lane_close(lanes->lane[i]);
	free(lanes->lane);
	free(lanes->scratch);
}

enum rs_status
graph_narrow_bytes(const struct graph *g, size_t rows, size_t *packed, size_t *of_exec)
{
	struct layer_lanes lanes = { .lane = NULL };
	enum rs_status status = RS_OK;

	*packed = 0;
	for (size_t i = 0; g->layer != NULL && i < g->n_nodes; i++)
		*packed += g->layer[i].narrow != NULL ? g->layer[i].narrow->bytes : 0;
	for (size_t o = 0; o < GRAPH_N_OUTPUTS && status == RS_OK; o++)
		if (g->output[o] != NULL)
			status = layer_lanes_reserve(g, (enum graph_output)o, rows, &lanes);
	*of_exec = lanes.scratch_bytes;
	layer_lanes_free(g, &lanes);
	return status;
}

/* ---- a pass on the host ------------------------------------------------- */

/* The first thread that needs weights packs them, the others wait for those few microseconds. */
static void
pack_once(const struct op_run *r, const struct node *n, struct layer *l)
{
	const uint_fast64_t want = 2 * op_graph(r)->weights;
	uint_fast64_t seen = atomic_load_explicit(&l->packed, memory_order_acquire);

	while (seen != want) {
		if (seen != want - 1 && atomic_compare_exchange_weak_explicit(&l->packed, &seen,
		    want - 1, memory_order_acquire, memory_order_acquire)) {
			l->narrow->set->pack(l->narrow, op_param(r, n, 0));
			atomic_store_explicit(&l->packed, want, memory_order_release);
			return;
		}
		seen = atomic_load_explicit(&l->packed, memory_order_acquire);
	}
}

/* NULL: the products of this pass are the kernel's. */
static struct layer *
layer_of(const struct op_run *r, const struct node *n, size_t rows, struct narrow_lane **lane)
{
	const struct graph *g = op_graph(r);

	if (g->layer == NULL || !r->training || g->layer[n->index].narrow == NULL
	    || !narrow_takes(g->layer[n->index].narrow, rows))
		return NULL;
	if (g->layer[n->index].narrow->element == 0 && fold_of(r, n, rows) != NULL)
		return NULL;
	assert(op_lanes(r)->lane != NULL);
	*lane = op_lanes(r)->lane[n->index];
	return &g->layer[n->index];
}

/* ---- a pass on a GPU ---------------------------------------------------- */

static int
is_brain(const struct op_run *r, const struct node *n)
{
	const struct layer *const layer = op_graph(r)->layer;

	return layer != NULL && r->training && layer[n->index].is_brain;
}

static uint16_t *
brain_weight(const struct op_run *r, const struct node *n)
{
	return op_rounded(r) + op_graph(r)->layer[n->index].rounded;
}

/* r(x) and r(dz). */
static uint16_t *
brain_x(const struct op_run *r, const struct node *n)
{
	const size_t before = op_B_max(r) * op_graph(r)->layer[n->index].saved_before;

	return (uint16_t *)(void *)(op_saved(r, n) + floats_before(before));
}

static uint16_t *
brain_dz(const struct op_run *r, const struct node *n)
{
	const size_t before = op_B_max(r) * op_graph(r)->layer[n->index].scratch_before;

	return (uint16_t *)(void *)(op_scratch(r, n) + floats_before(before));
}

void
layer_round_weights(const struct op_run *r)
{
	const struct graph *const g = op_graph(r);

	for (size_t i = 0; g->layer != NULL && i < g->n_nodes; i++) {
		const struct node *n = g->node[i];
		if (g->layer[i].is_brain)
			r->kernel->round_rows(g->param[n->param[0]].rows, n->width,
				op_param(r, n, 0), n->width, brain_weight(r, n),
				layer_brain_ld(n->width));
	}
}

static void
brain_forward(const struct op_run *r, const struct node *n, const struct layer_forward *f)
{
	const size_t width = op_graph(r)->param[n->param[0]].rows;
	struct gemm_args y = product_y(f->rows, width, n->width);

	y.lda = layer_brain_ld(width);
	y.ldb = layer_brain_ld(n->width);
	y.c = f->y;
	r->kernel->round_rows(f->rows, width, f->x, width, brain_x(r, n), y.lda);
	r->kernel->gemm_brain(&y, brain_x(r, n), brain_weight(r, n));
}

static void
brain_backward(const struct op_run *r, const struct node *n, const struct layer_backward *b)
{
	const size_t width = op_graph(r)->param[n->param[0]].rows;
	struct gemm_args dw = product_dw(b->rows, width, n->width);
	struct gemm_args dx = product_dx(b->rows, width, n->width);

	dw.lda = layer_brain_ld(width);
	dw.ldb = dx.lda = dx.ldb = layer_brain_ld(n->width);
	dw.c = op_param_gradient(r, n, 0);
	dx.c = b->dx;
	dx.beta = b->beta;
	r->kernel->round_rows(b->rows, n->width, b->dz, n->width, brain_dz(r, n), dx.lda);
	r->kernel->gemm_brain(&dw, brain_x(r, n), brain_dz(r, n));
	r->kernel->gemm_brain(&dx, brain_dz(r, n), brain_weight(r, n));
}

/* ---- a pass ------------------------------------------------------------- */

static void
float_forward(const struct op_run *r, const struct node *n, const struct layer_forward *f)
{
	struct gemm_args y = product_y(f->rows, op_graph(r)->param[n->param[0]].rows, n->width);

	if (fold_of(r, n, f->rows) != NULL) {
		fold_forward(r, n, f);
		return;
	}
	y.a = f->x;
	y.b = op_param(r, n, 0);
	y.c = f->y;
	op_multiply(r, &y);
}

void
layer_forward(const struct op_run *r, const struct node *n, const struct layer_forward *f)
{
	struct narrow_lane *lane;
	struct layer *l = layer_of(r, n, f->rows, &lane);

	if (l != NULL) {
		pack_once(r, n, l);
		l->narrow->set->forward(lane, &(struct narrow_forward){ .B = f->rows, .x = f->x,
			.bias = f->bias, .kept = op_saved(r, n) + op_B_max(r) * l->saved_before,
			.y = f->y, .scratch = op_lanes(r)->scratch });
		return;
	}
	if (is_brain(r, n))
		brain_forward(r, n, f);
	else
		float_forward(r, n, f);
	if (f->bias != NULL)
		r->kernel->bias_act_forward(f->rows, n->width, f->y, f->bias, f->act);
}

void
layer_backward(const struct op_run *r, const struct node *n, const struct layer_backward *b)
{
	const size_t width = op_graph(r)->param[n->param[0]].rows;
	struct gemm_args dw = product_dw(b->rows, width, n->width);
	struct gemm_args dx = product_dx(b->rows, width, n->width);
	struct narrow_lane *lane;
	struct layer *l = layer_of(r, n, b->rows, &lane);

	if (l != NULL) {
		l->narrow->set->backward(lane, &(struct narrow_backward){ .B = b->rows, .x = b->x,
			.kept = op_saved(r, n) + op_B_max(r) * l->saved_before, .dz = b->dz,
			.rounded = op_scratch(r, n) + op_B_max(r) * l->scratch_before,
			.dw = op_param_gradient(r, n, 0), .dx = b->dx, .beta = b->beta,
			.scratch = op_lanes(r)->scratch });
		return;
	}
	if (is_brain(r, n)) {
		brain_backward(r, n, b);
		return;
	}
	if (fold_of(r, n, b->rows) != NULL) {
		fold_backward(r, n, b);
		return;
	}
	dw.a = b->x;
	dw.b = b->dz;
	dw.c = op_param_gradient(r, n, 0);
	op_multiply(r, &dw);
	dx.a = b->dz;
	dx.b = op_param(r, n, 0);
	dx.c = b->dx;
	dx.beta = b->beta;
	op_multiply(r, &dx);
}
