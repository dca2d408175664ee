/* The lookup over parameter server shards: opening, and its table of functions. */
#include "remote/lookup.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "remote/lookup_private.h"

#define RESIDUAL_BYTES ((size_t)256 << 20)     /* of all tables of one worker           */

enum rs_status
remote_lookup_grow(void *array, size_t *capacity, size_t n, size_t size)
{
	void **const at = array;
	const size_t wanted = n + n / 4 + 16;
	size_t bytes;
	void *grown;

	if (n <= *capacity)
		return RS_OK;
	RS_TRY(size_mul(wanted, size, &bytes));
	grown = realloc(*at, bytes);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", bytes);
	memset((char *)grown + *capacity * size, 0, bytes - *capacity * size);
	*at = grown;
	*capacity = wanted;
	return RS_OK;
}

enum rs_status
remote_lookup_reserve(struct step_memory *m, size_t bytes)
{
	const size_t wanted = bytes + bytes / 4 + 64;

	if (bytes <= m->bytes)
		return RS_OK;
	free(m->data);
	m->data = NULL;
	m->bytes = 0;
	RS_TRY(memory_alloc(wanted, 1, &m->data));
	m->bytes = wanted;
	return RS_OK;
}

static uint64_t
remote_bytes(const struct lookup *base)
{
	const struct remote_lookup *l = (const struct remote_lookup *)base;
	uint64_t bytes = l->sums.bytes + l->keys.bytes + l->counted.bytes + l->packed.bytes +
		l->place_capacity * sizeof(*l->place);

	for (size_t i = 0; i < l->n_pulls; i++)
		bytes += l->pull[i]->call.reply.bytes;
	for (size_t i = 0; i < l->parts.n; i++)
		bytes += l->part[i].copy_capacity * sizeof(float);
	for (size_t i = 0; l->residual != NULL && i < l->parts.n * l->n_nodes; i++)
		bytes += l->residual[i].block_bytes;
	for (size_t i = 0; i < l->n_threads; i++)
		bytes += merge_scratch_bytes(&l->thread[i].scratch) +
			(2 * l->thread[i].key_capacity + l->thread[i].id_capacity) *
			sizeof(uint64_t);
	return bytes;
}

static void
remote_close(struct lookup *base)
{
	struct remote_lookup *l = lookup_of(base);

	(void)lookup_wire_wait(l, 0);       /* no push is forgotten, no call left behind */
	for (size_t i = 0; l->thread != NULL && i < l->n_threads; i++) {
		merge_scratch_free(&l->thread[i].scratch);
		pushes_order_free(&l->thread[i].order);
		free(l->thread[i].key);
		free(l->thread[i].key2);
		free(l->thread[i].id);
		free(l->thread[i].error);
	}
	lookup_push_free(l);
	lookup_pull_free(l);
	lookup_ids_free(l);
	parts_free(&l->parts);
	pthread_mutex_destroy(&l->lock);
	free(l->thread);
	free(l->part_order);
	free(l->shard_first);
	free(l->table);
	free(l);
}

static const struct lookup_ops remote_ops = {
	.name = "remote", .fetch = lookup_pull_fetch, .pull = lookup_pull_rows,
	.push = lookup_push_put, .commit = lookup_push_commit, .save = lookup_files_save,
	.load = lookup_files_load, .reset_state = lookup_files_reset_state,
	.save_tenancy = lookup_waiting_save, .load_tenancy = lookup_waiting_load,
	.tenants = lookup_waiting_tenants, .knows_changes = lookup_changes_known,
	.save_delta = lookup_changes_save, .forget_changes = lookup_changes_forget_all,
	.touched = lookup_pull_touched, .bytes = remote_bytes, .close = remote_close,
};

/* Of one that compresses, and so rounds. */
static const struct lookup_ops rounding_ops = {
	.name = "remote", .fetch = lookup_pull_fetch, .pull = lookup_pull_rows,
	.push = lookup_push_put, .commit = lookup_push_commit, .save = lookup_files_save,
	.load = lookup_files_load, .reset_state = lookup_files_reset_state,
	.save_tenancy = lookup_waiting_save, .load_tenancy = lookup_waiting_load,
	.tenants = lookup_waiting_tenants, .knows_changes = lookup_changes_known,
	.save_delta = lookup_changes_save, .forget_changes = lookup_changes_forget_all,
	.touched = lookup_pull_touched, .bytes = remote_bytes, .close = remote_close,
	.save_rest = lookup_rest_save, .load_rest = lookup_rest_load,
};

/* Parts by shard; in a shard by table, but every table behind its first twin. */
static enum rs_status
order_parts(struct remote_lookup *l)
{
	size_t n = 0;

	RS_TRY(memory_alloc(l->parts.n + 1, sizeof(*l->part_order), &l->part_order));
	RS_TRY(memory_alloc(l->n_shards + 1, sizeof(*l->shard_first), &l->shard_first));
	for (size_t s = 0; s < l->n_shards; s++) {
		l->shard_first[s] = n;
		for (size_t t = 0; t < l->n_tables; t++) {
			size_t first = 0;

			while (l->table[first].twins != l->table[t].twins)
				first++;
			for (size_t twin = t; first == t && twin < l->n_tables; twin++)
				for (size_t p = l->parts.first[twin]; p < l->parts.first[twin + 1]
				    && l->table[twin].twins == l->table[t].twins; p++)
					if (l->parts.part[p].shard == s)
						l->part_order[n++] = p;
		}
	}
	l->shard_first[l->n_shards] = n;
	assert(n == l->parts.n);
	return RS_OK;
}

static enum rs_status
open_threads(struct remote_lookup *l)
{
	const struct lookup_local_options *o = &l->o.base;
	size_t D_max = 1;

	for (size_t t = 0; t < l->n_tables; t++)
		D_max = l->table[t].dim > D_max ? l->table[t].dim : D_max;
	RS_TRY(pushes_init(&l->pushes, l->n_tables, o->n_slots, o->n_inputs));
	RS_TRY(memory_alloc(l->n_threads, sizeof(*l->thread), &l->thread));
	for (size_t i = 0; i < l->n_threads; i++) {
		RS_TRY(merge_scratch_init(&l->thread[i].scratch, o->n_slots, D_max));
		RS_TRY(pushes_order_init(&l->thread[i].order, &l->pushes));
	}
	return RS_OK;
}

/* Places for what rounding leaves out: one a row, or fewer for all in proportion. */
static enum rs_status
open_residuals(struct remote_lookup *l)
{
	double all = 0, share;

	if (l->flags == 0)
		return RS_OK;
	RS_TRY(memory_alloc(l->parts.n * l->n_nodes + 1, sizeof(*l->residual), &l->residual));
	for (size_t i = 0; i < l->parts.n; i++) {
		const struct part *p = &l->parts.part[i];

		all += (double)lookup_residual_bytes(parts_rows(&l->table[p->table], p->begin,
			p->end), lookup_part_dim(l, i)) * (double)l->n_nodes;
	}
	share = all > (double)RESIDUAL_BYTES ? (double)RESIDUAL_BYTES / all : 1;
	for (size_t i = 0; i < l->parts.n; i++) {
		const struct part *p = &l->parts.part[i];
		const uint64_t rows = parts_rows(&l->table[p->table], p->begin, p->end);

		for (size_t k = 0; k < l->n_nodes && lookup_part_dim(l, i) > 1; k++)
			RS_TRY(lookup_residual_init(&l->residual[i * l->n_nodes + k],
				share < 1 ? (uint64_t)((double)rows * share) : rows,
				lookup_part_dim(l, i)));
	}
	return RS_OK;
}

static enum rs_status
open_arrays(struct remote_lookup *l)
{
	const size_t n_inputs = l->o.base.n_inputs, n = l->n_tables;

	RS_TRY(memory_alloc(l->parts.n + 1, sizeof(*l->part), &l->part));
	RS_TRY(memory_alloc(n_inputs + 1, sizeof(*l->use), &l->use));
	RS_TRY(memory_alloc(n + 1, sizeof(*l->group), &l->group));
	RS_TRY(memory_alloc(n + 1, sizeof(*l->group_of), &l->group_of));
	RS_TRY(memory_alloc(n + 1, sizeof(*l->first_use), &l->first_use));
	RS_TRY(memory_alloc(n + 1, sizeof(*l->first_row), &l->first_row));
	for (size_t t = 0; t < n; t++)
		l->group_of[t] = SIZE_MAX;
	return RS_OK;
}

static enum rs_status
open_all(struct remote_lookup *l)
{
	const struct remote_lookup_options *o = &l->o;

	RS_TRY(memory_alloc(l->n_tables + 1, sizeof(*l->table), &l->table));
	for (size_t t = 0; t < l->n_tables; t++)
		l->table[t] = o->base.table[t];
	l->o.base.table = l->table;
	for (size_t t = 0; t < l->n_tables; t++)
		if (l->table[t].dim > LOOKUP_MESSAGE_BYTES / 2 / sizeof(float))
			return rs_fail(RS_ESPEC, "table '%s': rows of %zu are too wide to be sent",
				l->table[t].name, l->table[t].dim);
	RS_TRY(parts_make(l->table, l->n_tables, l->n_shards, o->min_shard_bytes, &l->parts));
	RS_TRY(order_parts(l));
	RS_TRY(open_arrays(l));
	RS_TRY(open_threads(l));
	RS_TRY(open_residuals(l));
	return lookup_wire_init(l);
}

enum rs_status
remote_lookup_open(const struct remote_lookup_options *options, struct lookup **out)
{
	const size_t n = options->base.n_slots, R = options->n_ranks;
	struct remote_lookup *l;
	enum rs_status status;

	assert(options->rank < R && R <= n);
	RS_TRY(memory_alloc(1, sizeof(*l), &l));
	l->o = *options;
	l->n_tables = options->base.n_tables;
	l->n_threads = options->base.n_threads > 0 ? options->base.n_threads : 1;
	l->n_shards = client_n_servers(options->client);
	l->n_nodes = tree_frontier(n, tree_rank_begin(n, R, options->rank),
		tree_rank_begin(n, R, options->rank + 1), l->node);
	l->flags = options->compress == COMPRESS_INT8 ? FRAME_INT8 :
		options->compress == COMPRESS_FP16    ? FRAME_FP16 : 0;
	l->base.ops = l->flags != 0 ? &rounding_ops : &remote_ops;
	l->message_bytes = options->message_bytes > 0 ? options->message_bytes
						      : LOOKUP_MESSAGE_BYTES;
	l->clock = options->first_step > 0 ? options->first_step : 1;
	pthread_mutex_init(&l->lock, NULL);
	status = open_all(l);
	if (status != RS_OK) {
		remote_close(&l->base);
		return status;
	}
	*out = &l->base;
	return RS_OK;
}

void
remote_lookup_counts(const struct lookup *base, struct remote_lookup_counts *out)
{
	const struct remote_lookup *l = (const struct remote_lookup *)base;

	*out = l->counts;
	out->dropped_residuals = 0;
	for (size_t i = 0; l->residual != NULL && i < l->parts.n * l->n_nodes; i++)
		out->dropped_residuals += l->residual[i].n_dropped;
}

uint64_t
remote_lookup_name(const struct lookup *base)
{
	return ((const struct remote_lookup *)base)->name;
}

void
remote_lookup_shards(const struct lookup *base, uint8_t *has_rows)
{
	const struct remote_lookup *l = (const struct remote_lookup *)base;

	for (size_t s = 0; s < l->n_shards; s++)
		has_rows[s] = l->shard_first[s] < l->shard_first[s + 1];
}
