/* Tables and numbers for people. */
#include "cmd/layout.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/command.h"

#define LAYOUT_LIMIT ((size_t)1 << 30)
#define CELL_SIZE    1024

void
layout_init(struct layout *l, size_t n_columns, uint64_t right)
{
	assert(n_columns <= LAYOUT_COLUMNS);
	buffer_init(&l->text, LAYOUT_LIMIT);
	l->n_cells = 0;
	l->n_columns = n_columns;
	l->right = right;
}

void
layout_free(struct layout *l)
{
	buffer_free(&l->text);
}

enum rs_status
layout_cell(struct layout *l, const char *format, ...)
{
	char cell[CELL_SIZE];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(cell, sizeof cell, format, arguments);
	va_end(arguments);
	for (char *c = cell; *c != '\0'; c++)
		if ((unsigned char)*c < ' ' || *c == 127)
			*c = ' ';
	l->n_cells++;
	return buffer_append(&l->text, cell, strlen(cell) + 1);
}

enum rs_status
layout_cells(struct layout *l, const char *const *cell)
{
	for (size_t i = 0; i < l->n_columns; i++)
		RS_TRY(layout_cell(l, "%s", cell[i]));
	return RS_OK;
}

static size_t
text_width(const char *text)
{
	size_t width = 0;

	for (; *text != '\0'; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

static enum rs_status
print_cell(const struct layout *l, const char *cell, size_t column, size_t width)
{
	const int gap = (int)(width - text_width(cell));

	if (l->right >> column & 1)
		return output_printf("%*s%s%s", gap, "", cell,
			column + 1 < l->n_columns ? "  " : "\n");
	if (column + 1 == l->n_columns)
		return output_printf("%s\n", cell);
	return output_printf("%s%*s", cell, gap + 2, "");
}

/* Columns at the end of a row that are empty leave no blanks behind. */
static size_t
row_end(const char *cell, size_t n_columns)
{
	size_t end = 0;

	for (size_t i = 0; i < n_columns; i++, cell += strlen(cell) + 1)
		if (*cell != '\0')
			end = i + 1;
	return end;
}

enum rs_status
layout_print(const struct layout *l)
{
	size_t width[LAYOUT_COLUMNS] = { 0 };
	const char *cell = l->text.data;

	assert(l->n_columns == 0 || l->n_cells % l->n_columns == 0);
	for (size_t i = 0; i < l->n_cells; i++, cell += strlen(cell) + 1)
		if (width[i % l->n_columns] < text_width(cell))
			width[i % l->n_columns] = text_width(cell);
	cell = l->text.data;
	for (size_t i = 0; i < l->n_cells; i += l->n_columns) {
		struct layout row = *l;
		const char *next = cell;
		row.n_columns = row_end(cell, l->n_columns);
		for (size_t c = 0; c < l->n_columns; c++, next += strlen(next) + 1)
			if (c < row.n_columns)
				RS_TRY(print_cell(&row, next, c, width[c]));
		if (row.n_columns == 0)
			RS_TRY(output_text("\n", 1));
		cell = next;
	}
	return RS_OK;
}

char *
layout_count(char out[32], int64_t n)
{
	char digits[24];
	const int length = snprintf(digits, sizeof digits, "%" PRIu64,
		n < 0 ? -(uint64_t)n : (uint64_t)n);
	size_t k = 0;

	if (n < 0)
		out[k++] = '-';
	for (int i = 0; i < length; i++) {
		if (i > 0 && (length - i) % 3 == 0)
			out[k++] = ',';
		out[k++] = digits[i];
	}
	out[k] = '\0';
	return out;
}

char *
layout_took(char out[32], double seconds)
{
	if (isnan(seconds))
		snprintf(out, 32, "-");
	else if (seconds < 59.95)
		snprintf(out, 32, "%.1fs", seconds);
	else if (seconds < 3599.5)
		snprintf(out, 32, "%dm%02ds", (int)(seconds + 0.5) / 60, (int)(seconds + 0.5) % 60);
	else
		snprintf(out, 32, "%.0fh%02dm", floor(seconds / 3600),
			(int)(fmod(seconds, 3600) / 60));
	return out;
}

char *
layout_bytes(char out[32], uint64_t bytes)
{
	static const char *const unit[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	double value = (double)bytes;
	size_t i = 0;

	for (; value >= 999.5 && i + 1 < sizeof unit / sizeof unit[0]; i++)
		value /= 1024;
	snprintf(out, 32, i == 0 || value >= 9.95 ? "%.0f %s" : "%.1f %s", value, unit[i]);
	return out;
}

char *
layout_figure(char out[32], double value, int digits)
{
	if (isnan(value))
		snprintf(out, 32, "n.a.");
	else
		snprintf(out, 32, "%.*f", digits, value);
	return out;
}
