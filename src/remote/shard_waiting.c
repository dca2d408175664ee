/* WAITING_GET, WAITING_PUT: who waits for rows of exact tables, and what came and went. */
#include <string.h>

#include "embed/exact.h"
#include "remote/shard_private.h"

#define PIECE_BYTES ((size_t)1 << 20)   /* of items in a record of the journal            */

/* The segment, or piece of it, that a message means. */
static enum rs_status
look_at(const struct shard *s, struct shard_reader *r, struct body_waiting *head,
	const struct shard_table **out)
{
	const struct shard_table *t;

	RS_TRY(shard_reader_copy(r, head, sizeof(*head)));
	RS_TRY(shard_find_table(s, head->table, &t));
	if (t->kind != TABLE_EXACT)
		return rs_fail(RS_EPROTOCOL, "table '%s' is hashed, nobody waits for a row",
			t->name);
	if (head->n > 0 && (t->item_bytes == 0
	    || head->n > (FRAME_BODY_MAX - sizeof(*head)) / t->item_bytes))
		return rs_fail(RS_EPROTOCOL, "table '%s': %u items of a filter", t->name, head->n);
	*out = t;
	return RS_OK;
}

static enum rs_status
look_at_get(const struct shard *s, const struct wire_message *m, struct body_waiting *head,
	const struct shard_table **out)
{
	struct shard_reader r;

	shard_reader_init(&r, m);
	RS_TRY(look_at(s, &r, head, out));
	if (r.left > 0)
		return rs_fail(RS_EPROTOCOL, "%zu bytes too many", r.left);
	return RS_OK;
}

enum rs_status
shard_waiting_get(struct shard *s, struct wire_message *m)
{
	const struct shard_table *t;
	struct body_waiting head;

	RS_TRY(shard_check_rank(s, m));
	RS_TRY(look_at_get(s, m, &head, &t));
	return shard_park_take(s, m);
}

/* A piece of head->segment, up to head->n items, and what the head then is. */
static enum rs_status
get(const struct shard *s, const struct shard_table *t, struct body_waiting *head,
	struct shard_block *block)
{
	struct lookup_waiting w = { .table = t->local };

	body_waiting_get(head, &w);
	w.item = block->data;
	w.has_tally = 1;
	RS_TRY(lookup_local_get_waiting(s->lookup, &w));
	body_waiting_put(&w, head->table, head);
	return RS_OK;
}

enum rs_status
shard_waiting_answer(struct shard *s, const struct wire_message *m)
{
	const struct shard_table *t;
	struct body_waiting head;
	struct shard_block *block;

	RS_TRY(look_at_get(s, m, &head, &t));
	RS_TRY(shard_pool_take(s->pool, head.n * t->item_bytes, &block));

	const enum rs_status status = get(s, t, &head, block);

	if (status != RS_OK) {
		shard_pool_put(block);
		return status;
	}

	const struct wire_part part[] = {
		{ .data = &head, .n = sizeof(head) },
		{ .data = block->data, .n = head.n * t->item_bytes,
		  .release = shard_pool_release, .hint = block },
	};

	shard_answer(s, m, FRAME_WAITING_R, part, 2);
	return RS_OK;
}

/* --- setting ----------------------------------------------------------------------------- */

static enum rs_status
put(struct shard *s, struct shard_reader *r)
{
	struct lookup_waiting w = { .item = NULL };
	const struct shard_table *t;
	struct buffer scratch = { 0 };
	struct body_waiting head;
	const uint8_t *items;
	enum rs_status status;

	RS_TRY(look_at(s, r, &head, &t));
	if (r->left != head.n * t->item_bytes)
		return rs_fail(RS_EPROTOCOL, "table '%s': %zu bytes of %u items", t->name,
			r->left, head.n);
	RS_TRY(shard_reader_block(r, r->left, &scratch, &items));
	w.table = t->local;
	body_waiting_get(&head, &w);
	w.item = (void *)(uintptr_t)items;
	status = lookup_local_put_waiting(s->lookup, &w);
	buffer_free(&scratch);
	return status;
}

enum rs_status
shard_waiting_put(struct shard *s, struct wire_message *m)
{
	struct shard_reader r;

	RS_TRY(shard_check_rank(s, m));
	RS_TRY(shard_rows_may_put(s, m));
	shard_reader_init(&r, m);
	shard_rows_change(s);
	RS_TRY(put(s, &r));
	shard_answer(s, m, FRAME_WAITING_R, NULL, 0);
	return RS_OK;
}

enum rs_status
shard_waiting_replay(struct shard *s, const uint8_t *body, size_t n)
{
	const struct frame_part part = { body, n };
	struct shard_reader r = { .part = &part, .n_parts = 1, .left = n };

	return put(s, &r);
}

/* --- writing ----------------------------------------------------------------------------- */

static void
write_piece(struct shard *s, const struct body_waiting *head, const struct shard_block *block,
	size_t item_bytes)
{
	const struct journal_record r = { .type = JOURNAL_WAITING, .step = s->applied };
	const struct frame_part part[] = {
		{ head, sizeof(*head) }, { block->data, head->n * item_bytes },
	};

	journal_append(s->journal, &r, part, 2);
}

enum rs_status
shard_waiting_write(struct shard *s, const struct shard_table *t, unsigned segment)
{
	const uint32_t most = t->item_bytes > 0 ? (uint32_t)(PIECE_BYTES / t->item_bytes) : 0;
	struct body_waiting head;
	struct shard_block *block;
	enum rs_status status = RS_OK;
	uint64_t next = 0;

	RS_TRY(shard_pool_take(s->pool, most * t->item_bytes, &block));
	do {
		head = (struct body_waiting){ .table = (uint32_t)(t - s->table),
			.segment = segment, .first = next, .n = most };
		status = get(s, t, &head, block);
		if (status == RS_OK)
			write_piece(s, &head, block, t->item_bytes);
		next += head.n;
	} while (status == RS_OK && next < head.total);
	shard_pool_put(block);
	return status;
}
