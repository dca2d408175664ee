/* SNAP_GET, SNAP_PUT: whole rows, with the state of their optimizer. */
#include <inttypes.h>
#include <string.h>

#include "remote/shard_private.h"

/* The rows that a message means, and the bytes of one: of an exact table an entry. */
struct rows {
	struct body_rows head;
	const struct shard_table *table;
	size_t row_bytes;
};

/* Of an exact table.  Who says how many there will be is not believed beyond reason. */
static enum rs_status
look_at_range(const struct shard *s, const struct rows *r)
{
	const struct shard_table *t = r->table;
	const struct body_rows *h = &r->head;

	if (h->begin < t->begin || h->begin > h->end || h->end > t->end)
		return rs_fail(RS_EPROTOCOL, "table '%s': ids %" PRIx64 " to %" PRIx64
			" are not all of %" PRIx64 " to %" PRIx64, t->name, h->begin, h->end,
			t->begin, t->end);
	if (h->n_segment > shard_memory_bytes(s) / t->entry_bytes)
		return rs_fail(RS_EPROTOCOL, "table '%s': %" PRIu64 " rows in a segment", t->name,
			h->n_segment);
	return RS_OK;
}

static enum rs_status
look_at(const struct shard *s, struct shard_reader *r, struct rows *out)
{
	struct body_rows *h = &out->head;
	const struct shard_table *t;

	RS_TRY(shard_reader_copy(r, h, sizeof(*h)));
	RS_TRY(shard_find_table(s, h->table, &t));
	out->table = t;
	if (t->kind == TABLE_EXACT)
		return look_at_range(s, out);
	if (h->begin < t->begin || h->begin > t->end || h->n > t->end - h->begin)
		return rs_fail(RS_EPROTOCOL, "table '%s': %u rows from %" PRIu64
			" are not all of %" PRIu64 " to %" PRIu64, t->name, h->n, h->begin,
			t->begin, t->end);
	return RS_OK;
}

static struct lookup_rows
rows_in(const struct rows *r, uint8_t *data)
{
	const size_t n = r->head.n, weights = n * r->head.dim * sizeof(float);
	const size_t slots = n * r->head.n_slot * sizeof(float);

	return (struct lookup_rows){
		.table = r->table->local, .begin = r->head.begin, .n = n,
		.weights = (float *)(void *)data,
		.slots = slots > 0 ? (float *)(void *)(data + weights) : NULL,
		.touched = data + weights + slots,
	};
}

static struct lookup_entries
entries_in(const struct rows *r, uint8_t *data)
{
	return (struct lookup_entries){ .table = r->table->local, .begin = r->head.begin,
		.end = r->head.end, .n = r->head.n, .entry = data,
		.n_segment = r->head.n_segment };
}

static size_t
bytes_of_row(const struct shard_table *t, size_t n_slot)
{
	return t->kind == TABLE_EXACT ? t->entry_bytes : (t->dim + n_slot) * sizeof(float) + 1;
}

static enum rs_status
look_at_get(const struct shard *s, const struct wire_message *m, struct rows *out)
{
	struct shard_reader r;

	shard_reader_init(&r, m);
	RS_TRY(look_at(s, &r, out));
	if (r.left > 0)
		return rs_fail(RS_EPROTOCOL, "%zu bytes too many", r.left);
	out->head.dim = (uint32_t)out->table->dim;
	out->head.n_slot = (uint32_t)out->table->n_slot;
	out->row_bytes = bytes_of_row(out->table, out->table->n_slot);
	if (out->head.n > (FRAME_BODY_MAX - sizeof(out->head)) / out->row_bytes)
		return rs_fail(RS_EPROTOCOL, "table '%s': %u rows are too many for one answer",
			out->table->name, out->head.n);
	return RS_OK;
}

enum rs_status
shard_rows_get(struct shard *s, struct wire_message *m)
{
	struct rows rows;

	RS_TRY(shard_check_rank(s, m));
	RS_TRY(look_at_get(s, m, &rows));
	return shard_park_take(s, m);
}

/* The rows of an exact table may be fewer than were asked for: the head says. */
static enum rs_status
get(const struct shard *s, struct rows *r, uint8_t *data)
{
	const struct lookup_rows want = rows_in(r, data);
	struct lookup_entries entries = entries_in(r, data);

	if (r->table->kind != TABLE_EXACT)
		return lookup_local_get(s->lookup, &want);
	RS_TRY(lookup_local_get_entries(s->lookup, &entries));
	r->head.n = (uint32_t)entries.n;
	r->head.end = entries.end;
	r->head.n_segment = entries.n_segment;
	r->head.n_table = entries.n_table;
	return RS_OK;
}

enum rs_status
shard_rows_answer(struct shard *s, const struct wire_message *m)
{
	struct rows rows;
	struct shard_block *block;

	RS_TRY(look_at_get(s, m, &rows));
	/* Who asks how many there are wants to save them. */
	if (rows.table->kind == TABLE_EXACT && rows.head.n == 0)
		lookup_local_sweep(s->lookup, rows.table->local);

	RS_TRY(shard_pool_take(s->pool, rows.head.n * rows.row_bytes, &block));

	const enum rs_status status = get(s, &rows, block->data);

	shard_journal_got(s, rows.head.n);

	if (status != RS_OK) {
		shard_pool_put(block);
		return status;
	}

	const struct wire_part part[] = {
		{ .data = &rows.head, .n = sizeof(rows.head) },
		{ .data = block->data, .n = rows.head.n * rows.row_bytes,
		  .release = shard_pool_release, .hint = block },
	};

	shard_answer(s, m, FRAME_SNAP_R, part, 2);
	return RS_OK;
}

enum rs_status
shard_rows_may_put(const struct shard *s, const struct wire_message *m)
{
	if (m->frame.slot == 0)
		return RS_OK;
	for (size_t r = 0; r < s->head.n_ranks; r++)
		if (s->rank[r].latest >= s->head.first_step)
			return rs_fail(RS_EPROTOCOL, "worker %u sets rows after step %" PRIu64,
				m->frame.slot, s->rank[r].latest);
	return RS_OK;
}

static int
all_bits(const uint8_t *touched, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (touched[i] > 1)
			return 0;
	return 1;
}

static enum rs_status
set_rows(struct shard *s, const struct rows *rows, struct shard_reader *r, struct shard_block *b)
{
	const struct lookup_rows put = rows_in(rows, b->data);
	const struct lookup_entries entries = entries_in(rows, b->data);

	RS_TRY(shard_reader_copy(r, b->data, r->left));
	if (rows->table->kind == TABLE_EXACT)
		return lookup_local_put_entries(s->lookup, &entries);
	if (!all_bits(put.touched, put.n))
		return rs_fail(RS_EPROTOCOL, "table '%s': a row is touched neither 0 nor 1",
			rows->table->name);
	return lookup_local_put(s->lookup, &put);
}

/* The rows, and that the body has all of them and nothing else. */
static enum rs_status
look_at_put(const struct shard *s, struct shard_reader *r, struct rows *rows)
{
	RS_TRY(look_at(s, r, rows));
	if (rows->head.dim != rows->table->dim
	    || (rows->head.n_slot != rows->table->n_slot
	    && (rows->head.n_slot != 0 || rows->table->kind == TABLE_EXACT)))
		return rs_fail(RS_EPROTOCOL,
			"table '%s': rows of %u and %u floats, not %zu and %zu",
			rows->table->name, rows->head.dim, rows->head.n_slot, rows->table->dim,
			rows->table->n_slot);
	rows->row_bytes = bytes_of_row(rows->table, rows->head.n_slot);
	if (r->left != rows->head.n * rows->row_bytes)
		return rs_fail(RS_EPROTOCOL, "table '%s': %zu bytes of %u rows",
			rows->table->name, r->left, rows->head.n);
	return RS_OK;
}

static enum rs_status
put(struct shard *s, const struct rows *rows, struct shard_reader *r)
{
	struct shard_block *block;
	enum rs_status status;

	RS_TRY(shard_pool_take(s->pool, r->left, &block));
	status = set_rows(s, rows, r, block);
	shard_pool_put(block);
	return status;
}

void
shard_rows_change(struct shard *s)
{
	s->is_settled = s->is_pristine = 0;
	shard_undo_forget(s);
	shard_journal_reset(s);
}

enum rs_status
shard_rows_put(struct shard *s, struct wire_message *m)
{
	struct shard_reader r;
	struct rows rows;

	RS_TRY(shard_check_rank(s, m));
	RS_TRY(shard_rows_may_put(s, m));
	shard_reader_init(&r, m);
	RS_TRY(look_at_put(s, &r, &rows));
	shard_rows_change(s);
	RS_TRY(put(s, &rows, &r));

	const struct wire_part part = { .data = &rows.head, .n = sizeof(rows.head) };

	shard_answer(s, m, FRAME_SNAP_R, &part, 1);
	return RS_OK;
}

enum rs_status
shard_rows_replay(struct shard *s, const uint8_t *body, size_t n)
{
	const struct frame_part part = { body, n };
	struct shard_reader r = { .part = &part, .n_parts = 1, .left = n };
	struct rows rows;

	RS_TRY(look_at_put(s, &r, &rows));
	return put(s, &rows, &r);
}
