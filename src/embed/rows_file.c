/* Writing and reading rows by id. */
#include "embed/rows_file.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ALIGN     8u
#define WIDTH_MAX ((uint32_t)1 << 24)

_Static_assert(sizeof(struct rows_file_header) == 320, "the header is 320 bytes");
_Static_assert(sizeof(struct exact_entry) == 16, "the head of an entry is 16 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "files of rows are little-endian");

static uint32_t
entry_bytes(enum row_storage storage, size_t dim, size_t n_slot)
{
	const size_t n = sizeof(struct exact_entry) +
		(row_slot_at(storage, dim) + n_slot) * sizeof(float);

	return (uint32_t)((n + ALIGN - 1) / ALIGN * ALIGN);
}

struct rows_file_shape
rows_file_shape_of(const struct table *t)
{
	return (struct rows_file_shape){
		.name = t->settings.name, .optimizer = t->optimizer->name,
		.table_kind = t->settings.kind, .rows = t->settings.rows, .dim = t->D,
		.n_slot = t->n_slot, .storage = t->settings.storage,
	};
}

struct rows_file_header
rows_file_header_make(const struct rows_file_shape *s, uint64_t begin, uint64_t end, uint64_t n,
	uint64_t n_gone)
{
	struct rows_file_header h = {
		.magic = ROWS_FILE_MAGIC, .version = ROWS_FILE_VERSION, .header_bytes = sizeof(h),
		.kind = s->kind, .table_kind = s->table_kind,
		.rows = s->rows, .begin = begin, .end = end,
		.n = n, .n_gone = n_gone, .dim = (uint32_t)s->dim, .n_slot = (uint32_t)s->n_slot,
		.entry_bytes = entry_bytes(s->storage, s->dim, s->n_slot), .entries = sizeof(h),
		.storage = (uint32_t)s->storage,
	};

	h.gone = h.entries + n * h.entry_bytes;
	h.file_bytes = h.gone + n_gone * sizeof(uint64_t);
	snprintf(h.optimizer, sizeof(h.optimizer), "%s", s->optimizer);
	snprintf(h.name, sizeof(h.name), "%s", s->name);
	return h;
}

struct row_start
rows_file_start(const struct rows_file_header *h)
{
	return (struct row_start){ .key = h->start_key, .stddev = h->start_stddev,
		.accumulator = h->start_accumulator };
}

int
rows_file_suits(const struct rows_file_shape *s, uint64_t n, uint64_t rows)
{
	const unsigned __int128 some = (unsigned __int128)n
		* entry_bytes(s->storage, s->dim, s->n_slot);

	return 2 * some <= (unsigned __int128)rows
		* (row_bytes(s->storage, s->dim) + s->n_slot * sizeof(float));
}

uint64_t
rows_file_count(const struct table *t)
{
	return table_walk_count(t, t->touched, t->kept);
}

/* --- reading --------------------------------------------------------------------------- */

int
rows_file_is(const struct file_map *m)
{
	return m->size >= sizeof(ROWS_FILE_MAGIC)
	    && memcmp(m->data, ROWS_FILE_MAGIC, sizeof(ROWS_FILE_MAGIC)) == 0;
}

enum rs_status
rows_file_is_at(const char *path, int *out)
{
	struct file_map m;

	RS_TRY(file_map_open(&m, path));
	*out = rows_file_is(&m);
	file_map_close(&m);
	return RS_OK;
}

static int
header_is_sound(const struct rows_file_header *h, size_t size)
{
	const uint64_t room = size - sizeof(*h);

	return h->begin <= h->end && h->end <= h->rows && h->dim <= WIDTH_MAX
	    && h->n_slot <= WIDTH_MAX && row_storage_name(h->storage) != NULL
	    && h->entry_bytes == entry_bytes(h->storage, h->dim, h->n_slot)
	    && h->n <= room / h->entry_bytes
	    && h->n_gone <= (room - h->n * h->entry_bytes) / sizeof(uint64_t)
	    && h->entries == sizeof(*h) && h->gone == h->entries + h->n * h->entry_bytes
	    && h->kind <= ROWS_FILE_DELTA && (h->kind == ROWS_FILE_DELTA || h->n_gone == 0)
	    && h->decays.n <= (h->kind == ROWS_FILE_DELTA ? ROW_DECAYS : 0)
	    && memchr(h->name, 0, sizeof(h->name)) != NULL
	    && memchr(h->optimizer, 0, sizeof(h->optimizer)) != NULL;
}

/* Ids, one every `step` bytes, that rise in [begin,end). */
static int
ids_are_sound(const struct rows_file_header *h, const char *at, size_t step, uint64_t n)
{
	uint64_t least = h->begin, id;

	for (uint64_t i = 0; i < n; i++, at += step) {
		memcpy(&id, at, sizeof(id));
		if (id < least || id >= h->end)
			return 0;
		least = id + 1;
	}
	return 1;
}

enum rs_status
rows_file_check_header(const struct file_map *m, const char *path,
	const struct rows_file_header **out)
{
	const struct rows_file_header *h = (const struct rows_file_header *)(const void *)m->data;

	if (m->size < sizeof(*h) || memcmp(h->magic, ROWS_FILE_MAGIC, sizeof(h->magic)) != 0)
		return rs_fail(RS_EDATA, "'%s' is not a file of rows by id", path);
	if (h->version != ROWS_FILE_VERSION || h->header_bytes != sizeof(*h))
		return rs_fail(RS_EDATA, "'%s' has format version %u, expected %d", path,
			h->version, ROWS_FILE_VERSION);
	if (!header_is_sound(h, m->size))
		return rs_fail(RS_EDATA, "'%s' has a damaged header", path);
	if (h->file_bytes != m->size || h->gone + h->n_gone * sizeof(uint64_t) != m->size)
		return rs_fail(RS_EDATA, "'%s' is %zu bytes, its header says %llu", path, m->size,
			(unsigned long long)h->file_bytes);
	*out = h;
	return RS_OK;
}

enum rs_status
rows_file_check(const struct file_map *m, const char *path, const struct rows_file_header **out)
{
	const struct rows_file_header *h;

	RS_TRY(rows_file_check_header(m, path, &h));
	if (!ids_are_sound(h, (const char *)m->data + h->entries, h->entry_bytes, h->n)
	    || !ids_are_sound(h, (const char *)m->data + h->gone, sizeof(uint64_t), h->n_gone))
		return rs_fail(RS_EDATA, "'%s': ids are out of order or range", path);
	*out = h;
	return RS_OK;
}

static enum rs_status
check_table(const struct rows_file_shape *s, const struct rows_file_header *h, const char *path)
{
	if (strcmp(h->name, s->name) != 0)
		return rs_fail(RS_EDATA, "'%s' holds table '%s', expected '%s'", path, h->name,
			s->name);
	if (h->table_kind != (uint32_t)s->table_kind || h->rows != s->rows || h->dim != s->dim)
		return rs_fail(RS_EDATA, "'%s': table '%s' is of another kind, or its rows are: "
			"dim %u, expected %zu", path, h->name, h->dim, s->dim);
	if (h->kind != (uint32_t)s->kind)
		return rs_fail(RS_EDATA, "'%s' has %s of table '%s', expected %s", path,
			h->kind == ROWS_FILE_DELTA ? "what changed" : "all rows", h->name,
			s->kind == ROWS_FILE_DELTA ? "what changed" : "all");
	return RS_OK;
}

struct opened {
	struct file_map map;
	struct rows_file_piece piece;
};

static enum rs_status
open_file(const struct rows_file_shape *s, const char *path, struct opened *o)
{
	const struct rows_file_header *h;

	RS_TRY(file_map_open(&o->map, path));
	RS_TRY(rows_file_check(&o->map, path, &h));
	RS_TRY(check_table(s, h, path));
	o->piece = (struct rows_file_piece){
		.header = h, .entry = (const char *)o->map.data + h->entries,
		.gone = (const uint64_t *)(const void *)(o->map.data + h->gone),
		.has_state = strcmp(h->optimizer, s->optimizer) == 0 && h->n_slot == s->n_slot,
	};
	return RS_OK;
}

static int
compare_begin(const void *a, const void *b)
{
	const struct rows_file_header *x = ((const struct opened *)a)->piece.header;
	const struct rows_file_header *y = ((const struct opened *)b)->piece.header;

	return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1)
	                            : (x->end > y->end) - (x->end < y->end);
}

static enum rs_status
check_cover(const struct rows_file_shape *s, struct opened *o, size_t n)
{
	uint64_t next = 0;

	qsort(o, n, sizeof(*o), compare_begin);
	for (size_t i = 0; i < n; i++) {
		const struct rows_file_header *h = o[i].piece.header;

		if (h->begin != next)
			return rs_fail(RS_EDATA, "table '%s': ids from %llx on are in %s file",
				s->name, (unsigned long long)(h->begin < next ? h->begin : next),
				h->begin < next ? "more than one" : "no");
		next = h->end;
	}
	if (next != s->rows)
		return rs_fail(RS_EDATA, "table '%s': ids from %llx on are in no file", s->name,
			(unsigned long long)next);
	return RS_OK;
}

enum rs_status
rows_file_visit(const struct rows_file_shape *shape, const char *const *path, size_t n_paths,
	enum rs_status (*take)(void *context, const struct rows_file_piece *p), void *context)
{
	enum rs_status status = RS_OK;
	struct opened *o;

	RS_TRY(memory_alloc(n_paths + 1, sizeof(*o), &o));
	for (size_t i = 0; i < n_paths && status == RS_OK; i++)
		status = open_file(shape, path[i], &o[i]);
	if (status == RS_OK)
		status = check_cover(shape, o, n_paths);
	for (size_t i = 0; i < n_paths && status == RS_OK; i++)
		status = take(context, &o[i].piece);
	for (size_t i = 0; i < n_paths; i++)
		file_map_close(&o[i].map);
	free(o);
	return status;
}

/* --- whole tables ---------------------------------------------------------------------- */

enum rs_status
rows_file_put(const struct rows_file_header *h, const struct exact_entry *head, const float *row,
	struct file_writer *w)
{
	static const char zero[ALIGN];
	const size_t bytes = (row_slot_at(h->storage, h->dim) + h->n_slot) * sizeof(*row);
	struct exact_entry clean = *head;

	clean.changed = 0;
	RS_TRY(file_writer_write(w, &clean, sizeof(clean)));
	RS_TRY(file_writer_write(w, row, bytes));
	return file_writer_write(w, zero, h->entry_bytes - sizeof(clean) - bytes);
}

/* A row of a table; one whose weights change their storage has no slots.  scratch [D]. */
static enum rs_status
put_row(const struct table *t, const struct rows_file_header *h, const struct exact_entry *head,
	const float *row, float *scratch, struct file_writer *w)
{
	if (h->storage == (uint32_t)t->settings.storage)
		return rows_file_put(h, head, row, w);
	row_convert(t->settings.storage, row, h->storage, scratch, t->D);
	return rows_file_put(h, head, scratch, w);
}

enum rs_status
rows_file_put_walk(const struct rows_file_header *h, struct table_walk *walk, float *scratch,
	struct file_writer *w)
{
	const int counts = h->kind == ROWS_FILE_FULL;
	const float *row;
	uint64_t i;

	for (;;) {
		RS_TRY(table_walk_next(walk, &i, &row));
		if (row == NULL)
			return RS_OK;
		RS_TRY(put_row(walk->t, h, &(struct exact_entry){ .id = walk->t->begin + i,
			.count = counts && table_is_touched(walk->t, i) }, row, scratch, w));
	}
}

struct rows_file_header
rows_file_header_of(const struct table *t, const struct rows_file_shape *shape, uint64_t n)
{
	struct rows_file_header h = rows_file_header_make(shape, t->begin, t->begin + t->n_rows,
		n, 0);

	h.start_key = t->start.key;
	h.start_stddev = t->start.stddev;
	h.start_accumulator = t->start.accumulator;
	return h;
}

static enum rs_status
write_hashed(const struct table *t, const struct rows_file_shape *shape, float *scratch,
	struct file_writer *w)
{
	const struct rows_file_header h = rows_file_header_of(t, shape, rows_file_count(t));
	struct table_walk walk;

	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	RS_TRY(table_walk_init(&walk, t, t->touched, t->kept));
	const enum rs_status status = rows_file_put_walk(&h, &walk, scratch, w);
	table_walk_free(&walk);
	return status;
}

static enum rs_status
write_exact(const struct table *t, const struct rows_file_shape *shape, float *scratch,
	struct file_writer *w)
{
	const struct rows_file_header h = rows_file_header_make(shape, t->begin,
		t->begin + t->n_rows, exact_count(&t->exact), 0);
	const struct exact_entry *entry;

	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	for (unsigned i = t->exact.first; i < t->exact.last; i++)
		for (uint64_t place = 0; (entry = exact_step(&t->exact, i, &place)) != NULL; )
			RS_TRY(put_row(t, &h, entry, exact_row(entry), scratch, w));
	return RS_OK;
}

enum rs_status
rows_file_write(const struct table *t, enum row_storage storage, struct file_writer *w)
{
	struct rows_file_shape shape = rows_file_shape_of(t);
	float *scratch;

	assert(storage == t->settings.storage || t->n_slot == 0);
	shape.storage = storage;
	RS_TRY(memory_alloc(row_slot_at(storage, t->D), sizeof(*scratch), &scratch));
	const enum rs_status status = table_is_exact(t) ? write_exact(t, &shape, scratch, w)
		: write_hashed(t, &shape, scratch, w);
	free(scratch);
	return status;
}

void
rows_file_take(const struct rows_file_piece *p, const struct exact_entry *entry,
	const struct table *t, float *row)
{
	row_convert(p->header->storage, entry + 1, t->settings.storage, row, t->D);
	table_set_slots(t, row, p->has_state ? rows_file_slots(p, entry) : NULL);
}

static enum rs_status
read_hashed(struct table *t, const struct rows_file_piece *p, const struct exact_entry *from)
{
	const uint64_t i = from->id - t->begin;
	float *row;

	RS_TRY(table_take(t, i, &row));
	rows_file_take(p, from, t, row);
	table_leave(t, from->id);
	if (from->count > 0)
		table_set_touched(t, i, 1);
	return from->count > 0 ? RS_OK : table_keep(t, i);
}

static enum rs_status
read_entry(struct table *t, const struct rows_file_piece *p, uint64_t i)
{
	const struct exact_entry *from = rows_file_entry(p, i);
	struct exact_entry *to;
	int is_new;

	if (from->id - t->begin >= t->n_rows)
		return RS_OK;
	if (!table_is_exact(t))
		return read_hashed(t, p, from);
	RS_TRY(exact_insert(&t->exact, from->id, &to, &is_new));
	*to = *from;
	rows_file_take(p, from, t, exact_row(to));
	return RS_OK;
}

static enum rs_status
read_entries(void *context, const struct rows_file_piece *p)
{
	struct table *t = context;

	for (uint64_t i = 0; i < p->header->n; i++)
		RS_TRY(read_entry(t, p, i));
	t->state_anew |= !p->has_state && t->n_slot > 0;
	return RS_OK;
}

struct reading {
	struct table *t;
	int begun;
};

/* Of a hashed table, slots of another optimizer begin as this one's do. */
static void
restart(struct reading *r, const struct rows_file_piece *p)
{
	struct row_start start = rows_file_start(p->header);

	if (!p->has_state)
		start.accumulator = r->t->settings.optimizer.initial_accumulator;
	if (!r->begun)
		table_restart(r->t, &start);
	r->begun = 1;
}

enum rs_status
rows_file_reserve(const struct rows_file_piece *p, struct exact *e)
{
	uint64_t n[EXACT_SEGMENTS] = { 0 };

	for (uint64_t i = 0; i < p->header->n; i++)
		n[exact_segment_of(rows_file_entry(p, i)->id)]++;
	for (unsigned i = e->first; i < e->last; i++)
		RS_TRY(n[i] > 0 ? exact_reserve(e, i, e->segment[i].n + n[i]) : RS_OK);
	return RS_OK;
}

static enum rs_status
prepare(void *context, const struct rows_file_piece *p)
{
	struct reading *r = context;
	struct exact *e = &r->t->exact;

	if (!table_is_exact(r->t)) {
		restart(r, p);
		return RS_OK;
	}
	if (!r->begun)
		exact_clear(e);
	r->begun = 1;
	return rows_file_reserve(p, e);
}

enum rs_status
rows_file_read(struct table *t, const char *const *path, size_t n_paths)
{
	const struct rows_file_shape shape = rows_file_shape_of(t);
	struct reading r = { .t = t };

	RS_TRY(rows_file_visit(&shape, path, n_paths, prepare, &r));
	return rows_file_visit(&shape, path, n_paths, read_entries, t);
}
