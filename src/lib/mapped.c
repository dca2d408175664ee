/* Rows of mapped table files, checked at first touch. */
#include "lib/mapped.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/rows_file.h"
#include "embed/stage.h"
#include "embed/table_file.h"
#include "lib/mapped_index.h"
#include "train/checkpoint_private.h"

/* What a pull looks at: a cache line at most. */
struct mapped_rows {
	const char *data;              /* the file                                    */
	size_t   offset, row_bytes;    /* of row 0 in it; of a row                    */
	size_t   dim;
	enum row_storage storage;
	uint64_t rows;
	const float *zero;             /* [dim] rows by id: what is read of another id */
	atomic_uchar *sound;           /* [n_crc of the file] 1: compared and equal   */
};

struct mapped_table {
	struct file_map map;
	char *path;
	const struct manifest_file *file;
	const struct mapped_rows *rows;
	struct mapped_index index;     /* rows by id                                  */
	/* Hashed, rows by id: another row is as rows begin. */
	uint64_t n_ids;                /* 0: not such a table                         */
	struct row_start start;
	enum row_storage begins;       /* its weights are rounded as of this storage  */
};

struct mapped {
	struct lookup base;
	struct mapped_rows *rows;      /* [n_tables]                                  */
	struct mapped_table *table;    /* [n_tables]                                  */
	size_t n_tables;
};

static enum rs_status
check_block(const struct mapped_table *t, const struct mapped_rows *r, size_t i)
{
	RS_TRY(manifest_check_block(t->file, i, &t->map, t->path));
	atomic_store_explicit(&r->sound[i], 1, memory_order_relaxed);
	return RS_OK;
}

static inline int
is_sound(const struct mapped_rows *r, size_t i)
{
	return atomic_load_explicit(&r->sound[i], memory_order_relaxed);
}

/* Bytes [at, at + n) have been compared. */
static enum rs_status
want_sound(const struct mapped_table *t, const struct mapped_rows *r, size_t at, size_t n)
{
	const size_t first = at / FILE_CRC_BLOCK, last = (at + n - 1) / FILE_CRC_BLOCK;

	if (!is_sound(r, first))
		RS_TRY(check_block(t, r, first));
	return last == first || is_sound(r, last) ? RS_OK : check_block(t, r, last);
}

/* The id of an entry, whose head has been compared. */
static enum rs_status
id_at(const void *context, uint64_t i, uint64_t *id)
{
	const struct mapped_table *const t = context;
	const struct mapped_rows *const r = t->rows;
	const size_t at = r->offset + (size_t)i * r->row_bytes;

	RS_TRY(want_sound(t, r, at, sizeof(struct exact_entry)));
	memcpy(id, r->data + at, sizeof *id);
	return RS_OK;
}

static enum rs_status
unknown_id(const struct mapped_table *t, uint64_t rows, uint64_t id)
{
	return rs_fail_at(RS_EDATA, t->path, 0, 0, "the table has %" PRIu64 " rows, got id %"
		PRIu64, rows, id);
}

static enum rs_status
find_entry(const struct mapped_table *t, const struct mapped_rows *r, uint64_t id,
	const float **row)
{
	uint64_t at;

	*row = r->zero;
	if (t->n_ids > 0 && id >= t->n_ids)
		return unknown_id(t, t->n_ids, id);
	RS_TRY(mapped_index_find(&t->index, id, &at));
	if (at == r->rows)
		return RS_OK;
	const size_t place = r->offset + (size_t)at * r->row_bytes;
	RS_TRY(want_sound(t, r, place, r->row_bytes));
	*row = (const float *)(const void *)(r->data + place + sizeof(struct exact_entry));
	return RS_OK;
}

static inline enum rs_status
find_row(const struct mapped_table *t, const struct mapped_rows *r, uint64_t id,
	const float **row)
{
	const size_t at = r->offset + (size_t)id * r->row_bytes;

	if (id >= r->rows)
		return unknown_id(t, r->rows, id);
	RS_TRY(want_sound(t, r, at, r->row_bytes));
	*row = (const float *)(const void *)(r->data + at);
	return RS_OK;
}

/* What a row of a hashed table reads as that the file does not have. */
static void
start_row(const struct mapped_table *t, const struct mapped_rows *r, uint64_t id, float *row)
{
	row_start_weights(&t->start, ROW_FP32, id, r->dim, row);
	row_round(t->begins, row, r->dim);
}

static enum rs_status
mapped_pull(struct lookup *base, const struct lookup_pull *p)
{
	const struct mapped *const m = (struct mapped *)base;
	const struct mapped_table *const t = &m->table[p->table];
	const struct mapped_rows *const r = &m->rows[p->table];
	float *copy = NULL;

	if (r->storage != ROW_FP32 || t->n_ids > 0)
		RS_TRY(stage_take(p->stage, 0, p->input, p->n * r->dim, &copy));
	for (size_t j = 0; j < p->n; j++) {
		const uint64_t id = p->ids[j];

		RS_TRY(r->zero != NULL ? find_entry(t, r, id, &p->row[j])
			: find_row(t, r, id, &p->row[j]));
		if (copy == NULL || (p->row[j] == r->zero && t->n_ids == 0))
			continue;
		if (p->row[j] == r->zero)
			start_row(t, r, id, copy + j * r->dim);
		else
			row_convert(r->storage, p->row[j], ROW_FP32, copy + j * r->dim, r->dim);
		p->row[j] = copy + j * r->dim;
	}
	return RS_OK;
}

static void
mapped_close(struct lookup *base)
{
	struct mapped *const m = (struct mapped *)base;

	for (size_t i = 0; i < m->n_tables; i++) {
		mapped_index_close(&m->table[i].index);
		file_map_close(&m->table[i].map);
		free(m->table[i].path);
		free(m->rows[i].sound);
		free((float *)(uintptr_t)m->rows[i].zero);
	}
	free(m->rows);
	free(m->table);
	free(m);
}

static const struct lookup_ops mapped_ops = {
	.name = "mapped", .pull = mapped_pull, .close = mapped_close,
};

static enum rs_status
find_file(const struct manifest *manifest, const char *directory, const char *name,
	const struct manifest_file **out)
{
	for (size_t i = 0; i < manifest->n_files; i++)
		if (strcmp(manifest->file[i].name, name) == 0) {
			*out = &manifest->file[i];
			return RS_OK;
		}
	return rs_fail_at(RS_EDATA, directory, 0, 0, "damaged: MANIFEST has no file '%s'", name);
}

static enum rs_status
open_hashed(const struct lookup_table *want, struct mapped_table *t, struct mapped_rows *r)
{
	const struct table_file_header *h;

	RS_TRY(table_file_check(&t->map, t->path, &h));
	if (strcmp(h->name, want->name) != 0 || h->rows != want->rows || h->dim != want->dim
	    || h->begin != 0 || h->end != h->rows)
		return rs_fail_at(RS_EDATA, t->path, 0, 0, "rows %" PRIu64 " to %" PRIu64
			" of %" PRIu64 " x %u of table '%s', wanted all %" PRIu64 " x %zu of '%s'",
			h->begin, h->end, h->rows, h->dim, h->name, want->rows, want->dim,
			want->name);
	r->offset = (size_t)h->weights;
	r->storage = h->storage;
	r->row_bytes = row_bytes(r->storage, want->dim);
	r->rows = h->rows;
	return RS_OK;
}

static enum rs_status
open_by_id(const struct lookup_table *want, struct mapped_table *t, struct mapped_rows *r)
{
	const struct rows_file_header *h;
	float *zero;

	RS_TRY(rows_file_check_header(&t->map, t->path, &h));
	if (strcmp(h->name, want->name) != 0 || h->dim != want->dim || h->kind != ROWS_FILE_FULL
	    || h->table_kind != (uint32_t)want->kind || h->begin != 0 || h->end != want->rows)
		return rs_fail_at(RS_EDATA, t->path, 0, 0, "rows of %u of table '%s', wanted all "
			"of %zu of '%s'", h->dim, h->name, want->dim, want->name);
	RS_TRY(memory_alloc(want->dim, sizeof *zero, &zero));
	r->zero = zero;
	r->offset = (size_t)h->entries;
	r->storage = h->storage;
	r->row_bytes = h->entry_bytes;
	r->rows = h->n;
	t->n_ids = want->kind == TABLE_EXACT ? 0 : h->rows;
	t->start = rows_file_start(h);
	t->begins = want->storage;
	t->rows = r;
	return mapped_index_open(&(struct mapped_index_ids){ .id = id_at, .context = t, .n = h->n,
		.most = t->n_ids > 0 ? t->n_ids - 1 : UINT64_MAX }, &t->index);
}

static enum rs_status
open_table(const char *directory, const struct manifest *manifest,
	const struct lookup_table *want, struct mapped_table *t, struct mapped_rows *r)
{
	char name[CHECKPOINT_NAME_SIZE];

	checkpoint_table_file(name, want->name);
	RS_TRY(find_file(manifest, directory, name, &t->file));
	RS_TRY(file_join(directory, name, &t->path));
	RS_TRY(file_map_open(&t->map, t->path));
	RS_TRY(manifest_check_size(t->file, &t->map, t->path));
	RS_TRY(memory_alloc(t->file->n_crc + 1, sizeof *r->sound, &r->sound));
	if (t->file->n_crc > 0)
		RS_TRY(check_block(t, r, 0));
	r->data = t->map.data;
	r->dim = want->dim;
	return rows_file_is(&t->map) ? open_by_id(want, t, r) : open_hashed(want, t, r);
}

enum rs_status
mapped_open(const char *directory, const struct manifest *manifest, const struct model *m,
	struct lookup **out)
{
	struct mapped *l;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *l, &l));
	l->base.ops = &mapped_ops;
	enum rs_status status = memory_alloc(m->n_tables + 1, sizeof *l->table, &l->table);
	if (status == RS_OK)
		status = memory_alloc(m->n_tables + 1, sizeof *l->rows, &l->rows);
	for (size_t i = 0; status == RS_OK && i < m->n_tables; i++) {
		l->n_tables++;
		status = open_table(directory, manifest, &m->table[i], &l->table[i],
			&l->rows[i]);
	}
	if (status != RS_OK) {
		mapped_close(&l->base);
		return status;
	}
	*out = &l->base;
	return RS_OK;
}
