/* Rows of a batch as the inputs of an exported model. */
#include "cmd/row_inputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "export/program.h"
#include "train/row_numbers.h"

struct row_inputs { struct program *program; };

enum rs_status
row_inputs_open(struct model *m, int tower, struct row_inputs **out)
{
	RS_TRY(row_numbers_make(m));
	RS_TRY(memory_alloc(1, sizeof **out, out));
	const enum rs_status status = program_build(m, tower == TOWER_USER ? GRAPH_USER
		: tower == TOWER_ITEM ? GRAPH_ITEM : GRAPH_LOGIT, &(*out)->program);
	if (status != RS_OK) {
		row_inputs_close(*out);
		*out = NULL;
	}
	return status;
}

void
row_inputs_close(struct row_inputs *r)
{
	if (r == NULL)
		return;
	program_free(r->program);
	free(r);
}

/* The double whose shortest text is that of the float; NaN and infinities are null. */
static void
put_float(struct json *j, const char *key, float x)
{
	char text[32];
	double value = (double)x;

	number_print_float(text, x);
	json_double(j, key, number_double(text, strlen(text), &value) ? value : (double)x);
}

static int64_t
row_of(const struct row_inputs *r, const struct program_feature *f, uint64_t id)
{
	const struct model *const m = r->program->model;

	return row_numbers_round(m, m->schema.field[f->field].table, id, f->round);
}

static void
put_list(const struct row_inputs *r, struct json *j, const struct program_feature *f,
	const struct batch_column *c, size_t b)
{
	const size_t begin = c->offset != NULL ? c->offset[b] : b;
	const size_t end = c->offset != NULL ? c->offset[b + 1] : b + 1;

	json_open(j, f->name, '[');
	for (size_t i = begin; i < end; i++) {
		if (f->kind == PROGRAM_WEIGHT)
			put_float(j, NULL, c->weight[i]);
		else
			json_int(j, NULL, row_of(r, f, c->ids[i]));
	}
	json_close(j);
}

void
row_inputs_print(const struct row_inputs *r, const struct batch *batch, size_t b, struct json *j)
{
	json_open(j, NULL, '{');
	for (size_t i = 0; i < r->program->n_features; i++) {
		const struct program_feature *const f = &r->program->feature[i];

		if (f->kind == PROGRAM_VALUE)
			put_float(j, f->name, batch->missing[b * batch->K + f->column] ? NAN
				: batch->dense[b * batch->K + f->column]);
		else if (f->kind == PROGRAM_ID)
			json_int(j, f->name, row_of(r, f, batch->column[f->column].ids[b]));
		else
			put_list(r, j, f, &batch->column[f->column], b);
	}
	json_close(j);
}
