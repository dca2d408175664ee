/*
 * What the wire carries in a step: the keys of sample batches counted as workers send
 * them, each worker the rows of its slots, every id once.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tree.h"
#include "embed/stacked.h"
#include "place/placement_private.h"
#include "remote/body.h"
#include "train/contrast.h"
#include "train/step.h"

struct id_list { uint64_t *id; size_t n, capacity; };

struct counting {
	struct placement *p;
	const struct model *shape;
	const struct batch *batch;
	int      contrasts;
	struct id_list list, former;   /* of the table at hand, of the one before it   */
	size_t   former_table;
	size_t  *order;                /* [n_tables] twins side by side                */
};

/* --- which ids -------------------------------------------------------------- */

static enum rs_status
add_ids(struct id_list *l, const uint64_t *id, size_t n)
{
	if (l->n + n > l->capacity) {
		const size_t capacity = (l->n + n) * 2;
		uint64_t *more;

		RS_TRY(memory_alloc(capacity, sizeof(*more), &more));
		if (l->n > 0)
			memcpy(more, l->id, l->n * sizeof(*more));
		free(l->id);
		l->id = more;
		l->capacity = capacity;
	}
	memcpy(l->id + l->n, id, n * sizeof(*id));
	l->n += n;
	return RS_OK;
}

/* Their rows in the table, of as many rounds as it has. */
static enum rs_status
add_rows(struct id_list *l, const struct lookup_table *t, const uint64_t *id, size_t n)
{
	if (t->rounds <= 1)
		return add_ids(l, id, n);
	for (size_t i = 0; i < n; i++)
		for (size_t r = 0; r < t->rounds; r++) {
			const uint64_t row = stacked_row(t, id[i], r);

			RS_TRY(add_ids(l, &row, 1));
		}
	return RS_OK;
}

/* Ids of input i in the rows of slots [begin,end). */
static enum rs_status
add_input(struct counting *c, size_t i, const struct batch *batch, struct tree_node slots)
{
	const struct batch_column *column =
		&batch->column[graph_input(c->shape->graph, i)->column];
	const size_t n = c->p->n_slots;
	const size_t from = model_slot_begin(batch->B, n, slots.begin);
	const size_t to = model_slot_begin(batch->B, n, slots.end);
	const size_t first = column->offset != NULL ? column->offset[from] : from;
	const size_t last = column->offset != NULL ? column->offset[to] : to;

	return add_rows(&c->list, &c->shape->table[graph_input(c->shape->graph, i)->table],
		column->ids + first, last - first);
}

static int
compare_ids(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The unique ids of a table in these slots, sorted; *occurrences before that. */
static enum rs_status
collect_table(struct counting *c, size_t table, struct tree_node slots, size_t *occurrences)
{
	const struct graph *g = c->shape->graph;
	const struct batch *items = c->batch->candidates != NULL ? c->batch->candidates->items :
								   c->batch;
	size_t n = 0;

	c->list.n = 0;
	for (size_t i = 0; i < graph_n_inputs(g); i++) {
		if (graph_input(g, i)->table != table)
			continue;
		if (!c->contrasts && graph_output_uses(g, GRAPH_LOGIT, i))
			RS_TRY(add_input(c, i, c->batch, slots));
		if (c->contrasts && graph_output_uses(g, GRAPH_USER, i))
			RS_TRY(add_input(c, i, c->batch, slots));
		if (c->contrasts && graph_output_uses(g, GRAPH_ITEM, i))
			RS_TRY(add_input(c, i, items, slots));
	}
	*occurrences = c->list.n;
	qsort(c->list.id, c->list.n, sizeof(*c->list.id), compare_ids);
	for (size_t j = 0; j < c->list.n; j++)
		if (j == 0 || c->list.id[j] != c->list.id[j - 1])
			c->list.id[n++] = c->list.id[j];
	c->list.n = n;
	return RS_OK;
}

/* --- their bytes ------------------------------------------------------------ */

static size_t
difference_bytes(uint64_t x)
{
	size_t n = 1;

	for (; x >= 128; x >>= 7)
		n++;
	return n;
}

/* 1 when the table before this one is its twin and had the same keys. */
static int
has_keys_of_twin(const struct counting *c, size_t table)
{
	const struct lookup_table *t = c->shape->table;

	return c->former_table != SIZE_MAX && t[table].twins == t[c->former_table].twins
	    && c->former.n == c->list.n && c->list.n > 0
	    && memcmp(c->former.id, c->list.id, c->list.n * sizeof(*c->list.id)) == 0;
}

/* Adds the sections of one table to its shards: keys, and what comes with each. */
static void
count_table(struct counting *c, size_t table, int is_push)
{
	struct placement *p = c->p;
	const size_t dim = p->table[table].dim;
	const uint8_t packed = p->compress == COMPRESS_INT8 ? FRAME_INT8 :
	    p->compress == COMPRESS_FP16 ? FRAME_FP16 : 0;
	const int keys_known = has_keys_of_twin(c, table);
	/* Hardly a row occurs more than 127 times for a node. */
	const double count_bytes = c->shape->table[table].kind == TABLE_EXACT;
	size_t j = 0;

	for (size_t i = p->parts.first[table]; i < p->parts.first[table + 1]; i++) {
		const struct part *part = &p->parts.part[i];
		struct placement_shard *shard = &p->shard[part->shard];
		uint64_t former = part->begin;
		double keys = 0, bytes = 0;
		const size_t first = j;

		for (; j < c->list.n && c->list.id[j] < part->end; j++) {
			keys += keys_known ? 0 : (double)difference_bytes(c->list.id[j] - former);
			former = c->list.id[j];
		}
		if (j == first)
			continue;
		bytes = sizeof(struct body_section) + keys;
		if (is_push) {
			shard->push_bytes += bytes + (double)(j - first) * count_bytes
			    + (double)body_value_bytes(dim > 1 ? packed : 0, j - first, dim);
			continue;
		}
		shard->keys += (double)(j - first);
		shard->pull_bytes += bytes + (double)(j - first) * (1.0 / 8 + 4.0 * (double)dim);
	}
}

/* As sections are ordered: twins side by side, else by number. */
static enum rs_status
order_tables(struct counting *c)
{
	const struct lookup_table *table = c->shape->table;
	const size_t n = c->p->n_tables;
	size_t used = 0;

	RS_TRY(memory_alloc(n + 1, sizeof(*c->order), &c->order));
	for (size_t t = 0; t < n; t++) {
		size_t first = 0;

		while (table[first].twins != table[t].twins)
			first++;
		for (size_t u = t; first == t && u < n; u++)
			if (table[u].twins == table[t].twins)
				c->order[used++] = u;
	}
	return RS_OK;
}

/* Lets the list at hand be the former one. */
static void
next_table(struct counting *c, size_t table)
{
	const struct id_list swap = c->former;

	c->former = c->list;
	c->list = swap;
	c->former_table = table;
}

static enum rs_status
count_nodes(struct counting *c, const struct tree_node *node, size_t n, int is_push)
{
	struct placement *p = c->p;

	for (size_t k = 0; k < n; k++) {
		c->former_table = SIZE_MAX;
		for (size_t i = 0; i < p->n_tables; i++) {
			const size_t t = c->order[i];
			size_t occurrences;

			RS_TRY(collect_table(c, t, node[k], &occurrences));
			if (!is_push) {
				p->table[t].occurrences += (double)occurrences;
				p->table[t].keys += (double)c->list.n;
			}
			if (p->n_ps > 0)
				count_table(c, t, is_push);
			next_table(c, t);
		}
	}
	return RS_OK;
}

/* What does not depend on keys: headers of a pull, its answer, a push, its answer. */
static void
count_headers(struct placement *p)
{
	for (size_t s = 0; s < p->n_ps; s++) {
		p->shard[s].pull_bytes += 2 * FRAME_BYTES;
		p->shard[s].push_bytes += 2 * FRAME_BYTES + sizeof(struct body_push)
		    + sizeof(struct body_clock);
	}
}

static enum rs_status
count_batch(struct counting *c)
{
	struct tree_node node[2 * TREE_MAX_DEPTH];
	struct placement *p = c->p;

	for (size_t rank = 0; rank < p->n_workers; rank++) {
		const struct tree_node all = {
			tree_rank_begin(p->n_slots, p->n_workers, rank),
			tree_rank_begin(p->n_slots, p->n_workers, rank + 1),
		};
		const size_t n = tree_frontier(p->n_slots, all.begin, all.end, node);

		RS_TRY(count_nodes(c, &all, 1, 0));
		RS_TRY(count_nodes(c, node, n, 1));
		count_headers(p);
	}
	return RS_OK;
}

static void
begin_counts(struct placement *p)
{
	for (size_t t = 0; t < p->n_tables; t++)
		p->table[t].occurrences = p->table[t].keys = 0;
	for (size_t s = 0; s < p->n_ps; s++)
		p->shard[s].keys = p->shard[s].pull_bytes = p->shard[s].push_bytes = 0;
}

static void
divide_counts(struct placement *p, double n)
{
	for (size_t t = 0; t < p->n_tables; t++) {
		p->table[t].occurrences /= n;
		p->table[t].keys /= n;
	}
	for (size_t s = 0; s < p->n_ps; s++) {
		p->shard[s].keys /= n;
		p->shard[s].pull_bytes /= n;
		p->shard[s].push_bytes /= n;
	}
}

enum rs_status
placement_measure(struct placement *p, const struct model *shape,
	const struct placement_sample *sample)
{
	const size_t n = sample->n;
	struct counting c = {
		.p = p, .shape = shape, .contrasts = contrast_needed(spec_settings(shape->spec)),
	};
	enum rs_status status;

	if (n == 0)
		return RS_OK;
	status = order_tables(&c);
	begin_counts(p);
	p->rows_a_step = 0;
	for (size_t i = 0; i < n && status == RS_OK; i++) {
		c.batch = &sample->batch[i];
		p->rows_a_step += (double)c.batch->B;
		status = count_batch(&c);
	}
	free(c.order);
	free(c.list.id);
	free(c.former.id);
	divide_counts(p, (double)n);
	p->rows_a_step /= (double)n;
	p->n_sampled = n;
	if (status == RS_OK)
		status = placement_weigh_processes(p, shape, sample);
	return status;
}
