/* Writing and reading the file of a table. */
#include "embed/table_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define ALIGN       64
#define CHUNK_BYTES ((size_t)256 << 10)
#define WIDTH_MAX   ((uint32_t)1 << 24)

_Static_assert(sizeof(struct table_file_header) == 256, "the header is 256 bytes");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "table files are little-endian");

static uint64_t
align_up(uint64_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

static void
header_layout(struct table_file_header *h)
{
	const uint64_t n = h->end - h->begin;

	h->weights = h->header_bytes;
	h->slots = align_up(h->weights + n * row_bytes(h->storage, h->dim));
	h->touched = align_up(h->slots + n * h->n_slot * sizeof(float));
	h->file_bytes = h->touched + (n + 7) / 8;
}

static enum rs_status
write_padding(struct file_writer *w, uint64_t n)
{
	static const char zero[ALIGN];

	return file_writer_write(w, zero, (size_t)(align_up(n) - n));
}

/* One section, `width` floats of every row. */
struct section {
	size_t width;
	enum row_storage storage;
	enum rs_status (*get)(void *context, uint64_t id, size_t n, float *out);
};

/* chunk [2, n_most, width]: the second half is for what is no float; int8 of 2 and more. */
static enum rs_status
write_section(const struct table_file_shape *s, const struct table_file_source *from,
	const struct section *section, float *chunk, struct file_writer *w)
{
	const size_t width = section->width, bytes = row_bytes(section->storage, width);
	float *const stored = section->storage == ROW_FP32 ? chunk : chunk + from->n_most * width;

	for (uint64_t id = s->begin; width > 0 && id < s->end; id += from->n_most) {
		const size_t n = s->end - id < from->n_most ? (size_t)(s->end - id) : from->n_most;

		RS_TRY(section->get(from->context, id, n, chunk));
		for (size_t i = 0; stored != chunk && i < n; i++)
			row_convert(ROW_FP32, chunk + i * width, section->storage,
				(char *)stored + i * bytes, width);
		RS_TRY(file_writer_write(w, stored, n * bytes));
	}
	return write_padding(w, (s->end - s->begin) * bytes);
}

static enum rs_status
write_sections(const struct table_file_shape *s, const struct table_file_source *from,
	float *chunk, struct file_writer *w)
{
	struct table_file_header h = {
		.magic = TABLE_FILE_MAGIC, .version = TABLE_FILE_VERSION, .header_bytes = sizeof(h),
		.rows = s->rows, .begin = s->begin, .end = s->end, .dim = (uint32_t)s->dim,
		.n_slot = (uint32_t)s->n_slot, .storage = (uint32_t)s->storage,
	};
	const struct section weights = { s->dim, s->storage, from->weights };
	const struct section slots = { s->n_slot, ROW_FP32, from->slots };
	const uint8_t *touched;

	header_layout(&h);
	snprintf(h.optimizer, sizeof(h.optimizer), "%s", s->optimizer);
	snprintf(h.name, sizeof(h.name), "%s", s->name);
	RS_TRY(file_writer_write(w, &h, sizeof(h)));
	RS_TRY(write_section(s, from, &weights, chunk, w));
	RS_TRY(write_section(s, from, &slots, chunk, w));
	RS_TRY(from->touched(from->context, &touched));
	return file_writer_write(w, touched, (size_t)(s->end - s->begin + 7) / 8);
}

enum rs_status
table_file_stream(const struct table_file_shape *shape, const struct table_file_source *from,
	struct file_writer *w)
{
	const size_t width = shape->dim > shape->n_slot ? shape->dim : shape->n_slot;
	enum rs_status status;
	size_t floats;
	float *chunk;

	RS_TRY(size_mul(2 * from->n_most, width, &floats));
	RS_TRY(memory_alloc(floats, sizeof(*chunk), &chunk));
	status = write_sections(shape, from, chunk, w);
	free(chunk);
	return status;
}

struct writing {
	const struct table *t;
	float *scratch;            /* [stride]                                        */
};

/* Rows that are on disk are asked for first, so that it has many at once. */
static void
expect_rows(const struct table *t, uint64_t id, size_t n)
{
	for (size_t i = 0; table_is_spilled(t) && i < n; i++)
		spill_expect(t->spill, id - t->begin + i);
}

static enum rs_status
get_weights(void *context, uint64_t id, size_t n, float *out)
{
	const struct writing *w = context;
	const float *row;

	expect_rows(w->t, id, n);
	for (size_t i = 0; i < n; i++) {
		RS_TRY(table_read(w->t, id - w->t->begin + i, w->scratch, &row));
		table_get_weights(w->t, row, out + i * w->t->D);
	}
	return RS_OK;
}

static enum rs_status
get_slots(void *context, uint64_t id, size_t n, float *out)
{
	const struct writing *w = context;
	const float *row;

	expect_rows(w->t, id, n);
	for (size_t i = 0; i < n; i++) {
		RS_TRY(table_read(w->t, id - w->t->begin + i, w->scratch, &row));
		memcpy(out + i * w->t->n_slot, row + w->t->slot_at,
			w->t->n_slot * sizeof(float));
	}
	return RS_OK;
}

static enum rs_status
get_touched(void *context, const uint8_t **out)
{
	const struct writing *w = context;

	*out = (const uint8_t *)w->t->touched;
	return RS_OK;
}

static struct table_file_shape
shape_of(const struct table *t)
{
	return (struct table_file_shape){
		.name = t->settings.name, .optimizer = t->optimizer->name,
		.rows = t->settings.rows, .begin = t->begin, .end = t->begin + t->n_rows,
		.dim = t->D, .n_slot = t->n_slot, .storage = t->settings.storage,
	};
}

enum rs_status
table_file_write(const struct table *t, enum row_storage storage, struct file_writer *w)
{
	struct table_file_shape shape = shape_of(t);
	const size_t n = CHUNK_BYTES / sizeof(float) / t->stride;
	struct writing writing = { .t = t };
	const struct table_file_source from = {
		.weights = get_weights, .slots = get_slots, .touched = get_touched,
		.context = &writing, .n_most = n > 0 ? n : 1,
	};

	shape.storage = storage;
	RS_TRY(memory_alloc(t->stride, sizeof(*writing.scratch), &writing.scratch));
	const enum rs_status status = table_file_stream(&shape, &from, w);
	free(writing.scratch);
	return status;
}

enum rs_status
table_file_check(const struct file_map *m, const char *path, const struct table_file_header **out)
{
	const struct table_file_header *h = (const struct table_file_header *)(const void *)m->data;
	struct table_file_header want;

	if (m->size < sizeof(*h) || memcmp(h->magic, TABLE_FILE_MAGIC, sizeof(h->magic)) != 0)
		return rs_fail(RS_EDATA, "'%s' is not a table file", path);
	if (h->version != TABLE_FILE_VERSION || h->header_bytes != sizeof(*h))
		return rs_fail(RS_EDATA, "'%s' has format version %u, expected %d", path,
			h->version, TABLE_FILE_VERSION);
	if (h->begin > h->end || h->end > h->rows || h->end - h->begin > m->size
	    || h->dim > WIDTH_MAX || h->n_slot > WIDTH_MAX || row_storage_name(h->storage) == NULL
	    || memchr(h->name, 0, sizeof(h->name)) == NULL
	    || memchr(h->optimizer, 0, sizeof(h->optimizer)) == NULL)
		return rs_fail(RS_EDATA, "'%s' has a damaged header", path);
	want = *h;
	header_layout(&want);
	if (memcmp(&want, h, sizeof(want)) != 0 || want.file_bytes != m->size)
		return rs_fail(RS_EDATA, "'%s' is %zu bytes, its header says %llu", path, m->size,
		    (unsigned long long)want.file_bytes);
	*out = h;
	return RS_OK;
}

static enum rs_status
check_table(const struct table_file_shape *t, const struct table_file_header *h, const char *path)
{
	if (strcmp(h->name, t->name) != 0)
		return rs_fail(RS_EDATA, "'%s' holds table '%s', expected '%s'", path, h->name,
		    t->name);
	if (h->rows != t->rows || h->dim != t->dim)
		return rs_fail(RS_EDATA,
			"'%s': table '%s' has %llu rows of %u, expected %llu of %zu", path, h->name,
			(unsigned long long)h->rows, h->dim, (unsigned long long)t->rows, t->dim);
	return RS_OK;
}

/* One file; take NULL: it is only checked. */
static enum rs_status
visit_file(const struct table_file_shape *s, const char *path,
	enum rs_status (*take)(void *context, const struct table_file_piece *p), void *context,
	struct table_file_piece *out)
{
	const struct table_file_header *h;
	struct file_map m;
	enum rs_status status;

	RS_TRY(file_map_open(&m, path));
	status = table_file_check(&m, path, &h);
	if (status == RS_OK)
		status = check_table(s, h, path);
	if (status == RS_OK) {
		const int same = strcmp(h->optimizer, s->optimizer) == 0 && h->n_slot == s->n_slot;

		*out = (struct table_file_piece){
			.begin = h->begin, .end = h->end, .dim = h->dim, .storage = h->storage,
			.weights = (const char *)m.data + h->weights,
			.slots = same ? (const float *)(const void *)(m.data + h->slots) : NULL,
			.touched = (const uint8_t *)m.data + h->touched,
		};
		if (take != NULL)
			status = take(context, out);
	}
	file_map_close(&m);
	return status;
}

static int
comes_after(const struct table_file_piece *a, const struct table_file_piece *b)
{
	return a->begin > b->begin || (a->begin == b->begin && a->end > b->end);
}

/* Ranges of the files must be all rows, each once; they are sorted here. */
static enum rs_status
check_cover(const struct table_file_shape *s, struct table_file_piece *p, size_t n)
{
	uint64_t next = 0;

	for (size_t i = 1; i < n; i++)
		for (size_t j = i; j > 0 && comes_after(&p[j - 1], &p[j]); j--) {
			const struct table_file_piece piece = p[j];

			p[j] = p[j - 1];
			p[j - 1] = piece;
		}
	for (size_t i = 0; i < n; i++) {
		const uint64_t begin = p[i].begin;

		if (begin != next)
			return rs_fail(RS_EDATA, "table '%s': rows %llu to %llu are %s", s->name,
				(unsigned long long)(begin < next ? begin : next),
				(unsigned long long)(begin < next ? next : begin),
				begin < next ? "in two files" : "in no file");
		next = p[i].end;
	}
	if (next != s->rows)
		return rs_fail(RS_EDATA, "table '%s': rows %llu to %llu are in no file", s->name,
			(unsigned long long)next, (unsigned long long)s->rows);
	return RS_OK;
}

enum rs_status
table_file_visit(const struct table_file_shape *shape, const char *const *path, size_t n_paths,
	enum rs_status (*take)(void *context, const struct table_file_piece *p), void *context)
{
	enum rs_status status = RS_OK;
	struct table_file_piece *piece;

	RS_TRY(memory_alloc(n_paths + 1, sizeof(*piece), &piece));
	for (size_t i = 0; i < n_paths && status == RS_OK; i++)
		status = visit_file(shape, path[i], NULL, NULL, &piece[i]);
	if (status == RS_OK)
		status = check_cover(shape, piece, n_paths);
	for (size_t i = 0; i < n_paths && status == RS_OK; i++)
		status = visit_file(shape, path[i], take, context, &piece[i]);
	free(piece);
	return status;
}

void
table_file_weights(const struct table_file_piece *p, uint64_t i, size_t n,
	enum row_storage storage, void *out)
{
	const size_t from = row_bytes(p->storage, p->dim), to = row_bytes(storage, p->dim);

	for (size_t k = 0; k < n; k++)
		row_convert(p->storage, p->weights + (i + k) * from, storage,
			(char *)out + k * to, p->dim);
}

static void
read_row(const struct table *t, const struct table_file_piece *p, uint64_t id, float *row)
{
	const uint64_t i = id - p->begin;

	table_file_weights(p, i, 1, t->settings.storage, row);
	table_set_slots(t, row, p->slots != NULL ? p->slots + i * t->n_slot : NULL);
}

/* Rows [begin,end) of a table that will be trained. */
static enum rs_status
put_rows(struct table *t, const struct table_file_piece *p, uint64_t begin, uint64_t end)
{
	enum rs_status status = RS_OK;
	float *scratch;

	RS_TRY(memory_alloc(2 * t->stride, sizeof(*scratch), &scratch));
	for (uint64_t id = begin; id < end && status == RS_OK; id++) {
		const uint64_t i = id - p->begin;

		read_row(t, p, id, scratch);
		status = table_put(t, id - t->begin, scratch, p->touched[i / 8] >> (i % 8) & 1,
			scratch + t->stride);
	}
	free(scratch);
	return status;
}

/* Of one that will not, nobody asks which rows are as they begin. */
static enum rs_status
take_rows(struct table *t, const struct table_file_piece *p, uint64_t begin, uint64_t end)
{
	table_take_all(t, begin - t->begin, end - t->begin);
	for (uint64_t id = begin; id < end; id++) {
		const uint64_t i = id - p->begin;
		const int is_touched = p->touched[i / 8] >> (i % 8) & 1;

		read_row(t, p, id, table_row(t, id - t->begin));
		table_set_touched(t, id - t->begin, is_touched);
		if (!is_touched)
			RS_TRY(table_keep(t, id - t->begin));
	}
	return RS_OK;
}

struct reading {
	struct table *t;
	int begun;
};

/* Those of the rows that are here. */
static enum rs_status
read_rows(void *context, const struct table_file_piece *p)
{
	struct reading *r = context;
	struct table *t = r->t;
	const uint64_t begin = p->begin > t->begin ? p->begin : t->begin;
	const uint64_t end = p->end < t->begin + t->n_rows ? p->end : t->begin + t->n_rows;

	t->state_anew |= p->slots == NULL && t->n_slot > 0;
	if (!r->begun)
		table_restart(t, &t->start);
	r->begun = 1;
	if (begin >= end)
		return RS_OK;
	return t->for_training || table_is_spilled(t) ? put_rows(t, p, begin, end)
		: take_rows(t, p, begin, end);
}

enum rs_status
table_file_read(struct table *t, const char *const *path, size_t n_paths)
{
	const struct table_file_shape shape = shape_of(t);
	struct reading r = { .t = t };

	return table_file_visit(&shape, path, n_paths, read_rows, &r);
}
