/* Whole hashed tables between shards and files: rows with their state, in pieces. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "embed/row_optimizer.h"
#include "embed/rows_file.h"
#include "embed/table_file.h"
#include "remote/lookup_walk.h"

/* Of a hashed table: where the walk is, and what it saw. */
struct rows {
	struct lookup_walk *w;
	uint64_t next;              /* row that the next call begins at                */
	uint8_t *bits;              /* [(rows + 7) / 8] touched                        */
};

static enum rs_status
rows_open(struct remote_lookup *l, size_t table, struct rows *r)
{
	enum rs_status status;

	*r = (struct rows){ .next = 0 };
	RS_TRY(lookup_walk_open(l, table, &r->w));
	status = memory_alloc((size_t)(l->table[table].rows + 7) / 8 + 1, 1, &r->bits);
	if (status != RS_OK)
		lookup_walk_close(r->w);
	return status;
}

static void
rows_close(struct rows *r)
{
	lookup_walk_close(r->w);
	free(r->bits);
}

/* Where the call for the rows from r->next on goes, and how many it may have. */
static void
next_rows(const struct rows *r, uint64_t end, struct lookup_snap *s)
{
	const struct lookup_walk *w = r->w;
	size_t p = w->l->parts.first[w->table];

	while (w->l->parts.part[p].end <= r->next)
		p++;
	if (w->l->parts.part[p].end < end)
		end = w->l->parts.part[p].end;
	s->part = p;
	s->begin = r->next;
	s->n = end - r->next < w->most ? (size_t)(end - r->next) : w->most;
}

static enum rs_status
send(struct rows *r, struct lookup_snap *s, uint16_t type)
{
	RS_TRY(lookup_walk_send(r->w, s, type));
	r->next += s->n;
	return RS_OK;
}

/* The next rows with their state, up to `end`, with others asked for meanwhile. */
static enum rs_status
get_rows(struct rows *r, uint64_t end, struct lookup_snap **out)
{
	struct lookup_walk *w = r->w;
	size_t at = sizeof(struct body_rows);
	struct body_rows head;
	struct lookup_snap *s;
	int whole;

	while (r->next < end && (s = lookup_walk_free_snap(w)) != NULL) {
		next_rows(r, end, s);
		RS_TRY(send(r, s, FRAME_SNAP_GET));
	}
	RS_TRY(lookup_walk_take(w, out));
	s = *out;
	whole = lookup_walk_copy(&s->call.reply, 0, sizeof(head), &head)
	    && memcmp(&head, &s->head, sizeof(head)) == 0
	    && lookup_walk_copy(&s->call.reply, at, s->n * w->dim * sizeof(float), s->weights);
	at += s->n * w->dim * sizeof(float);
	whole = whole && lookup_walk_copy(&s->call.reply, at, s->n * w->n_slot * sizeof(float),
		s->slots);
	at += s->n * w->n_slot * sizeof(float);
	whole = whole && lookup_walk_copy(&s->call.reply, at, s->n, s->touched)
	    && s->call.reply.frame.body_bytes == at + s->n;
	wire_message_free(&s->call.reply);
	return whole ? RS_OK : lookup_walk_refuse(w, s);
}

/* A row read from every shard says that all steps pushed are applied there. */
static enum rs_status
settle(struct rows *r)
{
	const struct parts *p = &r->w->l->parts;
	struct lookup_snap *s;

	for (size_t i = p->first[r->w->table]; i < p->first[r->w->table + 1]; i++) {
		r->next = p->part[i].begin;
		RS_TRY(get_rows(r, r->next + 1, &s));
	}
	return RS_OK;
}

/* --- saving ---------------------------------------------------------------------------- */

/* Rows come in the pieces of the walk, the file wants its own. */
struct saving { struct rows r; struct lookup_snap *at; size_t used; };

static enum rs_status
save_floats(struct saving *f, uint64_t id, size_t n, int slots, float *out)
{
	struct lookup_walk *w = f->r.w;
	const size_t width = slots ? w->n_slot : w->dim;

	if (id == 0) {
		f->r.next = 0;
		f->at = NULL;
	}
	while (n > 0) {
		if (f->at == NULL || f->used == f->at->n) {
			RS_TRY(get_rows(&f->r, w->t->rows, &f->at));
			f->used = 0;
			for (size_t i = 0; i < f->at->n; i++)
				if (f->at->touched[i])
					f->r.bits[(f->at->begin + i) / 8] |=
						(uint8_t)(1 << (f->at->begin + i) % 8);
		}
		const size_t left = f->at->n - f->used, step = left < n ? left : n;
		const float *from = (slots ? f->at->slots : f->at->weights) + f->used * width;

		memcpy(out, from, step * width * sizeof(*out));
		out += step * width;
		f->used += step;
		n -= step;
	}
	return RS_OK;
}

static enum rs_status
save_weights(void *context, uint64_t id, size_t n, float *out)
{
	return save_floats(context, id, n, 0, out);
}

static enum rs_status
save_slots(void *context, uint64_t id, size_t n, float *out)
{
	return save_floats(context, id, n, 1, out);
}

static enum rs_status
save_touched(void *context, const uint8_t **out)
{
	*out = ((struct saving *)context)->r.bits;
	return RS_OK;
}

static struct rows_file_shape
rows_shape_of(const struct remote_lookup *l, size_t table)
{
	const struct lookup_table *t = &l->table[table];
	const struct row_optimizer *o = row_optimizer_get(t->optimizer.kind);

	return (struct rows_file_shape){ .name = t->name, .optimizer = o->name,
		.table_kind = t->kind, .rows = t->rows, .dim = t->dim,
		.n_slot = row_optimizer_slots(o, t->dim), .storage = t->storage };
}

static struct table_file_shape
shape_of(const struct lookup_walk *w)
{
	const struct lookup_table *t = w->t;

	return (struct table_file_shape){
		.name = t->name, .optimizer = row_optimizer_get(t->optimizer.kind)->name,
		.rows = t->rows, .end = t->rows, .dim = w->dim, .n_slot = w->n_slot,
		.storage = t->storage,
	};
}

enum rs_status
lookup_files_save(struct lookup *base, size_t table, struct file_writer *file)
{
	struct remote_lookup *l = lookup_of(base);
	struct saving f = { .used = 0 };
	enum rs_status status;

	if (l->late.status != RS_OK)
		return rs_failure_put(&l->late);
	if (l->table[table].kind == TABLE_EXACT)
		return lookup_entries_save(l, table, file);
	const struct rows_file_shape by_id = rows_shape_of(l, table);
	uint64_t n;

	RS_TRY(lookup_changes_count(l, table, &n));
	if (rows_file_suits(&by_id, n, by_id.rows))
		return lookup_changes_save_rows(l, table, file);
	RS_TRY(rows_open(l, table, &f.r));
	const struct table_file_shape shape = shape_of(f.r.w);
	const struct table_file_source from = {
		.weights = save_weights, .slots = save_slots, .touched = save_touched,
		.context = &f, .n_most = f.r.w->most,
	};
	status = table_file_stream(&shape, &from, file);
	rows_close(&f.r);
	return status;
}

/* --- loading --------------------------------------------------------------------------- */

struct loading {
	struct rows r;
	int anew;
	/* What a file has of the rows of a snap, which has ids and room for them; and of those by
	 * id, the entry that comes next. */
	void (*fill)(struct loading *f, const void *piece, struct lookup_snap *s);
	uint64_t entry;
};

static void
fill_all(struct loading *f, const void *piece, struct lookup_snap *s)
{
	const struct table_file_piece *p = piece;
	const struct lookup_walk *w = f->r.w;
	const uint64_t i = s->begin - p->begin;

	table_file_weights(p, i, s->n, ROW_FP32, s->weights);
	if (p->slots != NULL)
		memcpy(s->slots, p->slots + i * w->n_slot, s->n * w->n_slot * sizeof(float));
	else
		lookup_walk_init_slots(w, s->slots, s->n, w->n_slot);
	for (size_t k = 0; k < s->n; k++)
		s->touched[k] = p->touched[(i + k) / 8] >> ((i + k) % 8) & 1;
}

/* A row that has no entry is as it begins. */
static void
fill_start(const struct lookup_walk *w, const struct rows_file_piece *p, struct lookup_snap *s,
	size_t k)
{
	const struct row_start start = rows_file_start(p->header);
	struct row_optimizer_settings o = w->t->optimizer;
	float *const weights = s->weights + k * w->dim;

	row_start_weights(&start, ROW_FP32, s->begin + k, w->dim, weights);
	if (p->has_state)
		o.initial_accumulator = start.accumulator;
	if (w->n_slot > 0)
		row_optimizer_init(row_optimizer_get(o.kind), &o, w->dim, s->slots + k * w->n_slot);
	s->touched[k] = 0;
}

static void
fill_by_id(struct loading *f, const void *piece, struct lookup_snap *s)
{
	const struct rows_file_piece *p = piece;
	const struct lookup_walk *w = f->r.w;

	for (size_t k = 0; k < s->n; k++) {
		const struct exact_entry *e = f->entry < p->header->n
			? rows_file_entry(p, f->entry) : NULL;

		fill_start(w, p, s, k);
		if (e == NULL || e->id != s->begin + k)
			continue;
		f->entry++;
		row_convert(p->header->storage, e + 1, ROW_FP32, s->weights + k * w->dim, w->dim);
		if (p->has_state)
			memcpy(s->slots + k * w->n_slot, rows_file_slots(p, e),
				w->n_slot * sizeof(float));
		s->touched[k] = e->count > 0;
	}
}

/* Rows [begin,end) of a file. */
static enum rs_status
load_piece(struct loading *f, const void *piece, uint64_t begin, uint64_t end)
{
	struct rows *r = &f->r;
	struct lookup_walk *w = r->w;

	r->next = begin;
	while (r->next < end) {
		struct lookup_snap *s;

		while ((s = lookup_walk_free_snap(w)) == NULL)
			RS_TRY(lookup_walk_take_put(w));
		next_rows(r, end, s);
		f->fill(f, piece, s);
		RS_TRY(send(r, s, FRAME_SNAP_PUT));
	}
	while (w->n_busy > 0)
		RS_TRY(lookup_walk_take_put(w));
	return RS_OK;
}

static enum rs_status
load_all(void *context, const struct table_file_piece *p)
{
	struct loading *f = context;

	f->fill = fill_all;
	f->anew |= p->slots == NULL && f->r.w->n_slot > 0;
	return load_piece(f, p, p->begin, p->end);
}

static enum rs_status
load_by_id(void *context, const struct rows_file_piece *p)
{
	struct loading *f = context;

	f->fill = fill_by_id;
	f->entry = 0;
	f->anew |= !p->has_state && f->r.w->n_slot > 0;
	return load_piece(f, p, p->header->begin, p->header->end);
}

static enum rs_status
load_rows(struct remote_lookup *l, size_t table, const char *const *path, size_t n_paths,
	int *anew)
{
	const struct rows_file_shape rows = rows_shape_of(l, table);
	struct loading f = { .anew = 0 };
	enum rs_status status;
	int by_id = 0;

	if (n_paths > 0)
		RS_TRY(rows_file_is_at(path[0], &by_id));
	RS_TRY(rows_open(l, table, &f.r));
	const struct table_file_shape shape = shape_of(f.r.w);
	status = settle(&f.r);
	if (status == RS_OK)
		status = by_id ? rows_file_visit(&rows, path, n_paths, load_by_id, &f)
			: table_file_visit(&shape, path, n_paths, load_all, &f);
	rows_close(&f.r);
	*anew = f.anew;
	return status;
}

enum rs_status
lookup_files_load(struct lookup *base, size_t table, const char *const *path, size_t n_paths)
{
	struct remote_lookup *l = lookup_of(base);
	const struct lookup_table *t = &l->table[table];
	int anew = 0;

	if (l->late.status != RS_OK)
		return rs_failure_put(&l->late);
	RS_TRY(t->kind == TABLE_EXACT ? lookup_entries_load(l, table, path, n_paths, &anew) :
		load_rows(l, table, path, n_paths, &anew));
	if (!anew)
		RS_TRY(lookup_changes_forget(l, table));
	if (anew && !l->warned) {
		log_warn(
			"the model saved has no %s state for table '%s': it starts anew, there and "
			"in other tables without",
			row_optimizer_get(t->optimizer.kind)->name, t->name);
		l->warned = 1;
	}
	return RS_OK;
}

/* Reads a piece and writes it back with slots as at the start, one after the other. */
static enum rs_status
reset_rows(struct rows *r)
{
	struct lookup_walk *w = r->w;

	for (uint64_t id = 0; id < w->t->rows;) {
		struct lookup_snap *s;

		r->next = id;
		next_rows(r, w->t->rows, &w->snap[w->first]);
		RS_TRY(get_rows(r, id + w->snap[w->first].n, &s));
		id += s->n;
		lookup_walk_init_slots(w, s->slots, s->n, w->n_slot);
		w->first = (size_t)(s - w->snap);
		RS_TRY(send(r, s, FRAME_SNAP_PUT));
		RS_TRY(lookup_walk_take_put(w));
	}
	return RS_OK;
}

static enum rs_status
reset_table(struct remote_lookup *l, size_t table)
{
	enum rs_status status;
	struct rows r;

	RS_TRY(rows_open(l, table, &r));
	status = reset_rows(&r);
	rows_close(&r);
	return status;
}

void
lookup_files_reset_state(struct lookup *base, size_t table)
{
	struct remote_lookup *l = lookup_of(base);
	const struct lookup_table *t = &l->table[table];

	if (l->late.status != RS_OK
	    || row_optimizer_slots(row_optimizer_get(t->optimizer.kind), t->dim) == 0)
		return;
	/* The next fetch, load or save tells. */
	if ((t->kind == TABLE_EXACT ? lookup_entries_reset_state(l, table) :
		reset_table(l, table)) != RS_OK)
		rs_failure_take(&l->late);
}
