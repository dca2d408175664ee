/*
 * The cells that nearly all cells are, inline: a text id of a field with one id a
 * row, or of a list, and a whole number of up to eight digits.  fast_cell() does one of these
 * like feature_cell() would and returns 1, or 0 without having touched anything.
 * `limit` is the end of readable text; batch columns have room for row batch->B.
 */
#ifndef DATA_FAST_CELL_H
#define DATA_FAST_CELL_H

#include "data/feature.h"

/* Fingerprint64 of the eight bytes that id_load64() read. */
static inline uint64_t
fast_cell_hash8(uint64_t word)
{
	const uint64_t m = ID_K2 + 2 * 8, a = word + ID_K2;

	return id_hash16(id_rotate(word, 37) * m + a, (id_rotate(a, 25) + word) * m, m);
}

/* The number of the first n <= 8 digits of eight bytes, or -1 if they are not all digits.
 * Digits are moved to the high bytes so that zeros lead, then pairs, fours and eights are
 * joined by multiplications: no branch depends on n. */
static inline int64_t
fast_cell_digits8(uint64_t word, uint64_t n)
{
	const uint64_t half = (32 - 4 * n) & 63;   /* a shift by 64 is undefined; more than 8
	                                             * digits are no result, whatever comes  */
	uint64_t v = (word - 0x3030303030303030u) << half << half, odd;

	odd = ((v + 0x7676767676767676u) | v) & 0x8080808080808080u;
	v = v * 10 + (v >> 8);
	v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
	     ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32;
	return odd != 0 ? -1 : (int64_t)v;
}

/* n digits, 0 to 8, with 8 bytes readable. */
static inline int64_t
fast_cell_digits(const char *text, size_t n)
{
	return fast_cell_digits8(id_load64(text), n);
}

/* For a row of the batch.  A missing number is one of no digits. */
static inline int
fast_cell_number(const struct feature *feature, struct cell cell, const char *limit,
	struct batch *batch, size_t row)
{
	const size_t at = row * batch->K + feature->index;
	int64_t value = 0;

	if ((size_t)(limit - cell.text) >= 8 && cell.n <= 8)
		value = fast_cell_digits(cell.text, cell.n);
	else if (cell.n > 0)
		return 0;
	if (value < 0 || (feature->path == FEATURE_LOG1P_NUMBER && value >= FEATURE_LOG1P))
		return 0;
	batch->dense[at] = feature->path == FEATURE_LOG1P_NUMBER ? feature->log1p[value]
	                                                         : (float)value;
	batch->missing[at] = cell.n == 0;
	return 1;
}

/* Is what is hashed for an id its text, and is nothing else kept of it? */
static inline int
fast_cell_is_text(const struct feature *feature)
{
	const struct field_settings *const s = feature->field->settings;

	return s->id_type == ID_TEXT && !s->fold_case && feature->values == NULL;
}

/* feature_item() of such a feature. */
static inline enum rs_status
fast_cell_item(const struct feature *feature, struct cell id, float weight, struct batch *batch)
{
	struct batch_column *const c = &batch->column[feature->index];

	if (c->N == c->capacity)
		RS_TRY(batch_reserve_ids(batch, feature->index, c->N + 1));
	c->ids[c->N] = id_bucket(id.text, id.n, &feature->buckets);
	if (c->weight != NULL)
		c->weight[c->N] = weight;
	c->N++;
	return RS_OK;
}

/* A whole number of 1 to 8 digits before `limit`, the value of most items. */
static inline int
fast_cell_float(const char *from, const char *end, const char *limit, float *value)
{
	const size_t n = (size_t)(end - from);
	const int64_t whole = n - 1 < 8 && limit - from >= 8 ? fast_cell_digits(from, n) : -1;

	*value = (float)whole;
	return whole >= 0;
}

static inline int
fast_cell(
	const struct feature *feature, struct cell cell, const char *limit, struct batch *batch)
{
	struct batch_column *column;

	if (feature->path == FEATURE_GENERAL)
		return 0;
	if (feature->path != FEATURE_ID)
		return fast_cell_number(feature, cell, limit, batch, batch->B);
	column = &batch->column[feature->index];
	column->ids[batch->B] = cell.n > 0 ? id_bucket(cell.text, cell.n, &feature->buckets)
	                                   : feature->buckets.d;
	column->N = batch->B + 1;
	return 1;
}

#endif
