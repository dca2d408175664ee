/* Calls to the shards about the rows of a table, several at once. */
#include "remote/lookup_walk.h"

#include <stdlib.h>
#include <string.h>

#include "embed/row_optimizer.h"
#include "embed/rows_file.h"

#define SNAP_BYTES    ((size_t)1 << 19)     /* of rows in one call                     */

void
lookup_walk_close(struct lookup_walk *w)
{
	for (; w->n_busy > 0; w->n_busy--, w->first = (w->first + 1) % LOOKUP_WALK_AHEAD) {
		struct client_call *call = &w->snap[w->first].call;

		client_drop(w->l->o.client, &call, 1);
		if (client_is_done(call))
			wire_message_free(&call->reply);
	}
	for (size_t i = 0; i < LOOKUP_WALK_AHEAD; i++) {
		free(w->snap[i].weights);
		free(w->snap[i].slots);
		free(w->snap[i].touched);
		free(w->snap[i].entry);
	}
	free(w);
}

static enum rs_status
open_snap(const struct lookup_walk *w, struct lookup_snap *s)
{
	if (w->t->kind == TABLE_EXACT)
		return memory_alloc(w->most, w->entry_bytes, &s->entry);
	RS_TRY(memory_alloc(w->most * w->dim + 1, sizeof(float), &s->weights));
	RS_TRY(memory_alloc(w->most * w->n_slot + 1, sizeof(float), &s->slots));
	return memory_alloc(w->most + 1, 1, &s->touched);
}

static size_t
entry_bytes(const struct lookup_walk *w)
{
	const struct rows_file_shape shape = { .name = "", .optimizer = "", .dim = w->dim,
		.n_slot = w->n_slot, .storage = w->t->storage };

	return rows_file_header_make(&shape, 0, 0, 0, 0).entry_bytes;
}

enum rs_status
lookup_walk_open(struct remote_lookup *l, size_t table, struct lookup_walk **out)
{
	const struct lookup_table *t = &l->table[table];
	struct lookup_walk *w;
	enum rs_status status = RS_OK;
	size_t row_bytes;

	RS_TRY(lookup_wire_wait(l, 0));
	RS_TRY(memory_alloc(1, sizeof(*w), &w));
	w->l = l;
	w->t = t;
	w->table = table;
	w->dim = t->dim;
	w->n_slot = row_optimizer_slots(row_optimizer_get(t->optimizer.kind), t->dim);
	w->entry_bytes = entry_bytes(w);
	row_bytes = t->kind == TABLE_EXACT ? w->entry_bytes : (w->dim + w->n_slot) * sizeof(float);
	w->most = SNAP_BYTES / row_bytes > 0 ? SNAP_BYTES / row_bytes : 1;
	for (size_t i = 0; i < LOOKUP_WALK_AHEAD && status == RS_OK; i++)
		status = open_snap(w, &w->snap[i]);
	if (status != RS_OK) {
		lookup_walk_close(w);
		return status;
	}
	*out = w;
	return RS_OK;
}

static void
add_part(struct client_call *c, const void *data, size_t n)
{
	c->part[c->n_parts++] = (struct frame_part){ data, n };
}

enum rs_status
lookup_walk_send(struct lookup_walk *w, struct lookup_snap *s, uint16_t type)
{
	struct client_call *c = &s->call;

	s->head = (struct body_rows){
		.table = (uint32_t)w->table, .n = (uint32_t)s->n, .begin = s->begin,
		.dim = (uint32_t)w->dim, .n_slot = (uint32_t)w->n_slot, .end = s->end,
		.n_segment = s->n_segment,
	};
	memset(c, 0, sizeof(*c));
	c->server = w->l->parts.part[s->part].shard;
	c->frame = (struct frame){ .type = type, .slot = (uint32_t)w->l->o.rank,
		.step = w->l->clock };
	add_part(c, &s->head, sizeof(s->head));
	if (type == FRAME_SNAP_PUT && w->t->kind == TABLE_EXACT) {
		add_part(c, s->entry, s->n * w->entry_bytes);
	} else if (type == FRAME_SNAP_PUT) {
		add_part(c, s->weights, s->n * w->dim * sizeof(float));
		add_part(c, s->slots, s->n * w->n_slot * sizeof(float));
		add_part(c, s->touched, s->n);
	}
	RS_TRY(client_send(w->l->o.client, c));
	w->n_busy++;
	return RS_OK;
}

enum rs_status
lookup_walk_take(struct lookup_walk *w, struct lookup_snap **out)
{
	struct lookup_snap *s = &w->snap[w->first];
	struct client_call *call = &s->call;
	enum rs_status status = client_wait(w->l->o.client, &call, 1);

	w->first = (w->first + 1) % LOOKUP_WALK_AHEAD;
	w->n_busy--;
	if (status == RS_OK)
		status = lookup_wire_want(call, FRAME_SNAP_R);
	if (status != RS_OK && client_is_done(call))
		wire_message_free(&call->reply);
	*out = s;
	return status;
}

enum rs_status
lookup_walk_take_put(struct lookup_walk *w)
{
	struct lookup_snap *s;

	RS_TRY(lookup_walk_take(w, &s));
	wire_message_free(&s->call.reply);
	return RS_OK;
}

enum rs_status
lookup_walk_refuse(const struct lookup_walk *w, const struct lookup_snap *s)
{
	return rs_fail(RS_EPROTOCOL, "ps %zu: rows of table '%s' in an answer are not those "
		"asked for", s->call.server, w->t->name);
}

int
lookup_walk_copy(const struct wire_message *m, size_t from, size_t n, void *to)
{
	char *at = to;

	for (size_t i = 0; i < m->n_parts && n > 0; i++) {
		const struct frame_part *part = &m->part[i];

		if (from >= part->n) {
			from -= part->n;
			continue;
		}
		const size_t step = part->n - from < n ? part->n - from : n;

		memcpy(at, (const char *)part->data + from, step);
		at += step;
		n -= step;
		from = 0;
	}
	return n == 0;
}

void
lookup_walk_init_slots(const struct lookup_walk *w, float *slots, size_t n, size_t stride)
{
	const struct row_optimizer_settings *o = &w->t->optimizer;

	for (size_t i = 0; i < n && w->n_slot > 0; i++)
		row_optimizer_init(row_optimizer_get(o->kind), o, w->dim, slots + i * stride);
}
