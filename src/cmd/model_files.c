/* The files of one model version. */
#include "cmd/model_files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/memory.h"
#include "base/number.h"
#include "train/checkpoint_chain.h"
#include "train/model.h"

/* Is the directory a version itself?  A damaged one is known by its name. */
static int
is_version(const char *directory)
{
	const char *const slash = strrchr(directory, '/');
	const char *const name = slash != NULL ? slash + 1 : directory;
	uint64_t version;

	return (name[0] == 'v' && strlen(name) >= 7
		&& number_u64(name + 1, strlen(name + 1), &version) && version > 0)
		|| checkpoint_is_version(directory);
}

enum rs_status
model_files_check(const char *model)
{
	struct stat st;
	const int is_there = stat(model, &st) == 0;

	if (is_there && S_ISDIR(st.st_mode))
		return RS_OK;
	rs_fail(RS_ENOINPUT, "there is no model directory '%s'", model);
	return rs_hint("%s'recsys-train train SPEC -f DIR' makes one", is_there ?
		"this is a file; " : "");
}

enum rs_status
model_files_resolve(const char *model, char **directory, uint64_t *version)
{
	*version = 0;
	RS_TRY(model_files_check(model));
	RS_TRY(memory_strdup(model, directory));
	size_t n = strlen(*directory);
	while (n > 1 && (*directory)[n - 1] == '/')
		(*directory)[--n] = '\0';
	if (is_version(*directory))
		*version = CHECKPOINT_HERE;
	return RS_OK;
}

static enum rs_status
open_by_id(const struct model_files *f, struct model_table *t, const char *path)
{
	const struct rows_file_header *h;

	RS_TRY(rows_file_check(&t->map, path, &h));
	if (h->kind != ROWS_FILE_FULL)
		return rs_fail(RS_EDATA, "'%s' has not all rows, which is needed here", path);
	const int is_exact = h->table_kind == TABLE_EXACT;
	*(is_exact ? &t->exact : &t->sparse) = (struct rows_file_piece){ .header = h,
		.entry = (const char *)t->map.data + h->entries };
	t->own = (struct table_file_header){ .rows = is_exact ? h->n : h->rows,
		.begin = h->begin, .end = h->end, .dim = h->dim, .n_slot = h->n_slot,
		.storage = h->storage };
	memcpy(t->own.optimizer, h->optimizer, sizeof t->own.optimizer);
	memcpy(t->own.name, h->name, sizeof t->own.name);
	t->header = &t->own;
	t->begins = model_storage(spec_settings(f->spec), h->dim);
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
		status = rows_file_is(&t->map) ? open_by_id(f, t, path)
			: table_file_check(&t->map, path, &t->header);
		if (status == RS_OK)
			status = memory_alloc(t->header->dim + 1, sizeof *t->row, &t->row);
		if (status == RS_OK)
			status = memory_alloc(t->header->n_slot + 1, sizeof *t->slots, &t->slots);
		if (status == RS_OK)
			status = memory_alloc(1, sizeof *t->near, &t->near);
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
		free(f->table[i].slots);
		free(f->table[i].near);
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

/* The first entry in [low,high) whose id is not less. */
static uint64_t
search(const struct rows_file_piece *p, uint64_t id, uint64_t low, uint64_t high)
{
	while (low < high) {
		const uint64_t middle = low + (high - low) / 2;

		if (rows_file_entry(p, middle)->id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Ids come in order most often: the entry is the one found last, or the next. */
static const struct exact_entry *
find_entry(const struct model_table *t, const struct rows_file_piece *p, uint64_t id)
{
	const uint64_t n = p->header->n;
	uint64_t low = *t->near, high = low + 2 < n ? low + 2 : n;

	if (low >= n || rows_file_entry(p, low)->id > id)
		low = 0;
	if (high == 0 || rows_file_entry(p, high - 1)->id < id)
		high = n;
	low = search(p, id, low, high);
	*t->near = low > 0 && (low == n || rows_file_entry(p, low)->id > id) ? low - 1 : low;
	return low < n && rows_file_entry(p, low)->id == id ? rows_file_entry(p, low) : NULL;
}

const struct exact_entry *
model_table_entry(const struct model_table *t, uint64_t id)
{
	return t->exact.header != NULL ? find_entry(t, &t->exact, id) : NULL;
}

/* The entry of a table of rows by id, of either kind. */
static const struct exact_entry *
entry_of(const struct model_table *t, uint64_t id)
{
	return find_entry(t, t->exact.header != NULL ? &t->exact : &t->sparse, id);
}

static int
is_by_id(const struct model_table *t)
{
	return t->exact.header != NULL || t->sparse.header != NULL;
}

int
model_table_is_absent(const struct model_table *t, uint64_t id)
{
	return t->sparse.header != NULL && entry_of(t, id) == NULL;
}

static const float *
start_weights(const struct model_table *t, uint64_t id)
{
	const struct row_start start = rows_file_start(t->sparse.header);

	row_start_weights(&start, ROW_FP32, id, t->header->dim, t->row);
	row_round(t->begins, t->row, t->header->dim);
	return t->row;
}

static const float *
start_slots(const struct model_table *t)
{
	const struct row_optimizer *const o = row_optimizer_find(t->header->optimizer);
	const struct row_optimizer_settings settings = {
		.initial_accumulator = rows_file_start(t->sparse.header).accumulator };

	if (o != NULL && row_optimizer_slots(o, t->header->dim) == t->header->n_slot)
		row_optimizer_init(o, &settings, t->header->dim, t->slots);
	return t->slots;
}

const float *
model_table_weights(const struct model_table *t, uint64_t id)
{
	const struct table_file_header *h = t->header;
	const struct exact_entry *const e = is_by_id(t) ? entry_of(t, id) : NULL;
	const void *const from = e != NULL ? (const void *)exact_row(e)
		: t->map.data + h->weights + (id - h->begin) * row_bytes(h->storage, h->dim);

	if (e == NULL && is_by_id(t))
		return t->exact.header != NULL ? NULL : start_weights(t, id);
	row_convert(h->storage, from, ROW_FP32, t->row, h->dim);
	return t->row;
}

const float *
model_table_slots(const struct model_table *t, uint64_t id)
{
	const struct exact_entry *const e = is_by_id(t) ? entry_of(t, id) : NULL;

	if (e != NULL)
		return exact_row(e) + row_slot_at(t->header->storage, t->header->dim);
	if (is_by_id(t))
		return t->exact.header != NULL ? NULL : start_slots(t);
	return (const float *)(const void *)(t->map.data + t->header->slots)
		+ (size_t)(id - t->header->begin) * t->header->n_slot;
}

int
model_table_touched(const struct model_table *t, uint64_t id)
{
	const uint64_t i = id - t->header->begin;

	const struct exact_entry *const e = is_by_id(t) ? entry_of(t, id) : NULL;

	if (is_by_id(t))
		return e != NULL && (t->exact.header != NULL || e->count > 0);
	return t->map.data[t->header->touched + i / 8] >> (i % 8) & 1;
}
