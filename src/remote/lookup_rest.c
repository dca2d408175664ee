/* What rounding left out of pushes, to a file and back: sections of rows, each of a table
 * and a node of the tree.  Files of several ranks behind each other are one. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "remote/lookup_private.h"

#define REST_MAGIC 0x54534552u          /* "REST"                                     */

struct rest_section {
	uint32_t magic;
	uint32_t slot;                  /* the first of the node                      */
	uint32_t table, dim;
	uint64_t rows;                  /* of the table                               */
	uint64_t n;                     /* ids [n], then what is left [n,dim]         */
};

/* --- to a file ------------------------------------------------------------------------ */

static enum rs_status
save_section(const struct remote_lookup *l, size_t part, size_t node, struct file_writer *w)
{
	const struct lookup_residual *r = &l->residual[part * l->n_nodes + node];
	const size_t table = l->parts.part[part].table;
	struct rest_section s = { .magic = REST_MAGIC, .slot = (uint32_t)l->node[node].begin,
		.table = (uint32_t)table, .dim = (uint32_t)r->D, .rows = l->table[table].rows };

	for (size_t i = 0; i < r->n_places; i++)
		s.n += r->owner[i] != 0;
	if (s.n == 0)
		return RS_OK;
	RS_TRY(file_writer_write(w, &s, sizeof(s)));
	for (size_t i = 0; i < r->n_places; i++)
		if (r->owner[i] != 0)
			RS_TRY(file_writer_write(w, &(uint64_t){ r->owner[i] - 1 },
				sizeof(uint64_t)));
	for (size_t i = 0; i < r->n_places; i++)
		if (r->owner[i] != 0)
			RS_TRY(file_writer_write(w, r->error + i * r->D,
				r->D * sizeof(*r->error)));
	return RS_OK;
}

enum rs_status
lookup_rest_save(struct lookup *base, struct file_writer *w)
{
	const struct remote_lookup *l = lookup_of(base);

	for (size_t i = 0; i < l->parts.n; i++)
		for (size_t k = 0; k < l->n_nodes && lookup_part_dim(l, i) > 1; k++)
			RS_TRY(save_section(l, i, k, w));
	return RS_OK;
}

/* --- and back --------------------------------------------------------------------------- */

static enum rs_status
check_section(const struct remote_lookup *l, const struct rest_section *s, size_t left,
	const char *path)
{
	if (s->magic != REST_MAGIC || s->table >= l->n_tables || s->dim < 2
	    || s->dim != l->table[s->table].dim || s->rows != l->table[s->table].rows
	    || s->n > left / (sizeof(uint64_t) + s->dim * sizeof(float)))
		return rs_fail_at(RS_EDATA, path, 0, 0,
			"it has not what is left of gradients of these tables");
	return RS_OK;
}

/* SIZE_MAX: the slot is of another rank. */
static size_t
node_of(const struct remote_lookup *l, size_t slot)
{
	for (size_t k = 0; k < l->n_nodes; k++)
		if (slot >= l->node[k].begin && slot < l->node[k].end)
			return k;
	return SIZE_MAX;
}

static size_t
part_of(const struct remote_lookup *l, size_t table, uint64_t id)
{
	size_t p = l->parts.first[table];

	while (l->parts.part[p].end <= id)
		p++;
	return p;
}

/* What two nodes had that are one now comes together. */
static enum rs_status
load_section(struct remote_lookup *l, const struct rest_section *s, const char *data,
	const char *path)
{
	const size_t node = node_of(l, s->slot), D = s->dim;
	const char *errors = data + s->n * sizeof(uint64_t);
	float *x;

	if (node == SIZE_MAX)
		return RS_OK;
	RS_TRY(memory_alloc(D, sizeof(*x), &x));
	for (uint64_t i = 0; i < s->n; i++) {
		uint64_t id;

		memcpy(&id, data + i * sizeof(id), sizeof(id));
		if (id >= s->rows) {
			free(x);
			return rs_fail_at(RS_EDATA, path, 0, 0, "table '%s' has no row %" PRIu64,
				l->table[s->table].name, id);
		}
		struct lookup_residual *r =
			&l->residual[part_of(l, s->table, id) * l->n_nodes + node];

		memcpy(x, errors + i * D * sizeof(*x), D * sizeof(*x));
		lookup_residual_add(r, id, x);
		lookup_residual_put(r, id, x);
	}
	free(x);
	return RS_OK;
}

enum rs_status
lookup_rest_load(struct lookup *base, const char *path)
{
	struct remote_lookup *l = lookup_of(base);
	enum rs_status status = RS_OK;
	struct file_map map;
	struct rest_section s;

	RS_TRY(file_map_open(&map, path));
	for (size_t at = 0, n; status == RS_OK && at < map.size; at += sizeof(s) + n) {
		memset(&s, 0, sizeof(s));
		if (map.size - at >= sizeof(s))
			memcpy(&s, map.data + at, sizeof(s));
		status = check_section(l, &s, map.size - at - sizeof(s), path);
		n = s.n * (sizeof(uint64_t) + s.dim * sizeof(float));
		if (status == RS_OK)
			status = load_section(l, &s, map.data + at + sizeof(s), path);
	}
	file_map_close(&map);
	return status;
}
