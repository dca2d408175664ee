/* Looking at delimited text. */
#include "cmd/sample.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/guess_relation.h"
#include "data/source.h"
#include "data/tfrecord.h"

enum { LOOK_LINES = 200, COLUMNS_MAX = 20000, READ_BYTES = 1 << 18 };

#define SAMPLE_BYTES_MAX ((size_t)256 << 20)

static const char candidate[] = "\t,;|^ ";

/* One cell: text[begin..end), decoded in place when it was quoted. */
struct cell { char *text; size_t n; };

enum rs_status
sample_text(const char *path, uint64_t rows, struct buffer *out)
{
	struct source *source;
	enum rs_status status = source_open(path, &source);
	uint64_t lines = 0;
	size_t   got = 1;

	RS_TRY(status);
	while (status == RS_OK && got > 0 && lines <= rows &&
		out->n + READ_BYTES < SAMPLE_BYTES_MAX) {
		status = buffer_reserve(out, READ_BYTES + 1);
		if (status == RS_OK)
			status = source_read(source, out->data + out->n, READ_BYTES, &got);
		for (size_t i = 0; status == RS_OK && i < got; i++)
			lines += out->data[out->n + i] == '\n';
		out->n += status == RS_OK ? got : 0;
	}
	source_close(source);
	/* The last line may be cut. */
	while (status == RS_OK && got > 0 && out->n > 0 && out->data[out->n - 1] != '\n')
		out->n--;
	return status;
}

/* Cuts the row at text[0..n); returns its length with the newline.  cell NULL: only
 * counts.  Quotes as in RFC 4180 when quoted is set. */
static size_t
cut_row(char *text, size_t n, char separator, int quoted, struct cell *cell, size_t *n_cells)
{
	size_t at = 0;

	*n_cells = 0;
	for (;;) {
		size_t begin = at, end;

		if (quoted && at < n && text[at] == '"') {
			size_t to = begin = ++at;

			while (at < n && (text[at] != '"' || (at + 1 < n && text[at + 1] == '"'))) {
				at += text[at] == '"';
				if (cell != NULL)
					text[to] = text[at];
				to++;
				at++;
			}
			end = to;
			at += at < n;
			while (at < n && text[at] != separator && text[at] != '\n')
				at++;
		} else {
			while (at < n && text[at] != separator && text[at] != '\n')
				at++;
			end = at;
		}
		if (cell != NULL && *n_cells < COLUMNS_MAX)
			cell[*n_cells] = (struct cell){ text + begin, end - begin };
		++*n_cells;
		if (at >= n || text[at] == '\n')
			break;
		at++;
	}
	if (cell != NULL && *n_cells <= COLUMNS_MAX) {
		struct cell *last = &cell[*n_cells - 1];

		last->n -= last->n > 0 && last->text[last->n - 1] == '\r';
	}
	return at < n ? at + 1 : n;
}

/* How many of the first rows have as many columns as row 1; 0 when that is one. */
static size_t
rows_that_agree(const struct sample *s, char separator, int quoted, size_t *columns, size_t *rows)
{
	size_t at = 0, agree = 0, n;

	*rows = 0;
	*columns = 0;
	while (at < s->n && *rows < LOOK_LINES) {
		const size_t length = cut_row(s->text + at, s->n - at, separator, quoted, NULL, &n);

		if (length > 2) {
			if (*rows == 0)
				*columns = n;
			agree += n == *columns;
			++*rows;
		}
		at += length;
	}
	return *columns > 1 ? agree : 0;
}

static enum rs_status
find_separator(struct sample *s, char wanted)
{
	size_t best = 0, best_columns = 0, rows, columns;

	for (const char *c = candidate; *c != '\0'; c++) {
		const char separator = wanted != 0 ? wanted : *c;
		const int  quoted = separator != '\t';
		const size_t agree = rows_that_agree(s, separator, quoted, &columns, &rows);

		if (agree * 10 < rows * 9 || agree == 0)
			continue;
		if (agree > best || (agree == best && best_columns < 2 && columns > best_columns)) {
			best = agree;
			best_columns = columns;
			s->separator = separator;
			s->quoted = quoted;
		}
		if (wanted != 0 || separator == '\t')
			break;
	}
	s->n_columns = best_columns;
	if (best > 0 && best_columns < COLUMNS_MAX)
		return RS_OK;
	rs_fail(RS_EDATA, "no separator gives every row the same number of columns");
	return rs_hint("tried tab, comma, semicolon, pipe, ^ and space");
}

/* ", " parts the columns of the first rows. */
static int
has_blanks_behind(const struct sample *s)
{
	size_t separators = 0, blanks = 0, lines = 0;

	for (size_t i = 0; i + 1 < s->n && lines < LOOK_LINES; i++) {
		lines += s->text[i] == '\n';
		separators += s->text[i] == s->separator;
		blanks += s->text[i] == s->separator && s->text[i + 1] == ' ';
	}
	return s->separator != ' ' && separators > 0 && blanks == separators;
}

static void
trim_cells(struct cell *cell, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		while (cell[i].n > 0 && cell[i].text[0] == ' ') {
			cell[i].text++;
			cell[i].n--;
		}
		while (cell[i].n > 0 && cell[i].text[cell[i].n - 1] == ' ')
			cell[i].n--;
	}
}

static int
is_hexadecimal(const struct cell *cell)
{
	if (cell->n < 8)
		return 0;
	for (size_t i = 0; i < cell->n; i++)
		if (strchr("0123456789abcdefABCDEF", cell->text[i]) == NULL)
			return 0;
	return 1;
}

static void
count_value(struct sample_column *c, const struct cell *cell)
{
	if (cell->n >= SAMPLE_VALUE_BYTES) {
		c->more_values = 1;
		return;
	}
	for (size_t i = 0; i < c->n_values; i++)
		if (strlen(c->value[i].text) == cell->n && memcmp(c->value[i].text, cell->text,
			cell->n) == 0) {
			c->value[i].n++;
			return;
		}
	if (c->n_values == SAMPLE_VALUES) {
		c->more_values = 1;
		return;
	}
	memcpy(c->value[c->n_values].text, cell->text, cell->n);
	c->value[c->n_values++].n = 1;
}

static enum rs_status
add_cell(struct sample_column *c, const struct cell *cell)
{
	uint8_t seen[128] = { 0 };
	double  number;
	int64_t whole;

	if (c->rows < SAMPLE_EXAMPLES)
		c->example[c->rows] = (struct sample_cell){ cell->text, cell->n };
	c->rows++;
	if (cell->n == 0) {
		c->missing++;
		return RS_OK;
	}
	if (number_double(cell->text, cell->n, &number)) {
		c->numbers++;
		c->min = fmin(c->min, number);
		c->max = fmax(c->max, number);
	}
	c->wholes += number_i64(cell->text, cell->n, &whole) != 0;
	c->hexadecimal += is_hexadecimal(cell) != 0;
	c->zero_padded += cell->n > 1 && cell->text[0] == '0' && cell->text[1] >= '0' &&
		cell->text[1] <= '9';
	for (size_t i = 0; i < cell->n; i++) {
		const unsigned char byte = (unsigned char)cell->text[i];

		if (byte < 128 && !seen[byte]) {
			seen[byte] = 1;
			c->with[byte]++;
		}
	}
	count_value(c, cell);
	return distinct_add(&c->distinct, hash_fingerprint64(cell->text, cell->n));
}

static int
is_number(const struct cell *cell)
{
	double number;

	return number_double(cell->text, cell->n, &number);
}

/* "user_id", "item", but no "user 17". */
static int
names_side(const struct cell *cell, enum guess_side side)
{
	char name[64];

	if (cell->n >= sizeof(name))
		return 0;
	memcpy(name, cell->text, cell->n);
	name[cell->n] = '\0';
	return strcspn(name, "0123456789") == cell->n && guess_relation_side(name) == side;
}

/* Row 1 names the columns if no cell of it is a number or empty or there twice, and
 * some column of numbers follows, or it names a user and an item. */
static int
looks_like_header(const struct sample *s, const struct cell *cell, size_t rest_at, struct cell *row)
{
	size_t n, at = rest_at, numbers = 0, users = 0, items = 0;

	if (s->is_records)
		return 1;
	for (size_t i = 0; i < s->n_columns; i++) {
		if (cell[i].n == 0 || is_number(&cell[i]))
			return 0;
		for (size_t k = 0; k < i && k < 1000; k++)
			if (cell[k].n == cell[i].n && memcmp(cell[k].text, cell[i].text,
				cell[i].n) == 0)
				return 0;
		users += names_side(&cell[i], GUESS_SIDE_USER) != 0;
		items += names_side(&cell[i], GUESS_SIDE_ITEM) != 0;
	}
	if (users > 0 && items > 0)
		return 1;
	for (size_t line = 0; line < LOOK_LINES && at < s->n; line++) {
		at += cut_row(s->text + at, s->n - at, s->separator, 0, row, &n);
		for (size_t i = 0; i < n && i < s->n_columns; i++)
			numbers += is_number(&row[i]) != 0;
	}
	return numbers > 0;
}

static enum rs_status
take_header(struct sample *s, const struct cell *cell)
{
	s->has_header = 1;
	for (size_t i = 0; i < s->n_columns; i++) {
		RS_TRY(memory_alloc(cell[i].n + 1, 1, &s->column[i].name));
		memcpy(s->column[i].name, cell[i].text, cell[i].n);
	}
	return RS_OK;
}

static enum rs_status
read_rows(struct sample *s, uint64_t rows, struct cell *cell, struct cell *scratch)
{
	size_t at = s->n >= 3 && memcmp(s->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0, n;

	for (int first = 1; at < s->n && s->rows < rows;) {
		at += cut_row(s->text + at, s->n - at, s->separator, s->quoted, cell, &n);
		if (s->trim)
			trim_cells(cell, n < s->n_columns ? n : s->n_columns);
		if (n == 1 && cell[0].n == 0)
			continue;
		if (first && n == s->n_columns && looks_like_header(s, cell, at, scratch)) {
			RS_TRY(take_header(s, cell));
			first = 0;
			continue;
		}
		first = 0;
		if (n != s->n_columns)
			continue;
		for (size_t i = 0; i < n; i++)
			RS_TRY(add_cell(&s->column[i], &cell[i]));
		s->rows++;
	}
	return s->rows > 0 ? RS_OK : rs_fail(RS_EDATA, "there are no rows");
}

static int
is_tfrecord(const struct sample *s)
{
	struct tfrecord record;

	tfrecord_read(s->text, s->n, &record);
	return s->n >= TFRECORD_HEAD && record.state != TFRECORD_BAD_LENGTH;
}

enum rs_status
sample_read(const char *path, uint64_t rows, enum sample_form form, struct sample *out)
{
	static const char separator[] = { 0, '\t', ',', '\t' };
	struct cell  *cell = NULL, *scratch = NULL;
	struct buffer text;
	enum rs_status status;

	*out = (struct sample){ .is_records = form == SAMPLE_RECORDS };
	buffer_init(&text, SAMPLE_BYTES_MAX);
	status = out->is_records ? sample_records(path, rows, &text) :
		sample_text(path, rows, &text);
	out->text = text.data;
	out->n = text.n;
	if (status == RS_OK && out->n == 0)
		status = rs_fail(RS_EDATA, "'%s' is empty", path);
	if (status == RS_OK && is_tfrecord(out)) {
		rs_fail(RS_EDATA, "'%s' is a TFRecord file, wanted a table of text", path);
		status = rs_hint("--format tfrecord reads it");
	}
	if (status == RS_OK)
		status = find_separator(out, separator[form]);
	if (status == RS_OK) {
		out->trim = has_blanks_behind(out);
		status = memory_alloc(out->n_columns, sizeof(*out->column), &out->column);
	}
	if (status == RS_OK)
		status = memory_alloc(COLUMNS_MAX, sizeof(*cell), &cell);
	if (status == RS_OK)
		status = memory_alloc(COLUMNS_MAX, sizeof(*scratch), &scratch);
	for (size_t i = 0; status == RS_OK && i < out->n_columns; i++) {
		out->column[i].min = INFINITY;
		out->column[i].max = -INFINITY;
	}
	if (status == RS_OK)
		status = read_rows(out, rows, cell, scratch);
	free(cell);
	free(scratch);
	return status;
}

size_t
sample_examples(const struct sample *s)
{
	return s->rows < SAMPLE_EXAMPLES ? (size_t)s->rows : SAMPLE_EXAMPLES;
}

void
sample_free(struct sample *s)
{
	for (size_t i = 0; s->column != NULL && i < s->n_columns; i++) {
		free(s->column[i].name);
		distinct_free(&s->column[i].distinct);
	}
	free(s->column);
	free(s->text);
	*s = (struct sample){ 0 };
}
