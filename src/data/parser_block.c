/*
 * Rows of plain cells, column by column: a block of rows that all have their cells goes
 * through one column after the other, so that what a column needs is looked up once and
 * the hashes of neighbouring rows overlap in the processor.
 *
 * A row with anything wrong ends the block before it; the caller does that row alone.
 * Nothing is written that the long way would not write, so the batch is the same.
 */
#include <math.h>
#include <string.h>

#include "data/cell_words.h"
#include "data/fast_cell.h"
#include "data/parser_private.h"

#define EIGHT 8u                   /* bytes of the commonest ids                     */

struct block {
	struct parser *p;
	const struct parser_span *span;
	const uint32_t *end;       /* of the first row's cells; end[-1] of the row before */
	size_t cells;              /* of a row                                       */
	size_t n;                  /* rows from the first that are good so far       */
	int    open;               /* eight bytes of each cell can be read           */
	struct batch *batch;
};

/* Does a row go this way at all? */
int
parser_block_fits(const struct parser *p, const struct parser_span *span)
{
	return !p->sparse && p->lists == NULL && !p->index.quotes && p->cells == NULL &&
		p->crosses.n == 0 && p->histories.n == 0 && parser_ids(p) == NULL &&
		memchr(span->text, '\0', span->n) == NULL;
}

/* The cells of a column: their first eight bytes and their lengths, good for nothing when a
 * cell may have blanks around it or a row ends there, or text would be read beyond its end. */
struct words {
	uint64_t word[PARSER_BLOCK], length[PARSER_BLOCK];
};

static int
words_read(const struct block *b, size_t column, struct words *w)
{
	const char *const text = b->span->text;
	const uint32_t *end = b->end + column;
	const size_t n = b->n, cells = b->cells;

	if (!b->open || b->p->trim || column + 1 == cells)
		return 0;
	for (size_t r = 0; r < n; r++, end += cells) {
		const uint32_t from = end[-1] + 1;

		w->word[r] = id_load64(text + from);
		w->length[r] = *end - from;
	}
	return 1;
}

static struct cell
cell_at(const struct block *b, size_t row, size_t column)
{
	const uint32_t *const end = b->end + row * b->cells + column;
	const uint32_t from = end[-1] + 1;
	struct cell cell = { b->span->text + from, *end - from };

	if (column + 1 == b->cells && cell.n > 0 && cell.text[cell.n - 1] == '\r')
		cell.n--;
	return b->p->trim ? cell_trim(cell, b->p->separator) : cell;
}

/* The rest goes the long way: rows from `row` on are not of the block. */
static inline void
end_before(struct block *b, size_t row)
{
	b->n = row;
}

/* ---- ids --------------------------------------------------------------------- */

static inline uint64_t
bucket_of(struct cell cell, const struct id_divisor *buckets)
{
	return cell.n > 0 ? id_bucket(cell.text, cell.n, buckets) : buckets->d;
}

/* Most ids have eight bytes, or are missing. */
static void
ids_of_words(const struct block *b, const struct words *w, const struct id_divisor buckets,
	size_t column, uint64_t *id)
{
	const size_t n = b->n;
	uint64_t hash[PARSER_BLOCK];

	b->p->words->hash(n, w->word, hash);
	for (size_t r = 0; r < n; r++) {
		const uint64_t bucket = id_remainder(hash[r], &buckets);

		id[r] = w->length[r] > 0 ? bucket : buckets.d;
		if (__builtin_expect((w->length[r] & ~(uint64_t)EIGHT) != 0, 0))
			id[r] = bucket_of(cell_at(b, r, column), &buckets);
	}
}

static void
ids(const struct block *b, const struct feature *feature, size_t column)
{
	struct batch_column *const c = &b->batch->column[feature->index];
	uint64_t *const id = c->ids + b->batch->B;
	struct words w;

	if (words_read(b, column, &w))
		ids_of_words(b, &w, feature->buckets, column, id);
	else
		for (size_t r = 0; r < b->n; r++)
			id[r] = bucket_of(cell_at(b, r, column), &feature->buckets);
	c->N = b->batch->B + b->n;
}

/* ---- other cells of fields --------------------------------------------------- */

/* The long way of one cell: row r of the block stands for the row being read. */
static void
cell_long(struct block *b, const struct feature *feature, size_t r, struct cell cell)
{
	struct batch at = *b->batch;
	struct cell_error error;
	const int is_list = feature_needs_close(feature);

	at.B += r;
	if (feature_cell(feature, cell, &at, &b->p->scratch, &error) != RS_OK ||
	    (is_list && feature_close(feature, 1, &at) != RS_OK))
		end_before(b, r);
}

/* Whole numbers of at most eight digits, which most are. */
static void
numbers_of_words(struct block *b, const struct words *w, const struct feature *feature,
	size_t column)
{
	const size_t K = b->batch->K, first = b->batch->B * K + feature->index;
	float *const dense = b->batch->dense + first;
	uint8_t *const missing = b->batch->missing + first;
	const float *const log1p =
		feature->path == FEATURE_LOG1P_NUMBER ? feature->log1p : NULL;
	const uint64_t end = log1p != NULL ? FEATURE_LOG1P : UINT64_MAX >> 1;
	int64_t value[PARSER_BLOCK];

	b->p->words->digits(b->n, w->word, w->length, value);
	for (size_t r = 0; r < b->n; r++) {
		if (w->length[r] > EIGHT || (uint64_t)value[r] >= end) {
			cell_long(b, feature, r, cell_at(b, r, column));
			continue;
		}
		dense[r * K] = log1p != NULL ? log1p[value[r]] : (float)value[r];
		missing[r * K] = w->length[r] == 0;
	}
}

static void
cells_long(struct block *b, const struct feature *feature, size_t column)
{
	for (size_t r = 0; r < b->n; r++)
		cell_long(b, feature, r, cell_at(b, r, column));
}

static void
field(struct block *b, const struct feature *feature, size_t column)
{
	struct words w;

	if (feature->path == FEATURE_ID)
		ids(b, feature, column);
	else if (feature->path != FEATURE_GENERAL && words_read(b, column, &w))
		numbers_of_words(b, &w, feature, column);
	else
		cells_long(b, feature, column);
}

/* ---- what a row has besides fields ------------------------------------------- */

static void
labels(struct block *b, size_t column)
{
	float *const label = b->batch->label + b->batch->B;

	if (b->p->purpose == PARSE_PREDICT)
		return;
	for (size_t r = 0; r < b->n; r++)
		if (!label_read(&b->p->label, cell_at(b, r, column), &label[r]))
			end_before(b, r);
}

/* A weight of 0 is no error, but such a row is not in the batch. */
static void
others(struct block *b, const struct layout_column *column)
{
	const struct batch *const batch = b->batch;

	for (size_t r = 0; r < b->n; r++) {
		struct row row = { .weight = 1 };
		struct cell_error error;
		const size_t at = batch->B + r;

		if (parser_cell(b->p, column, cell_at(b, r, column->column), b->batch, &row,
		    &error) != RS_OK ||
		    (row.weight == 0 && b->p->purpose != PARSE_PREDICT))
			end_before(b, r);
		else if (column->role == ROLE_WEIGHT && b->p->purpose != PARSE_PREDICT)
			batch->weight[at] = row.weight;
		else if (column->role == ROLE_GROUP && batch->group != NULL)
			batch->group[at] = row.group;
		else if (column->role == ROLE_ITEM && batch->item != NULL)
			batch->item[at] = row.item;
		else if (column->role == ROLE_TIME && batch->time != NULL)
			batch->time[at] = row.time;
	}
}

/* What the rows have when no column says it. */
static void
defaults(const struct block *b)
{
	const struct batch *const batch = b->batch;

	for (size_t at = batch->B; at < batch->B + b->n; at++) {
		batch->label[at] = b->p->no_label;
		batch->weight[at] = 1;
		if (batch->group != NULL)
			batch->group[at] = 0;
		if (batch->item != NULL)
			batch->item[at] = 0;
		if (batch->time != NULL)
			batch->time[at] = 0;
	}
}

/* ---- the block --------------------------------------------------------------- */

/* Rows from number `first` that have all cells, are not blank and not too long. */
static size_t
count_rows(const struct parser *p, size_t cells, size_t first, size_t most)
{
	const uint32_t *const row = p->index.row, *const at = p->index.at;
	size_t before = first == 0 ? (size_t)-1 : row[first - 1];
	size_t n = 0;

	for (; n < most && first + n < p->index.n_rows; n++) {
		const uint32_t begin = at[(ptrdiff_t)before] + 1, end = at[row[first + n]];

		if (row[first + n] - before != cells || end - begin < 2 ||
		    end - begin > p->max_line)
			break;
		before = row[first + n];
	}
	return n;
}

static void
parse_columns(struct block *b)
{
	const struct parser_layout *const layout = b->span->layout;

	defaults(b);
	for (size_t i = 0; i < layout->n && b->n > 0; i++) {
		const struct layout_column *const column = &layout->column[i];

		if (column->role == ROLE_FIELD)
			field(b, &b->p->feature[column->field], column->column);
		else if (column->role == ROLE_LABEL)
			labels(b, column->column);
		else
			others(b, column);
	}
}

enum rs_status
parser_block(struct parser *p, const struct parser_span *span, size_t first, size_t most,
	struct batch *batch, size_t *n)
{
	const struct span_index *const index = &p->index;
	const struct parser_layout *const layout = span->layout;
	struct block b = {
		.p = p, .span = span, .batch = batch,
		.cells = layout->n_columns + (size_t)layout->trailing,
		.end = index->at + (first == 0 ? 0 : index->row[first - 1] + 1),
	};

	*n = b.n = count_rows(p, b.cells, first, most);
	if (b.n == 0)
		return RS_OK;
	b.open = span->n - index->at[index->row[first + b.n - 1]] >= EIGHT;
	RS_TRY(batch_reserve(batch, batch->B + b.n));
	parse_columns(&b);
	*n = b.n;
	batch->B += b.n;
	feature_undo(p->schema, batch);
	return RS_OK;
}
