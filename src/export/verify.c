/* Batches become the inputs of a program. */
#include "export/verify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/row_numbers.h"

#define PIECE 256

/* Rows [begin,end) of a batch, padded to the longest list. */
struct piece {
	const struct verify *v;
	const struct batch *batch;
	size_t begin, N;
	size_t *length;                    /* [n_features] L; of the program's own numbers */
	double **input;                    /* [n_features]                            */
};

/* --- the interface ---------------------------------------- */

static const struct program_feature *
find_feature(const struct program *p, const char *name)
{
	for (size_t i = 0; i < p->n_features; i++)
		if (strcmp(p->feature[i].name, name) == 0)
			return &p->feature[i];
	return NULL;
}

static enum rs_status
verify_input(const struct verify *v, const struct program *own, const struct program_feature *f)
{
	const struct program_feature *const other = find_feature(own, f->name);

	if (other == NULL)
		return rs_fail(RS_EDATA, "'%s': it wants an input '%s', which the model does not "
			"have", v->path, f->name);
	if (other->kind != f->kind)
		return rs_fail(RS_EDATA, "'%s': its input '%s' has another type or shape than the "
			"model's", v->path, f->name);
	return RS_OK;
}

static enum rs_status
verify_output(const struct verify *v, const struct program *own)
{
	const struct program_output *const file = &v->program->output[v->output];
	const struct program_output *const wanted = &own->output[v->output];
	const struct program_value *const a = &v->program->value[file->value];
	const struct program_value *const b = &own->value[wanted->value];

	if (strcmp(file->name, wanted->name) != 0)
		return rs_fail(RS_EDATA, "'%s': its output is '%s', wanted '%s'", v->path,
			file->name, wanted->name);
	if (a->rank != b->rank || memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) != 0)
		return rs_fail(RS_EDATA, "'%s': its output '%s' has another shape than the model's",
			v->path, file->name);
	return RS_OK;
}

enum rs_status
verify_interface(const struct verify *v, const struct program *own)
{
	const struct program *const p = v->program;

	for (size_t i = 0; i < p->n_features; i++)
		RS_TRY(verify_input(v, own, &p->feature[i]));
	for (size_t i = 0; i < own->n_features; i++)
		if (find_feature(p, own->feature[i].name) == NULL)
			return rs_fail(RS_EDATA, "'%s': it has no input '%s', which the model has",
				v->path, own->feature[i].name);
	return verify_output(v, own);
}

/* --- rows ---------------------------------------- */

/* 1: the feature has the name of a field in a round. */
static int
is_round_of(const struct program_feature *f, const struct schema_field *field, size_t round)
{
	char name[sizeof f->name];

	program_feature_name(name, f->kind, field->name, round);
	return strcmp(name, f->name) == 0;
}

/* The field of a feature, by its name, and the round. */
static const struct schema_field *
field_in_round(const struct piece *p, const struct program_feature *f, size_t *round)
{
	const struct schema *const s = &p->v->model->schema;

	for (size_t i = 0; i < s->n_fields; i++) {
		const struct schema_field *const field = &s->field[i];
		const size_t n = field->is_dense ? 1 : s->table[field->table].rounds;

		for (*round = 0; *round < n; ++*round)
			if (is_round_of(f, field, *round))
				return field;
	}
	return NULL;
}

static const struct schema_field *
field_of(const struct piece *p, const struct program_feature *f)
{
	size_t round;

	return field_in_round(p, f, &round);
}

static void
row_range(const struct batch_column *c, size_t b, size_t *begin, size_t *end)
{
	*begin = c->offset != NULL ? c->offset[b] : b;
	*end = c->offset != NULL ? c->offset[b + 1] : b + 1;
}

static size_t
longest(const struct piece *p, const struct batch_column *c)
{
	size_t most = 1, begin, end;

	for (size_t b = 0; b < p->N; b++) {
		row_range(c, p->begin + b, &begin, &end);
		most = end - begin > most ? end - begin : most;
	}
	return most;
}

/* Which L of the program the list has. */
static size_t
length_index(const struct piece *p, const struct program_feature *f)
{
	return (size_t)(-2 - p->v->program->value[f->value].dim[1]);
}

static double
row_of(const struct piece *p, const struct program_feature *f, uint64_t id)
{
	size_t round;
	const struct schema_field *const field = field_in_round(p, f, &round);

	return (double)row_numbers_round(p->v->model, field->table, id, round);
}

static void
fill_list(const struct piece *p, const struct program_feature *f, const struct batch_column *c,
	double *x)
{
	const size_t L = p->length[length_index(p, f)];
	size_t begin, end;

	for (size_t b = 0; b < p->N; b++) {
		row_range(c, p->begin + b, &begin, &end);
		for (size_t i = 0; i < L; i++) {
			const int has = begin + i < end;

			x[b * L + i] = f->kind == PROGRAM_WEIGHT
				? (has ? (double)c->weight[begin + i] : 0)
				: has ? row_of(p, f, c->ids[begin + i]) : -1;
		}
	}
}

static void
fill_row(const struct piece *p, const struct program_feature *f, size_t column, double *x)
{
	const struct batch *const b = p->batch;

	for (size_t i = 0; i < p->N; i++) {
		const size_t at = (p->begin + i) * b->K + column;

		if (f->kind == PROGRAM_ID)
			x[i] = row_of(p, f, b->column[column].ids[p->begin + i]);
		else
			x[i] = b->missing[at] ? NAN : (double)b->dense[at];
	}
}

static enum rs_status
measure(struct piece *p)
{
	for (size_t i = 0; i < p->v->program->n_features; i++) {
		const struct program_feature *const f = &p->v->program->feature[i];
		const struct schema_field *const field = field_of(p, f);

		if (field == NULL)
			return rs_fail(RS_EDATA, "the exported file wants '%s', which the model "
				"does not have", f->name);
		if (f->kind != PROGRAM_BAG && f->kind != PROGRAM_WEIGHT)
			continue;
		size_t *const L = &p->length[length_index(p, f)];
		const size_t own = longest(p, &p->batch->column[field->index]);
		*L = own > *L ? own : *L;
	}
	return RS_OK;
}

static enum rs_status
fill(struct piece *p)
{
	RS_TRY(measure(p));
	for (size_t i = 0; i < p->v->program->n_features; i++) {
		const struct program_feature *const f = &p->v->program->feature[i];
		const int is_list = f->kind == PROGRAM_BAG || f->kind == PROGRAM_WEIGHT;
		const size_t column = field_of(p, f)->index;
		const size_t n = is_list ? p->N * p->length[length_index(p, f)] : p->N;

		RS_TRY(memory_alloc(n + 1, sizeof **p->input, &p->input[i]));
		if (is_list)
			fill_list(p, f, &p->batch->column[column], p->input[i]);
		else
			fill_row(p, f, column, p->input[i]);
	}
	return RS_OK;
}

static void
compare(struct verify *v, const double *got, const float *wanted, size_t N, size_t width)
{
	for (size_t i = 0; i < N; i++) {
		int over = 0;

		for (size_t d = 0; d < width; d++) {
			const double x = (double)wanted[i * width + d];
			const double far = fabs(got[i * width + d] - x);

			over |= !(far <= v->absolute + v->relative * fabs(x));
			v->largest = far > v->largest || isnan(far) ? far : v->largest;
		}
		v->over += over != 0;
	}
	v->rows += N;
}

static enum rs_status
verify_piece(struct verify *v, const struct batch *batch, const float *wanted, size_t width,
	size_t begin)
{
	const size_t rest = batch->B - begin, n = v->program->n_features;
	struct piece p = { .v = v, .batch = batch, .begin = begin,
		.N = rest < PIECE ? rest : PIECE };
	double *got = NULL;

	RS_TRY(memory_alloc(n + 1, sizeof *p.length, &p.length));
	enum rs_status status = memory_alloc(n + 1, sizeof *p.input, &p.input);
	if (status == RS_OK)
		status = fill(&p);
	if (status == RS_OK) {
		const struct program_feed feed = { .N = p.N, .length = p.length,
			.input = (const double *const *)p.input, .row = v->row,
			.context = v->context };

		status = program_run(v->program, &feed, v->output, &got);
	}
	if (status == RS_OK)
		compare(v, got, wanted + begin * width, p.N, width);
	for (size_t i = 0; p.input != NULL && i < n; i++)
		free(p.input[i]);
	free(got);
	free(p.input);
	free(p.length);
	return status;
}

enum rs_status
verify_batch(struct verify *v, const struct batch *batch, const float *wanted, size_t width)
{
	for (size_t begin = 0; begin < batch->B; begin += PIECE)
		RS_TRY(verify_piece(v, batch, wanted, width, begin));
	return RS_OK;
}
