/* Columns to rows and back, a few rows at a time so that they stay in the first cache. */
#include "data/batch_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define BLOCK     64u              /* rows at once                                   */
#define LINE      64u
#define ALIGNMENT sizeof(uint64_t)
#define LITTLE    8u               /* an eighth                                      */
#define LARGE     ((size_t)4 << 20) /* bytes from which on pages are large            */

enum cell_kind { CELL_BYTES, CELL_ID, CELL_SHORT_ID };

/* A cell is `size` bytes of an array of the batch, at `at` of the row; an id is narrowed. */
struct batch_cell {
	enum cell_kind kind;
	size_t place;                  /* offset in struct batch of the array's pointer;
	                                * of an id the number of the column           */
	size_t view;                   /* the same in struct batch_view; of no id     */
	size_t size, at;
};

/* ---- the layout ---------------------------------------------------------------- */

static void
add_cell(struct batch_rows *rows, struct batch_cell cell)
{
	if (cell.size == 0)
		return;
	cell.at = rows->stride;
	if (rows->cell != NULL)
		rows->cell[rows->n_cells++] = cell;
	rows->stride += cell.size;
}

/* So many bytes of an array of every row. */
#define ARRAY(name, bytes) \
	(struct batch_cell){ .kind = CELL_BYTES, .place = offsetof(struct batch, name), \
		.view = offsetof(struct batch_view, name), .size = (bytes) }

static void
add_ids(struct batch_rows *rows, const struct schema *schema, int is_short)
{
	for (size_t f = 0; f < schema->F; f++)
		if (schema->field[schema->column_field[f]].single &&
		    schema_has_short_ids(schema, f) == is_short)
			add_cell(rows, (struct batch_cell){
				.kind = is_short ? CELL_SHORT_ID : CELL_ID, .place = f,
				.size = is_short ? sizeof(uint32_t) : sizeof(uint64_t) });
}

static size_t
round_up(size_t n, size_t to)
{
	return (n + to - 1) / to * to;
}

/* From wide to narrow, so that each is aligned.  A row of whole lines has fewer of them than one
 * that begins anywhere, if that makes it little longer. */
static void
lay_out(struct batch_rows *rows, const struct schema *s)
{
	const size_t wide = sizeof(uint64_t), number = sizeof(float);

	add_cell(rows, ARRAY(group, s->has_group ? wide : 0));
	add_cell(rows, ARRAY(item, s->item_field < s->n_fields ? wide : 0));
	add_cell(rows, ARRAY(time, s->has_time ? wide : 0));
	add_ids(rows, s, 0);
	add_cell(rows, ARRAY(label, number));
	add_cell(rows, ARRAY(weight, number));
	add_cell(rows, ARRAY(dense, s->K * number));
	add_ids(rows, s, 1);
	add_cell(rows, ARRAY(missing, s->K));
	const size_t lines = round_up(rows->stride, LINE);

	rows->stride = (lines - rows->stride) * LITTLE <= rows->stride ? lines
		: round_up(rows->stride, ALIGNMENT);
}

size_t
batch_rows_stride(const struct schema *schema)
{
	struct batch_rows rows = { .cell = NULL };

	lay_out(&rows, schema);
	return rows.stride;
}

enum rs_status
batch_rows_init(struct batch_rows *rows, const struct schema *schema)
{
	enum { BESIDE_IDS = 7 };

	memset(rows, 0, sizeof *rows);
	RS_TRY(memory_alloc(schema->F + BESIDE_IDS, sizeof *rows->cell, &rows->cell));
	lay_out(rows, schema);
	return RS_OK;
}

void
batch_rows_clear(struct batch_rows *rows)
{
	rows->B = 0;
}

/* Rows out of order are on other pages each time: many have large ones. */
static enum rs_status
allocate(size_t bytes, unsigned char **out)
{
	return bytes >= LARGE ? large_alloc(bytes, out) : memory_alloc(bytes, 1, out);
}

static void
release(unsigned char *bytes, size_t n)
{
	if (n >= LARGE)
		large_free(bytes, n);
	else
		free(bytes);
}

void
batch_rows_free(struct batch_rows *rows)
{
	free(rows->cell);
	release(rows->bytes, rows->capacity * rows->stride);
	memset(rows, 0, sizeof *rows);
}

static enum rs_status
grow(struct batch_rows *rows, size_t capacity)
{
	unsigned char *grown;
	size_t bytes;

	RS_TRY(size_mul(capacity, rows->stride, &bytes));
	RS_TRY(allocate(bytes, &grown));
	if (rows->B > 0)
		memcpy(grown, rows->bytes, rows->B * rows->stride);
	release(rows->bytes, rows->capacity * rows->stride);
	rows->bytes = grown;
	rows->capacity = capacity;
	return RS_OK;
}

enum rs_status
batch_rows_reserve(struct batch_rows *rows, size_t B)
{
	return B > rows->capacity ? grow(rows, B) : RS_OK;
}

static enum rs_status
reserve_more(struct batch_rows *rows, size_t n)
{
	const size_t B = rows->B + n, twice = 2 * rows->capacity;

	return B <= rows->capacity ? RS_OK : grow(rows, B > twice ? B : twice);
}

/* ---- to rows --------------------------------------------------------------------- */

/* The array that a cell is of. */
static unsigned char *
array_of(const struct batch *batch, const struct batch_cell *cell)
{
	unsigned char *array;

	if (cell->kind != CELL_BYTES)
		return (unsigned char *)batch->column[cell->place].ids;
	memcpy(&array, (const char *)batch + cell->place, sizeof array);
	return array;
}

/* n cells of `size` bytes, `to_step` and `from_step` bytes from one to the next; that each is a
 * constant where it can be makes them loads and stores. */
static inline void
copy_cells(unsigned char *to, size_t to_step, const unsigned char *from, size_t from_step,
	size_t size, size_t n)
{
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * to_step, from + i * from_step, size);
}

/* Pieces of 16 bytes, or of 8, the last where the cell ends: no call for each. */
static inline void
copy_long(unsigned char *to, const unsigned char *from, size_t size, size_t piece)
{
	for (size_t k = 0; k + piece < size; k += piece)
		memcpy(to + k, from + k, piece);
	memcpy(to + size - piece, from + size - piece, piece);
}

/* Of any size. */
static void
copy_column(unsigned char *to, size_t to_step, const unsigned char *from, size_t size, size_t n)
{
	if (size == 4)
		copy_cells(to, to_step, from, 4, 4, n);
	else if (size == 8)
		copy_cells(to, to_step, from, 8, 8, n);
	else if (size < 8)
		copy_cells(to, to_step, from, size, size, n);
	else
		for (size_t i = 0; i < n; i++)
			copy_long(to + i * to_step, from + i * size, size, size < 16 ? 8 : 16);
}

/* Cells of n rows of the batch from `first` on, to rows that begin at `to`. */
static void
put_cells(const struct batch_rows *rows, const struct batch_cell *cell,
	const struct batch *batch, size_t first, size_t n, unsigned char *to)
{
	const size_t stride = rows->stride, size = cell->size;

	to += cell->at;
	if (cell->kind == CELL_SHORT_ID) {
		const uint64_t *const ids = batch->column[cell->place].ids + first;

		for (size_t i = 0; i < n; i++) {
			const uint32_t id = (uint32_t)ids[i];

			memcpy(to + i * stride, &id, sizeof id);
		}
		return;
	}
	copy_column(to, stride, array_of(batch, cell) + first * size, size, n);
}

/* The same of a view. */
static void
put_viewed(const struct batch_rows *rows, const struct batch_cell *cell,
	const struct batch_view *view, size_t first, size_t n, unsigned char *to)
{
	const float one = 1;
	const unsigned char *from;

	if (cell->kind == CELL_BYTES)
		memcpy(&from, (const char *)view + cell->view, sizeof from);
	else
		from = view->ids[cell->place];
	if (from != NULL)
		copy_column(to + cell->at, rows->stride, from + first * cell->size, cell->size, n);
	else
		copy_cells(to + cell->at, rows->stride, (const unsigned char *)&one, 0,
			sizeof one, n);
}

enum rs_status
batch_rows_add(struct batch_rows *rows, const struct batch *batch)
{
	RS_TRY(reserve_more(rows, batch->B));
	for (size_t b = 0; b < batch->B; b += BLOCK) {
		const size_t n = batch->B - b < BLOCK ? batch->B - b : BLOCK;

		for (size_t i = 0; i < rows->n_cells; i++)
			put_cells(rows, &rows->cell[i], batch, b, n,
				rows->bytes + (rows->B + b) * rows->stride);
	}
	rows->B += batch->B;
	return RS_OK;
}

enum rs_status
batch_rows_add_view(struct batch_rows *rows, const struct batch_view *view, size_t B)
{
	RS_TRY(reserve_more(rows, B));
	for (size_t b = 0; b < B; b += BLOCK) {
		const size_t n = B - b < BLOCK ? B - b : BLOCK;

		for (size_t i = 0; i < rows->n_cells; i++)
			put_viewed(rows, &rows->cell[i], view, b, n,
				rows->bytes + (rows->B + b) * rows->stride);
	}
	rows->B += B;
	return RS_OK;
}

enum rs_status
batch_rows_append(struct batch_rows *rows, const struct batch_rows *from)
{
	RS_TRY(reserve_more(rows, from->B));
	if (from->B > 0)
		memcpy(rows->bytes + rows->B * rows->stride, from->bytes,
			from->B * from->stride);
	rows->B += from->B;
	return RS_OK;
}

/* ---- from rows ------------------------------------------------------------------- */

static inline void
gather_cells(unsigned char *to, const unsigned char *const from[BLOCK], size_t at, size_t size,
	size_t n)
{
	for (size_t i = 0; i < n; i++)
		memcpy(to + i * size, from[i] + at, size);
}

static inline void
gather_long_cells(unsigned char *to, const unsigned char *const from[BLOCK], size_t at,
	size_t size, size_t n, size_t piece)
{
	for (size_t i = 0; i < n; i++)
		copy_long(to + i * size, from[i] + at, size, piece);
}

/* Cells of the n rows that from[] points at, to the batch from `first` on. */
static void
take_cells(const struct batch_cell *cell, const unsigned char *const from[BLOCK],
	struct batch *batch, size_t first, size_t n)
{
	const size_t at = cell->at, size = cell->size;

	if (cell->kind == CELL_SHORT_ID) {
		uint64_t *const ids = batch->column[cell->place].ids + first;

		for (size_t i = 0; i < n; i++) {
			uint32_t id;

			memcpy(&id, from[i] + at, sizeof id);
			ids[i] = id;
		}
		return;
	}
	unsigned char *const to = array_of(batch, cell) + first * size;

	if (size == 4)
		gather_cells(to, from, at, 4, n);
	else if (size == 8)
		gather_cells(to, from, at, 8, n);
	else if (size < 8)
		gather_cells(to, from, at, size, n);
	else if (size < 16)
		gather_long_cells(to, from, at, size, n, 8);
	else
		gather_long_cells(to, from, at, size, n, 16);
}

/* Lines that n rows are in, and those that their cells go to. */
static void
prefetch(const struct batch_rows *rows, const uint32_t *row, size_t n, const struct batch *batch,
	size_t first)
{
	for (size_t i = 0; i < n; i++)
		for (size_t at = 0; at < rows->stride; at += LINE)
			__builtin_prefetch(rows->bytes + row[i] * rows->stride + at);
	for (size_t i = 0; i < rows->n_cells; i++) {
		const struct batch_cell *const cell = &rows->cell[i];
		const size_t size = cell->kind == CELL_SHORT_ID ? sizeof(uint64_t) : cell->size;
		unsigned char *const to = array_of(batch, cell) + first * size;

		for (size_t at = 0; at < n * size; at += LINE)
			__builtin_prefetch(to + at, 1);
	}
}

void
batch_rows_gather(
	const struct batch_rows *rows, const uint32_t *row, size_t n, struct batch *batch)
{
	const unsigned char *from[BLOCK];

	for (size_t b = 0, m; b < n; b += m) {
		m = n - b < BLOCK ? n - b : BLOCK;
		if (n - b > m)
			prefetch(rows, row + b + m, n - b - m < BLOCK ? n - b - m : BLOCK,
				batch, batch->B + b + m);
		for (size_t i = 0; i < m; i++)
			from[i] = rows->bytes + row[b + i] * rows->stride;
		for (size_t i = 0; i < rows->n_cells; i++)
			take_cells(&rows->cell[i], from, batch, batch->B + b, m);
	}
	for (size_t i = 0; i < rows->n_cells; i++)
		if (rows->cell[i].kind != CELL_BYTES)
			batch->column[rows->cell[i].place].N = batch->B + n;
}
