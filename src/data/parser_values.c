/* A row that comes as typed values of fields instead of text. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/parser_private.h"
#include "spec/spec.h"

/* What reads one row. */
struct values_reader {
	struct parser *p;
	struct batch *batch;
	struct row row;
	struct cell_error error;
};

static enum rs_status
unknown_field(const struct parser *p, const char *name)
{
	const size_t n = p->schema->n_fields;
	const char **names;
	char shown[72];

	RS_TRY(memory_alloc(n + 1, sizeof *names, &names));
	for (size_t i = 0; i < n; i++)
		names[i] = p->schema->field[i].name;
	const char *const near = spec_nearest(name, names, n);
	free(names);
	rs_fail(RS_EUSAGE, "the model has no field '%s'", rs_escape(shown, name, strlen(name)));
	return near != NULL ? rs_hint("did you mean '%s'?", near) : RS_EUSAGE;
}

/* Rows give their fields in the same order most of the time: *at is where to look first,
 * then the field. */
static enum rs_status
find_field(const struct parser *p, const char *name, size_t *at)
{
	const size_t n = p->schema->n_fields;

	for (size_t i = 0; i < n; i++) {
		const size_t k = (*at + i) % n;

		if (strcmp(p->schema->field[k].name, name) == 0 &&
		    p->schema->field[k].settings->type != FIELD_CROSS) {
			*at = k;
			return RS_OK;
		}
	}
	return unknown_field(p, name);
}

/* The value as the cell that data would have; the text lives until the next. */
static struct cell
value_cell(const struct parser_value *v, char text[32])
{
	if (v->type == PARSER_TEXT)
		return (struct cell){ v->n > 0 ? v->text : "", v->n };
	if (v->type == PARSER_INTEGER)
		snprintf(text, 32, "%" PRId64, v->integer);
	else if (isnan(v->number))
		text[0] = '\0';
	else
		number_print_double(text, v->number);
	return (struct cell){ text, strlen(text) };
}

static int
value_number(const struct feature *feature, const struct parser_value *v, double *out)
{
	*out = v->type == PARSER_INTEGER ? (double)v->integer : v->number;
	return v->type != PARSER_TEXT && feature->field->settings->type == FIELD_NUMERIC &&
		feature->only_empty && isfinite(*out);
}

static enum rs_status
use_list(struct values_reader *r, const struct feature *feature, const struct parser_value *v,
	size_t n)
{
	char text[32];

	for (size_t i = 0; i < n; i++)
		RS_TRY(feature_add(
			feature, value_cell(&v[i], text), r->batch, &r->p->scratch, &r->error));
	feature_trim(feature, r->batch);
	return RS_OK;
}

/* All values of one field. */
static enum rs_status
use_values(struct values_reader *r, size_t field, const struct parser_value *v, size_t n)
{
	const struct feature *const feature = &r->p->feature[field];
	const enum field_type type = feature->field->settings->type;
	char text[32];
	double number;

	if (r->p->given[field])
		return cell_error_set(&r->error, "", "field '%s' is given in two places",
			feature->field->name);
	r->p->given[field] = 1;
	if (n > 1 && (type == FIELD_MULTI || type == FIELD_SEQUENCE))
		return use_list(r, feature, v, n);
	if (n > 1)
		return cell_error_set(&r->error, "", "field '%s' has %zu values, wanted one",
			feature->field->name, n);
	if (value_number(feature, v, &number))
		return feature_number(feature, number, r->batch);
	return feature_cell(
		feature, value_cell(v, text), r->batch, &r->p->scratch, &r->error);
}

static enum rs_status
use_missing(struct values_reader *r)
{
	for (size_t i = 0; i < r->p->schema->n_fields; i++)
		if (!r->p->given[i] && r->p->schema->field[i].settings->type != FIELD_CROSS)
			RS_TRY(feature_cell(&r->p->feature[i], (struct cell){ "", 0 }, r->batch,
				&r->p->scratch, &r->error));
	return RS_OK;
}

static enum rs_status
use_row(struct values_reader *r, const struct parser_value *value, size_t n)
{
	size_t field = 0;

	crosses_begin_row(&r->p->crosses);
	memset(r->p->given, 0, r->p->schema->n_fields);
	for (size_t i = 0, end; i < n; i = end, field++) {
		RS_TRY(find_field(r->p, value[i].field, &field));
		for (end = i + 1; end < n && strcmp(value[end].field, value[i].field) == 0;)
			end++;
		RS_TRY(use_values(r, field, &value[i], end - i));
	}
	RS_TRY(use_missing(r));
	RS_TRY(histories_end_row(&r->p->histories, "", r->batch, &r->error));
	return crosses_end_row(&r->p->crosses, "", r->batch, &r->error);
}

void
parser_begin_values(struct parser *p)
{
	p->n_ids = 0;
	p->id_text.n = 0;
	p->warnings.n = 0;
}

enum rs_status
parser_add_values(struct parser *p, const struct parser_value *value, size_t n,
	struct batch *batch)
{
	const struct parser_span span = { .file = "typed values", .text = "" };
	const struct place at = { .span = &span, .line = batch->B + 1 };
	struct values_reader r = { .p = p, .batch = batch, .row = { .weight = 1 } };
	struct parser_tally tally = { 0 };

	if (p->sparse || p->lists != NULL)
		return rs_fail(RS_EUSAGE, "rows of sparse formats and lists have no typed values");
	if (p->given == NULL)
		RS_TRY(memory_alloc(p->schema->n_fields + 1, 1, &p->given));
	RS_TRY(batch_reserve(batch, batch->B + 1));
	const enum rs_status status = use_row(&r, value, n);

	return parser_row_settle(p, &at, status, &r.row, &r.error, batch, &tally);
}
