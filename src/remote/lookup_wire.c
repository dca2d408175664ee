/* Calls of the remote lookup under way: waiting for them, and asking all shards. */
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "remote/lookup_private.h"

enum rs_status
lookup_wire_want(const struct client_call *call, uint16_t type)
{
	const char *got = frame_type_name(call->reply.frame.type);

	if (call->reply.frame.type == type)
		return RS_OK;
	return rs_fail(RS_EPROTOCOL, "ps %zu answers %s with %s", call->server,
		frame_type_name(call->frame.type), got != NULL ? got : "an unknown message");
}

static void
forget_pushes(struct remote_lookup *l)
{
	for (size_t i = 0; i < l->n_pushes; i++)
		if (client_is_done(&l->push[i]->call))
			wire_message_free(&l->push[i]->call.reply);
	l->n_pushes = 0;
}

enum rs_status
lookup_wire_wait(struct remote_lookup *l, size_t n_pulls)
{
	const size_t n = n_pulls + l->n_pushes;
	const double begin = clock_seconds();
	enum rs_status status;

	if (n == 0)
		return RS_OK;
	RS_TRY(remote_lookup_grow(&l->wait, &l->wait_capacity, n, sizeof(*l->wait)));
	for (size_t i = 0; i < n_pulls; i++)
		l->wait[i] = &l->pull[i]->call;
	for (size_t i = 0; i < l->n_pushes; i++)
		l->wait[n_pulls + i] = &l->push[i]->call;
	status = client_wait(l->o.client, l->wait, n);
	for (size_t i = 0; i < l->n_pushes && status == RS_OK; i++)
		status = lookup_wire_want(&l->push[i]->call, FRAME_PUSH_R);
	forget_pushes(l);
	l->counts.waited += clock_seconds() - begin;
	return status;
}

enum rs_status
lookup_wire_all(struct remote_lookup *l, const struct frame *f, const struct frame_part *part,
	size_t n_parts, uint16_t want)
{
	struct client_call *call, **list;
	enum rs_status status;
	size_t n = 0;

	RS_TRY(memory_alloc(l->n_shards, sizeof(*call), &call));
	status = memory_alloc(l->n_shards, sizeof(*list), &list);
	for (; n < l->n_shards && status == RS_OK; n += status == RS_OK) {
		list[n] = &call[n];
		call[n].server = n;
		call[n].frame = *f;
		for (size_t i = 0; i < n_parts; i++)
			call[n].part[i] = part[i];
		call[n].n_parts = n_parts;
		status = client_send(l->o.client, &call[n]);
	}
	if (n > 0) {
		const enum rs_status waited = client_wait(l->o.client, list, n);

		status = status != RS_OK ? status : waited;
	}
	for (size_t i = 0; i < n; i++) {
		if (status == RS_OK)
			status = lookup_wire_want(&call[i], want);
		if (client_is_done(&call[i]))
			wire_message_free(&call[i].reply);
	}
	free(list);
	free(call);
	return status;
}

static enum rs_status
put_tables(const struct remote_lookup *l, struct buffer *b)
{
	const struct body_init init = {
		.n_tables = (uint32_t)l->n_tables, .n_parts = (uint32_t)l->parts.n,
		.n_slots = (uint32_t)l->o.base.n_slots, .n_ranks = (uint32_t)l->o.n_ranks,
		.n_shards = (uint32_t)l->n_shards, .consistency = (uint32_t)l->o.consistency,
		.staleness = l->o.staleness, .first_step = l->clock,
		.keep = l->o.keep != 0, .origin = l->o.origin,
		.keeps_changes = l->o.base.keeps_changes != 0,
	};

	RS_TRY(buffer_append(b, &init, sizeof(init)));
	for (size_t t = 0; t < l->n_tables; t++) {
		struct body_table table;

		body_table_put(&l->table[t], &table);
		RS_TRY(buffer_append(b, &table, sizeof(table)));
	}
	for (size_t i = 0; i < l->parts.n; i++) {
		const struct part *p = &l->parts.part[i];
		struct body_part part;

		memset(&part, 0, sizeof(part));
		part.table = (uint32_t)p->table;
		part.shard = (uint32_t)p->shard;
		part.begin = p->begin;
		part.end = p->end;
		RS_TRY(buffer_append(b, &part, sizeof(part)));
	}
	return RS_OK;
}

enum rs_status
lookup_wire_init(struct remote_lookup *l)
{
	const struct frame f = { .type = FRAME_INIT_TABLE, .slot = (uint32_t)l->o.rank };
	struct buffer b;
	enum rs_status status;

	buffer_init(&b, FRAME_BODY_MAX);
	status = put_tables(l, &b);
	if (status == RS_OK)
		l->name = body_init_hash(b.data, b.n);
	if (status == RS_OK)
		status = lookup_wire_all(l, &f, &(struct frame_part){ b.data, b.n }, 1, FRAME_ACK);
	buffer_free(&b);
	return status;
}
