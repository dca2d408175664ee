/* CHANGES: what changed of a table since a version, as a file in memory, or rows by id, a file that
 * is read in pieces and made so. */
#include <inttypes.h>
#include <string.h>

#include "remote/shard_private.h"

static void
close_file(struct shard_changes *c)
{
	if (c->map.data != NULL)
		file_map_close(&c->map);
	c->map = (struct file_map){ .data = NULL };
	file_writer_close(&c->file);
}

void
shard_changes_free(struct shard *s)
{
	struct shard_changes *c = &s->changes;

	if (!c->is_there)
		return;
	close_file(c);
	rows_pieces_close(&c->pieces);
	*c = (struct shard_changes){ .is_there = 0 };
}

static enum rs_status
look_at(const struct shard *s, const struct wire_message *m, struct body_changes *head,
	const struct shard_table **out)
{
	struct shard_reader r;

	shard_reader_init(&r, m);
	RS_TRY(shard_reader_copy(&r, head, sizeof(*head)));
	if (r.left > 0)
		return rs_fail(RS_EPROTOCOL, "%zu bytes too many", r.left);
	if (m->frame.slot != 0 && (head->what == BODY_CHANGES_MAKE
	    || head->what == BODY_CHANGES_FORGET))
		return rs_fail(RS_EPROTOCOL, "worker %u asks what changed", m->frame.slot);
	return shard_find_table(s, head->table, out);
}

enum rs_status
shard_changes_take(struct shard *s, struct wire_message *m)
{
	const struct shard_table *t;
	struct body_changes head;

	RS_TRY(shard_check_rank(s, m));
	RS_TRY(look_at(s, m, &head, &t));
	return shard_park_take(s, m);
}

static enum rs_status
finish_file(struct shard_changes *c)
{
	RS_TRY(file_writer_commit(&c->file));
	return file_map_open(&c->map, c->file.path);
}

/* The version that a delta leads to is written by who asks, who knows it. */
static enum rs_status
make_changes(struct shard *s, size_t local)
{
	const struct lookup_step step = { .version = 0 };
	struct shard_changes *c = &s->changes;

	RS_TRY(file_writer_open_memory(&c->file));
	RS_TRY(s->lookup->ops->save_delta(s->lookup, local, &step, &c->file));
	RS_TRY(finish_file(c));
	c->size = c->map.size;
	return RS_OK;
}

static enum rs_status
make_pieces(struct shard *s, size_t local)
{
	struct shard_changes *c = &s->changes;

	RS_TRY(lookup_local_open_pieces(s->lookup, local, &c->pieces));
	c->size = c->pieces.header.file_bytes;
	return RS_OK;
}

static enum rs_status
make(struct shard *s, size_t local, uint32_t what)
{
	struct shard_changes *c = &s->changes;

	shard_changes_free(s);
	c->file.fd = -1;
	c->table = local;
	c->is_there = 1;
	const enum rs_status status = what == BODY_CHANGES_WHOLE ? make_pieces(s, local)
		: make_changes(s, local);
	if (status != RS_OK)
		shard_changes_free(s);
	return status;
}

/* Bytes [from,to) of rows by id are in the map. */
static enum rs_status
make_piece(struct shard_changes *c, uint64_t from, uint64_t to)
{
	close_file(c);
	RS_TRY(file_writer_open_memory(&c->file));
	RS_TRY(rows_pieces_write(&c->pieces, from, to, &c->file, &c->begins));
	return finish_file(c);
}

/* A shard that was restarted since has no file: who reads it asks for it again. */
static enum rs_status
answer_read(struct shard *s, const struct shard_table *t, struct body_changes *head)
{
	struct shard_changes *c = &s->changes;

	head->known = c->is_there && c->table == t->local;
	if (!head->known) {
		head->n = 0;
		return RS_OK;
	}
	if (head->offset > c->size || head->n > c->size - head->offset
	    || head->n > FRAME_BODY_MAX - sizeof(*head))
		return rs_fail(RS_EPROTOCOL, "table '%s': %u bytes at %" PRIu64
			" of what changed are not there", t->name, head->n, head->offset);
	return c->pieces.marked == NULL || head->n == 0 ? RS_OK
		: make_piece(c, head->offset, head->offset + head->n);
}

static enum rs_status
answer_make(struct shard *s, const struct shard_table *t, struct body_changes *head)
{
	head->known = head->what == BODY_CHANGES_WHOLE
		|| s->lookup->ops->knows_changes(s->lookup, t->local);
	if (head->known)
		RS_TRY(make(s, t->local, head->what));
	head->size = s->changes.size;
	return RS_OK;
}

static enum rs_status
answer_forget(struct shard *s, const struct shard_table *t, struct body_changes *head)
{
	shard_changes_free(s);
	if (head->what == BODY_CHANGES_FORGET)
		lookup_local_forget(s->lookup, t->local);
	return RS_OK;
}

static enum rs_status
answer_count(struct shard *s, const struct shard_table *t, struct body_changes *head)
{
	head->size = lookup_local_count_rows(s->lookup, t->local);
	return RS_OK;
}

static enum rs_status (*const answer_of[])(struct shard *s, const struct shard_table *t,
	struct body_changes *head) = {
	[BODY_CHANGES_MAKE] = answer_make, [BODY_CHANGES_READ] = answer_read,
	[BODY_CHANGES_FORGET] = answer_forget, [BODY_CHANGES_COUNT] = answer_count,
	[BODY_CHANGES_WHOLE] = answer_make, [BODY_CHANGES_DROP] = answer_forget,
};

enum rs_status
shard_changes_answer(struct shard *s, const struct wire_message *m)
{
	struct wire_part part[2] = { { .data = NULL } };
	const struct shard_table *t;
	struct body_changes head;

	RS_TRY(look_at(s, m, &head, &t));
	if (head.what > BODY_CHANGES_DROP)
		return rs_fail(RS_EPROTOCOL, "CHANGES with what = %u", head.what);
	if ((head.what == BODY_CHANGES_COUNT || head.what == BODY_CHANGES_WHOLE)
	    && t->kind == TABLE_EXACT)
		return rs_fail(RS_EPROTOCOL, "table '%s' is exact: all its rows are by id",
			t->name);
	head.n = head.what == BODY_CHANGES_READ ? head.n : 0;
	RS_TRY(answer_of[head.what](s, t, &head));
	part[0] = (struct wire_part){ .data = &head, .n = sizeof(head) };
	if (head.n > 0)
		part[1] = (struct wire_part){ .n = head.n,
			.data = s->changes.map.data + (head.offset - s->changes.begins) };
	shard_answer(s, m, FRAME_CHANGES_R, part, head.n > 0 ? 2 : 1);
	return RS_OK;
}
