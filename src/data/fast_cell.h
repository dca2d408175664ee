/*
 * The cells that nearly all cells are, inline: a text id of a field with one id a
 * row, and a whole number of up to eight digits.  fast_cell() does one of these
 * like feature_cell() would and returns 1, or 0 without having touched anything.
 * `limit` is the end of readable text; batch columns have room for row batch->B.
 */
#ifndef DATA_FAST_CELL_H
#define DATA_FAST_CELL_H

#include "data/feature.h"

/* n digits, 1 to 8, with 8 bytes readable; the value, or -1 if they are not all
 * digits.  Digits are moved to the high bytes so that zeros lead, then pairs, fours
 * and eights are joined by multiplications: no branch depends on n. */
static inline int64_t
fast_cell_digits(const char *text, size_t n)
{
	uint64_t v = (id_load64(text) - 0x3030303030303030u) << (64 - 8 * n);

	if (((v + 0x7676767676767676u) | v) & 0x8080808080808080u)
		return -1;
	v = v * 10 + (v >> 8);
	v = ((v & 0x000000ff000000ffu) * 0x000f424000000064u +
	     ((v >> 16) & 0x000000ff000000ffu) * 0x0000271000000001u) >> 32;
	return (int64_t)v;
}

static inline int
fast_cell_number(
	const struct feature *feature, struct cell cell, const char *limit, struct batch *batch)
{
	const size_t at = batch->B * batch->K + feature->index;
	int64_t value;

	if (cell.n == 0) {
		batch->dense[at] = 0;
		batch->missing[at] = 1;
		return 1;
	}
	if (cell.n > 8 || (size_t)(limit - cell.text) < 8)
		return 0;
	value = fast_cell_digits(cell.text, cell.n);
	if (value < 0 || (feature->path == FEATURE_LOG1P_NUMBER && value >= FEATURE_LOG1P))
		return 0;
	batch->dense[at] = feature->path == FEATURE_LOG1P_NUMBER ? feature->log1p[value]
	                                                         : (float)value;
	batch->missing[at] = 0;
	return 1;
}

static inline int
fast_cell(
	const struct feature *feature, struct cell cell, const char *limit, struct batch *batch)
{
	struct batch_column *column;

	if (feature->path == FEATURE_GENERAL)
		return 0;
	if (feature->path != FEATURE_ID)
		return fast_cell_number(feature, cell, limit, batch);
	column = &batch->column[feature->index];
	column->ids[batch->B] = cell.n > 0 ? id_bucket(cell.text, cell.n, &feature->buckets)
	                                   : feature->buckets.d;
	column->N = batch->B + 1;
	return 1;
}

#endif
