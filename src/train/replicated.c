/* All ranks have all rows: gradients are gathered, and each applies them. */
#include "train/replicated.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "train/replicated_private.h"

#define LIMIT ((size_t)1 << 40)        /* bytes of a growing buffer                   */

static struct replicated *
replicated_of(struct lookup *l)
{
	return (struct replicated *)l;
}

static enum rs_status
replicated_commit(struct lookup *base, const struct lookup_commit *c)
{
	struct replicated *r = replicated_of(base);

	assert(c->n_workers == r->n_workers);
	if (c->finite)
		RS_TRY(replicated_share(r, c->worker));
	for (size_t i = 0; c->worker == 0 && i < (r->slot_end - r->slot_begin) * r->n_inputs; i++)
		r->push[i].n = 0;
	return r->over.under->ops->commit(r->over.under, c);
}

static enum rs_status
replicated_push(struct lookup *base, const struct lookup_push *p)
{
	struct replicated *r = replicated_of(base);

	assert(p->slot >= r->slot_begin && p->slot < r->slot_end && p->input < r->n_inputs);
	r->push[(p->slot - r->slot_begin) * r->n_inputs + p->input] = *p;
	return RS_OK;
}

static uint64_t
replicated_bytes(const struct lookup *base)
{
	const struct replicated *r = (const struct replicated *)base;
	uint64_t bytes = r->over.under->ops->bytes(r->over.under) + r->block.capacity
		+ r->n_grad * sizeof(*r->grad);

	for (size_t i = 0; i < r->n_workers; i++)
		bytes += merge_scratch_bytes(&r->merger[i].scratch) + r->merger[i].ids.capacity
			+ r->merger[i].x.capacity + r->merger[i].counts.capacity;
	return bytes;
}

static void
replicated_close(struct lookup *base)
{
	struct replicated *r = replicated_of(base);

	for (size_t i = 0; r->merger != NULL && i < r->n_workers; i++) {
		merge_scratch_free(&r->merger[i].scratch);
		buffer_free(&r->merger[i].ids);
		buffer_free(&r->merger[i].x);
		buffer_free(&r->merger[i].counts);
	}
	if (r->over.under != NULL)
		r->over.under->ops->close(r->over.under);
	buffer_free(&r->block);
	free(r->merger);
	free(r->grad);
	free(r->section);
	free(r->begin);
	free(r->bytes);
	free(r->node_piece);
	free(r->piece);
	free(r->table_push);
	free(r->listed);
	free(r->push);
	free(r->twin);
	free(r->table);
	free(r);
}

static const struct lookup_ops replicated_ops = {
	.name = "replicated", .pull = lookup_over_pull, .push = replicated_push,
	.commit = replicated_commit, .save = lookup_over_save, .load = lookup_over_load,
	.save_tenancy = lookup_over_save_tenancy, .load_tenancy = lookup_over_load_tenancy,
	.tenants = lookup_over_tenants, .reset_state = lookup_over_reset_state,
	.touched = lookup_over_touched, .knows_changes = lookup_over_knows_changes,
	.save_delta = lookup_over_save_delta, .load_delta = lookup_over_load_delta,
	.forget_changes = lookup_over_forget_changes,
	.bytes = replicated_bytes, .close = replicated_close,
};

static enum rs_status
open_mergers(struct replicated *r)
{
	size_t D_max = 1;

	for (size_t t = 0; t < r->n_tables; t++)
		D_max = r->table[t].dim > D_max ? r->table[t].dim : D_max;
	RS_TRY(memory_alloc(r->n_workers, sizeof(*r->merger), &r->merger));
	for (size_t i = 0; i < r->n_workers; i++) {
		buffer_init(&r->merger[i].ids, LIMIT);
		buffer_init(&r->merger[i].x, LIMIT);
		buffer_init(&r->merger[i].counts, LIMIT);
		RS_TRY(merge_scratch_init(&r->merger[i].scratch, r->n_slots, D_max));
	}
	return RS_OK;
}

static enum rs_status
open_tables(struct replicated *r, const struct lookup_table *table)
{
	RS_TRY(memory_alloc(r->n_tables + 1, sizeof(*r->table), &r->table));
	RS_TRY(memory_alloc(r->n_tables + 1, sizeof(*r->twin), &r->twin));
	for (size_t t = 0; t < r->n_tables; t++) {
		r->table[t] = table[t];
		while (table[r->twin[t]].twins != table[t].twins)
			r->twin[t]++;
	}
	return RS_OK;
}

static enum rs_status
open_arrays(struct replicated *r)
{
	const size_t R = r->exchange->n_ranks;
	const size_t n_push = (r->slot_end - r->slot_begin) * r->n_inputs + 1;
	const size_t n_sums = r->n_tables * r->n_nodes;

	RS_TRY(memory_alloc(n_push, sizeof(*r->push), &r->push));
	RS_TRY(memory_alloc(n_push, sizeof(*r->listed), &r->listed));
	RS_TRY(memory_alloc(r->n_tables + 1, sizeof(*r->table_push), &r->table_push));
	RS_TRY(memory_alloc(n_sums * REPLICATED_PARTS + 1, sizeof(*r->piece), &r->piece));
	RS_TRY(memory_alloc(n_sums + 1, sizeof(*r->node_piece), &r->node_piece));
	RS_TRY(memory_alloc(R, sizeof(*r->bytes), &r->bytes));
	RS_TRY(memory_alloc(R + 1, sizeof(*r->begin), &r->begin));
	/* The nodes of all ranks are disjoint. */
	return memory_alloc(r->n_tables * r->n_slots + 1, sizeof(*r->section), &r->section);
}

static enum rs_status
replicated_init(struct replicated *r, const struct lookup_local_options *options)
{
	const size_t R = r->exchange->n_ranks, rank = r->exchange->rank;
	struct lookup_local_options local = *options;
	const char *why;

	r->slot_begin = tree_rank_begin(r->n_slots, R, rank);
	r->slot_end = tree_rank_begin(r->n_slots, R, rank + 1);
	r->n_nodes = tree_frontier(r->n_slots, r->slot_begin, r->slot_end, r->node);
	/* Ranks may be of one host: who waits must not take a core from another. */
	barrier_init(&r->barrier, (unsigned)r->n_workers, thread_auto_count(&why) / R);
	buffer_init(&r->block, LIMIT);
	RS_TRY(open_tables(r, options->table));
	RS_TRY(open_arrays(r));
	RS_TRY(open_mergers(r));
	/* There a table has one push a slot, all that a node gives. */
	local.n_inputs = options->n_tables;
	local.keeps_changes = options->keeps_changes && rank == 0;     /* who saves */
	return lookup_local_open(&local, &r->over.under);
}

enum rs_status
replicated_open(const struct lookup_local_options *options, struct exchange *exchange,
	struct lookup **out)
{
	struct replicated *r;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*r), &r));
	r->over.base.ops = &replicated_ops;
	r->exchange = exchange;
	r->kernel = options->kernel;
	r->n_tables = options->n_tables;
	r->n_slots = options->n_slots;
	r->n_inputs = options->n_inputs;
	r->n_workers = options->n_threads > 0 ? options->n_threads : 1;
	status = replicated_init(r, options);
	if (status != RS_OK) {
		replicated_close(&r->over.base);
		return status;
	}
	*out = &r->over.base;
	return RS_OK;
}
