/* Rows come through the lookup, some thousands at a time. */
#include "export/table_rows.h"

#include <stdlib.h>

#include "base/memory.h"
#include "train/row_numbers.h"

#define ROWS_AT_ONCE 4096

struct piece { uint64_t id[ROWS_AT_ONCE]; const float *row[ROWS_AT_ONCE]; };

static enum rs_status
take_piece(const struct model *m, size_t table, struct piece *piece, size_t n,
	enum rs_status (*take)(void *, const float *, size_t), void *context)
{
	const struct lookup_pull pull = { .table = table, .ids = piece->id, .n = n,
		.row = piece->row };

	RS_TRY(m->lookup->ops->pull(m->lookup, &pull));
	for (size_t i = 0; i < n; i++)
		RS_TRY(take(context, piece->row[i], m->table[table].dim));
	return RS_OK;
}

enum rs_status
table_rows(const struct model *m, size_t table,
	enum rs_status (*take)(void *context, const float *row, size_t dim), void *context)
{
	const uint64_t rows = row_numbers_count(m, table);
	struct piece *piece;
	enum rs_status status = RS_OK;

	RS_TRY(memory_alloc(1, sizeof *piece, &piece));
	for (uint64_t begin = 0; begin < rows && status == RS_OK; begin += ROWS_AT_ONCE) {
		const size_t n = rows - begin < ROWS_AT_ONCE ? (size_t)(rows - begin)
			: ROWS_AT_ONCE;

		for (size_t i = 0; i < n; i++)
			piece->id[i] = row_numbers_id(m, table, begin + i);
		status = take_piece(m, table, piece, n, take, context);
	}
	free(piece);
	return status;
}
