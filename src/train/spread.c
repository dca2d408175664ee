/* The files of a model from rank 0 to the others, in memory. */
#include "train/spread.h"

#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "train/dense_file.h"
#include "train/frequency.h"
#include "train/ranks.h"

#define PIECE ((size_t)4 << 20)        /* bytes sent at once                          */

/* One file: how rank 0 writes it and the others read it. */
struct spread_file {
	enum rs_status (*write)(const struct model *m, size_t table, struct file_writer *w);
	enum rs_status (*read)(struct model *m, size_t table, const char *path);
};

static enum rs_status
write_dense(const struct model *m, size_t table, struct file_writer *w)
{
	(void)table;
	return dense_file_write(m, w);
}

static enum rs_status
read_dense(struct model *m, size_t table, const char *path)
{
	(void)table;
	return dense_file_load(m, path, 1, NULL);
}

static enum rs_status
write_frequency(const struct model *m, size_t table, struct file_writer *w)
{
	(void)table;
	return frequency_save(m->frequency, w);
}

static enum rs_status
read_frequency(struct model *m, size_t table, const char *path)
{
	(void)table;
	return frequency_load(m->frequency, path);
}

static enum rs_status
write_items(const struct model *m, size_t table, struct file_writer *w)
{
	(void)table;
	return catalogue_save(m->catalogue, &m->schema, w);
}

static enum rs_status
read_items(struct model *m, size_t table, const char *path)
{
	(void)table;
	catalogue_free(m->catalogue);
	m->catalogue = NULL;
	return catalogue_load(&m->schema, path, &m->catalogue);
}

static enum rs_status
write_table(const struct model *m, size_t table, struct file_writer *w)
{
	return m->lookup->ops->save(m->lookup, table, w);
}

static enum rs_status
read_table(struct model *m, size_t table, const char *path)
{
	return m->lookup->ops->load(m->lookup, table, &path, 1);
}

static const struct spread_file dense_file = { write_dense, read_dense };
static const struct spread_file frequency_file = { write_frequency, read_frequency };
static const struct spread_file items_file = { write_items, read_items };
static const struct spread_file table_file = { write_table, read_table };

/* Rank 0's n bytes at data, the others' into w. */
static enum rs_status
send_pieces(const struct train_place *place, const char *data, uint64_t n, struct file_writer *w)
{
	enum rs_status status = RS_OK;
	char *piece;

	RS_TRY(memory_alloc(1, PIECE, &piece));
	for (uint64_t at = 0; status == RS_OK && at < n; at += PIECE) {
		const size_t bytes = n - at < PIECE ? (size_t)(n - at) : PIECE;

		if (ranks_lead(place))
			memcpy(piece, data + at, bytes);
		status = ranks_broadcast(place, piece, bytes);
		if (status == RS_OK && !ranks_lead(place))
			status = file_writer_write(w, piece, bytes);
	}
	free(piece);
	return status;
}

static enum rs_status
send_file(const struct model *m, const struct spread_file *file, size_t table,
	struct file_writer *w)
{
	struct file_map map = { 0 };
	enum rs_status status = file->write(m, table, w);

	if (status == RS_OK)
		status = file_writer_commit(w);
	if (status == RS_OK && w->size > 0)
		status = file_map_open(&map, w->path);
	status = ranks_outcome(m->place, status);
	if (status == RS_OK)
		status = ranks_broadcast(m->place, &w->size, sizeof w->size);
	if (status == RS_OK)
		status = send_pieces(m->place, map.data, w->size, NULL);
	if (map.data != NULL)
		file_map_close(&map);
	return status;
}

static enum rs_status
receive_file(struct model *m, const struct spread_file *file, size_t table, struct file_writer *w)
{
	uint64_t bytes;

	RS_TRY(ranks_outcome(m->place, RS_OK));
	RS_TRY(ranks_broadcast(m->place, &bytes, sizeof bytes));
	RS_TRY(send_pieces(m->place, NULL, bytes, w));
	RS_TRY(file_writer_commit(w));
	return file->read(m, table, w->path);
}

static enum rs_status
spread_file(struct model *m, const struct spread_file *file, size_t table)
{
	struct file_writer w;

	RS_TRY(file_writer_open_memory(&w));
	const enum rs_status status = ranks_lead(m->place) ? send_file(m, file, table, &w)
		: receive_file(m, file, table, &w);
	file_writer_close(&w);
	return status;
}

enum rs_status
spread_model(struct model *m, unsigned parts)
{
	const int own_tables = m->lookup->ops->fetch == NULL;
	struct { double rate_factor; uint64_t parts; } head = { m->rate_factor, parts };

	if (!ranks_several(m->place))
		return RS_OK;
	RS_TRY(ranks_broadcast(m->place, &head, sizeof head));
	m->rate_factor = head.rate_factor;
	RS_TRY(spread_file(m, &dense_file, 0));
	if (m->frequency != NULL)
		RS_TRY(spread_file(m, &frequency_file, 0));
	if (head.parts & SPREAD_ITEMS)
		RS_TRY(spread_file(m, &items_file, 0));
	for (size_t t = 0; own_tables && (head.parts & SPREAD_TABLES) && t < m->n_tables; t++)
		RS_TRY(spread_file(m, &table_file, t));
	return RS_OK;
}

enum rs_status
spread_text(const struct train_place *place, struct buffer *text)
{
	uint64_t n = text->n;

	RS_TRY(ranks_broadcast(place, &n, sizeof n));
	if (!ranks_lead(place)) {
		RS_TRY(buffer_reserve(text, (size_t)n + 1));
		text->n = (size_t)n;
		text->data[n] = '\0';
	}
	return ranks_broadcast(place, text->data, (size_t)n);
}
