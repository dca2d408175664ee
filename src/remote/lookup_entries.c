/* Whole exact tables between shards and files, by ranges of ids. */
#include <string.h>

#include "embed/row_optimizer.h"
#include "embed/rows_file.h"
#include "remote/lookup_walk.h"

static struct rows_file_shape
shape_of(const struct lookup_walk *w)
{
	return (struct rows_file_shape){ .name = w->t->name,
		.optimizer = row_optimizer_get(w->t->optimizer.kind)->name,
		.table_kind = w->t->kind, .rows = w->t->rows, .dim = w->dim, .n_slot = w->n_slot,
		.storage = w->t->storage };
}

static struct exact_entry *
entry_at(const struct lookup_walk *w, const struct lookup_snap *s, size_t i)
{
	return (struct exact_entry *)(void *)(s->entry + i * w->entry_bytes);
}

static float *
slots_of(const struct lookup_walk *w, const struct exact_entry *entry)
{
	return exact_row(entry) + row_slot_at(w->t->storage, w->dim);
}

/* Up to n entries of a part from id `begin` on; *head is what the shard says of them. */
static enum rs_status
get(struct lookup_walk *w, size_t part, uint64_t begin, size_t n, struct lookup_snap **out,
	struct body_rows *head)
{
	const uint64_t end = w->l->parts.part[part].end;
	struct lookup_snap *s = lookup_walk_free_snap(w);
	int whole;

	s->part = part;
	s->begin = begin;
	s->end = n > 0 ? end : begin;
	s->n = n;
	s->n_segment = 0;
	RS_TRY(lookup_walk_send(w, s, FRAME_SNAP_GET));
	RS_TRY(lookup_walk_take(w, out));
	s = *out;
	whole = lookup_walk_copy(&s->call.reply, 0, sizeof(*head), head)
	    && head->table == w->table && head->begin == begin && head->n <= n
	    && head->end <= s->end && (n == 0 || head->end > begin)
	    && lookup_walk_copy(&s->call.reply, sizeof(*head), head->n * w->entry_bytes, s->entry)
	    && s->call.reply.frame.body_bytes == sizeof(*head) + head->n * w->entry_bytes;
	wire_message_free(&s->call.reply);
	return whole ? RS_OK : lookup_walk_refuse(w, s);
}

/* context: uint64_t, the rows. */
static enum rs_status
count(struct lookup_walk *w, void *context)
{
	const struct parts *p = &w->l->parts;
	uint64_t *n = context;
	struct lookup_snap *s;
	struct body_rows head;

	*n = 0;
	for (size_t i = p->first[w->table]; i < p->first[w->table + 1]; i++) {
		RS_TRY(get(w, i, p->part[i].begin, 0, &s, &head));
		*n += head.n_table;
	}
	return RS_OK;
}

static enum rs_status
walk(struct remote_lookup *l, size_t table,
	enum rs_status (*what)(struct lookup_walk *w, void *context), void *context)
{
	struct lookup_walk *w;
	enum rs_status status;

	RS_TRY(lookup_walk_open(l, table, &w));
	status = what(w, context);
	lookup_walk_close(w);
	return status;
}

enum rs_status
lookup_entries_count(struct remote_lookup *l, size_t table, uint64_t *n)
{
	return walk(l, table, count, n);
}

/* Calls each() with the entries of every part, in order. */
static enum rs_status
visit(struct lookup_walk *w, enum rs_status (*each)(struct lookup_walk *w,
	struct lookup_snap *s, const struct body_rows *head, void *context), void *context)
{
	const struct parts *p = &w->l->parts;

	for (size_t i = p->first[w->table]; i < p->first[w->table + 1]; i++)
		for (uint64_t id = p->part[i].begin; id < p->part[i].end;) {
			struct lookup_snap *s;
			struct body_rows head;

			RS_TRY(get(w, i, id, w->most, &s, &head));
			id = head.end;
			RS_TRY(each(w, s, &head, context));
		}
	return RS_OK;
}

/* --- saving ---------------------------------------------------------------------------- */

struct saving { struct file_writer *file; uint64_t n; };

static enum rs_status
save_entries(struct lookup_walk *w, struct lookup_snap *s, const struct body_rows *head,
	void *context)
{
	struct saving *f = context;

	for (size_t i = 0; i < head->n; i++)
		entry_at(w, s, i)->changed = 0;
	f->n += head->n;
	return file_writer_write(f->file, s->entry, head->n * w->entry_bytes);
}

static enum rs_status
save(struct lookup_walk *w, void *context)
{
	const struct rows_file_shape shape = shape_of(w);
	struct saving f = { .file = context };
	struct rows_file_header h;
	uint64_t n;

	RS_TRY(count(w, &n));
	h = rows_file_header_make(&shape, 0, w->t->rows, n, 0);
	RS_TRY(file_writer_write(f.file, &h, sizeof(h)));
	RS_TRY(visit(w, save_entries, &f));
	if (f.n == n)
		return RS_OK;
	return rs_fail(RS_EPROTOCOL, "table '%s' has changed from %llu to %llu rows while it was "
		"saved", w->t->name, (unsigned long long)n, (unsigned long long)f.n);
}

enum rs_status
lookup_entries_save(struct remote_lookup *l, size_t table, struct file_writer *file)
{
	return walk(l, table, save, file);
}

/* --- loading --------------------------------------------------------------------------- */

/* The first entry of a file with an id that is not below. */
static uint64_t
find(const struct rows_file_piece *p, uint64_t id)
{
	uint64_t from = 0, to = p->header->n;

	while (from < to) {
		const uint64_t middle = from + (to - from) / 2;

		if (rows_file_entry(p, middle)->id < id)
			from = middle + 1;
		else
			to = middle;
	}
	return from;
}

static void
fill_entry(const struct lookup_walk *w, const struct rows_file_piece *p, uint64_t i,
	struct exact_entry *to)
{
	const struct exact_entry *from = rows_file_entry(p, i);

	memset(to, 0, w->entry_bytes);
	*to = *from;
	row_convert(p->header->storage, from + 1, w->t->storage, exact_row(to), w->dim);
	if (p->has_state)
		memcpy(slots_of(w, to), rows_file_slots(p, from), w->n_slot * sizeof(float));
	else
		lookup_walk_init_slots(w, slots_of(w, to), 1, 0);
}

struct range { size_t part; uint64_t begin, end; };

/* Entries [i,n) of a file, up to the most of a call, from id `begin` on: they are all that
 * there are up to `end`. */
static enum rs_status
put(struct lookup_walk *w, const struct rows_file_piece *p, const struct range *range, uint64_t i,
	uint64_t n)
{
	struct lookup_snap *s;

	while ((s = lookup_walk_free_snap(w)) == NULL)
		RS_TRY(lookup_walk_take_put(w));
	s->part = range->part;
	s->begin = range->begin;
	s->end = n - i > w->most ? rows_file_entry(p, i + w->most)->id : range->end;
	s->n = n - i > w->most ? w->most : (size_t)(n - i);
	s->n_segment = 0;
	for (size_t k = 0; k < s->n; k++)
		fill_entry(w, p, i + k, entry_at(w, s, k));
	if (s->n > 0) {
		const unsigned at = exact_segment_of(entry_at(w, s, s->n - 1)->id);

		s->n_segment = find(p, exact_segment_begin(at + 1)) -
			find(p, exact_segment_begin(at));
	}
	return lookup_walk_send(w, s, FRAME_SNAP_PUT);
}

struct loading { struct lookup_walk *w; int anew; };

static enum rs_status
load_piece(void *context, const struct rows_file_piece *p)
{
	struct loading *f = context;
	struct lookup_walk *w = f->w;
	const struct parts *parts = &w->l->parts;
	const uint64_t begin = p->header->begin, end = p->header->end;

	for (size_t k = parts->first[w->table]; k < parts->first[w->table + 1]; k++) {
		const struct part *part = &parts->part[k];
		struct range range = { .part = k,
			.begin = part->begin > begin ? part->begin : begin,
			.end = part->end < end ? part->end : end };
		uint64_t i = find(p, range.begin);
		const uint64_t n = find(p, range.end);

		while (range.begin < range.end) {
			const uint64_t next = n - i > w->most ? i + w->most : n;

			RS_TRY(put(w, p, &range, i, n));
			range.begin = next < n ? rows_file_entry(p, next)->id : range.end;
			i = next;
		}
	}
	f->anew |= !p->has_state && w->n_slot > 0;
	while (w->n_busy > 0)
		RS_TRY(lookup_walk_take_put(w));
	return RS_OK;
}

enum rs_status
lookup_entries_load(struct remote_lookup *l, size_t table, const char *const *path, size_t n_paths,
	int *anew)
{
	struct loading f = { .anew = 0 };
	enum rs_status status;
	uint64_t n;

	RS_TRY(lookup_walk_open(l, table, &f.w));
	const struct rows_file_shape shape = shape_of(f.w);
	status = count(f.w, &n);
	if (status == RS_OK)
		status = rows_file_visit(&shape, path, n_paths, load_piece, &f);
	lookup_walk_close(f.w);
	*anew = f.anew;
	return status;
}

static enum rs_status
reset_entries(struct lookup_walk *w, struct lookup_snap *s, const struct body_rows *head,
	void *unused)
{
	(void)unused;
	lookup_walk_init_slots(w, slots_of(w, entry_at(w, s, 0)), head->n,
		w->entry_bytes / sizeof(float));
	s->n = head->n;
	s->end = head->end;
	w->first = (size_t)(s - w->snap);
	RS_TRY(lookup_walk_send(w, s, FRAME_SNAP_PUT));
	return lookup_walk_take_put(w);
}

static enum rs_status
reset(struct lookup_walk *w, void *unused)
{
	return visit(w, reset_entries, unused);
}

enum rs_status
lookup_entries_reset_state(struct remote_lookup *l, size_t table)
{
	return walk(l, table, reset, NULL);
}
