/*
 * What the columns of a file are, from its first bytes and the spec.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "data/example.h"
#include "data/parser_private.h"

/* The first row of the file, cut into cells. */
struct first_row {
	struct cell *cell;         /* [n]                                            */
	size_t n, bytes;           /* bytes: of the row with its line end            */
	char  *unquoted;           /* text of the cells                              */
};

struct layout_maker {
	const struct schema *schema;
	enum parser_purpose purpose;
	const char *file;
	size_t line;               /* of the first row                               */
	struct first_row row;
	int    has_header;
	size_t shift;              /* label column left out: columns behind it move  */
	size_t label;              /* its number, when shift is set                  */
};

char
data_separator(const struct data_settings *data)
{
	if (data->separator != NULL && data->separator[0] != '\0')
		return data->separator[0];
	return data->format == FORMAT_CSV ? ',' : '\t';
}

int
data_is_quoted(const struct data_settings *data)
{
	return data->quote == TRI_YES || (data->quote == TRI_AUTO && data->format == FORMAT_CSV);
}

int
data_is_sparse(const struct data_settings *data)
{
	return data->format == FORMAT_LIBSVM || data->format == FORMAT_LIBFFM ||
		data->format == FORMAT_LIBFM;
}

/* The cell without its quotes, at *to. */
static struct cell
cell_copy(struct cell cell, int quoted, char **to)
{
	const int in_quotes = quoted && cell.n > 0 && *cell.text == '"';
	char *const start = *to;

	for (size_t j = (size_t)in_quotes; j < cell.n; j++)
		if (!in_quotes || cell.text[j] != '"' ||
		    (j + 1 < cell.n && cell.text[j + 1] == '"' && ++j))
			*(*to)++ = cell.text[j];
	return (struct cell){ start, (size_t)(*to - start) };
}

static enum rs_status
first_row_read(struct first_row *r, const char *text, size_t n, const struct data_settings *data)
{
	const int quoted = data_is_quoted(data);
	const char separator = data_separator(data);
	struct span_index index = { .at = NULL };
	enum rs_status status;
	size_t begin = 0;
	char *to;

	r->bytes = text_row_end(text, n, quoted, separator);
	status = span_index_make(&index, span_level_best(), text, r->bytes, quoted, separator);
	if (status == RS_OK)
		status = memory_alloc(index.n + 1, sizeof *r->cell, &r->cell);
	if (status == RS_OK)
		status = memory_alloc(r->bytes + 1, 1, &r->unquoted);
	to = r->unquoted;
	for (size_t i = 0; status == RS_OK && i < index.n; i++) {
		const size_t end = index.at[i] - (size_t)(i + 1 == index.n &&
			index.at[i] > begin && text[index.at[i] - 1] == '\r');
		struct cell cell = { text + begin, end - begin };

		if (data->trim)
			cell = cell_trim(cell, separator);
		r->cell[r->n++] = cell_copy(cell, quoted, &to);
		begin = index.at[i] + 1;
	}
	span_index_free(&index);
	return status;
}

static int
cell_equals(struct cell cell, const char *text)
{
	return strlen(text) == cell.n && memcmp(cell.text, text, cell.n) == 0;
}

/* A column reference that is a number from 1 (then *number) or a name. */
static int
reference_number(const char *reference, size_t *number)
{
	uint64_t value;

	if (!number_u64(reference, strlen(reference), &value) || value == 0 || value > UINT32_MAX)
		return 0;
	*number = (size_t)value;
	return 1;
}

static int
reference_given(const char *reference)
{
	return reference != NULL && reference[0] != '\0';
}

int
data_is_delimited(const struct data_settings *data)
{
	return data->format == FORMAT_CSV || data->format == FORMAT_TSV;
}

#define N_NAMED 6

static const char *
item_column(const struct schema *schema)
{
	return schema->item_field < schema->n_fields ?
		schema->field[schema->item_field].settings->column : NULL;
}

/* Calls per reference: the columns by role, then the fields; i counts through them. */
static const char *
reference_nth(const struct schema *schema, size_t i, enum layout_role *role, size_t *field)
{
	const struct data_settings *const d = &schema->settings->data;
	const struct { enum layout_role role; const char *column; } named[N_NAMED] = {
		{ ROLE_LABEL, d->label }, { ROLE_WEIGHT, d->weight }, { ROLE_ID, d->id },
		{ ROLE_GROUP, d->group }, { ROLE_ITEM, item_column(schema) },
		{ ROLE_TIME, schema->has_time ? d->time : NULL },
	};

	if (i < N_NAMED) {
		*role = named[i].role;
		return named[i].column != NULL ? named[i].column : "";
	}
	*role = ROLE_FIELD;
	*field = i - N_NAMED;
	if (schema->field[*field].settings->type == FIELD_CROSS)
		return "";                     /* has no column                        */
	return schema->field[*field].settings->column;
}

static size_t
n_references(const struct schema *schema)
{
	return N_NAMED + schema->n_fields;
}

/* Is the reference read for this purpose at all? */
static int
reference_used(const struct schema *schema, enum layout_role role, enum parser_purpose purpose)
{
	if (role == ROLE_TIME)
		return purpose == PARSE_TRAIN;
	if (purpose != PARSE_PREDICT)
		return 1;
	return role == ROLE_GROUP ? schema->predicts_groups : role != ROLE_WEIGHT;
}

size_t
parser_n_references(const struct schema *schema)
{
	return n_references(schema);
}

const char *
parser_reference(const struct schema *schema, enum parser_purpose purpose, size_t i,
	struct layout_column *out)
{
	const char *const name = reference_nth(schema, i, &out->role, &out->field);

	return reference_used(schema, out->role, purpose) ? name : "";
}

static void
scan_references(const struct layout_maker *m, size_t *highest, const char **a_name)
{
	*highest = 0;
	*a_name = NULL;
	for (size_t i = 0; i < n_references(m->schema); i++) {
		enum layout_role role;
		size_t field, number;
		const char *const reference = reference_nth(m->schema, i, &role, &field);

		if (!reference_given(reference) || !reference_used(m->schema, role, m->purpose))
			continue;
		if (!reference_number(reference, &number))
			*a_name = reference;
		else if (number > *highest)
			*highest = number;
	}
}

static int
cell_is_label(const struct schema *schema, struct cell cell)
{
	struct label_rule rule;
	float label;

	label_init(&rule, &schema->settings->data);
	return label_read(&rule, cell, &label);
}

/* Is any cell of a numeric field a number?  Then row 1 is data. */
static int
row_has_number(const struct layout_maker *m)
{
	for (size_t i = 0; i < m->schema->n_fields; i++) {
		const struct field_settings *const f = m->schema->field[i].settings;
		size_t number;
		double value;

		if (f->type == FIELD_NUMERIC && reference_number(f->column, &number) &&
			number <= m->row.n &&
			number_double(
				m->row.cell[number - 1].text, m->row.cell[number - 1].n, &value))
			return 1;
	}
	return 0;
}

/* header = auto: row 1 is a header if its label cell is text that is no label and no
 * numeric field has a number; a wrong or empty label is a bad row, not a header. */
static int
detect_header(const struct layout_maker *m, const char *a_name)
{
	const struct data_settings *const d = &m->schema->settings->data;
	const struct cell *cell;
	size_t number;
	double value;

	if (d->header != TRI_AUTO)
		return d->header == TRI_YES;
	if (a_name != NULL)
		return 1;
	if (!reference_given(d->label) || !reference_number(d->label, &number) || number > m->row.n)
		return 0;
	cell = &m->row.cell[number - 1];
	return cell->n > 0 && !number_double(cell->text, cell->n, &value) &&
		!cell_is_label(m->schema, *cell) && !row_has_number(m);
}

/* The separator of another kind that would cut row 1 into at least `wanted`. */
static const char *
other_separator(const char *text, size_t n, size_t wanted)
{
	static const struct { char c; const char *name;
	} known[] = {
		{ '\t', "tab" },
		{ ',', "comma" },
		{ ';', "semicolon" },
		{ '|', "pipe" },
		{ ' ', "space" },
		{ '\001', "\"\\x01\"" },
		{ '^', "^" },
		{ ':', ":" },
	};

	for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
		size_t found = 1;

		for (size_t i = 0; i < n && text[i] != '\n'; i++)
			found += text[i] == known[k].c;
		if (found >= wanted && found > 1)
			return known[k].name;
	}
	return NULL;
}

static enum rs_status
column_missing(const struct layout_maker *m, const char *text, size_t n, size_t wanted)
{
	const char *const separator = m->row.n == 1 ? other_separator(text, n, wanted) : NULL;

	rs_fail_at(RS_EDATA, m->file, m->line, 1, "%zu column%s found, the spec names column %zu",
		m->row.n, m->row.n == 1 ? "" : "s", wanted);
	if (separator != NULL)
		return rs_hint("did you mean data.separator = %s?", separator);
	if (m->row.n + 1 == wanted && m->purpose == PARSE_EVAL &&
	    reference_given(m->schema->settings->data.label))
		return rs_hint("label missing? predict takes rows without a label");
	if (m->row.n + 1 == wanted)
		return rs_hint("label missing?");
	return rs_hint(
		"data.format, data.separator and the columns of the fields say how rows are cut");
}

static enum rs_status
name_missing(const struct layout_maker *m, const char *name)
{
	size_t best = LAYOUT_NONE;
	char shown[72];

	for (size_t i = 0; i < m->row.n && best == LAYOUT_NONE; i++)
		if (m->row.cell[i].n == strlen(name) &&
			strncasecmp(m->row.cell[i].text, name, m->row.cell[i].n) == 0)
			best = i;
	rs_fail_at(RS_EDATA, m->file, m->line, 1, "the header has no column '%s'", name);
	if (best != LAYOUT_NONE)
		return rs_hint("did you mean '%s'?",
			rs_escape(shown, m->row.cell[best].text, m->row.cell[best].n));
	if (m->row.n == 1)
		return rs_hint("the header is one column: is data.separator right?");
	return rs_hint("columns of a file without a header are named by number");
}

/* Column i of the header is named; is another one named so, too? */
static enum rs_status
name_is_single(const struct layout_maker *m, const char *name, size_t i)
{
	for (size_t k = i + 1; k < m->row.n; k++)
		if (cell_equals(m->row.cell[k], name)) {
			rs_fail_at(RS_EDATA, m->file, m->line, 1,
				"the header names column '%s' twice, as columns %zu and %zu",
				name, i + 1, k + 1);
			return rs_hint("rename one, or name the column by its number");
		}
	return RS_OK;
}

/* Column of a reference, LAYOUT_NONE when it is the absent label. */
static enum rs_status
reference_find(
	const struct layout_maker *m, const char *reference, enum layout_role role, size_t *out)
{
	size_t number;

	*out = LAYOUT_NONE;
	if (reference_number(reference, &number) &&
	    !(m->has_header && number > m->row.n && role != ROLE_LABEL)) {
		if (m->shift == 0) {
			*out = number - 1;
			return RS_OK;
		}
		*out = role == ROLE_LABEL ? LAYOUT_NONE : number - 1 - (number > m->label);
		return RS_OK;
	}
	for (size_t i = 0; m->has_header && i < m->row.n; i++)
		if (cell_equals(m->row.cell[i], reference)) {
			*out = i;
			return name_is_single(m, reference, i);
		}
	if (role == ROLE_LABEL && m->purpose == PARSE_PREDICT)
		return RS_OK;
	return name_missing(m, reference);
}

static int
column_compare(const void *a, const void *b)
{
	const struct layout_column *const x = a, *const y = b;

	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	if (x->role != y->role)
		return x->role < y->role ? -1 : 1;
	return x->field < y->field ? -1 : x->field > y->field;
}

static enum rs_status
layout_fill(const struct layout_maker *m, struct parser_layout *layout)
{
	for (size_t i = 0; i < n_references(m->schema); i++) {
		struct layout_column *const c = &layout->column[layout->n];
		const char *const reference = reference_nth(m->schema, i, &c->role, &c->field);

		if (!reference_given(reference) || !reference_used(m->schema, c->role, m->purpose))
			continue;
		RS_TRY(reference_find(m, reference, c->role, &c->column));
		if (c->column == LAYOUT_NONE)
			continue;
		layout->has_label |= c->role == ROLE_LABEL;
		layout->n++;
	}
	qsort(layout->column, layout->n, sizeof *layout->column, column_compare);
	return RS_OK;
}

static enum rs_status
layout_delimited(struct layout_maker *m, const char *text, size_t n, struct parser_layout *layout,
	size_t *skip, size_t *lines)
{
	const struct data_settings *const d = &m->schema->settings->data;
	const char *a_name;
	size_t highest;

	RS_TRY(first_row_read(&m->row, text, n, d));
	scan_references(m, &highest, &a_name);
	if (m->purpose == PARSE_PREDICT && m->row.n + 1 == highest && reference_given(d->label) &&
	    reference_number(d->label, &m->label))
		m->shift = 1;
	m->has_header = m->shift ? d->header == TRI_YES : detect_header(m, a_name);
	if (highest > m->row.n + m->shift)
		return column_missing(m, text, n, highest);
	RS_TRY(memory_alloc(n_references(m->schema), sizeof *layout->column, &layout->column));
	layout->n_columns = m->row.n;
	RS_TRY(layout_fill(m, layout));
	if (!m->has_header)
		return RS_OK;
	*skip += m->row.bytes;
	for (size_t i = 0; i < m->row.bytes; i++)
		*lines += text[i] == '\n';
	return RS_OK;
}

/* A separator at the end of every row: the header has one column fewer than row 2,
 * whose last cell is empty. */
static enum rs_status
layout_trailing(
	const struct layout_maker *m, struct parser_layout *layout, const char *text, size_t n)
{
	struct first_row row = { .cell = NULL };
	const enum rs_status status = n == 0 ?
		RS_OK :
		first_row_read(&row, text, n, &m->schema->settings->data);

	if (status == RS_OK && row.n == layout->n_columns + 1 && row.cell[row.n - 1].n == 0)
		layout->trailing = 1;
	free(row.cell);
	free(row.unquoted);
	return status;
}

/* libsvm and its kin: the first token of row 1 is a label, LABEL:WEIGHT or, for
 * predict, a feature.  INDEX:VALUE looks like LABEL:WEIGHT, so predict takes it for
 * the feature; a feature of libffm has one ':' more. */
static void
layout_sparse(
	const struct layout_maker *m, const char *text, size_t n, struct parser_layout *layout)
{
	size_t i = 0, colons = 0;

	while (i < n && memchr("# \t\r\n", text[i], 5) != NULL) {
		const char *const end = text[i] == '#' ? memchr(text + i, '\n', n - i) : text + i;

		i = end != NULL ? (size_t)(end + 1 - text) : n;
	}
	for (; i < n && text[i] != ' ' && text[i] != '\t' && text[i] != '\n'; i++)
		colons += text[i] == ':';
	layout->has_label = m->purpose != PARSE_PREDICT || colons == 0 ||
		(colons == 1 && m->schema->settings->data.format == FORMAT_LIBFFM);
	layout->label_weight = layout->has_label && colons == 1;
}

static enum rs_status
refuse_utf16(const char *file, const char *text, size_t n)
{
	if (n < 2 || (memcmp(text, "\xff\xfe", 2) != 0 && memcmp(text, "\xfe\xff", 2) != 0))
		return RS_OK;
	rs_fail_at(RS_EDATA, file, 1, 1, "the file is UTF-16, wanted UTF-8");
	return rs_hint("convert it: iconv -f UTF-16 -t UTF-8");
}

enum rs_status
parser_layout_make(const struct schema *schema, enum parser_purpose purpose, const char *file,
	const char *text, size_t n, struct parser_layout **out, size_t *skip, size_t *lines)
{
	struct layout_maker m = { .schema = schema, .purpose = purpose, .file = file, .line = 1 };
	enum rs_status status;

	*skip = *lines = 0;
	*out = NULL;
	if (schema->settings->data.format == FORMAT_TFRECORD) {
		RS_TRY(examples_check(file, 1, 0, text, n));
		RS_TRY(memory_alloc(1, sizeof **out, out));
		(*out)->has_label = purpose != PARSE_PREDICT;
		return RS_OK;
	}
	RS_TRY(refuse_utf16(file, text, n));
	RS_TRY(memory_alloc(1, sizeof **out, out));
	if (n >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
		*skip = 3;
	if (schema->settings->data.format == FORMAT_LISTS) {
		(*out)->has_label = 1;
		return RS_OK;
	}
	if (data_is_sparse(&schema->settings->data)) {
		layout_sparse(&m, text + *skip, n - *skip, *out);
		return RS_OK;
	}
	/* Blank lines at the top are not row 1. */
	while (*skip < n &&
		(text[*skip] == '\n' ||
			(text[*skip] == '\r' && *skip + 1 < n && text[*skip + 1] == '\n'))) {
		*lines += text[*skip] == '\n';
		++*skip;
	}
	m.line = *lines + 1;
	status = *skip == n ? RS_OK :
			      layout_delimited(&m, text + *skip, n - *skip, *out, skip, lines);
	if (status == RS_OK && m.has_header)
		status = layout_trailing(&m, *out, text + *skip, n - *skip);
	free(m.row.cell);
	free(m.row.unquoted);
	if (status != RS_OK) {
		parser_layout_free(*out);
		*out = NULL;
	}
	return status;
}

void
parser_layout_free(struct parser_layout *layout)
{
	if (layout != NULL)
		free(layout->column);
	free(layout);
}

int
parser_layout_has_label(const struct parser_layout *layout)
{
	return layout->has_label;
}
