/*
 * Spans of text to batch rows: rows one after the other, bad ones by the policy.
 */
#include "data/parser.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/number.h"
#include "data/example.h"
#include "data/parser_private.h"
#include "data/tfrecord.h"

#define BLOCK_LEAST 4u             /* rows                                           */

/* libffm: the fields' columns are field numbers. */
static enum rs_status
number_field_init(struct parser *p)
{
	const struct schema *const schema = p->schema;

	if (schema->settings->data.format != FORMAT_LIBFFM)
		return RS_OK;
	for (int fill = 0; fill < 2; fill++) {
		for (size_t i = 0; i < schema->n_fields; i++) {
			const char *const column = schema->field[i].settings->column;
			uint64_t number;

			if (schema->field[i].settings->type == FIELD_CROSS)
				continue;
			if (!number_u64(column, strlen(column), &number) || number > 1 << 20) {
				rs_fail_at(RS_ESPEC, schema->field[i].settings->file,
					schema->field[i].settings->line, 0,
					"[field %s] column = '%s': libffm fields are numbers "
					"up to 1048576",
					schema->field[i].name, column);
				return rs_hint(
					"column = the number before the first ':' of its features");
			}
			if (fill)
				p->number_field[number] = i;
			else if (number >= p->n_numbers)
				p->n_numbers = number + 1;
		}
		if (fill || p->n_numbers == 0)
			continue;
		RS_TRY(memory_alloc(p->n_numbers, sizeof *p->number_field, &p->number_field));
		for (size_t i = 0; i < p->n_numbers; i++)
			p->number_field[i] = LAYOUT_NONE;
	}
	return RS_OK;
}

static enum rs_status
parser_prepare(struct parser *p)
{
	const struct schema *const schema = p->schema;
	const struct data_settings *const d = &schema->settings->data;

	p->quoted = data_is_delimited(d) && data_is_quoted(d);
	p->sparse = data_is_sparse(d);
	p->level = span_level_best();
	p->words = cell_words_best();
	p->trim = d->trim && data_is_delimited(d);
	p->separator = data_is_delimited(d) ? data_separator(d) : '\n';
	p->max_line = d->max_line > 0 ? (size_t)d->max_line : (size_t)16 << 20;
	if (p->sparse && d->format != FORMAT_LIBFFM && (schema->F != 1 ||
	    schema->field[schema->column_field[0]].settings->type != FIELD_MULTI)) {
		rs_fail(RS_ESPEC,
			"%zu fields, wanted one [field ...] with type = multi for %s data",
			schema->n_fields, d->format == FORMAT_LIBSVM ? "libsvm" : "libfm");
		return rs_hint("all features of a row go to that field, weighted by their values");
	}
	label_init(&p->label, &p->schema->settings->data);
	p->no_label = !p->sparse && p->purpose != PARSE_PREDICT &&
		(d->label == NULL || d->label[0] == '\0');
	RS_TRY(memory_alloc(FEATURE_LOG1P, sizeof *p->log1p, &p->log1p));
	feature_log1p_table(p->log1p);
	RS_TRY(memory_alloc(schema->n_fields + 1, sizeof *p->feature, &p->feature));
	for (size_t i = 0; i < schema->n_fields; i++)
		feature_init(&p->feature[i], schema, i, p->log1p);
	RS_TRY(histories_init(&p->histories, schema, p->feature));
	RS_TRY(crosses_init(&p->crosses, schema, p->feature));
	RS_TRY(memory_alloc(schema->n_fields + 1, sizeof *p->closing, &p->closing));
	for (size_t i = 0; i < schema->n_fields; i++)
		if (p->sparse || feature_needs_close(&p->feature[i]))
			p->closing[p->n_closing++] = p->feature[i];
	if (d->format == FORMAT_LISTS)
		RS_TRY(lists_open(p, &p->lists));
	if (d->format == FORMAT_TFRECORD)
		RS_TRY(examples_open(p, &p->examples));
	return number_field_init(p);
}

enum rs_status
parser_open(const struct schema *schema, enum parser_purpose purpose, struct parser **out)
{
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof **out, out));
	(*out)->schema = schema;
	(*out)->purpose = purpose;
	buffer_init(&(*out)->scratch, (size_t)1 << 30);
	buffer_init(&(*out)->cell, (size_t)1 << 30);
	buffer_init(&(*out)->id_text, (size_t)1 << 32);
	status = parser_prepare(*out);
	if (status != RS_OK) {
		parser_close(*out);
		*out = NULL;
	}
	return status;
}

void
parser_close(struct parser *p)
{
	if (p == NULL)
		return;
	free(p->feature);
	free(p->closing);
	free(p->log1p);
	examples_close(p->examples);
	buffer_free(&p->id_text);
	crosses_free(&p->crosses);
	histories_free(&p->histories);
	span_index_free(&p->index);
	buffer_free(&p->scratch);
	buffer_free(&p->cell);
	free(p->id_begin);
	free(p->id_end);
	free(p->number_field);
	free(p->given);
	parser_cells_free(p);
	lists_close(p->lists);
	free(p);
}

void
parser_keep_bad_rows(struct parser *p, int keep)
{
	p->keep_bad_rows = keep;
}

const struct parser_ids *
parser_ids(const struct parser *p)
{
	const char *const id = p->schema->settings->data.id;

	return id != NULL && id[0] != '\0' ? &p->ids : NULL;
}

size_t
parser_split(const struct schema *schema, const char *text, size_t n, int at_end)
{
	const struct data_settings *const d = &schema->settings->data;

	if (d->format == FORMAT_TFRECORD)
		return tfrecord_split(text, n, at_end);
	if (at_end)
		return n;
	return text_last_row_end(
		text, n, data_is_delimited(d) && data_is_quoted(d), data_separator(d));
}

/* --- bad rows --- */

static size_t
place_column(const struct place *at, const struct cell_error *error)
{
	const char *const row = at->span->text + at->begin;

	/* Unquoted cells live elsewhere: then the row is all that can be named. */
	return error->at >= row && error->at <= at->span->text + at->end ?
		(size_t)(error->at - row) + 1 :
		1;
}

/* Records have a number and a byte where rows of text have a line and a column. */
static enum rs_status
row_fail(const struct parser *p, const struct place *at, const struct cell_error *error)
{
	const enum rs_status status = p->examples != NULL
		? rs_fail(RS_EDATA, "'%s' record %llu at byte %llu: %s", at->span->file,
			(unsigned long long)at->line,
			(unsigned long long)(at->span->offset + at->begin), error->text)
		: rs_fail_at(RS_EDATA, at->span->file, at->line, place_column(at, error), "%s",
			error->text);

	return error->hint[0] != '\0' ? rs_hint("%s", error->hint) : status;
}

void
parser_row_warn(struct parser *p, const struct place *at, const struct cell_error *error)
{
	struct parser_warnings *const w = &p->warnings;

	if (w->n == PARSER_WARNINGS)
		return;
	if (p->examples != NULL)
		snprintf(w->text[w->n++], sizeof w->text[0],
			"'%s' record %llu at byte %llu skipped: %s", at->span->file,
			(unsigned long long)at->line,
			(unsigned long long)(at->span->offset + at->begin), error->text);
	else
		snprintf(w->text[w->n++], sizeof w->text[0], "%s:%llu:%zu: row skipped: %s",
			at->span->file, (unsigned long long)at->line, place_column(at, error),
			error->text);
}

const struct parser_warnings *
parser_warnings(const struct parser *p)
{
	return &p->warnings;
}

void
parser_warnings_copy(struct parser_warnings *to, const struct parser_warnings *from)
{
	to->n = from->n;
	memcpy(to->text, from->text, from->n * sizeof from->text[0]);
}

void
parser_warnings_show(const struct parser_warnings *warnings, size_t *shown)
{
	for (size_t i = 0; i < warnings->n && *shown < PARSER_WARNINGS; i++, ++*shown)
		log_warn("%s", warnings->text[i]);
}

/* Predict keeps one row out for each row in. */
static enum rs_status
row_keep_bad(struct parser *p, struct batch *batch)
{
	RS_TRY(batch_add_missing(batch, p->schema));
	batch->label[batch->B - 1] = NAN;
	return RS_OK;
}

static enum rs_status
row_bad(struct parser *p, const struct place *at, const struct cell_error *error,
	struct batch *batch, struct parser_tally *tally)
{
	feature_undo(p->schema, batch);
	if (p->keep_bad_rows) {
		tally->skipped++;
		parser_row_warn(p, at, error);
		return row_keep_bad(p, batch);
	}
	if (p->schema->settings->data.on_bad_row == BAD_ROW_FAIL)
		return row_fail(p, at, error);
	tally->skipped++;
	parser_row_warn(p, at, error);
	return RS_OK;
}

/* --- rows --- */

/* Ids of records and of cells that may be quoted are copied to id_text. */
static const char *
ids_text(const struct parser *p, const struct parser_span *span)
{
	return p->examples != NULL || p->quoted ? p->id_text.data : span->text;
}

enum rs_status
parser_keep_id(struct parser *p, struct cell *id)
{
	RS_TRY(buffer_append(&p->id_text, id->text, id->n));
	id->text = id->n > 0 ? p->id_text.data + p->id_text.n - id->n : NULL;
	return RS_OK;
}

static enum rs_status
ids_add(struct parser *p, const struct parser_span *span, struct cell id)
{
	if (p->n_ids == p->id_capacity) {
		const size_t capacity = p->id_capacity > 0 ? 2 * p->id_capacity : 1024;
		size_t *const begin = realloc(p->id_begin, capacity * sizeof *begin);
		size_t *const end = begin == NULL ? NULL :
						    realloc(p->id_end, capacity * sizeof *end);

		p->id_begin = begin != NULL ? begin : p->id_begin;
		p->id_end = end != NULL ? end : p->id_end;
		if (end == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for row ids");
		p->id_capacity = capacity;
	}
	p->id_begin[p->n_ids] = id.text == NULL ? 0 : (size_t)(id.text - ids_text(p, span));
	p->id_end[p->n_ids] = p->id_begin[p->n_ids] + id.n;
	p->n_ids++;
	p->ids = (struct parser_ids){ ids_text(p, span), p->id_begin, p->id_end, p->n_ids };
	return RS_OK;
}

enum rs_status
parser_row_check(const struct parser *p, const struct place *at, struct cell_error *error)
{
	const char *const text = at->span->text + at->begin;
	const size_t n = at->end - at->begin;
	const char *nul;

	if (n > p->max_line)
		return cell_error_set(error, text,
			"the row has %zu bytes or more, data.max_line is %zu", n, p->max_line);
	nul = memchr(text, '\0', n);
	if (nul != NULL)
		return cell_error_set(error, nul, "a NUL byte");
	return RS_OK;
}

/* Fills row batch->B; on success the caller completes it. */
static enum rs_status
row_parse(struct parser *p, const struct place *at, size_t first_cell, size_t n_cells,
	struct batch *batch, struct row *row, struct cell_error *error)
{
	const struct parser_span *const span = at->span;
	const char *const text = span->text + at->begin;

	RS_TRY(parser_row_check(p, at, error));
	crosses_begin_row(&p->crosses);
	if (p->sparse)
		RS_TRY(sparse_row(
			p, span->layout, text, span->text + at->end, batch, row, error));
	else
		RS_TRY(delimited_row(p, span->layout, span->text, p->index.at + first_cell, n_cells,
			at->begin, batch, row, error));
	RS_TRY(histories_end_row(&p->histories, text, batch, error));
	return crosses_end_row(&p->crosses, text, batch, error);
}

enum rs_status
parser_row_item(struct parser *p, struct cell cell, struct row *row, struct cell_error *error)
{
	const struct feature *const feature = &p->feature[p->schema->item_field];

	if (p->purpose != PARSE_PREDICT && feature_is_missing(feature, cell)) {
		cell_error_set(error, cell.text, "field '%s': the item is missing",
			feature->field->name);
		snprintf(error->hint, sizeof error->hint, "items.key names that field");
		return RS_EDATA;
	}
	row->has_item = 1;
	return feature_key(feature, cell, &p->scratch, &row->item, error);
}

static enum rs_status
row_complete(struct parser *p, const struct row *row, struct batch *batch)
{
	const size_t B = batch->B;

	RS_TRY(feature_close(p->closing, p->n_closing, batch));
	batch->label[B] = row->label;
	batch->weight[B] = p->purpose == PARSE_PREDICT ? 1 : row->weight;
	if (batch->group != NULL)
		batch->group[B] = row->group;
	if (batch->item != NULL)
		batch->item[B] = row->item;
	if (batch->time != NULL)
		batch->time[B] = row->time;
	batch->B++;
	return RS_OK;
}

enum rs_status
parser_row_settle(struct parser *p, const struct place *at, enum rs_status status,
	const struct row *row, const struct cell_error *error, struct batch *batch,
	struct parser_tally *tally)
{
	const size_t B = batch->B;

	if (status != RS_OK)
		RS_TRY(parser_cells_row(p, 0));
	if (status == RS_EDATA && error->at != NULL)
		RS_TRY(row_bad(p, at, error, batch, tally));
	else if (status != RS_OK)
		return status;
	else if (row->weight == 0 && p->purpose != PARSE_PREDICT) {
		feature_undo(p->schema, batch);
		tally->zero_weight++;
	} else
		RS_TRY(row_complete(p, row, batch));
	RS_TRY(parser_cells_row(p, batch->B > B));
	return batch->B > B && parser_ids(p) != NULL ? ids_add(p, at->span, row->id) : RS_OK;
}

static enum rs_status
row_take(struct parser *p, const struct place *at, size_t first_cell, size_t n_cells,
	struct batch *batch, struct parser_tally *tally)
{
	struct row row = { .label = p->no_label, .weight = 1, .id = { NULL, 0 } };
	struct cell_error error = { .at = NULL };

	if (p->lists != NULL)
		return lists_line(p, at, batch, tally);
	tally->read++;
	RS_TRY(batch_reserve(batch, batch->B + 1));

	const enum rs_status status = row_parse(p, at, first_cell, n_cells, batch, &row, &error);

	return parser_row_settle(p, at, status, &row, &error, batch, tally);
}

static int
row_is_blank(const char *text, size_t begin, size_t end)
{
	return end == begin || (end == begin + 1 && text[begin] == '\r');
}

static int
row_is_blank_sparse(const char *text, size_t begin, size_t end)
{
	while (begin < end && (text[begin] == ' ' || text[begin] == '\t' || text[begin] == '\r'))
		begin++;
	return begin == end || text[begin] == '#';
}

static uint64_t
row_lines(const struct parser *p, const char *text, size_t begin, size_t end)
{
	uint64_t lines = 1;

	for (size_t i = begin; p->quoted && i < end; i++)
		lines += text[i] == '\n';
	return lines;
}

static int
line_is_blank(const struct parser *p, const char *text, size_t begin, size_t end)
{
	if (p->lists != NULL)
		return lists_is_blank(p, text, begin, end);
	return p->sparse ? row_is_blank_sparse(text, begin, end) : row_is_blank(text, begin, end);
}

uint64_t
parser_count(const struct schema *schema, const char *text, size_t n)
{
	const struct data_settings *const d = &schema->settings->data;
	const int sparse = data_is_sparse(d);

	if (d->format == FORMAT_LISTS)
		return lists_count(d, text, n);
	if (d->format == FORMAT_TFRECORD)
		return tfrecord_count(text, n);
	return text_count_rows(text, n, !sparse && data_is_quoted(d), data_separator(d),
		sparse ? row_is_blank_sparse : row_is_blank);
}

uint64_t
parser_lines(const struct schema *schema, const char *text, size_t n)
{
	const char *const end = text + n;
	uint64_t lines = 0;

	if (schema->settings->data.format == FORMAT_TFRECORD)
		return tfrecord_count(text, n);
	while (text < end && (text = memchr(text, '\n', (size_t)(end - text))) != NULL) {
		lines++;
		text++;
	}
	return lines;
}

uint64_t
parser_overhang(const struct schema *schema, const char *text, size_t n)
{
	return schema->settings->data.format == FORMAT_TFRECORD ? tfrecord_overhang(text, n)
								: UINT64_MAX;
}

enum rs_status
parser_check(const struct schema *schema, const struct parser_span *span)
{
	return schema->settings->data.format == FORMAT_TFRECORD
		? examples_check(span->file, span->line, span->offset, span->text, span->n)
		: RS_OK;
}

/* Row `number` of the index, whatever it is. */
static enum rs_status
row_alone(struct parser *p, const struct parser_span *span, size_t number, uint64_t line,
	struct batch *batch, struct parser_tally *tally)
{
	const uint32_t *const row = p->index.row;
	const size_t first = number == 0 ? 0 : (size_t)row[number - 1] + 1;
	const struct place at = { .span = span, .line = line,
		.begin = p->index.at[(ptrdiff_t)first - 1] + 1, .end = p->index.at[row[number]] };

	if (!line_is_blank(p, span->text, at.begin, at.end))
		return row_take(p, &at, first, row[number] - first + 1, batch, tally);
	tally->blank++;
	return RS_OK;
}

/* Blocks of rows; a row with anything particular ends its block and is done alone.  After
 * one blocks are short for a while, so that little is done in vain. */
static enum rs_status
rows_parse(struct parser *p, const struct parser_span *span, struct batch *batch,
	struct parser_tally *tally)
{
	const uint32_t *const at = p->index.at;
	const int in_blocks = parser_block_fits(p, span);
	size_t most = PARSER_BLOCK, begin = 0;
	uint64_t line = span->line;

	for (size_t r = 0, n = 0; r < p->index.n_rows; r += n) {
		n = 0;
		if (in_blocks)
			RS_TRY(parser_block(p, span, r, most, batch, &n));
		tally->read += n;
		line += n;
		if (n == most || r + n == p->index.n_rows) {
			most = 2 * most < PARSER_BLOCK ? 2 * most : PARSER_BLOCK;
			continue;
		}
		RS_TRY(row_alone(p, span, r + n, line, batch, tally));
		begin = at[r + n == 0 ? -1 : (ptrdiff_t)p->index.row[r + n - 1]] + 1;
		line += row_lines(p, span->text, begin, at[p->index.row[r + n]]);
		most = BLOCK_LEAST;
		n++;
	}
	return RS_OK;
}

enum rs_status
parser_parse(struct parser *p, const struct parser_span *span, struct batch *batch,
	struct parser_tally *tally)
{
	p->n_ids = 0;
	p->id_text.n = 0;
	p->warnings.n = 0;
	p->limit = span->text + span->n;
	RS_TRY(parser_cells_begin(p));
	p->ids = (struct parser_ids){ span->text, p->id_begin, p->id_end, 0 };
	if (p->examples != NULL)
		return examples_parse(p, span, batch, tally);
	RS_TRY(span_index_make(&p->index, p->level, span->text, span->n, p->quoted,
		p->separator));
	return rows_parse(p, span, batch, tally);
}
