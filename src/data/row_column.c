/* One column of the rows of a delimited file. */
#include "data/row_column.h"

#include <string.h>

#include "data/parser_private.h"

/* A layout knows columns by what they are for; this one is where it looks for ids. */
static enum rs_status
find_column(const struct schema *schema, const char *reference, const char *file,
	const char *text, size_t n, struct row_column *out)
{
	struct settings settings = *schema->settings;
	struct schema named = *schema;
	struct parser_layout *layout;

	settings.data.id = (char *)(uintptr_t)reference;
	named.settings = &settings;
	RS_TRY(parser_layout_make(&named, PARSE_TRAIN, file, text, n, &layout, &out->skip,
		&out->lines));
	for (size_t i = 0; i < layout->n; i++)
		if (layout->column[i].role == ROLE_ID) {
			out->column = layout->column[i].column;
			out->found = 1;
		}
	parser_layout_free(layout);
	return RS_OK;
}

enum rs_status
row_column_find(const struct schema *schema, const char *reference, const char *file,
	const char *text, size_t n, struct row_column *out)
{
	const struct data_settings *const d = &schema->settings->data;

	*out = (struct row_column){ .separator = data_separator(d), .quoted = data_is_quoted(d),
		.trim = d->trim, .max_line = (size_t)d->max_line };
	return find_column(schema, reference, file, text, n, out);
}

size_t
row_column_end(const struct row_column *c, const char *text, size_t n)
{
	const char *line = memchr(text, '\n', n);
	size_t end = line != NULL ? (size_t)(line + 1 - text) : 0;

	/* Only the row is searched for quotes, not all that follows it. */
	if (c->quoted && n > 0 && memchr(text, '"', end > 0 ? end : n) != NULL) {
		end = text_row_end(text, n, 1, c->separator);
		if (end == n && text[n - 1] != '\n')
			end = 0;
	}
	if (end > 0 || n <= c->max_line)
		return end;
	line = memchr(text + c->max_line, '\n', n - c->max_line);
	return line != NULL ? (size_t)(line + 1 - text) : 0;
}

int
row_column_is_blank(const char *row, size_t n)
{
	return n == 0 || (n == 1 && row[0] == '\n') || (n == 2 && row[0] == '\r' &&
		row[1] == '\n');
}

/* Behind the cell that begins at `at`: its separator or the end of the row. */
static const char *
cell_end(const struct row_column *c, const char *at, const char *end)
{
	const char *stop = at;

	while (c->quoted && stop < end && *stop == '"') {
		stop = memchr(stop + 1, '"', (size_t)(end - stop - 1));
		if (stop == NULL)
			return end;
		stop++;
	}
	stop = memchr(stop, c->separator, (size_t)(end - stop));
	return stop != NULL ? stop : end;
}

int
row_column_cell(const struct row_column *c, const char *row, size_t n, const char **cell,
	size_t *n_cell)
{
	const char *at = row, *end = row + n, *stop;

	end -= end > row && end[-1] == '\n';
	end -= end > row && end[-1] == '\r';
	for (size_t k = 0;; k++) {
		stop = cell_end(c, at, end);
		if (k == c->column)
			break;
		if (stop == end)
			return 0;
		at = stop + 1;
	}
	struct cell found = { at, (size_t)(stop - at) };
	if (c->trim)
		found = cell_trim(found, c->separator);
	if (c->quoted && found.n >= 2 && found.text[0] == '"' && found.text[found.n - 1] == '"')
		found = (struct cell){ found.text + 1, found.n - 2 };
	*cell = found.text;
	*n_cell = found.n;
	return 1;
}
