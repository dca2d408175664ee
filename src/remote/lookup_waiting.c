/*
 * What exact tables on shards have besides their rows: to a file and back, and counted.
 *
 * The file is that of one process (embed/tenancy.h), so a tenancy without rows is filled from
 * the shards and saved, or loaded and sent to them, which takes the memory of the whole filter.
 */
#include <stdlib.h>
#include <string.h>

#include "embed/exact.h"
#include "embed/tenancy.h"
#include "remote/lookup_walk.h"

#define PIECE_BYTES ((size_t)4 << 20)       /* of items in one call                    */
#define AHEAD       16                      /* calls under way                         */

/* A piece on its way. */
struct call {
	struct client_call call;
	struct body_waiting head;
	char *item;                 /* [most, item_bytes] of what is set               */
};

struct walk {
	struct remote_lookup *l;
	size_t table, item_bytes, most;
	struct exact exact;         /* without rows                                    */
	struct tenancy tenancy;
	struct call call[AHEAD];
	size_t n_calls;             /* under way                                       */
};

/* Calls under way are dropped. */
static void
walk_close(struct walk *w)
{
	for (size_t i = 0; i < AHEAD; i++) {
		struct client_call *call = &w->call[i].call;

		if (i < w->n_calls) {
			client_drop(w->l->o.client, &call, 1);
			if (client_is_done(call))
				wire_message_free(&call->reply);
		}
		free(w->call[i].item);
	}
	tenancy_close(&w->tenancy);
	exact_close(&w->exact);
	free(w);
}

static enum rs_status
walk_init(struct walk *w)
{
	const struct lookup_table *t = &w->l->table[w->table];
	const size_t piece_bytes = w->l->message_bytes < PIECE_BYTES ? w->l->message_bytes
								     : PIECE_BYTES;

	RS_TRY(exact_open(&w->exact, 0, EXACT_ROWS, sizeof(float)));
	RS_TRY(tenancy_open(&w->tenancy, t, &w->exact, 1));
	w->item_bytes = tenancy_item_bytes(&w->tenancy);
	w->most = w->item_bytes > 0 ? piece_bytes / w->item_bytes : 0;
	w->most += w->most == 0 && w->item_bytes > 0;
	for (size_t i = 0; i < AHEAD && w->item_bytes > 0; i++)
		RS_TRY(memory_alloc(w->most, w->item_bytes, &w->call[i].item));
	return RS_OK;
}

static enum rs_status
walk_open(struct remote_lookup *l, size_t table, struct walk **out)
{
	enum rs_status status;
	struct walk *w;

	RS_TRY(lookup_wire_wait(l, 0));
	RS_TRY(memory_alloc(1, sizeof(*w), &w));
	w->l = l;
	w->table = table;
	status = walk_init(w);
	if (status != RS_OK) {
		walk_close(w);
		return status;
	}
	*out = w;
	return RS_OK;
}

/* Which shard has a segment. */
static size_t
shard_of(const struct walk *w, unsigned segment)
{
	const struct parts *p = &w->l->parts;
	size_t i = p->first[w->table];

	while (p->part[i].end <= exact_segment_begin(segment))
		i++;
	return p->part[i].shard;
}

/* The head of the next call is filled, and its items. */
static enum rs_status
send(struct walk *w, size_t shard, uint16_t type)
{
	struct call *c = &w->call[w->n_calls];

	memset(&c->call, 0, sizeof(c->call));
	c->call.server = shard;
	c->call.frame = (struct frame){ .type = type, .slot = (uint32_t)w->l->o.rank,
		.step = w->l->clock };
	c->call.part[0] = (struct frame_part){ &c->head, sizeof(c->head) };
	c->call.n_parts = 1;
	if (type == FRAME_WAITING_PUT && c->head.n > 0)
		c->call.part[c->call.n_parts++] =
			(struct frame_part){ c->item, c->head.n * w->item_bytes };
	RS_TRY(client_send(w->l->o.client, &c->call));
	w->n_calls++;
	return RS_OK;
}

/* All answers are there, each taken by take(), unless that is NULL. */
static enum rs_status
settle(struct walk *w, enum rs_status (*take)(struct walk *w, struct call *c, void *context),
	void *context)
{
	struct client_call *list[AHEAD];
	enum rs_status status = RS_OK;

	for (size_t i = 0; i < w->n_calls; i++)
		list[i] = &w->call[i].call;
	if (w->n_calls > 0)
		status = client_wait(w->l->o.client, list, w->n_calls);
	for (size_t i = 0; i < w->n_calls; i++) {
		struct call *c = &w->call[i];

		if (status == RS_OK)
			status = lookup_wire_want(&c->call, FRAME_WAITING_R);
		if (status == RS_OK && take != NULL)
			status = take(w, c, context);
		if (client_is_done(&c->call))
			wire_message_free(&c->call.reply);
	}
	w->n_calls = 0;
	return status;
}

/* --- saving ---------------------------------------------------------------------------- */

/* The head of an answer, which is about what was asked for, and its items. */
static enum rs_status
read_answer(const struct walk *w, struct call *c, struct body_waiting *head)
{
	const struct wire_message *m = &c->call.reply;

	if (lookup_walk_copy(m, 0, sizeof(*head), head) && head->table == c->head.table
	    && head->segment == c->head.segment && head->n <= c->head.n
	    && head->first == c->head.first
	    && lookup_walk_copy(m, sizeof(*head), head->n * w->item_bytes, c->item)
	    && m->frame.body_bytes == sizeof(*head) + head->n * w->item_bytes)
		return RS_OK;
	return rs_fail(RS_EPROTOCOL, "ps %zu answers with another part of table '%s'",
		c->call.server, w->l->table[w->table].name);
}

/* next [EXACT_SEGMENTS]: items that are here; SIZE_MAX: the segment is complete. */
static enum rs_status
take_piece(struct walk *w, struct call *c, void *context)
{
	struct lookup_waiting piece = { .item = c->item };
	size_t *next = context;
	struct body_waiting head;

	RS_TRY(read_answer(w, c, &head));
	body_waiting_get(&head, &piece);
	piece.has_tally = 0;
	RS_TRY(tenancy_put(&w->tenancy, &piece));
	next[head.segment] = piece.n == 0 || piece.first + piece.n >= piece.total
		? SIZE_MAX : piece.first + piece.n;
	return RS_OK;
}

static enum rs_status
gather(struct walk *w)
{
	size_t next[EXACT_SEGMENTS] = { 0 }, n_open = 1;

	while (n_open > 0) {
		n_open = 0;
		for (unsigned i = 0; i < EXACT_SEGMENTS; i++) {
			if (next[i] == SIZE_MAX)
				continue;
			n_open++;
			w->call[w->n_calls].head = (struct body_waiting){ .segment = i,
				.table = (uint32_t)w->table, .first = next[i],
				.n = (uint32_t)w->most };
			RS_TRY(send(w, shard_of(w, i), FRAME_WAITING_GET));
			if (w->n_calls == AHEAD)
				RS_TRY(settle(w, take_piece, next));
		}
		RS_TRY(settle(w, take_piece, next));
	}
	return RS_OK;
}

enum rs_status
lookup_waiting_save(struct lookup *base, size_t table, struct file_writer *file)
{
	struct remote_lookup *l = lookup_of(base);
	enum rs_status status;
	struct walk *w;

	RS_TRY(walk_open(l, table, &w));
	status = gather(w);
	if (status == RS_OK)
		status = tenancy_save(&w->tenancy, file);
	walk_close(w);
	return status;
}

/* --- loading --------------------------------------------------------------------------- */

static enum rs_status
put_segment(struct walk *w, unsigned segment)
{
	struct lookup_waiting piece = { .segment = segment };
	size_t next = 0;

	do {
		struct call *c;

		/* The first piece, asked again, must not undo what comes behind it. */
		if (next > 0)
			RS_TRY(settle(w, NULL, NULL));
		c = &w->call[w->n_calls];
		piece.first = next;
		piece.n = w->most;
		piece.item = c->item;
		RS_TRY(tenancy_get(&w->tenancy, &piece));
		next += piece.n;
		body_waiting_put(&piece, (uint32_t)w->table, &c->head);
		RS_TRY(send(w, shard_of(w, segment), FRAME_WAITING_PUT));
		if (w->n_calls == AHEAD)
			RS_TRY(settle(w, NULL, NULL));
	} while (next < piece.total);
	return RS_OK;
}

enum rs_status
lookup_waiting_load(struct lookup *base, size_t table, const char *const *path, size_t n_paths)
{
	struct remote_lookup *l = lookup_of(base);
	enum rs_status status;
	struct walk *w;

	RS_TRY(walk_open(l, table, &w));
	status = tenancy_load(&w->tenancy, path, n_paths);
	for (unsigned i = 0; i < EXACT_SEGMENTS && status == RS_OK; i++)
		status = put_segment(w, i);
	if (status == RS_OK)
		status = settle(w, NULL, NULL);
	walk_close(w);
	return status;
}

/* --- counting -------------------------------------------------------------------------- */

static enum rs_status
take_tally(struct walk *w, struct call *c, void *context)
{
	struct lookup_waiting of = { .item = NULL };
	struct lookup_tenants *sum = context;
	struct body_waiting head;

	RS_TRY(read_answer(w, c, &head));
	body_waiting_get(&head, &of);
	lookup_tenants_add(sum, &of.tally);
	sum->clock = of.clock;
	return RS_OK;
}

static enum rs_status
ask_tallies(struct walk *w, struct lookup_tenants *out)
{
	const struct parts *p = &w->l->parts;

	for (size_t i = p->first[w->table]; i < p->first[w->table + 1]; i++) {
		w->call[w->n_calls].head = (struct body_waiting){ .segment = EXACT_SEGMENTS,
			.table = (uint32_t)w->table };
		RS_TRY(send(w, p->part[i].shard, FRAME_WAITING_GET));
		if (w->n_calls == AHEAD)
			RS_TRY(settle(w, take_tally, out));
	}
	return settle(w, take_tally, out);
}

enum rs_status
lookup_waiting_tenants(struct lookup *base, size_t table, struct lookup_tenants *out)
{
	struct remote_lookup *l = lookup_of(base);
	enum rs_status status;
	struct walk *w;

	*out = (struct lookup_tenants){ .rows = 0 };
	RS_TRY(lookup_entries_count(l, table, &out->rows));
	RS_TRY(walk_open(l, table, &w));
	status = ask_tallies(w, out);
	walk_close(w);
	return status;
}
