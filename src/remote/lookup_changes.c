/*
 * What changed of tables on shards, for versions that are that, and rows by id of hashed tables
 * most of whose rows were never touched.
 *
 * Each shard makes a file of its part (embed/rows_file.h); here the entries of all, then the ids
 * that went, become one file, the one that a single process writes.
 */
#include <stdlib.h>
#include <string.h>

#include "base/failpoint.h"
#include "embed/rows_file.h"
#include "remote/lookup_walk.h"

#define PIECE_BYTES ((size_t)4 << 20)

#define TRIES       3u

/* A shard's file of a part; size 0: it is not known yet. */
struct wanted { size_t table, shard; enum rows_file_kind kind; uint64_t size; };
struct piece { struct wanted of; struct rows_file_header header; };

/* Asks about a table; *head becomes the answer's, whose bytes go to `bytes`, if there are any. */
static enum rs_status
ask(struct remote_lookup *l, size_t shard, struct body_changes *head, void *bytes)
{
	struct client_call call = {
		.server = shard, .n_parts = 1, .part = { { head, sizeof(*head) } },
		.frame = { .type = FRAME_CHANGES, .slot = (uint32_t)l->o.rank,
			.step = l->clock },
	};
	struct client_call *const wanted = &call;
	struct body_changes got = { .table = 0 };
	enum rs_status status;

	RS_TRY(client_send(l->o.client, &call));
	status = client_wait(l->o.client, &wanted, 1);
	if (status == RS_OK)
		status = lookup_wire_want(&call, FRAME_CHANGES_R);
	if (status == RS_OK && (!lookup_walk_copy(&call.reply, 0, sizeof(got), &got)
	    || got.table != head->table || got.what != head->what
	    || got.n != (got.what == BODY_CHANGES_READ && !got.known ? 0 : head->n)
	    || call.reply.frame.body_bytes != sizeof(got) + got.n
	    || !lookup_walk_copy(&call.reply, sizeof(got), got.n, bytes)))
		status = rs_fail(RS_EPROTOCOL, "ps %zu answers with other changes of table '%s'",
			shard, l->table[head->table].name);
	wire_message_free(&call.reply);
	*head = got;
	return status;
}

/* *size: the sum of what the parts answer. */
static enum rs_status
ask_parts(struct remote_lookup *l, size_t table, enum body_changes_what what, int *known,
	uint64_t *size)
{
	const struct parts *p = &l->parts;

	RS_TRY(lookup_wire_wait(l, 0));
	for (size_t i = p->first[table]; i < p->first[table + 1]; i++) {
		struct body_changes head = { .table = (uint32_t)table, .what = what };

		RS_TRY(ask(l, p->part[i].shard, &head, NULL));
		*known &= head.known != 0;
		*size += head.size;
	}
	return RS_OK;
}

enum rs_status
lookup_changes_forget(struct remote_lookup *l, size_t table)
{
	uint64_t bytes = 0;
	int unused = 1;

	return l->o.base.keeps_changes
		? ask_parts(l, table, BODY_CHANGES_FORGET, &unused, &bytes) : RS_OK;
}

void
lookup_changes_forget_all(struct lookup *base)
{
	struct remote_lookup *l = lookup_of(base);
	enum rs_status status = RS_OK;

	/* The next fetch, load or save tells. */
	for (size_t t = 0; t < l->n_tables && status == RS_OK; t++)
		status = lookup_changes_forget(l, t);
	if (status != RS_OK && l->late.status == RS_OK)
		rs_failure_take(&l->late);
}

/* Bytes of the file that a shard makes of its part as `kind` says.  One that was restarted since
 * makes it anew, of the same rows; size 0: whatever there is of them then. */
static enum rs_status
read_bytes(struct remote_lookup *l, const struct wanted *wanted, uint64_t offset, size_t n,
	void *bytes)
{
	for (unsigned tries = 0; tries < TRIES; tries++) {
		struct body_changes head = { .table = (uint32_t)wanted->table,
			.what = BODY_CHANGES_READ, .offset = offset, .n = (uint32_t)n };

		RS_TRY(ask(l, wanted->shard, &head, bytes));
		if (head.known)
			return RS_OK;
		head = (struct body_changes){ .table = (uint32_t)wanted->table,
			.what = wanted->kind == ROWS_FILE_DELTA ? BODY_CHANGES_MAKE
				: BODY_CHANGES_WHOLE };
		RS_TRY(ask(l, wanted->shard, &head, NULL));
		if (!head.known || (wanted->size > 0 && head.size != wanted->size))
			break;
	}
	return rs_fail(RS_EPEER, "ps %zu was restarted while table '%s' was saved, and has "
		"other rows of it now", wanted->shard, l->table[wanted->table].name);
}

/* --- saving ---------------------------------------------------------------------------- */

/* Bytes [from,from+n) of the file of a piece. */
static enum rs_status
copy_bytes(struct remote_lookup *l, const struct piece *p, uint64_t from, uint64_t n,
	struct file_writer *w)
{
	enum rs_status status = RS_OK;
	char *bytes;

	RS_TRY(memory_alloc(PIECE_BYTES, 1, &bytes));
	for (uint64_t at = 0; at < n && status == RS_OK; at += PIECE_BYTES) {
		const size_t here = n - at < PIECE_BYTES ? n - at : PIECE_BYTES;

		failpoint("lookup_changes.read");
		status = read_bytes(l, &p->of, from + at, here, bytes);
		if (status == RS_OK)
			status = file_writer_write(w, bytes, here);
	}
	free(bytes);
	return status;
}

static enum rs_status
read_header(struct remote_lookup *l, size_t table, size_t shard, enum rows_file_kind kind,
	struct piece *out)
{
	const struct lookup_table *t = &l->table[table];

	out->of = (struct wanted){ .table = table, .shard = shard, .kind = kind };
	RS_TRY(read_bytes(l, &out->of, 0, sizeof(out->header), &out->header));
	out->of.size = out->header.file_bytes;
	if (memcmp(out->header.magic, ROWS_FILE_MAGIC, sizeof(out->header.magic)) == 0
	    && strncmp(out->header.name, t->name, sizeof(out->header.name)) == 0
	    && out->header.kind == (uint32_t)kind && out->header.dim == t->dim)
		return RS_OK;
	return rs_fail(RS_EPROTOCOL, "ps %zu has rows of another table than '%s'", shard,
		t->name);
}

/* One file has decays of all rows, so shards that had others, of which some stood still, write
 * whole tables. */
static int
decays_agree(struct remote_lookup *l, size_t table)
{
	const struct parts *p = &l->parts;
	struct row_decays first = { .n = 0 };
	struct piece piece;

	for (size_t i = p->first[table]; i < p->first[table + 1]; i++) {
		if (read_header(l, table, p->part[i].shard, ROWS_FILE_DELTA, &piece) != RS_OK)
			return 0;
		if (i == p->first[table])
			first = piece.header.decays;
		if (memcmp(&piece.header.decays, &first, sizeof(first)) != 0)
			return 0;
	}
	return 1;
}

int
lookup_changes_known(struct lookup *base, size_t table)
{
	struct remote_lookup *l = lookup_of(base);
	int known = l->o.base.keeps_changes;
	uint64_t bytes = 0;

	/* Who cannot be asked now cannot be, either, when all is saved, which then fails. */
	return known && ask_parts(l, table, BODY_CHANGES_MAKE, &known, &bytes) == RS_OK && known
	    && decays_agree(l, table);
}

/* That of all pieces, made of the first; step NULL: of all rows. */
static struct rows_file_header
header_of(const struct lookup_table *t, const struct lookup_step *step, const struct piece *piece,
	size_t n)
{
	struct rows_file_header h = piece[0].header;

	h.begin = 0;
	h.end = t->rows;
	h.n = h.n_gone = 0;
	for (size_t i = 0; i < n; i++) {
		h.n += piece[i].header.n;
		h.n_gone += piece[i].header.n_gone;
	}
	h.gone = h.entries + h.n * h.entry_bytes;
	h.file_bytes = h.gone + h.n_gone * sizeof(uint64_t);
	h.model_version = step != NULL ? step->version : 0;
	h.parent = step != NULL ? step->parent : 0;
	return h;
}

static enum rs_status
save(struct remote_lookup *l, size_t table, const struct lookup_step *step, struct piece *piece,
	struct file_writer *w)
{
	const enum rows_file_kind kind = step != NULL ? ROWS_FILE_DELTA : ROWS_FILE_FULL;
	const struct part *part = l->parts.part + l->parts.first[table];
	const size_t n = l->parts.first[table + 1] - l->parts.first[table];
	struct rows_file_header h;

	for (size_t i = 0; i < n; i++)
		RS_TRY(read_header(l, table, part[i].shard, kind, &piece[i]));
	h = header_of(&l->table[table], step, piece, n);
	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	for (size_t i = 0; i < n; i++)
		RS_TRY(copy_bytes(l, &piece[i], piece[i].header.entries,
			piece[i].header.n * piece[i].header.entry_bytes, w));
	for (size_t i = 0; i < n; i++)
		RS_TRY(copy_bytes(l, &piece[i], piece[i].header.gone,
			piece[i].header.n_gone * sizeof(uint64_t), w));
	return RS_OK;
}

enum rs_status
lookup_changes_save(struct lookup *base, size_t table, const struct lookup_step *step,
	struct file_writer *w)
{
	struct remote_lookup *l = lookup_of(base);
	struct piece *piece;
	enum rs_status status;

	RS_TRY(memory_alloc(l->parts.first[table + 1] - l->parts.first[table] + 1, sizeof(*piece),
		&piece));
	status = save(l, table, step, piece, w);
	free(piece);
	return status;
}

enum rs_status
lookup_changes_count(struct remote_lookup *l, size_t table, uint64_t *n)
{
	int unused = 1;

	*n = 0;
	return ask_parts(l, table, BODY_CHANGES_COUNT, &unused, n);
}

enum rs_status
lookup_changes_save_rows(struct remote_lookup *l, size_t table, struct file_writer *w)
{
	uint64_t bytes = 0;
	int unused = 1;

	RS_TRY(ask_parts(l, table, BODY_CHANGES_WHOLE, &unused, &bytes));
	RS_TRY(lookup_changes_save(&l->base, table, NULL, w));
	return ask_parts(l, table, BODY_CHANGES_DROP, &unused, &bytes);
}
