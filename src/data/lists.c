/*
 * Format lists: a line is a user and the user's items; each item is a row of
 * three columns, the user, the item, and the items before it, oldest first.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "data/fast_cell.h"
#include "data/parser_private.h"

enum lists_column { LISTS_USER, LISTS_ITEM, LISTS_HISTORY, N_LISTS_COLUMNS };

static const char *const column_name[N_LISTS_COLUMNS] = { "user", "item", "history" };

/* Which bytes stand between cells. */
struct lists_cut {
	unsigned char is_separator[256];
	int blanks;                /* runs of blanks, also before the user           */
};

struct lists {
	struct lists_cut cut;
	enum lists_column *column; /* [n_fields]                                     */
	enum lists_column group, id;
	struct batch past;         /* ids of the items so far, in the columns of histories */
	size_t *past_before;       /* [F] how many there were before the last item   */
};

static void
cut_init(struct lists_cut *cut, const struct data_settings *data)
{
	memset(cut, 0, sizeof *cut);
	cut->blanks = data->separator == NULL || data->separator[0] == '\0';
	if (!cut->blanks)
		cut->is_separator[(unsigned char)data->separator[0]] = 1;
	else
		cut->is_separator[' '] = cut->is_separator['\t'] = cut->is_separator['\r'] = 1;
}

static int
cell_next(const struct lists_cut *cut, const char **at, const char *end, struct cell *out)
{
	const char *p = *at;

	while (p < end && cut->is_separator[(unsigned char)*p])
		p++;
	out->text = p;
	while (p < end && !cut->is_separator[(unsigned char)*p])
		p++;
	out->n = (size_t)(p - out->text);
	*at = p;
	return out->n > 0;
}

static const char *
line_end(const char *begin, const char *end)
{
	return end > begin && end[-1] == '\r' ? end - 1 : end;
}

static int
user_is_missing(const struct lists_cut *cut, const char *at, const char *end)
{
	return !cut->blanks && at < end && cut->is_separator[(unsigned char)*at];
}

/* Items of a line. */
static uint64_t
line_count(const struct lists_cut *cut, const char *at, const char *end)
{
	struct cell cell;
	uint64_t n = user_is_missing(cut, at, end);

	end = line_end(at, end);
	while (cell_next(cut, &at, end, &cell))
		n++;
	return n > 0 ? n - 1 : 0;
}

uint64_t
lists_count(const struct data_settings *data, const char *text, size_t n)
{
	const char *at = text, *const end = text + n;
	struct lists_cut cut;
	uint64_t rows = 0;

	cut_init(&cut, data);
	while (at < end) {
		const char *const newline = memchr(at, '\n', (size_t)(end - at));
		const char *const stop = newline != NULL ? newline : end;

		rows += line_count(&cut, at, stop);
		at = stop + 1;
	}
	return rows;
}

/* "" or a column that is none: N_LISTS_COLUMNS. */
static enum lists_column
column_of(const char *reference)
{
	for (int i = 0; reference != NULL && i < N_LISTS_COLUMNS; i++)
		if (strcmp(reference, column_name[i]) == 0 ||
		    (reference[0] == '1' + i && reference[1] == '\0'))
			return (enum lists_column)i;
	return N_LISTS_COLUMNS;
}

static enum rs_status
field_column(const struct feature *feature, enum lists_column *out)
{
	const struct field_settings *const f = feature->field->settings;

	*out = column_of(f->column);
	if (*out == N_LISTS_COLUMNS && f->type != FIELD_CROSS) {
		rs_fail_at(RS_ESPEC, f->file, f->line, 0,
			"[field %s] column = '%s': lists have the columns user, item and history",
			f->name, f->column);
		return rs_hint("or their numbers 1, 2 and 3");
	}
	if (*out == LISTS_HISTORY && f->type != FIELD_SEQUENCE && f->type != FIELD_MULTI)
		return rs_fail_at(RS_ESPEC, f->file, f->line, 0,
			"[field %s] type: the history of lists is a sequence or multi", f->name);
	if (*out == LISTS_HISTORY && feature->values != NULL)
		return rs_fail_at(RS_ESPEC, f->file, f->line, 0,
			"[field %s]: the history of lists cannot be in a cross", f->name);
	return RS_OK;
}

enum rs_status
lists_open(const struct parser *p, struct lists **out)
{
	const struct schema *const schema = p->schema;
	const struct data_settings *const data = &schema->settings->data;
	struct lists *lists;

	RS_TRY(memory_alloc(1, sizeof *lists, out));
	lists = *out;
	cut_init(&lists->cut, data);
	lists->group = column_of(data->group);
	if (lists->group == N_LISTS_COLUMNS)
		lists->group = LISTS_USER;
	lists->id = column_of(data->id);
	RS_TRY(memory_alloc(schema->F + 1, sizeof *lists->past_before, &lists->past_before));
	RS_TRY(memory_alloc(schema->n_fields + 1, sizeof *lists->column, &lists->column));
	for (size_t i = 0; i < schema->n_fields; i++)
		RS_TRY(field_column(&p->feature[i], &lists->column[i]));
	return batch_init(&lists->past, schema);
}

void
lists_close(struct lists *lists)
{
	if (lists == NULL)
		return;
	batch_free(&lists->past);
	free(lists->past_before);
	free(lists->column);
	free(lists);
}

/* A line without an item has no rows; one that cannot be read has to be told. */
int
lists_is_blank(const struct parser *p, const char *text, size_t begin, size_t end)
{
	return end - begin <= p->max_line && memchr(text + begin, '\0', end - begin) == NULL &&
		line_count(&p->lists->cut, text + begin, text + end) == 0;
}

/* --- one item ------------------------------------------------------------ */

/* The newest ids of the past become the row's. */
static enum rs_status
history_copy(const struct lists *lists, const struct feature *feature, struct batch *batch)
{
	const struct batch_column *const past = &lists->past.column[feature->index];
	struct batch_column *const to = &batch->column[feature->index];
	const size_t most = (size_t)feature->field->settings->max_length;
	const size_t n = most > 0 && past->N > most ? most : past->N;

	RS_TRY(batch_reserve_ids(batch, feature->index, to->N + n));
	memcpy(to->ids + to->N, past->ids + past->N - n, n * sizeof *to->ids);
	for (size_t i = 0; to->weight != NULL && i < n; i++)
		to->weight[to->N + i] = 1;
	to->N += n;
	feature_trim(feature, batch);
	return RS_OK;
}

static enum rs_status
item_fill(struct parser *p, struct cell user, struct cell item, struct batch *batch,
	struct cell_error *error)
{
	const struct lists *const lists = p->lists;

	for (size_t i = 0; i < p->schema->n_fields; i++) {
		const struct feature *const feature = &p->feature[i];
		const enum lists_column column = lists->column[i];
		const struct cell cell = column == LISTS_USER ? user : item;

		if (column == LISTS_HISTORY)
			RS_TRY(history_copy(lists, feature, batch));
		else if (column != N_LISTS_COLUMNS && !fast_cell(feature, cell, p->limit, batch))
			RS_TRY(feature_cell(feature, cell, batch, &p->scratch, error));
	}
	return RS_OK;
}

/* The item becomes the newest of the past, for the rows to come. */
static enum rs_status
item_remember(struct parser *p, struct cell item, struct cell_error *error)
{
	struct lists *const lists = p->lists;

	for (size_t f = 0; f < p->schema->F; f++)
		lists->past_before[f] = lists->past.column[f].N;
	for (size_t i = 0; i < p->schema->n_fields; i++)
		if (lists->column[i] == LISTS_HISTORY && !feature_is_missing(&p->feature[i], item))
			RS_TRY(feature_item(&p->feature[i], item, 1, &lists->past, &p->scratch,
				error));
	return RS_OK;
}

static void
item_forget(struct parser *p)
{
	for (size_t f = 0; f < p->schema->F; f++)
		p->lists->past.column[f].N = p->lists->past_before[f];
}

static enum rs_status
item_row(struct parser *p, struct cell user, struct cell item, struct batch *batch, struct row *row,
	struct cell_error *error)
{
	const struct cell group = p->lists->group == LISTS_ITEM ? item : user;

	row->group = id_fingerprint(group.text, group.n);
	row->id = p->lists->id == LISTS_USER ? user : item;
	crosses_begin_row(&p->crosses);
	RS_TRY(item_fill(p, user, item, batch, error));
	RS_TRY(histories_end_row(&p->histories, item.text, batch, error));
	RS_TRY(crosses_end_row(&p->crosses, item.text, batch, error));
	if (p->schema->item_field < p->schema->n_fields)
		RS_TRY(parser_row_item(p, item, row, error));
	const enum rs_status status = item_remember(p, item, error);
	if (status != RS_OK)
		item_forget(p);
	return status;
}

/* A line that cannot be read is as many bad rows as it has items, told once. */
static enum rs_status
line_bad(struct parser *p, const struct place *at, const struct cell_error *error,
	struct batch *batch, struct parser_tally *tally)
{
	const char *const text = at->span->text;
	const uint64_t n = line_count(&p->lists->cut, text + at->begin, text + at->end);
	const struct row row = { .weight = 1 };
	size_t told = 0;

	for (uint64_t i = 0; i < n || i == 0; i++) {
		tally->read++;
		RS_TRY(parser_row_settle(p, at, RS_EDATA, &row, error, batch, tally));
		if (i == 0)
			told = p->warnings.n;
		p->warnings.n = told;
	}
	return RS_OK;
}

enum rs_status
lists_line(struct parser *p, const struct place *at, struct batch *batch,
	struct parser_tally *tally)
{
	const struct lists_cut *const cut = &p->lists->cut;
	const char *next = at->span->text + at->begin;
	const char *const end = line_end(next, at->span->text + at->end);
	struct cell_error error = { .at = NULL };
	struct cell user, item;
	enum rs_status status = parser_row_check(p, at, &error);

	if (status == RS_OK && user_is_missing(cut, next, end))
		status = cell_error_set(&error, next, "the user is missing");
	if (status != RS_OK)
		return line_bad(p, at, &error, batch, tally);
	batch_clear(&p->lists->past);
	cell_next(cut, &next, end, &user);
	while (cell_next(cut, &next, end, &item)) {
		struct row row = { .label = 1, .weight = 1 };

		error.at = NULL;
		tally->read++;
		RS_TRY(batch_reserve(batch, batch->B + 1));
		status = item_row(p, user, item, batch, &row, &error);
		RS_TRY(parser_row_settle(p, at, status, &row, &error, batch, tally));
	}
	return RS_OK;
}
