/* The arrays of a model. */
#include "export/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/half.h"
#include "base/memory.h"
#include "export/table_rows.h"
#include "train/row_numbers.h"

const struct array_kind array_kind[ARRAY_N_TYPES] = {
#define ROW(name, bytes, numpy, safetensors) { #name, bytes, numpy, safetensors },
	ARRAY_TYPES(ROW)
#undef ROW
};

/* --- which there are ---------------------------------------------------------------- */

static enum rs_status
append(struct arrays *set, const struct array *a)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->item[i].name, a->name) == 0)
			return rs_fail(RS_ESPEC, "two arrays have the name '%s'", a->name);
	if (set->n == set->capacity) {
		const size_t capacity = set->capacity > 0 ? 2 * set->capacity : 16;
		struct array *const grown = reallocarray(set->item, capacity, sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for %zu arrays", capacity);
		set->item = grown;
		set->capacity = capacity;
	}
	set->item[set->n++] = *a;
	return RS_OK;
}

enum rs_status
arrays_add(struct arrays *set, const struct array *like, enum array_type type)
{
	struct array a = *like;

	a.type = type == ARRAY_int8 && (a.rank < 2 || a.columns < 2) ? ARRAY_f32 : type;
	a.is_scale = 0;
	RS_TRY(append(set, &a));
	if (a.type != ARRAY_int8)
		return RS_OK;
	a.type = ARRAY_f32;
	a.is_scale = 1;
	a.rank = a.columns = 1;
	if ((size_t)snprintf(a.name, sizeof a.name, "%s.scale", like->name) >= sizeof a.name)
		return rs_fail(RS_ESPEC, "'%s': too long a name for its scales", like->name);
	return append(set, &a);
}

static enum rs_status
add_table(const struct model *m, size_t table, enum array_type type, struct arrays *set)
{
	struct array a = { .rank = 2, .rows = row_numbers_count(m, table),
		.columns = m->table[table].dim, .width = m->table[table].dim, .model = m,
		.table = table };

	(void)snprintf(a.name, sizeof a.name, "%s", m->table[table].name);
	return arrays_add(set, &a, type);
}

static enum rs_status
add_parameter(const struct model *m, size_t k, enum array_type type, struct arrays *set)
{
	const struct graph_param *const p = graph_param(m->graph, k);
	const int is_vector = p->rows == 1;
	struct array a = { .rank = is_vector ? 1 : 2, .rows = is_vector ? p->columns : p->rows,
		.columns = is_vector ? 1 : p->columns, .data = m->param + p->offset };

	a.width = a.columns;
	(void)snprintf(a.name, sizeof a.name, "%s", p->name);
	return arrays_add(set, &a, type);
}

enum rs_status
arrays_of_model(const struct model *m, enum array_type type, struct arrays *out)
{
	enum rs_status status = RS_OK;

	*out = (struct arrays){ 0 };
	for (size_t i = 0; status == RS_OK && i < m->n_tables; i++)
		status = add_table(m, i, type, out);
	for (size_t k = 0; status == RS_OK && k < graph_n_params(m->graph); k++)
		status = add_parameter(m, k, type, out);
	if (status != RS_OK)
		arrays_free(out);
	return status;
}

void
arrays_free(struct arrays *set)
{
	free(set->item);
	*set = (struct arrays){ 0 };
}

const char *
array_word(const struct array_words *words, uint64_t r, size_t *n)
{
	const uint64_t begin = r > 0 ? words->end[r - 1] : 0;

	*n = (size_t)(words->end[r] - begin);
	return words->text + begin;
}

/* --- their bytes -------------------------------------------------------------------- */

uint64_t
array_size(const struct array *a)
{
	return a->rows * a->columns * array_kind[a->type].bytes;
}

float
array_scale(const float *row, size_t n)
{
	float most = 0;

	for (size_t i = 0; i < n; i++)
		most = fmaxf(most, fabsf(row[i]));
	const float scale = (float)((double)most / 127);
	return scale == 0 && most > 0 ? 0x1p-149f : scale;
}

enum rs_status
array_rows(const struct array *a, enum rs_status (*take)(void *, const float *, size_t),
	void *context)
{
	if (a->model != NULL)
		return table_rows(a->model, a->table, take, context);
	for (uint64_t r = 0; r < a->rows; r++)
		RS_TRY(take(context, a->data + r * a->width, a->width));
	return RS_OK;
}

struct encoder {
	const struct array *a;
	uint64_t row;
	void *bytes;                       /* [width] of the largest type             */
	enum rs_status (*put)(void *context, const void *bytes, size_t n);
	void *context;
};

static enum rs_status
refuse(const struct encoder *e, float x)
{
	return rs_fail(RS_EDATA, "'%s' row %" PRIu64 ": %g cannot be %s", e->a->name, e->row,
		(double)x, array_kind[e->a->type].name);
}

static enum rs_status
encode_f16(struct encoder *e, const float *row, size_t n)
{
	uint16_t *const out = e->bytes;

	for (size_t i = 0; i < n; i++) {
		if (!(fabsf(row[i]) < HALF_LIMIT))
			return refuse(e, row[i]);
		out[i] = half_of(row[i]);
	}
	return e->put(e->context, out, n * sizeof *out);
}

static enum rs_status
encode_int8(struct encoder *e, const float *row, size_t n)
{
	int8_t *const out = e->bytes;
	const double scale = (double)array_scale(row, n);

	for (size_t i = 0; i < n; i++) {
		if (!isfinite(row[i]))
			return refuse(e, row[i]);
		const double q = scale > 0 ? rint((double)row[i] / scale) : 0;
		out[i] = (int8_t)fmax(-127, fmin(127, q));
	}
	return e->put(e->context, out, n);
}

static enum rs_status
encode_row(void *context, const float *row, size_t n)
{
	struct encoder *const e = context;
	enum rs_status status;

	if (e->a->is_scale) {
		const float scale = array_scale(row, n);

		status = e->put(e->context, &scale, sizeof scale);
	} else if (e->a->type == ARRAY_f16) {
		status = encode_f16(e, row, n);
	} else if (e->a->type == ARRAY_int8) {
		status = encode_int8(e, row, n);
	} else {
		status = e->put(e->context, row, n * sizeof *row);
	}
	e->row++;
	return status;
}

enum rs_status
array_bytes(const struct array *a, enum rs_status (*put)(void *, const void *, size_t),
	void *context)
{
	struct encoder e = { .a = a, .put = put, .context = context };

	RS_TRY(memory_alloc(a->width + 1, sizeof(float), &e.bytes));
	const enum rs_status status = array_rows(a, encode_row, &e);
	free(e.bytes);
	return status;
}
