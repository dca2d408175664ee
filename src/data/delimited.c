/*
 * Rows of cells between separators.
 */
#include <float.h>
#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "data/fast_cell.h"
#include "data/parser_private.h"
#include "data/row_time.h"

#define QUOTE_OPEN "the quoted cell that begins here has no end"

/* "a ""b""" -> a "b"; the text outlives the row's other cells in p->cell. */
static enum rs_status
cell_unquote(struct parser *p, struct cell *cell, struct cell_error *error)
{
	const char *at = cell->text + 1, *const end = cell->text + cell->n;

	p->cell.n = 0;
	for (;;) {
		const char *const quote = memchr(at, '"', (size_t)(end - at));

		if (quote == NULL)
			return cell_error_set(error, cell->text, QUOTE_OPEN);
		RS_TRY(buffer_append(&p->cell, at, (size_t)(quote - at)));
		if (quote + 1 == end)
			break;
		if (quote[1] != '"')
			return cell_error_set(
				error, quote + 1, "text follows the closing quote of a cell");
		RS_TRY(buffer_append(&p->cell, "\"", 1));
		at = quote + 2;
	}
	*cell = (struct cell){ p->cell.data != NULL ? p->cell.data : "", p->cell.n };
	return RS_OK;
}

static enum rs_status
weight_read(struct cell cell, float *weight, struct cell_error *error)
{
	char shown[72];
	double value;

	if (cell.n == 0)
		return cell_error_set(error, cell.text, "the weight is missing");
	if (!number_double(cell.text, cell.n, &value))
		return cell_error_set(error, cell.text, "weight '%s' is not a number",
			rs_escape(shown, cell.text, cell.n));
	if (value < 0)
		return cell_error_set(error, cell.text, "weight '%s' is negative",
			rs_escape(shown, cell.text, cell.n));
	if (value > FLT_MAX)
		return cell_error_set(error, cell.text, "weight '%s' is too large",
			rs_escape(shown, cell.text, cell.n));
	*weight = (float)value;
	return RS_OK;
}

enum rs_status
parser_cell(struct parser *p, const struct layout_column *column, struct cell cell,
	struct batch *batch, struct row *row, struct cell_error *error)
{
	switch (column->role) {
	case ROLE_FIELD:
		RS_TRY(parser_cells_add(p, column->field, cell));
		return feature_cell(&p->feature[column->field], cell, batch, &p->scratch, error);
	case ROLE_LABEL:
		RS_TRY(parser_cells_add(p, p->schema->n_fields, cell));
		if (p->purpose == PARSE_PREDICT || label_read(&p->label, cell, &row->label))
			return RS_OK;
		return label_error(&p->label, cell, error);
	case ROLE_WEIGHT:
		return weight_read(cell, &row->weight, error);
	case ROLE_ID:
		row->id = cell;
		return p->quoted ? parser_keep_id(p, &row->id) : RS_OK;
	case ROLE_GROUP:
		row->group = id_fingerprint(cell.text, cell.n);
		return RS_OK;
	case ROLE_ITEM:
		return parser_row_item(p, cell, row, error);
	case ROLE_TIME:
		if (!row_time_read(cell.text, cell.n, &row->time))
			row->time = 0;     /* such a row moves no clock              */
		return RS_OK;
	}
	return RS_OK;
}

/* Does the quoted cell lack its closing quote?  Then it took the rest of the text. */
static int
cell_is_open(const char *at, const char *end)
{
	size_t quotes = 0;

	if (at == end || *at != '"')
		return 0;
	for (; at < end; at++)
		quotes += *at == '"';
	return quotes % 2 == 1;
}

static enum rs_status
count_error(const struct parser *p, const struct parser_layout *layout, const char *at,
	size_t n_cells, struct cell_error *error)
{
	cell_error_set(error, at, "%zu columns found, %zu wanted", n_cells, layout->n_columns);
	if (n_cells + 1 == layout->n_columns && layout->has_label)
		snprintf(error->hint, sizeof error->hint, "is the label missing, or a separator?");
	else if (p->quoted)
		snprintf(error->hint, sizeof error->hint,
			"a cell that holds the separator must be quoted");
	else
		snprintf(error->hint, sizeof error->hint, "the first row has %zu; "
			"data.on_bad_row = skip trains without such rows", layout->n_columns);
	return RS_EDATA;
}

enum rs_status
delimited_row(struct parser *p, const struct parser_layout *layout, const char *text,
	const uint32_t *end, size_t n_cells, size_t begin, struct batch *batch, struct row *row,
	struct cell_error *error)
{
	const size_t wanted = layout->n_columns + (size_t)layout->trailing;
	const size_t last = n_cells - 1;
	const int carriage = end[last] > begin && text[end[last] - 1] == '\r';

	if (n_cells != wanted && p->quoted) {
		const char *const cell = text + (last == 0 ? begin : end[last - 1] + 1);

		if (cell_is_open(cell, text + end[last]))
			return cell_error_set(error, cell, QUOTE_OPEN);
	}
	if (n_cells != wanted)
		return count_error(
			p, layout, text + begin, n_cells - (size_t)layout->trailing, error);
	for (size_t i = 0; i < layout->n; i++) {
		const struct layout_column *const column = &layout->column[i];
		const size_t c = column->column;
		const size_t from = c == 0 ? begin : end[c - 1] + 1;
		const size_t to = end[c] - (size_t)(c == last && carriage && end[c] > from);
		struct cell cell = { text + from, to - from };

		if (p->trim)
			cell = cell_trim(cell, p->separator);
		const int quoted = p->quoted && cell.n > 0 && cell.text[0] == '"';

		if (column->role == ROLE_FIELD && !quoted &&
		    fast_cell(&p->feature[column->field], cell, p->limit, batch))
			continue;
		if (quoted)
			RS_TRY(cell_unquote(p, &cell, error));
		RS_TRY(parser_cell(p, column, cell, batch, row, error));
	}
	return RS_OK;
}
