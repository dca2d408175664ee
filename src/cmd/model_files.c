/* The files of one model version. */
#include "cmd/model_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "train/checkpoint_chain.h"

/* Is the directory a version itself?  A damaged one is known by its name. */
static enum rs_status
is_version(const char *directory, int *out)
{
	const char *const slash = strrchr(directory, '/');
	const char *const name = slash != NULL ? slash + 1 : directory;
	uint64_t version;
	char *path;

	*out = name[0] == 'v' && strlen(name) >= 7
		&& number_u64(name + 1, strlen(name + 1), &version) && version > 0;
	RS_TRY(file_join(directory, "MANIFEST", &path));
	*out |= access(path, F_OK) == 0;
	free(path);
	return RS_OK;
}

enum rs_status
model_files_resolve(const char *model, char **directory, uint64_t *version)
{
	struct stat st;
	int found;

	*version = 0;
	if (stat(model, &st) != 0 || !S_ISDIR(st.st_mode))
		return rs_fail(RS_ENOINPUT, "there is no model directory '%s'", model);
	RS_TRY(memory_strdup(model, directory));
	size_t n = strlen(*directory);
	while (n > 1 && (*directory)[n - 1] == '/')
		(*directory)[--n] = '\0';
	const enum rs_status status = is_version(*directory, &found);
	if (status != RS_OK)
		free(*directory);
	else if (found)
		*version = CHECKPOINT_HERE;
	return status;
}

static int
is_rows_file(const struct file_map *m)
{
	return m->size >= sizeof ROWS_FILE_MAGIC
		&& memcmp(m->data, ROWS_FILE_MAGIC, sizeof ROWS_FILE_MAGIC) == 0;
}

static enum rs_status
open_exact(struct model_table *t, const char *path)
{
	const struct rows_file_header *h;

	RS_TRY(rows_file_check(&t->map, path, &h));
	if (h->kind != ROWS_FILE_FULL)
		return rs_fail(RS_EDATA, "'%s' has not all rows, which is needed here", path);
	t->exact = (struct rows_file_piece){ .header = h,
		.entry = (const char *)t->map.data + h->entries };
	t->own = (struct table_file_header){ .rows = h->n, .begin = h->begin, .end = h->end,
		.dim = h->dim, .n_slot = h->n_slot, .storage = h->storage };
	memcpy(t->own.optimizer, h->optimizer, sizeof t->own.optimizer);
	memcpy(t->own.name, h->name, sizeof t->own.name);
	t->header = &t->own;
	return RS_OK;
}

/* What a delta is read with. */
struct whole { struct checkpoint_chain chain; struct model *shape; };

static enum rs_status
map_table(const struct whole *w, const char *path, const char *name, struct file_map *out)
{
	const size_t t = w->shape != NULL ? checkpoint_chain_table_of(w->shape, name) : 0;

	return w->shape != NULL && t < w->shape->n_tables
		? checkpoint_chain_map_table(&w->chain, w->shape, t, out)
		: file_map_open(out, path);
}

static enum rs_status
open_table(struct model_files *f, const struct whole *w, const char *name)
{
	struct model_table *t = &f->table[f->n_tables];
	char *path;

	RS_TRY(file_join(f->path, name, &path));
	enum rs_status status = map_table(w, path, name, &t->map);
	if (status == RS_OK) {
		f->n_tables++;
		status = is_rows_file(&t->map) ? open_exact(t, path)
			: table_file_check(&t->map, path, &t->header);
		if (status == RS_OK)
			status = memory_alloc(t->header->dim + 1, sizeof *t->row, &t->row);
	}
	free(path);
	return status;
}

static enum rs_status
count_items(struct model_files *f)
{
	char *path;

	if (!manifest_has(&f->manifest, CHECKPOINT_ITEMS))
		return RS_OK;
	RS_TRY(file_join(f->path, CHECKPOINT_ITEMS, &path));
	const enum rs_status status = catalogue_peek(path, &f->n_items);
	free(path);
	return status;
}

static enum rs_status
open_parts(struct model_files *f, const struct whole *w)
{
	RS_TRY(file_join(f->path, "dense.bin", &f->dense_path));
	RS_TRY(file_map_open(&f->dense_map, f->dense_path));
	RS_TRY(dense_file_view(&f->dense_map, f->dense_path, &f->dense));
	RS_TRY(memory_alloc(f->manifest.n_files + 1, sizeof *f->table, &f->table));
	for (size_t i = 0; i < f->manifest.n_files; i++)
		if (strncmp(f->manifest.file[i].name, "table-", 6) == 0)
			RS_TRY(open_table(f, w, f->manifest.file[i].name));
	return count_items(f);
}

static enum rs_status
open_delta(struct model_files *f, uint64_t at)
{
	const struct model_options options = { .shape_only = 1 };
	struct whole w = { .shape = NULL };
	struct spec *spec;

	RS_TRY(checkpoint_chain_open(f->directory, at, &w.chain));
	enum rs_status status = checkpoint_spec(f->directory, at, &spec);
	if (status == RS_OK)
		status = model_create(spec, &options, &w.shape);
	if (status == RS_OK)
		status = open_parts(f, &w);
	model_free(w.shape);
	checkpoint_chain_free(&w.chain);
	return status;
}

static enum rs_status
open_version(struct model_files *f, const char *model)
{
	const struct whole none = { .shape = NULL };
	uint64_t at;

	RS_TRY(model_files_resolve(model, &f->directory, &at));
	RS_TRY(checkpoint_peek(f->directory, at, NULL, &f->version));
	if (at != CHECKPOINT_HERE)
		at = f->version;
	RS_TRY(checkpoint_version_path(f->directory, at, &f->path));
	RS_TRY(manifest_read(&f->manifest, f->path));
	RS_TRY(checkpoint_spec(f->directory, at, &f->spec));
	return f->manifest.kind == MANIFEST_DELTA ? open_delta(f, at) : open_parts(f, &none);
}

enum rs_status
model_files_open(const char *model, struct model_files *out)
{
	memset(out, 0, sizeof *out);
	const enum rs_status status = open_version(out, model);
	if (status != RS_OK)
		model_files_close(out);
	return status;
}

void
model_files_close(struct model_files *f)
{
	for (size_t i = 0; i < f->n_tables; i++) {
		file_map_close(&f->table[i].map);
		free(f->table[i].row);
	}
	free(f->table);
	if (f->dense_map.data != NULL)
		file_map_close(&f->dense_map);
	free(f->dense_path);
	spec_free(f->spec);
	manifest_free(&f->manifest);
	free(f->path);
	free(f->directory);
	memset(f, 0, sizeof *f);
}

const struct model_table *
model_files_table(const struct model_files *f, const char *name)
{
	for (size_t i = 0; i < f->n_tables; i++)
		if (strcmp(f->table[i].header->name, name) == 0)
			return &f->table[i];
	return NULL;
}

uint64_t
model_table_count(const struct model_table *t)
{
	return t->exact.header != NULL ? t->exact.header->n : t->header->end - t->header->begin;
}

uint64_t
model_table_id(const struct model_table *t, uint64_t i)
{
	return t->exact.header != NULL ? rows_file_entry(&t->exact, i)->id : t->header->begin + i;
}

const struct exact_entry *
model_table_entry(const struct model_table *t, uint64_t id)
{
	uint64_t low = 0, high = t->exact.header != NULL ? t->exact.header->n : 0;
	const uint64_t n = high;

	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (rows_file_entry(&t->exact, middle)->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && rows_file_entry(&t->exact, low)->id == id
		? rows_file_entry(&t->exact, low) : NULL;
}

static const float *
entry_values(const struct model_table *t, uint64_t id, size_t skip)
{
	const struct exact_entry *const e = model_table_entry(t, id);

	return e != NULL ? exact_row(e) + skip : NULL;
}

const float *
model_table_weights(const struct model_table *t, uint64_t id)
{
	const struct table_file_header *h = t->header;
	const size_t row_bytes = h->dim * row_weight_bytes(h->storage);
	const void *const from = t->exact.header != NULL ? (const void *)entry_values(t, id, 0)
		: t->map.data + h->weights + (id - h->begin) * row_bytes;

	if (from == NULL)
		return NULL;
	row_convert(h->storage, from, ROW_FP32, t->row, h->dim);
	return t->row;
}

const float *
model_table_slots(const struct model_table *t, uint64_t id)
{
	if (t->exact.header != NULL)
		return entry_values(t, id, row_slot_at(t->header->storage, t->header->dim));
	return (const float *)(const void *)(t->map.data + t->header->slots)
		+ (size_t)(id - t->header->begin) * t->header->n_slot;
}

int
model_table_touched(const struct model_table *t, uint64_t id)
{
	const uint64_t i = id - t->header->begin;

	if (t->exact.header != NULL)
		return model_table_entry(t, id) != NULL;
	return t->map.data[t->header->touched + i / 8] >> (i % 8) & 1;
}
