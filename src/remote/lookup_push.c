/* Commit: sums of rows over the nodes of this rank, packed, and a PUSH to every shard. */
#include <stdlib.h>
#include <string.h>

#include "remote/lookup_private.h"

enum rs_status
lookup_push_put(struct lookup *base, const struct lookup_push *p)
{
	pushes_put(&lookup_of(base)->pushes, p);
	return RS_OK;
}

/* --- the plan: what is summed, and where it goes --------------------------------------- */

static enum rs_status
add_entry(struct remote_lookup *l, size_t part, size_t node)
{
	const struct part_rows *r = &l->part[part];
	const struct group *g = &l->group[l->group_of[l->parts.part[part].table]];
	struct push_entry *e;

	RS_TRY(remote_lookup_grow(&l->entry, &l->entry_capacity, l->n_entries + 1,
		sizeof(*l->entry)));
	RS_TRY(remote_lookup_grow(&l->item, &l->item_capacity, l->n_items + g->n_cuts,
		sizeof(*l->item)));
	e = &l->entry[l->n_entries];
	e->part = part;
	e->node = node;
	e->n = 0;
	e->first_item = l->n_items;
	for (size_t c = 0; c < g->n_cuts; c++)
		if (l->segment[r->first_segment + c].n > 0)
			l->item[l->n_items++] = (struct push_item){
				.entry = l->n_entries, .segment = r->first_segment + c };
	e->n_items = l->n_items - e->first_item;
	atomic_store_explicit(&e->n_left, e->n_items, memory_order_relaxed);
	l->n_entries++;
	return RS_OK;
}

/* The parts of one shard: twins that have the same ids go together, node by node. */
static enum rs_status
add_shard(struct remote_lookup *l, const struct pushes_order *o, size_t shard)
{
	const size_t end = l->shard_first[shard + 1];

	for (size_t i = l->shard_first[shard], j; i < end; i = j) {
		const size_t g = l->group_of[l->parts.part[l->part_order[i]].table];

		for (j = i + 1; j < end && g != SIZE_MAX &&
			l->group_of[l->parts.part[l->part_order[j]].table] == g;)
			j++;
		for (size_t k = 0; k < l->n_nodes; k++)
			for (size_t at = i; at < j; at++) {
				const size_t p = l->part_order[at];

				if (l->part[p].n > 0 && o->n[l->parts.part[p].table] > 0)
					RS_TRY(add_entry(l, p, k));
			}
	}
	return RS_OK;
}

static enum rs_status
plan(struct remote_lookup *l, const struct pushes_order *o)
{
	size_t rows = 0, floats = 0, bytes = 0;

	RS_TRY(lookup_wire_wait(l, 0));     /* their memory is used again */
	l->n_entries = l->n_items = 0;
	for (size_t t = 0; t < l->n_tables; t++)
		if (o->n[t] > 0 && l->group_of[t] == SIZE_MAX)
			return rs_fail(RS_EBUG, "gradients of table '%s', which was not fetched",
				l->table[t].name);
	for (size_t s = 0; s < l->n_shards; s++)
		RS_TRY(add_shard(l, o, s));
	for (size_t i = 0; i < l->n_entries; i++) {
		struct push_entry *e = &l->entry[i];
		const size_t n = l->part[e->part].n, dim = lookup_part_dim(l, e->part);

		e->first_row = rows;
		e->first_float = floats;
		e->first_byte = bytes;
		rows += n;
		floats += n * dim;
		bytes += body_value_bytes(l->flags, n, dim);
	}
	RS_TRY(remote_lookup_reserve(&l->keys, rows * sizeof(uint64_t)));
	RS_TRY(remote_lookup_reserve(&l->counted, rows * sizeof(uint32_t)));
	RS_TRY(remote_lookup_reserve(&l->sums, floats * sizeof(float)));
	return l->flags != 0 ? remote_lookup_reserve(&l->packed, bytes) : RS_OK;
}

/* --- sums, shared by all threads ------------------------------------------------------- */

static float *
sums_of(const struct remote_lookup *l, const struct push_entry *e)
{
	return (float *)l->sums.data + e->first_float;
}

static uint64_t *
keys_of(const struct remote_lookup *l, const struct push_entry *e)
{
	return (uint64_t *)l->keys.data + e->first_row;
}

static uint32_t *
counts_of(const struct remote_lookup *l, const struct push_entry *e)
{
	return (uint32_t *)l->counted.data + e->first_row;
}

static enum rs_status
sum_item(struct remote_lookup *l, struct lookup_thread *w, struct push_item *item)
{
	const struct push_entry *e = &l->entry[item->entry];
	const struct segment *s = &l->segment[item->segment];
	const size_t table = l->parts.part[e->part].table, D = l->table[table].dim;
	struct merge_job job = {
		.kernel = l->o.base.kernel, .name = l->table[table].name, .D = D,
		.begin = s->begin, .end = s->end,
	};
	uint64_t *key = keys_of(l, e) + s->first, id;
	uint32_t *count = counts_of(l, e) + s->first;
	float *to = sums_of(l, e) + s->first * D;
	const float *sum;

	item->n = 0;
	pushes_of_node(&w->order, table, l->node[e->node], &job);
	RS_TRY(merge_begin(&w->scratch, &job));
	while (merge_next(&w->scratch, &id, &sum)) {
		if (item->n == s->n)
			return rs_fail(RS_EBUG, "gradients of rows of table '%s' that were not "
				"fetched", l->table[table].name);
		key[item->n] = id;
		count[item->n] = w->scratch.run;
		memcpy(to, sum, D * sizeof(*to));
		to += D;
		item->n++;
	}
	return RS_OK;
}

/* Brings the rows of the entry's segments together. */
static void
close_gaps(const struct remote_lookup *l, struct push_entry *e)
{
	const size_t D = lookup_part_dim(l, e->part);

	e->n = 0;
	for (size_t i = e->first_item; i < e->first_item + e->n_items; i++) {
		const size_t first = l->segment[l->item[i].segment].first, n = l->item[i].n;

		if (e->n < first) {
			memmove(keys_of(l, e) + e->n, keys_of(l, e) + first, n * sizeof(uint64_t));
			memmove(counts_of(l, e) + e->n, counts_of(l, e) + first,
				n * sizeof(uint32_t));
			memmove(sums_of(l, e) + e->n * D, sums_of(l, e) + first * D,
				n * D * sizeof(float));
		}
		e->n += n;
	}
}

static enum rs_status
pack_entry(struct remote_lookup *l, struct lookup_thread *w, const struct push_entry *e)
{
	const size_t D = lookup_part_dim(l, e->part), most = lookup_piece_rows(l, D);
	struct lookup_residual *r = D > 1 ? &l->residual[e->part * l->n_nodes + e->node] : NULL;
	const uint64_t *key = keys_of(l, e);
	char *to = (char *)l->packed.data + e->first_byte;

	RS_TRY(remote_lookup_grow(&w->error, &w->error_capacity, (e->n < most ? e->n : most) * D,
		sizeof(*w->error)));
	for (size_t from = 0, n; from < e->n; from += n) {
		float *x = sums_of(l, e) + from * D;

		n = e->n - from < most ? e->n - from : most;
		for (size_t i = 0; r != NULL && i < n; i++)
			lookup_residual_add(r, key[from + i], x + i * D);
		body_pack(l->flags, x, n, D, to, r != NULL ? w->error : NULL);
		for (size_t i = 0; r != NULL && i < n; i++)
			lookup_residual_put(r, key[from + i], w->error + i * D);
		to += body_value_bytes(l->flags, n, D);
	}
	return RS_OK;
}

static enum rs_status
sum_items(struct remote_lookup *l, struct lookup_thread *w)
{
	for (size_t i; (i = atomic_fetch_add_explicit(&l->next_item, 1, memory_order_relaxed)) <
		l->n_items;) {
		struct push_entry *e = &l->entry[l->item[i].entry];

		RS_TRY(sum_item(l, w, &l->item[i]));
		if (atomic_fetch_sub_explicit(&e->n_left, 1, memory_order_acq_rel) > 1)
			continue;
		close_gaps(l, e);
		if (l->flags != 0)
			RS_TRY(pack_entry(l, w, e));
	}
	return RS_OK;
}

/* --- messages -------------------------------------------------------------------------- */

/* What is sent of one step to one shard. */
struct outgoing {
	struct remote_lookup *l;
	const struct lookup_commit *commit;
	size_t shard;
	uint16_t chunk;
	struct push_message *m;
	size_t end;                 /* bytes of values that were taken                */
};

static enum rs_status
begin_message(struct outgoing *o)
{
	struct remote_lookup *l = o->l;
	const struct body_push head = { .rate_factor = o->commit->rate_factor };
	struct push_message *m;

	RS_TRY(remote_lookup_grow(&l->push, &l->push_capacity, l->n_pushes + 1, sizeof(*l->push)));
	if (l->push[l->n_pushes] == NULL) {
		RS_TRY(memory_alloc(1, sizeof(*m), &m));
		buffer_init(&m->head, FRAME_BODY_MAX);
		buffer_init(&m->keys, FRAME_BODY_MAX);
		l->push[l->n_pushes] = m;
	}
	m = l->push[l->n_pushes];
	m->head.n = m->keys.n = 0;
	m->n_sections = 0;
	m->first_byte = o->end;
	o->m = m;
	return buffer_append(&m->head, &head, sizeof(head));
}

static enum rs_status
send_message(struct outgoing *o, int more)
{
	struct remote_lookup *l = o->l;
	struct push_message *m = o->m;
	const char *values = l->flags != 0 ? l->packed.data : l->sums.data;
	struct body_push head;

	memcpy(&head, m->head.data, sizeof(head));
	head.finite = o->commit->finite != 0;
	head.n_sections = (uint32_t)m->n_sections;
	head.decay = o->commit->decay;
	head.step = o->commit->step;
	head.newest = expiry_minutes(o->commit->newest);
	memcpy(m->head.data, &head, sizeof(head));
	memset(&m->call, 0, sizeof(m->call));
	m->call.server = o->shard;
	m->call.frame = (struct frame){
		.type = FRAME_PUSH, .flags = (uint8_t)(l->flags | (more ? FRAME_MORE : 0)),
		.slot = (uint32_t)l->o.rank, .step = l->clock, .chunk = o->chunk++,
	};
	m->call.part[0] = (struct frame_part){ m->head.data, m->head.n };
	m->call.n_parts = 1;
	if (m->n_sections > 0) {
		m->call.part[1] = (struct frame_part){ m->keys.data, m->keys.n };
		m->call.part[2] = (struct frame_part){ values + m->first_byte,
			o->end - m->first_byte };
		m->call.n_parts = 3;
	}
	for (size_t i = 0; i < m->call.n_parts; i++)
		l->counts.push_bytes += m->call.part[i].n;
	RS_TRY(client_send(l->o.client, &m->call));
	l->n_pushes++;
	return RS_OK;
}

/* Parts of twins; others may have the same keys by chance. */
static int
same_range(const struct remote_lookup *l, const struct part *a, const struct part *b)
{
	return a->begin == b->begin && a->end == b->end
	    && l->table[a->table].kind == l->table[b->table].kind;
}

/* A section of n rows of e from `from` on, whose values are at the end of what was taken. */
static enum rs_status
add_section(struct outgoing *o, const struct push_entry *e, size_t from, size_t n)
{
	struct remote_lookup *l = o->l;
	struct push_message *m = o->m;
	const struct part *part = &l->parts.part[e->part];
	const uint64_t *key = keys_of(l, e) + from;
	const size_t before = m->keys.n;
	struct body_section section = {
		.table = (uint32_t)part->table, .n = (uint32_t)n,
		.slot = (uint32_t)l->node[e->node].begin,
	};

	if (m->n_sections == 0 || m->n != n || !same_range(l, &l->parts.part[m->part], part)
	    || memcmp((uint64_t *)l->keys.data + m->first_key, key, n * sizeof(*key)) != 0)
		RS_TRY(body_put_keys(&m->keys, key, n, part->begin));
	section.key_bytes = (uint32_t)(m->keys.n - before);
	if (l->table[part->table].kind == TABLE_EXACT) {
		RS_TRY(body_put_counts(&m->keys, counts_of(l, e) + from, n));
		section.count_bytes = (uint32_t)(m->keys.n - before - section.key_bytes);
	}
	m->part = e->part;
	m->n = n;
	m->first_key = e->first_row + from;
	m->n_sections++;
	l->counts.pushed_rows += n;
	return buffer_append(&m->head, &section, sizeof(section));
}

/* The values of an entry follow those of the entry before. */
static void
move_values(struct outgoing *o, const struct push_entry *e, size_t n_bytes)
{
	char *block = o->l->flags != 0 ? o->l->packed.data : o->l->sums.data;
	const size_t first = o->l->flags != 0 ? e->first_byte : e->first_float * sizeof(float);

	if (o->end != first)
		memmove(block + o->end, block + first, n_bytes);
}

static size_t
entry_bytes(const struct remote_lookup *l, const struct push_entry *e)
{
	return body_value_bytes(l->flags, e->n, lookup_part_dim(l, e->part));
}

static enum rs_status
add_entry_sections(struct outgoing *o, const struct push_entry *e)
{
	const size_t D = lookup_part_dim(o->l, e->part), most = lookup_piece_rows(o->l, D);

	move_values(o, e, entry_bytes(o->l, e));
	for (size_t from = 0, n; from < e->n; from += n) {
		n = e->n - from < most ? e->n - from : most;
		if (o->end - o->m->first_byte + o->m->keys.n > o->l->message_bytes) {
			RS_TRY(send_message(o, 1));
			RS_TRY(begin_message(o));
		}
		RS_TRY(add_section(o, e, from, n));
		o->end += body_value_bytes(o->l->flags, n, D);
	}
	return RS_OK;
}

static enum rs_status
send_pushes(struct remote_lookup *l, const struct lookup_commit *commit)
{
	struct outgoing o = { .l = l, .commit = commit };
	size_t i = 0;

	for (; o.shard < l->n_shards; o.shard++) {
		if (l->shard_first[o.shard] == l->shard_first[o.shard + 1])
			continue;           /* it has no rows and hears of no step    */
		o.chunk = 0;
		RS_TRY(begin_message(&o));
		for (; commit->finite && i < l->n_entries &&
			l->parts.part[l->entry[i].part].shard == o.shard; i++)
			RS_TRY(add_entry_sections(&o, &l->entry[i]));
		RS_TRY(send_message(&o, 0));
	}
	l->clock++;
	l->counts.steps++;
	return RS_OK;
}

enum rs_status
lookup_push_commit(struct lookup *base, const struct lookup_commit *c)
{
	struct remote_lookup *l = lookup_of(base);
	struct lookup_thread *w = &l->thread[c->worker];
	enum rs_status status = RS_OK;

	if (c->finite)
		pushes_order_make(&w->order, &l->pushes);
	pthread_mutex_lock(&l->lock);
	if (!l->commit_planned) {
		l->commit_planned = 1;
		status = c->finite ? plan(l, &w->order) : lookup_wire_wait(l, 0);
		if (status != RS_OK)
			atomic_store(&l->failed, 1);
	}
	pthread_mutex_unlock(&l->lock);
	if (c->finite && !atomic_load(&l->failed))
		status = sum_items(l, w);
	if (status != RS_OK)
		atomic_store(&l->failed, 1);
	if (atomic_fetch_add_explicit(&l->n_done, 1, memory_order_acq_rel) + 1 < c->n_workers)
		return status;
	atomic_store_explicit(&l->next_item, 0, memory_order_relaxed);
	atomic_store_explicit(&l->n_done, 0, memory_order_relaxed);
	l->commit_planned = 0;
	pushes_clear(&l->pushes);
	return atomic_exchange(&l->failed, 0) ? status : send_pushes(l, c);
}

void
lookup_push_free(struct remote_lookup *l)
{
	for (size_t i = 0; i < l->push_capacity; i++)
		if (l->push[i] != NULL) {
			buffer_free(&l->push[i]->head);
			buffer_free(&l->push[i]->keys);
			free(l->push[i]);
		}
	for (size_t i = 0; l->residual != NULL && i < l->parts.n * l->n_nodes; i++)
		lookup_residual_free(&l->residual[i]);
	free(l->residual);
	free(l->push);
	free(l->entry);
	free(l->item);
	free(l->wait);
	free(l->sums.data);
	free(l->keys.data);
	free(l->counted.data);
	free(l->packed.data);
	pushes_free(&l->pushes);
}
