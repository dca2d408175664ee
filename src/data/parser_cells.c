/* The text of cells, kept for those who show values. */
#include <stdlib.h>
#include <string.h>

#include "data/parser_private.h"

#define TEXT_MAX ((size_t)1 << 32)
#define NONE     SIZE_MAX

struct cells {
	struct buffer text;
	size_t  n;                 /* a row: the fields, then the label              */
	size_t  rows, capacity;    /* complete rows; the next one is being read      */
	size_t *begin, *end;       /* [capacity, n] in text; begin NONE: no such cell */
};

/* Room for the row being read, with no cell yet. */
static enum rs_status
begin_row(struct cells *c)
{
	if (c->rows == c->capacity) {
		const size_t capacity = c->capacity > 0 ? 2 * c->capacity : 256;
		size_t bytes;

		RS_TRY(size_mul(capacity, c->n * sizeof *c->begin, &bytes));
		size_t *const begin = realloc(c->begin, bytes);
		c->begin = begin != NULL ? begin : c->begin;
		size_t *const end = begin == NULL ? NULL : realloc(c->end, bytes);
		c->end = end != NULL ? end : c->end;
		if (end == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for the text of %zu rows",
				capacity);
		c->capacity = capacity;
	}
	for (size_t i = 0; i < c->n; i++)
		c->begin[c->rows * c->n + i] = NONE;
	return RS_OK;
}

enum rs_status
parser_keep_cells(struct parser *p)
{
	struct cells *c;

	RS_TRY(memory_alloc(1, sizeof *c, &c));
	buffer_init(&c->text, TEXT_MAX);
	c->n = p->schema->n_fields + 1;
	p->cells = c;
	for (size_t i = 0; i < p->schema->n_fields; i++)
		p->feature[i].path = FEATURE_GENERAL;
	return begin_row(c);
}

void
parser_cells_free(struct parser *p)
{
	if (p->cells == NULL)
		return;
	buffer_free(&p->cells->text);
	free(p->cells->begin);
	free(p->cells->end);
	free(p->cells);
}

enum rs_status
parser_cells_begin(struct parser *p)
{
	if (p->cells == NULL)
		return RS_OK;
	p->cells->text.n = p->cells->rows = 0;
	return begin_row(p->cells);
}

enum rs_status
parser_cells_row(struct parser *p, int kept)
{
	if (p->cells == NULL)
		return RS_OK;
	p->cells->rows += kept != 0;
	return begin_row(p->cells);
}

/* What is there stands at the end of the text. */
static enum rs_status
move_to_end(struct cells *c, size_t at)
{
	const size_t n = c->end[at] - c->begin[at], to = c->text.n;

	if (c->end[at] == c->text.n)
		return RS_OK;
	RS_TRY(buffer_reserve(&c->text, n + 1));
	memcpy(c->text.data + to, c->text.data + c->begin[at], n);
	c->text.n += n;
	c->begin[at] = to;
	return RS_OK;
}

enum rs_status
parser_cells_add(struct parser *p, size_t field, struct cell cell)
{
	struct cells *const c = p->cells;

	if (c == NULL)
		return RS_OK;
	const size_t at = c->rows * c->n + field;
	if (c->begin[at] == NONE) {
		c->begin[at] = c->text.n;
	} else {
		RS_TRY(move_to_end(c, at));
		RS_TRY(buffer_append(&c->text, ",", 1));
	}
	RS_TRY(buffer_append(&c->text, cell.text, cell.n));
	c->end[at] = c->text.n;
	return RS_OK;
}

const char *
parser_cell_text(const struct parser *p, size_t row, size_t field, size_t *n)
{
	const struct cells *const c = p->cells;

	*n = 0;
	if (c == NULL || row >= c->rows || c->begin[row * c->n + field] == NONE)
		return NULL;
	*n = c->end[row * c->n + field] - c->begin[row * c->n + field];
	return c->text.data + c->begin[row * c->n + field];
}
