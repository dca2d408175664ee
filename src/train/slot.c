/* Rows of a batch as a feed of the graph, and their gradients to the lookup. */
#include "train/slot.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "embed/stacked.h"

static int
is_first_of_column(const struct graph *g, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (graph_input(g, k)->column == graph_input(g, i)->column)
			return 0;
	return 1;
}

enum rs_status
slot_view_init(struct slot_view *v, const struct model *m)
{
	const size_t n = graph_n_inputs(m->graph);

	memset(v, 0, sizeof(*v));
	v->model = m;
	v->n_inputs = n;
	RS_TRY(memory_alloc(n + 1, sizeof(*v->used), &v->used));
	RS_TRY(memory_alloc(n + 1, sizeof(*v->ids), &v->ids));
	RS_TRY(memory_alloc(n + 1, sizeof(*v->n), &v->n));
	RS_TRY(memory_alloc(n + 1, sizeof(*v->row), &v->row));
	RS_TRY(memory_alloc(n + 1, sizeof(*v->offset), &v->offset));
	RS_TRY(memory_alloc(n + 1, sizeof(*v->id_weight), &v->id_weight));
	RS_TRY(memory_alloc(n + 1, sizeof(*v->counts), &v->counts));
	for (size_t i = 0; i < n; i++)
		v->counts[i] = is_first_of_column(m->graph, i);
	v->feed.row = (const float *const *const *)v->row;
	v->feed.offset = v->offset;
	v->feed.id_weight = v->id_weight;
	v->feed.seed = (uint64_t)spec_settings(m->spec)->train.seed;
	slot_view_set_output(v, GRAPH_LOGIT);
	return stage_init(&v->stage, 1, 2 * n);
}

void
slot_view_free(struct slot_view *v)
{
	stage_free(&v->stage);
	free(v->pointer);
	free(v->used);
	free(v->ids);
	free(v->n);
	free(v->row);
	free(v->offset);
	free(v->id_weight);
	free(v->counts);
	memset(v, 0, sizeof(*v));
}

static int
is_used(const struct slot_view *v, size_t i)
{
	return graph_output_uses(v->model->graph, v->output, i);
}

void
slot_view_set_output(struct slot_view *v, enum graph_output output)
{
	v->output = output;
	v->n_used = 0;
	for (size_t i = 0; i < v->n_inputs; i++) {
		const struct graph_input *const in = graph_input(v->model->graph, i);

		v->n[i] = 0;
		if (is_used(v, i))
			v->used[v->n_used++] = (struct slot_input){ i, in->column, in->table };
	}
}

/* The largest number of ids that `rows` consecutive rows have in a column. */
static size_t
most_ids(const struct batch_column *c, size_t B, size_t rows)
{
	size_t most = 0;

	if (c->offset == NULL)
		return rows;
	for (size_t b = 0; b < B; b++) {
		const size_t end = b + rows < B ? b + rows : B;
		const size_t n = c->offset[end] - c->offset[b];

		most = n > most ? n : most;
	}
	return most;
}

enum rs_status
slot_view_reserve(struct slot_view *v, const struct batch *batch, size_t rows)
{
	size_t n = 0;

	for (size_t k = 0; k < v->n_used; k++)
		n += most_ids(&batch->column[v->used[k].column], batch->B, rows);
	if (n <= v->n_pointers)
		return RS_OK;
	free(v->pointer);
	v->n_pointers = 0;
	RS_TRY(memory_alloc(n + n / 4, sizeof(*v->pointer), &v->pointer));
	v->n_pointers = n + n / 4;
	return RS_OK;
}

void
slot_view_set(struct slot_view *v, const struct batch *batch, size_t begin, size_t end)
{
	const size_t K = batch->K;
	const float **next = v->pointer;

	v->begin = begin;
	v->rows = end - begin;
	v->feed.B = end - begin;
	v->feed.dense = K > 0 ? batch->dense + begin * K : NULL;
	v->feed.missing = K > 0 ? batch->missing + begin * K : NULL;
	v->feed.label = batch->label != NULL ? batch->label + begin : NULL;
	v->feed.weight = batch->weight != NULL ? batch->weight + begin : NULL;
	v->feed.first_row = begin;
	for (size_t k = 0; k < v->n_used; k++) {
		const struct batch_column *c = &batch->column[v->used[k].column];
		const size_t i = v->used[k].input;
		const size_t first = c->offset != NULL ? c->offset[begin] : begin;

		v->n[i] = (c->offset != NULL ? c->offset[end] : end) - first;
		v->ids[i] = c->ids + first;
		v->offset[i] = c->offset != NULL ? c->offset + begin : NULL;
		v->id_weight[i] = c->weight != NULL ? c->weight + first : NULL;
		v->row[i] = next;
		next += v->n[i];
	}
	assert(next <= v->pointer + v->n_pointers);
}

void
slot_uses(const struct model *m, enum graph_output output, const struct batch *batch,
	const size_t *row, size_t n, struct lookup_use *use)
{
	for (size_t i = 0; i < graph_n_inputs(m->graph); i++) {
		const struct batch_column *c = &batch->column[graph_input(m->graph, i)->column];

		if (!graph_output_uses(m->graph, output, i))
			continue;
		const size_t begin = c->offset != NULL ? c->offset[row[0]] : row[0];
		for (size_t k = 0; k <= n; k++)
			use[i].piece[k] = (c->offset != NULL ? c->offset[row[k]] : row[k]) - begin;
		use[i].ids = c->ids + begin;
		use[i].n = use[i].piece[n];
	}
}

enum rs_status
slot_view_pull(struct slot_view *v, size_t slot, int training)
{
	struct lookup *l = v->model->lookup;

	for (size_t k = 0; k < v->n_used; k++) {
		const size_t i = v->used[k].input;
		const struct lookup_pull p = {
			.slot = slot, .table = v->used[k].table, .input = i,
			.ids = v->ids[i], .n = v->n[i], .row = v->row[i], .training = training,
			.stage = training ? NULL : &v->stage,
		};

		RS_TRY(stacked_pull(v->model->stacked, l, &p));
	}
	return RS_OK;
}

enum rs_status
slot_view_push(struct slot_view *v, size_t slot, const struct exec *e)
{
	struct lookup *l = v->model->lookup;

	for (size_t k = 0; k < v->n_used; k++) {
		const size_t i = v->used[k].input;
		const struct lookup_push p = {
			.slot = slot, .table = v->used[k].table, .input = i,
			.ids = v->ids[i], .n = v->n[i],
			.grad = exec_row_grad(e, i), .scale = exec_row_scale(e, i),
		};

		RS_TRY(stacked_push(v->model->stacked, l, &p));
	}
	return RS_OK;
}

/* 1 when every gradient of b lies `offset` floats after that of a. */
static int
lies_after(const float *const *a, const float *const *b, size_t n, size_t offset)
{
	size_t same = 0;

	for (size_t j = 0; j < n; j++)
		same += b[j] == a[j] + offset;
	return same == n;
}

static int
has_bad_scale(const struct slot_view *v, const struct exec *e)
{
	int bad = 0;

	for (size_t k = 0; k < v->n_used; k++) {
		const size_t i = v->used[k].input;

		if (exec_row_scale(e, i) != NULL)
			v->model->kernel->finite(v->n[i], exec_row_scale(e, i), &bad);
	}
	return bad;
}

/* Inputs whose gradients lie side by side, or are the same memory, are looked at
 * together: one call a row, not one an occurrence. */
int
slot_view_bad_gradient(const struct slot_view *v, const struct exec *e)
{
	const struct kernel_set *kernel = v->model->kernel;
	int bad = has_bad_scale(v, e);

	if (graph_rows_are_there(v->model->graph))
		return bad || exec_rows_are_bad(e);
	for (size_t i = 0, next; i < v->n_inputs; i = next) {
		const float *const *grad = exec_row_grad(e, i);
		const size_t D = graph_input(v->model->graph, i)->dim, n = v->n[i];
		size_t width = D;

		next = i + 1;
		if (!is_used(v, i))
			continue;
		for (; next < v->n_inputs && is_used(v, next) && v->n[next] == n
		    && exec_row_scale(e, next) == NULL; next++) {
			const float *const *more = exec_row_grad(e, next);
			const size_t D_more = graph_input(v->model->graph, next)->dim;

			if (lies_after(grad, more, n, width))
				width += D_more;
			else if (D_more > D || !lies_after(grad, more, n, 0))
				break;
		}
		for (size_t j = 0; j < n; j++)
			kernel->finite(width, grad[j], &bad);
	}
	return bad;
}

void
slot_view_count_unseen(const struct slot_view *v, uint64_t unseen[2])
{
	const struct lookup *l = v->model->lookup;
	uint64_t n_unseen = 0, n = 0;

	for (size_t i = 0; i < v->n_inputs; i++) {
		const size_t table = graph_input(v->model->graph, i)->table;

		if (!v->counts[i] || !is_used(v, i))
			continue;
		for (size_t j = 0; j < v->n[i]; j++)
			n_unseen += !stacked_touched(v->model->stacked, l, table,
				v->ids[i][j]);
		n += v->n[i];
	}
	__atomic_fetch_add(&unseen[0], n_unseen, __ATOMIC_RELAXED);
	__atomic_fetch_add(&unseen[1], n, __ATOMIC_RELAXED);
}
