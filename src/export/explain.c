/* A row many times over, each time without one of its fields. */
#include "export/explain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "data/hash_stack.h"
#include "export/program_run.h"

/* Ids are given to the program by their place in explain.id, for which a double has room;
 * place 0, which is also what a list reads behind its end, is a row of zeros. */
#define NOTHING 0
#define NO_ROW  UINT64_MAX

/* What stands in place of a field. */
enum way { WAY_ZERO, WAY_BLANK };

/* Parts by what is known of them; all other operators are deep. */
static const struct part_kind {
	const char *op;
	size_t member;                 /* of explained_field                              */
	double share;                  /* of what a field's absence takes away            */
} kind_table[] = {
	{ "first_order", offsetof(struct explained_field, linear), 1 },
	{ "fm2", offsetof(struct explained_field, pairs), 0.5 },
	{ "bag_pairs", offsetof(struct explained_field, pairs), 1 },
};

struct explain {
	const struct model *model;
	struct program *program;
	struct explained *out;
	float  *vector;                /* [widest table] the row given last               */
	size_t *length;                /* [n_fields] L                                    */
	size_t *alone;                 /* [n_fields] 1: in no history with another        */
	double **input;                /* [n_features] [N] or [N,L]                       */
	uint64_t *id;                  /* [n_ids]                                         */
	size_t n_ids, capacity;
};

static const struct part_kind *
find_kind(const struct program_part *part)
{
	for (size_t i = 0; i < sizeof kind_table / sizeof *kind_table; i++)
		if (strcmp(kind_table[i].op, part->op) == 0)
			return &kind_table[i];
	return NULL;
}

/* --- what the program is given ---------------------------------------- */

static const float *
give_row(void *context, size_t table, uint64_t place)
{
	struct explain *const e = context;
	const size_t dim = e->model->table[table].dim;
	const float *row;

	memset(e->vector, 0, dim * sizeof *e->vector);
	if (place == NOTHING)
		return e->vector;
	const struct lookup_pull pull = { .table = table, .ids = &e->id[place], .n = 1,
		.row = &row };
	if (e->model->lookup->ops->pull(e->model->lookup, &pull) != RS_OK)
		return NULL;
	memcpy(e->vector, row, dim * sizeof *row);
	return e->vector;
}

static enum rs_status
add_id(struct explain *e, uint64_t id)
{
	if (e->n_ids >= e->capacity) {
		const size_t capacity = e->capacity > 0 ? 2 * e->capacity : 256;
		uint64_t *const grown = realloc(e->id, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for %zu ids of a row",
				capacity);
		e->id = grown;
		e->capacity = capacity;
	}
	e->id[e->n_ids++] = id;
	return RS_OK;
}

static size_t
count_ids(const struct batch_column *c, size_t b)
{
	return c->offset != NULL ? c->offset[b + 1] - c->offset[b] : 1;
}

/* The rows in a round of the ids of a field, that of the missing one behind them; ids without
 * a row leave a place. */
static enum rs_status
add_ids(struct explain *e, const struct batch *batch, size_t b, size_t round,
	const struct schema_field *f, size_t *first)
{
	const struct schema_table *const t = &e->model->schema.table[f->table];
	const struct batch_column *const c = &batch->column[f->index];
	const size_t begin = c->offset != NULL ? c->offset[b] : b, n = count_ids(c, b);

	*first = e->n_ids;
	for (size_t i = 0; i < n; i++)
		RS_TRY(add_id(e, round < hash_stack_rows(t, c->ids[begin + i])
			? hash_stack_row(t, c->ids[begin + i], round) : NO_ROW));
	return add_id(e, round == 0 ? hash_stack_row(t, t->buckets, 0) : NO_ROW);
}

/* What the program is given for the i-th of them: its place, or that it has no row. */
static double
place_of(const struct explain *e, size_t i)
{
	return e->id[i] == NO_ROW ? -1 : (double)i;
}

/* One list of the program's, without the field or with it; first: its ids in e->id. */
static void
put_list(const struct explain *e, const struct program_feature *f, const float *weight, size_t n,
	size_t first, int way, double *x)
{
	const size_t L = e->length[e->program->leader[f->field]];
	const int is_sequence =
		e->model->schema.field[f->field].settings->type == FIELD_SEQUENCE;
	const size_t blank = way != WAY_BLANK ? 0 : !is_sequence ? 1 :
		e->alone[f->field] ? 0 : n;

	for (size_t i = 0; i < L; i++) {
		const int missing = way >= 0 && i < blank, has = way < 0 ? i < n : missing;

		if (f->kind == PROGRAM_WEIGHT)
			x[i] = !has ? 0 : missing || weight == NULL ? 1 : (double)weight[i];
		else
			x[i] = !has ? -1 : place_of(e, first + (missing ? n : i));
	}
}

static double
number_of(const struct explain *e, const struct batch *batch, size_t b, size_t field, int way)
{
	const struct schema_field *const f = &e->model->schema.field[field];
	const size_t at = b * batch->K + f->index;
	const double instead = f->settings->missing_value;

	if (way == WAY_ZERO)
		return 0;
	if (way == WAY_BLANK)
		return instead == 0 ? NAN : (double)(float)instead;
	return batch->missing[at] ? NAN : (double)batch->dense[at];
}

/* Variant v has no field v - 1, variant F + 1 has none at all; variant 0 is the row. */
static enum rs_status
put_feature(struct explain *e, const struct batch *batch, size_t b, size_t k, enum way way)
{
	const struct program_feature *const f = &e->program->feature[k];
	const struct schema_field *const field = &e->model->schema.field[f->field];
	const size_t F = e->model->schema.n_fields;
	const int is_list = f->kind == PROGRAM_BAG || f->kind == PROGRAM_WEIGHT;
	const size_t L = is_list ? e->length[e->program->leader[f->field]] : 1;
	const struct batch_column *const c = field->is_dense ? NULL : &batch->column[field->index];
	const size_t n = c == NULL ? 0 : count_ids(c, b);
	size_t first = 0;

	RS_TRY(memory_alloc((F + 2) * L + 1, sizeof **e->input, &e->input[k]));
	if (f->kind == PROGRAM_BAG || f->kind == PROGRAM_ID)
		RS_TRY(add_ids(e, batch, b, f->round, field, &first));
	for (size_t v = 0; v < F + 2; v++) {
		const int without = v == f->field + 1 || v == F + 1 ? (int)way : -1;
		double *const x = e->input[k] + v * L;

		if (is_list)
			put_list(e, f, c->weight == NULL ? NULL : c->weight
				+ (c->offset != NULL ? c->offset[b] : b), n, first, without, x);
		else if (f->kind == PROGRAM_ID)
			*x = without == WAY_ZERO ? (double)NOTHING
				: place_of(e, first + (without == WAY_BLANK ? n : 0));
		else
			*x = number_of(e, batch, b, f->field, without);
	}
	return RS_OK;
}

static void
forget_inputs(struct explain *e)
{
	for (size_t k = 0; k < e->program->n_features; k++) {
		free(e->input[k]);
		e->input[k] = NULL;
	}
	e->n_ids = NOTHING + 1;
}

static enum rs_status
put_features(struct explain *e, const struct batch *batch, size_t b, enum way way)
{
	const struct schema *const s = &e->model->schema;

	forget_inputs(e);
	for (size_t i = 0; i < s->n_fields; i++)
		e->length[i] = 1;
	for (size_t i = 0; i < s->n_fields; i++) {
		size_t *const L = &e->length[e->program->leader[i]];
		const size_t n = s->field[i].is_dense ? 1 :
			count_ids(&batch->column[s->field[i].index], b);

		*L = n > *L ? n : *L;
	}
	for (size_t k = 0; k < e->program->n_features; k++)
		RS_TRY(put_feature(e, batch, b, k, way));
	return RS_OK;
}

/* --- parts ---------------------------------------- */

/* y [F+2] of a part; the caller frees it. */
static enum rs_status
run_part(struct explain *e, const struct program_part *part, double **y)
{
	const struct program_feed feed = { .N = e->model->schema.n_fields + 2,
		.length = e->length, .input = (const double *const *)e->input, .row = give_row,
		.context = e };
	size_t n;

	return program_run_value(e->program, &feed, part->value, y, &n);
}

static void
add_part(struct explain *e, const struct part_kind *kind, const double *y)
{
	const size_t F = e->model->schema.n_fields;
	struct explained *const out = e->out;

	out->logit += y[0];
	if (kind == NULL) {
		out->deep += y[0];
		out->has_deep = 1;
		for (size_t i = 0; i < F; i++)
			out->field[i].deep += y[0] - y[i + 1];
		return;
	}
	out->bias += y[F + 1];
	out->has_linear |= kind->member == offsetof(struct explained_field, linear);
	out->has_pairs |= kind->member == offsetof(struct explained_field, pairs);
	for (size_t i = 0; i < F; i++)
		*(double *)(void *)((char *)&out->field[i] + kind->member) +=
			kind->share * (y[0] - y[i + 1]);
}

/* The parts of which a sum is known, or the others. */
static enum rs_status
add_parts(struct explain *e, const struct batch *batch, size_t b, enum way way)
{
	int ready = 0;

	for (size_t i = 0; i < e->program->n_parts; i++) {
		const struct program_part *const part = &e->program->part[i];
		const struct part_kind *const kind = find_kind(part);
		double *y;

		if ((kind != NULL) != (way == WAY_ZERO))
			continue;
		if (!ready)
			RS_TRY(put_features(e, batch, b, way));
		ready = 1;
		RS_TRY(run_part(e, part, &y));
		add_part(e, kind, y);
		free(y);
	}
	return RS_OK;
}

enum rs_status
explain_row(struct explain *e, const struct batch *batch, size_t b, const struct explained **out)
{
	memset(e->out, 0, sizeof *e->out + e->model->schema.n_fields * sizeof *e->out->field);
	RS_TRY(add_parts(e, batch, b, WAY_ZERO));
	RS_TRY(add_parts(e, batch, b, WAY_BLANK));
	*out = e->out;
	return RS_OK;
}

/* --- open and close ---------------------------------------- */

/* Sequences of one history are in step; to blank one is not to empty it. */
static void
find_histories(struct explain *e)
{
	const size_t F = e->model->schema.n_fields;

	for (size_t i = 0; i < F; i++)
		e->alone[i] = 1;
	for (size_t i = 0; i < F; i++)
		if (e->program->leader[i] != i)
			e->alone[i] = e->alone[e->program->leader[i]] = 0;
}

static enum rs_status
explain_fill(struct explain *e)
{
	const struct model *const m = e->model;
	const size_t F = m->schema.n_fields;
	size_t widest = 1;

	RS_TRY(program_build(m, GRAPH_LOGIT, &e->program));
	for (size_t i = 0; i < m->n_tables; i++)
		widest = m->table[i].dim > widest ? m->table[i].dim : widest;
	RS_TRY(memory_alloc(widest, sizeof *e->vector, &e->vector));
	RS_TRY(memory_alloc(1, sizeof *e->out + F * sizeof *e->out->field, &e->out));
	RS_TRY(memory_alloc(F + 1, sizeof *e->length, &e->length));
	RS_TRY(memory_alloc(F + 1, sizeof *e->alone, &e->alone));
	RS_TRY(memory_alloc(e->program->n_features + 1, sizeof *e->input, &e->input));
	find_histories(e);
	return RS_OK;
}

enum rs_status
explain_open(const struct model *m, struct explain **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	(*out)->model = m;
	const enum rs_status status = explain_fill(*out);
	if (status != RS_OK) {
		explain_close(*out);
		*out = NULL;
	}
	return status;
}

void
explain_close(struct explain *e)
{
	if (e == NULL)
		return;
	if (e->input != NULL)
		forget_inputs(e);
	free(e->input);
	if (e->program != NULL)
		program_free(e->program);
	free(e->vector);
	free(e->out);
	free(e->length);
	free(e->alone);
	free(e->id);
	free(e);
}
