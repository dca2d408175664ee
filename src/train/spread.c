/* The files of a model from one rank to the others, in memory. */
#include "train/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "train/dense_file.h"
#include "train/frequency.h"
#include "train/ranks.h"

#define PIECE ((size_t)4 << 20)        /* bytes sent at once                          */

static enum rs_status
write_dense(const void *model, size_t table, struct file_writer *w)
{
	const struct model *const m = model;

	(void)table;
	return dense_file_write(m, w);
}

static enum rs_status
read_dense(void *model, size_t table, const char *path)
{
	struct model *const m = model;

	(void)table;
	return dense_file_load(m, path, 1, NULL);
}

static enum rs_status
write_frequency(const void *model, size_t table, struct file_writer *w)
{
	const struct model *const m = model;

	(void)table;
	return frequency_save(m->frequency, w);
}

static enum rs_status
read_frequency(void *model, size_t table, const char *path)
{
	struct model *const m = model;

	(void)table;
	return frequency_load(m->frequency, path);
}

static enum rs_status
write_items(const void *model, size_t table, struct file_writer *w)
{
	const struct model *const m = model;

	(void)table;
	return catalogue_save(m->catalogue, &m->schema, w);
}

static enum rs_status
read_items(void *model, size_t table, const char *path)
{
	struct model *const m = model;

	(void)table;
	catalogue_free(m->catalogue);
	m->catalogue = NULL;
	return catalogue_load(&m->schema, path, &m->catalogue);
}

static enum rs_status
write_table(const void *model, size_t table, struct file_writer *w)
{
	const struct model *const m = model;

	return m->lookup->ops->save(m->lookup, table, w);
}

static enum rs_status
read_table(void *model, size_t table, const char *path)
{
	struct model *const m = model;

	return m->lookup->ops->load(m->lookup, table, &path, 1);
}

static enum rs_status
write_tenancy(const void *model, size_t table, struct file_writer *w)
{
	const struct model *const m = model;

	return m->lookup->ops->save_tenancy(m->lookup, table, w);
}

static enum rs_status
read_tenancy(void *model, size_t table, const char *path)
{
	struct model *const m = model;

	return m->lookup->ops->load_tenancy(m->lookup, table, &path, 1);
}

static enum rs_status
spread_tables(struct model *m, size_t from)
{
	for (size_t t = 0; t < m->n_tables; t++) {
		RS_TRY(spread_file(m->place, from,
			&(struct spread_file){ write_table, read_table, m, t }, 0));
		if (lookup_has_tenancy(&m->table[t]))
			RS_TRY(spread_file(m->place, from,
				&(struct spread_file){ write_tenancy, read_tenancy, m, t }, 0));
	}
	return RS_OK;
}

/* The bytes of rank `from` at data, the others' into w. */
static enum rs_status
send_pieces(const struct train_place *place, size_t from, const struct file_map *map,
	struct file_writer *w)
{
	const int own = ranks_own(place) == from;
	uint64_t n = map->size;
	enum rs_status status = RS_OK;
	char *piece;

	RS_TRY(ranks_broadcast_of(place, from, &n, sizeof n));
	RS_TRY(memory_alloc(1, PIECE, &piece));
	for (uint64_t at = 0; status == RS_OK && at < n; at += PIECE) {
		const size_t bytes = n - at < PIECE ? (size_t)(n - at) : PIECE;

		if (own)
			memcpy(piece, map->data + at, bytes);
		status = ranks_broadcast_of(place, from, piece, bytes);
		if (status == RS_OK && !own)
			status = file_writer_write(w, piece, bytes);
	}
	free(piece);
	return status;
}

static enum rs_status
send_file(const struct train_place *place, size_t from, const struct spread_file *file,
	struct file_writer *w)
{
	struct file_map map = { 0 };
	enum rs_status status = file->write(file->context, file->number, w);

	if (status == RS_OK)
		status = file_writer_commit(w);
	if (status == RS_OK && w->size > 0)
		status = file_map_open(&map, w->path);
	status = ranks_outcome_of(place, from, status);
	if (status == RS_OK && ranks_several(place))
		status = send_pieces(place, from, &map, NULL);
	if (map.data != NULL)
		file_map_close(&map);
	return status;
}

static enum rs_status
receive_file(const struct train_place *place, size_t from, struct file_writer *w)
{
	RS_TRY(ranks_outcome_of(place, from, RS_OK));
	RS_TRY(send_pieces(place, from, &(struct file_map){ 0 }, w));
	return file_writer_commit(w);
}

enum rs_status
spread_file(const struct train_place *place, size_t from, const struct spread_file *file,
	int also_own)
{
	const int own = ranks_own(place) == from;
	struct file_writer w;

	RS_TRY(file_writer_open_memory(&w));
	enum rs_status status = own ? send_file(place, from, file, &w)
		: receive_file(place, from, &w);
	if (status == RS_OK && (!own || also_own))
		status = file->read(file->context, file->number, w.path);
	file_writer_close(&w);
	return status;
}

enum rs_status
spread_model(struct model *m, size_t from, unsigned parts)
{
	const int own_tables = m->lookup->ops->fetch == NULL;
	struct { double rate_factor; uint64_t parts; } head = { m->rate_factor, parts };

	if (!ranks_several(m->place))
		return RS_OK;
	RS_TRY(ranks_broadcast_of(m->place, from, &head, sizeof head));
	m->rate_factor = head.rate_factor;
	RS_TRY(spread_file(m->place, from, &(struct spread_file){ write_dense, read_dense, m, 0 },
		0));
	if (m->frequency != NULL && (head.parts & SPREAD_FREQUENCY))
		RS_TRY(spread_file(m->place, from,
			&(struct spread_file){ write_frequency, read_frequency, m, 0 }, 0));
	if (head.parts & SPREAD_ITEMS)
		RS_TRY(spread_file(m->place, from,
			&(struct spread_file){ write_items, read_items, m, 0 }, 0));
	return own_tables && (head.parts & SPREAD_TABLES) ? spread_tables(m, from) : RS_OK;
}

enum rs_status
spread_text(const struct train_place *place, size_t from, struct buffer *text)
{
	uint64_t n = text->n;

	RS_TRY(ranks_broadcast_of(place, from, &n, sizeof n));
	if (ranks_own(place) != from) {
		RS_TRY(buffer_reserve(text, (size_t)n + 1));
		text->n = (size_t)n;
		text->data[n] = '\0';
	}
	return ranks_broadcast_of(place, from, text->data, (size_t)n);
}
