/* dense.bin: dense parameters by name, written and read. */
#include "train/dense_file.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char dense_magic[8] = { 'R', 'S', 'D', 'E', 'N', 'S', 'E', '1' };

enum rs_status
dense_file_write(const struct model *m, struct file_writer *w)
{
	struct dense_head head = {
		.n_params = graph_n_params(m->graph), .P = m->P, .step = m->step,
		.skipped_steps = m->skipped_steps, .has_state = m->slot_m != NULL
			&& m->slot_v != NULL,
	};

	memcpy(head.magic, dense_magic, sizeof head.magic);
	RS_TRY(file_writer_write(w, &head, sizeof head));
	for (size_t i = 0; i < head.n_params; i++) {
		const struct graph_param *const p = graph_param(m->graph, i);
		struct dense_param row =
			{ .offset = p->offset, .rows = p->rows, .columns = p->columns };

		memcpy(row.name, p->name, strnlen(p->name, sizeof row.name));
		RS_TRY(file_writer_write(w, &row, sizeof row));
	}
	RS_TRY(file_writer_write(w, m->param, m->P * sizeof *m->param));
	if (!head.has_state)
		return RS_OK;
	RS_TRY(file_writer_write(w, m->slot_m, m->P * sizeof *m->slot_m));
	return file_writer_write(w, m->slot_v, m->P * sizeof *m->slot_v);
}

enum rs_status
dense_file_view(const struct file_map *map, const char *path, struct dense_view *out)
{
	struct dense_head *const h = &out->head;

	if (map->size < sizeof *h)
		return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: only %zu bytes", map->size);
	memcpy(h, map->data, sizeof *h);
	if (memcmp(h->magic, dense_magic, sizeof h->magic) != 0)
		return rs_fail_at(RS_EDATA, path, 0, 0, "not a file of dense parameters");
	const size_t rest = map->size - sizeof *h;
	const size_t copies = h->has_state ? 3 : 1;
	if (h->n_params > rest / sizeof(struct dense_param) || h->P > rest / sizeof(float) / copies
	    || h->n_params * sizeof(struct dense_param) + h->P * sizeof(float) * copies != rest)
		return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: %zu bytes do not hold %" PRIu64
			" parameters of %" PRIu64 " numbers", map->size, h->n_params, h->P);
	out->param = map->data + sizeof *h;
	out->weight = out->param + h->n_params * sizeof(struct dense_param);
	return RS_OK;
}

enum rs_status
dense_file_param(const struct dense_view *v, size_t i, const char *path, struct dense_param *out)
{
	memcpy(out, v->param + i * sizeof *out, sizeof *out);
	if (memchr(out->name, 0, sizeof out->name) == NULL || out->offset > v->head.P
	    || (out->columns != 0 && out->rows > (v->head.P - out->offset) / out->columns))
		return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: parameter %zu lies outside", i);
	return RS_OK;
}

static int
view_find(const struct dense_view *v, const char *name, struct dense_param *out)
{
	for (size_t i = 0; i < v->head.n_params; i++) {
		memcpy(out, v->param + i * sizeof *out, sizeof *out);
		if (strncmp(out->name, name, sizeof out->name) == 0)
			return 1;
	}
	return 0;
}

static enum rs_status
load_param(struct model *m, const struct graph_param *p, const struct dense_view *v,
	int with_state, const char *path)
{
	struct dense_param row;
	const size_t n = p->rows * p->columns;

	if (!view_find(v, p->name, &row))
		return rs_fail_at(RS_ESPEC, path, 0, 0, "the model saved has no parameter '%s'",
			p->name);
	if (row.rows != p->rows || row.columns != p->columns)
		return rs_fail_at(RS_ESPEC, path, 0, 0, "parameter '%s' is %" PRIu64 " x %" PRIu64
			" in the model saved, the spec wants %zu x %zu", p->name, row.rows,
				row.columns,
			p->rows, p->columns);
	if (row.offset > v->head.P || n > v->head.P - row.offset)
		return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: '%s' lies outside", p->name);
	const char *const from = v->weight + row.offset * sizeof(float);
	memcpy(m->param + p->offset, from, n * sizeof(float));
	if (!with_state)
		return RS_OK;
	memcpy(m->slot_m + p->offset, from + v->head.P * sizeof(float), n * sizeof(float));
	memcpy(m->slot_v + p->offset, from + 2 * v->head.P * sizeof(float), n * sizeof(float));
	return RS_OK;
}

enum rs_status
dense_file_load(struct model *m, const char *path, int with_state, int *had_state)
{
	struct file_map map;
	struct dense_view view = { 0 };

	RS_TRY(file_map_open(&map, path));
	enum rs_status status = dense_file_view(&map, path, &view);
	const int state = with_state && view.head.has_state && m->slot_m != NULL
		&& m->slot_v != NULL;
	for (size_t i = 0; status == RS_OK && i < graph_n_params(m->graph); i++)
		status = load_param(m, graph_param(m->graph, i), &view, state, path);
	if (status == RS_OK) {
		m->step = view.head.step;
		m->skipped_steps = view.head.skipped_steps;
	}
	if (had_state != NULL)
		*had_state = view.head.has_state != 0;
	file_map_close(&map);
	return status;
}
