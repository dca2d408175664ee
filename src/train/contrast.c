/* The rounds of a step with a loss over many items. */
#include "train/contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "data/catalogue.h"
#include "data/sampler.h"
#include "train/buckets.h"
#include "train/contrast_private.h"
#include "train/frequency.h"
#include "train/ranks.h"
#include "train/step.h"

static const enum graph_output output_of[N_TOWERS] = {
	[TOWER_USER] = GRAPH_USER, [TOWER_ITEM] = GRAPH_ITEM,
};

int
contrast_needed(const struct settings *s)
{
	return s->model.loss != LOSS_LOGLOSS && s->model.loss != LOSS_MSE;
}

enum rs_status
contrast_array_reserve(struct contrast_array *a, size_t rows, size_t columns)
{
	size_t bytes;

	RS_TRY(size_mul(rows, columns, &bytes));
	RS_TRY(size_mul(bytes, sizeof(float), &bytes));
	if (bytes <= a->bytes)
		return RS_OK;
	contrast_array_free(a);
	RS_TRY(large_alloc(bytes + bytes / 8, &a->x));
	a->bytes = bytes + bytes / 8;
	return RS_OK;
}

void
contrast_array_free(struct contrast_array *a)
{
	if (a->x != NULL)
		large_free(a->x, a->bytes);
	memset(a, 0, sizeof(*a));
}

static const struct graph_param *
find_temperature(const struct graph *g)
{
	for (size_t i = 0; i < graph_n_params(g); i++)
		if (strcmp(graph_param(g, i)->name, "two_tower.log_temperature") == 0)
			return graph_param(g, i);
	return NULL;
}

static enum rs_status
contrast_init(struct contrast *c)
{
	const struct train_place *place = c->model->place;

	ranks_share(place, c->n_slots, &c->slot_begin, &c->slot_end);
	if (ranks_several(place)) {
		c->exchange = place->exchange;
		c->n_nodes = tree_frontier(c->n_slots, c->slot_begin, c->slot_end, c->node);
		RS_TRY(memory_alloc(place->n_ranks + 1, sizeof(*c->gather_begin),
			&c->gather_begin));
	}
	RS_TRY(memory_alloc(c->n_slots, sizeof(*c->slot), &c->slot));
	RS_TRY(memory_alloc(c->n_workers, sizeof(*c->worker), &c->worker));
	for (size_t i = c->slot_begin; i < c->slot_end; i++)
		for (int t = 0; t < N_TOWERS; t++) {
			RS_TRY(slot_view_init(&c->slot[i].view[t], c->model));
			slot_view_set_output(&c->slot[i].view[t], output_of[t]);
		}
	return RS_OK;
}

enum rs_status
contrast_create(struct model *m, size_t n_slots, size_t n_workers, struct contrast **out)
{
	struct contrast *c;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*c), &c));
	c->model = m;
	c->n_slots = n_slots;
	c->n_workers = n_workers;
	c->d = model_vector_dim(m);
	c->temperature = find_temperature(m->graph);
	status = contrast_init(c);
	if (status != RS_OK) {
		contrast_free(c);
		return status;
	}
	*out = c;
	return RS_OK;
}

void
contrast_free(struct contrast *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; c->slot != NULL && i < c->n_slots; i++) {
		exec_destroy(c->slot[i].exec);
		for (int t = 0; t < N_TOWERS; t++)
			slot_view_free(&c->slot[i].view[t]);
	}
	for (size_t i = 0; c->worker != NULL && i < c->n_workers; i++) {
		contrast_array_free(&c->worker[i].block);
		contrast_array_free(&c->worker[i].users);
		contrast_array_free(&c->worker[i].factor);
		contrast_array_free(&c->worker[i].scratch);
		contrast_array_free(&c->worker[i].down);
	}
	contrast_array_free(&c->u);
	contrast_array_free(&c->v);
	contrast_array_free(&c->du);
	contrast_array_free(&c->dv);
	contrast_array_free(&c->staged);
	contrast_array_free(&c->dv_sum);
	contrast_array_free(&c->log_q);
	free(c->gather_begin);
	free(c->place);
	free(c->same);
	free(c->chain);
	free(c->slot);
	free(c->worker);
	free(c);
}

size_t
contrast_rows(const struct model *m, size_t n_slots)
{
	const struct settings *s = spec_settings(m->spec);
	size_t rows = (size_t)s->train.batch_size, items = rows;

	if (m->catalogue != NULL && s->model.loss != LOSS_SOFTMAX)
		items = sampler_most(s, m->catalogue->n, rows);
	if (items > rows)
		rows = items;
	return (rows + n_slots - 1) / n_slots;
}

/* --- begin --------------------------------------------------------------- */

static enum rs_status
reserve_rings(struct contrast *c, size_t B)
{
	if (B <= c->same_capacity)
		return RS_OK;
	free(c->same);
	free(c->chain);
	c->same = c->chain = NULL;
	c->same_capacity = 0;
	for (c->n_chains = 64; c->n_chains < 2 * B; c->n_chains *= 2)
		;
	RS_TRY(memory_alloc(B, sizeof(*c->same), &c->same));
	RS_TRY(memory_alloc(c->n_chains, sizeof(*c->chain), &c->chain));
	c->same_capacity = B;
	return RS_OK;
}

/* Joins the rows of every item into a ring: they are no negatives of each other. */
static void
make_rings(struct contrast *c)
{
	const uint64_t *item = c->batch->item;

	memset(c->chain, 0xff, c->n_chains * sizeof(*c->chain));
	for (size_t b = 0; b < c->batch->B; b++) {
		size_t i = hash_mix(item[b]) & (c->n_chains - 1);

		while (c->chain[i] != CONTRAST_NONE && item[c->chain[i]] != item[b])
			i = (i + 1) & (c->n_chains - 1);
		if (c->chain[i] == CONTRAST_NONE) {
			c->chain[i] = c->same[b] = (uint32_t)b;
			continue;
		}
		c->same[b] = c->same[c->chain[i]];
		c->same[c->chain[i]] = (uint32_t)b;
	}
}

/* How often the item of each row is to be expected among the other rows: what has an order. */
static enum rs_status
count_items(struct contrast *c)
{
	struct frequency *f = c->model->frequency;

	c->corrects = f != NULL;
	if (f == NULL)
		return RS_OK;
	RS_TRY(contrast_array_reserve(&c->log_q, c->M, 1));
	return frequency_add(f, c->batch->item, c->batch->B);
}

/* A slot's part of what compare needs to know of the rows: of all those at hand, as each process
 * compares with all. */
static void
expect_rows(struct contrast *c, size_t slot)
{
	const struct batch *batch = c->batch;
	const size_t n = c->slot_end - c->slot_begin, k = slot - c->slot_begin;
	const size_t end = model_slot_begin(batch->B, n, k + 1);
	const double others = (double)(batch->B > 1 ? batch->B - 1 : 1);

	if (k == 0)
		make_rings(c);
	for (size_t b = model_slot_begin(batch->B, n, k); c->corrects && b < end; b++)
		c->log_q.x[b] = (float)-log(
			others * frequency_share(c->model->frequency, batch->item[b]));
}

/* What was drawn comes first, rows are compared with that alone; how often it is to be
 * expected the candidates say. */
static enum rs_status
expect_drawn(struct contrast *c)
{
	const struct batch_candidates *from = c->batch->candidates;
	const int logq = spec_settings(c->model->spec)->two_tower.logq;
	size_t drawn = 0, others = c->n_compared;

	if (c->M > c->place_capacity) {
		free(c->place);
		c->place = NULL;
		c->place_capacity = 0;
		RS_TRY(memory_alloc(c->M + c->M / 8, sizeof(*c->place), &c->place));
		c->place_capacity = c->M + c->M / 8;
	}
	RS_TRY(contrast_array_reserve(&c->log_q, c->n_compared, 1));
	c->is_placed = 1;
	c->corrects = logq;
	for (size_t j = 0; j < c->M; j++) {
		c->place[j] = (uint32_t)(from->drawn[j] ? drawn++ : others++);
		if (from->drawn[j])
			c->log_q.x[c->place[j]] = -from->log_q[j];
	}
	return RS_OK;
}

static void
set_scales(struct contrast *c)
{
	const struct settings *s = spec_settings(c->model->spec);
	const double temperature = c->temperature != NULL
	    ? exp(c->model->param[c->temperature->offset]) : s->two_tower.temperature;
	double weight = 0;

	for (size_t b = 0; b < c->batch->B; b++)
		weight += (double)c->batch->weight[b] * c->batch->label[b];
	c->loss_scale = weight > 0 ? (float)(1 / weight) : 0;
	c->inverse_temperature = (float)(1 / temperature);
}

const struct batch *
contrast_items(const struct model *m, const struct batch *batch)
{
	return spec_settings(m->spec)->model.loss == LOSS_SOFTMAX ? batch :
		batch->candidates->items;
}

enum rs_status
contrast_begin(struct contrast *c, const struct batch *batch, uint64_t step)
{
	const enum loss_kind loss = spec_settings(c->model->spec)->model.loss;
	size_t parts;

	c->batch = batch;
	c->items = contrast_items(c->model, batch);
	c->M = c->items->B;
	c->n_compared = contrast_compared(loss, batch);
	c->step = step;
	c->corrects = c->is_placed = 0;
	set_scales(c);
	RS_TRY(size_mul(c->slot_end - c->slot_begin, c->M, &parts));
	RS_TRY(contrast_array_reserve(&c->u, batch->B, c->d));
	RS_TRY(contrast_array_reserve(&c->du, batch->B, c->d));
	RS_TRY(contrast_array_reserve(&c->v, c->M, c->d));
	RS_TRY(contrast_array_reserve(&c->dv, parts, c->d));
	if (c->exchange != NULL) {
		RS_TRY(contrast_array_reserve(&c->staged, c->M, c->d));
		RS_TRY(contrast_array_reserve(&c->dv_sum, c->M, c->d));
	}
	if (loss == LOSS_SAMPLED_SOFTMAX)
		return expect_drawn(c);
	if (loss != LOSS_SOFTMAX)
		return RS_OK;
	RS_TRY(reserve_rings(c, batch->B));
	return count_items(c);
}

/* --- rounds -------------------------------------------------------------- */

/* Rows of a slot that a tower runs on. */
struct span {
	const struct batch *batch;
	size_t begin, end;
};

static struct span
range_of(const struct contrast *c, size_t slot, int tower)
{
	struct span r = { .batch = tower == TOWER_USER ? c->batch : c->items };

	r.begin = model_slot_begin(r.batch->B, c->n_slots, slot);
	r.end = model_slot_begin(r.batch->B, c->n_slots, slot + 1);
	return r;
}

static enum rs_status
slot_reserve(struct contrast *c, size_t slot)
{
	const size_t place = step_slot_place(c->model, c->n_workers, slot);
	struct contrast_slot *const s = &c->slot[slot];
	size_t B_max = 1, rows[N_TOWERS];

	for (int t = 0; t < N_TOWERS; t++) {
		const struct batch *batch = t == TOWER_USER ? c->batch : c->items;

		rows[t] = (batch->B + c->n_slots - 1) / c->n_slots;
		RS_TRY(slot_view_reserve(&s->view[t], batch, rows[t]));
		B_max = rows[t] > B_max ? rows[t] : B_max;
	}
	if (B_max > s->B_max) {
		exec_destroy(s->exec);
		s->exec = NULL;
		s->B_max = 0;
		RS_TRY(exec_create(c->model->graph, place, B_max, &s->exec));
		s->B_max = B_max;
	}
	for (int t = 0; t < N_TOWERS; t++)
		RS_TRY(exec_reserve_training(s->exec, output_of[t], rows[t]));
	return RS_OK;
}

/* Where the vector of an item of this process goes. */
static float *
item_vector(const struct contrast *c, size_t j)
{
	return c->exchange != NULL && c->is_placed ? c->staged.x + j * c->d
		: c->v.x + contrast_place(c, j) * c->d;
}

static enum rs_status
tower_forward(struct contrast *c, struct contrast_slot *s, size_t slot, int tower)
{
	const struct span r = range_of(c, slot, tower);
	struct slot_view *v = &s->view[tower];
	const float *vector;

	if (r.begin == r.end)
		return RS_OK;
	v->feed.step = c->step;
	slot_view_set(v, r.batch, r.begin, r.end);
	RS_TRY(slot_view_pull(v, slot, 1));
	exec_set_output(s->exec, output_of[tower]);
	vector = exec_forward(s->exec, c->model->param, &v->feed, 1);
	if (vector == NULL)
		return rs_failure()->status;
	RS_TRY(exec_wait(s->exec));
	for (size_t b = r.begin; b < r.end; b++, vector += c->d)
		memcpy(tower == TOWER_USER ? c->u.x + b * c->d : item_vector(c, b), vector,
			c->d * sizeof(*vector));
	return RS_OK;
}

enum rs_status
contrast_forward(struct contrast *c, size_t worker, size_t slot)
{
	struct contrast_slot *s = &c->slot[slot];

	(void)worker;
	RS_TRY(slot_reserve(c, slot));
	if (c->items == c->batch)
		expect_rows(c, slot);
	exec_forget_params(s->exec);
	RS_TRY(tower_forward(c, s, slot, TOWER_USER));
	return tower_forward(c, s, slot, TOWER_ITEM);
}

/* Vectors of all items from the ranks that made them, each a run of items. */
enum rs_status
contrast_gather(struct contrast *c)
{
	const size_t n_ranks = c->exchange->n_ranks, bytes = c->d * sizeof(float);

	for (size_t r = 0; r <= n_ranks; r++)
		c->gather_begin[r] = bytes * model_slot_begin(c->M, c->n_slots,
			tree_rank_begin(c->n_slots, n_ranks, r));
	if (c->M == 0)
		return RS_OK;
	RS_TRY(c->exchange->ops->gather(c->exchange, c->is_placed ? c->staged.x : c->v.x,
		c->gather_begin));
	for (size_t j = 0; c->is_placed && j < c->M; j++)
		memcpy(c->v.x + contrast_place(c, j) * c->d, c->staged.x + j * c->d, bytes);
	return RS_OK;
}

enum rs_status
contrast_compare(struct contrast *c, size_t worker, size_t slot)
{
	struct contrast_slot *s = &c->slot[slot];
	const struct span r = range_of(c, slot, TOWER_USER);

	s->loss = s->weight = s->label = s->prediction = s->dlog_temperature = 0;
	return contrast_loss(c, &c->worker[worker], slot, r.begin, r.end);
}

/* Sums row j of every slot's part over the tree, into that of slot begin. */
static void
sum_tree(const struct contrast *c, size_t begin, size_t end, size_t j)
{
	const size_t middle = tree_middle(begin, end);

	if (end - begin < 2)
		return;
	sum_tree(c, begin, middle, j);
	sum_tree(c, middle, end, j);
	c->model->kernel->add(
		c->d, contrast_dv(c, begin) + j * c->d, contrast_dv(c, middle) + j * c->d);
}

/* A slot's share of the items, summed over every node of this process. */
enum rs_status
contrast_sum(struct contrast *c, size_t worker, size_t slot)
{
	const size_t n = c->slot_end - c->slot_begin, k = slot - c->slot_begin;

	(void)worker;
	for (size_t j = model_slot_begin(c->M, n, k); j < model_slot_begin(c->M, n, k + 1); j++)
		for (size_t i = 0; i < c->n_nodes; i++)
			sum_tree(c, c->node[i].begin, c->node[i].end, j);
	return RS_OK;
}

enum rs_status
contrast_exchange(struct contrast *c)
{
	struct exchange_part part[2 * TREE_MAX_DEPTH];
	const struct exchange_sum sum = {
		.n_slots = c->n_slots, .n_floats = c->M * c->d, .part = part,
		.n_parts = c->n_nodes, .x = c->dv_sum.x,
	};

	for (size_t i = 0; i < c->n_nodes; i++)
		part[i] = (struct exchange_part){
			.node = c->node[i], .x = contrast_dv(c, c->node[i].begin) };
	return c->M > 0 ? c->exchange->ops->sum(c->exchange, &sum) : RS_OK;
}

/* The gradients of the rows of a tower, to where its backward pass begins. */
static void
put_gradients(const struct contrast *c, const struct span *r, int tower, float *out)
{
	const float *dv = c->exchange != NULL ? c->dv_sum.x : c->dv.x;

	for (size_t b = r->begin; b < r->end; b++, out += c->d) {
		const size_t j = tower == TOWER_USER ? b : contrast_place(c, b);

		if (tower == TOWER_ITEM && c->exchange == NULL)
			sum_tree(c, 0, c->n_slots, j);
		memcpy(out, (tower == TOWER_USER ? c->du.x : dv) + j * c->d,
			c->d * sizeof(*out));
	}
}

static enum rs_status
tower_backward(struct contrast *c, size_t slot, int tower, struct slot_sum *sum,
	struct buckets_watch *watch)
{
	struct contrast_slot *s = &c->slot[slot];
	const struct span r = range_of(c, slot, tower);
	struct slot_view *v = &s->view[tower];

	if (r.begin == r.end)
		return RS_OK;
	exec_set_output(s->exec, output_of[tower]);
	put_gradients(c, &r, tower, exec_output_gradient(s->exec));
	buckets_tell(s->exec, watch);
	exec_backward(s->exec, c->model->param, &v->feed,
		(float)(r.end - r.begin) / (float)r.batch->B, sum->grad);
	buckets_tell(s->exec, NULL);
	RS_TRY(exec_wait(s->exec));
	sum->bad |= slot_view_bad_gradient(v, s->exec);
	return slot_view_push(v, slot, s->exec);
}

enum rs_status
contrast_backward(struct contrast *c, size_t slot, struct slot_sum *sum,
	struct buckets_watch *watch)
{
	struct contrast_slot *s = &c->slot[slot];
	const struct span r = range_of(c, slot, TOWER_USER), items = range_of(c, slot, TOWER_ITEM);

	if (r.begin == r.end || items.begin == items.end)     /* else both towers write theirs */
		RS_TRY(exec_fill_gradient(s->exec, sum->grad, c->model->P, 0));
	if (c->temperature != NULL)
		RS_TRY(exec_fill_gradient(s->exec, sum->grad + c->temperature->offset, 1,
			(float)s->dlog_temperature));
	sum->loss = s->loss;
	sum->weight = s->weight;
	sum->label = s->label;
	sum->prediction = s->prediction;
	sum->rows = (double)(r.end - r.begin);
	sum->bad |= !isfinite(s->loss);
	RS_TRY(tower_backward(c, slot, TOWER_ITEM, sum, watch));
	if (watch != NULL)
		watch->before = graph_n_nodes(c->model->graph);
	return tower_backward(c, slot, TOWER_USER, sum, watch);
}
