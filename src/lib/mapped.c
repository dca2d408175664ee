/* Rows of mapped table files, checked at first touch. */
#include "lib/mapped.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/table_file.h"
#include "train/checkpoint_private.h"

/* What a pull looks at: a cache line at most. */
struct mapped_rows {
	const char *data;              /* the file                                    */
	size_t   offset, row_bytes;    /* of row 0 in it; of a row                    */
	uint64_t rows;
	atomic_uchar *sound;           /* [n_crc of the file] 1: compared and equal   */
};

struct mapped_table {
	struct file_map map;
	char *path;
	const struct manifest_file *file;
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

static enum rs_status
mapped_pull(struct lookup *base, const struct lookup_pull *p)
{
	const struct mapped *const m = (struct mapped *)base;
	const struct mapped_table *const t = &m->table[p->table];
	const struct mapped_rows *const r = &m->rows[p->table];

	for (size_t j = 0; j < p->n; j++) {
		const uint64_t id = p->ids[j];

		if (id >= r->rows)
			return rs_fail_at(RS_EDATA, t->path, 0, 0, "the table has %" PRIu64
				" rows, got id %" PRIu64, r->rows, id);
		const size_t at = r->offset + (size_t)id * r->row_bytes;
		const size_t first = at / FILE_CRC_BLOCK;
		const size_t last = (at + r->row_bytes - 1) / FILE_CRC_BLOCK;

		if (!is_sound(r, first))
			RS_TRY(check_block(t, r, first));
		if (last != first && !is_sound(r, last))
			RS_TRY(check_block(t, r, last));
		p->row[j] = (const float *)(const void *)(r->data + at);
	}
	return RS_OK;
}

static void
mapped_close(struct lookup *base)
{
	struct mapped *const m = (struct mapped *)base;

	for (size_t i = 0; i < m->n_tables; i++) {
		file_map_close(&m->table[i].map);
		free(m->table[i].path);
		free(m->rows[i].sound);
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
open_table(const char *directory, const struct manifest *manifest,
	const struct lookup_table *want, struct mapped_table *t, struct mapped_rows *r)
{
	const struct table_file_header *h;
	char name[CHECKPOINT_NAME_SIZE];

	checkpoint_table_file(name, want->name);
	RS_TRY(find_file(manifest, directory, name, &t->file));
	RS_TRY(file_join(directory, name, &t->path));
	RS_TRY(file_map_open(&t->map, t->path));
	RS_TRY(manifest_check_size(t->file, &t->map, t->path));
	RS_TRY(memory_alloc(t->file->n_crc + 1, sizeof *r->sound, &r->sound));
	if (t->file->n_crc > 0)
		RS_TRY(check_block(t, r, 0));
	RS_TRY(table_file_check(&t->map, t->path, &h));
	if (strcmp(h->name, want->name) != 0 || h->rows != want->rows || h->dim != want->dim
	    || h->begin != 0 || h->end != h->rows)
		return rs_fail_at(RS_EDATA, t->path, 0, 0, "rows %" PRIu64 " to %" PRIu64
			" of %" PRIu64 " x %u of table '%s', wanted all %" PRIu64 " x %zu of '%s'",
			h->begin, h->end, h->rows, h->dim, h->name, want->rows, want->dim,
			want->name);
	r->data = t->map.data;
	r->offset = (size_t)h->weights;
	r->row_bytes = want->dim * sizeof(float);
	r->rows = h->rows;
	return RS_OK;
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
