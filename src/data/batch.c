/* Rows column by column, in memory that grows to the largest batch seen. */
#include "data/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define BATCH_FIRST ((size_t)64)

static enum rs_status
batch_grow(void *block, size_t n, size_t size)
{
	void *old, *grown;
	size_t bytes;

	RS_TRY(size_mul(n > 0 ? n : 1, size, &bytes));
	memcpy(&old, block, sizeof old);
	grown = realloc(old, bytes);
	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for a batch: %zu bytes", bytes);
	memcpy(block, &grown, sizeof grown);
	return RS_OK;
}

static int
has_weights(const struct schema *schema, const struct field_settings *f)
{
	const enum data_format format = schema->settings->data.format;

	if (f->type != FIELD_MULTI)
		return 0;
	if (format != FORMAT_TSV && format != FORMAT_CSV)
		return 1;
	return f->weight_separator != NULL && *f->weight_separator != '\0';
}

/* What a column has is known from here on by its pointers. */
static enum rs_status
column_init(struct batch_column *column, const struct schema *schema, size_t f)
{
	const struct schema_field *field = &schema->field[schema->column_field[f]];

	column->capacity = BATCH_FIRST;
	RS_TRY(batch_grow(&column->ids, BATCH_FIRST, sizeof *column->ids));
	if (has_weights(schema, field->settings))
		RS_TRY(batch_grow(&column->weight, BATCH_FIRST, sizeof *column->weight));
	if (field->single)
		return RS_OK;
	RS_TRY(batch_grow(&column->offset, BATCH_FIRST + 1, sizeof *column->offset));
	column->offset[0] = 0;
	return RS_OK;
}

static enum rs_status
batch_grow_rows(struct batch *batch, size_t B)
{
	size_t cells;

	RS_TRY(size_mul(B, batch->K, &cells));
	RS_TRY(batch_grow(&batch->label, B, sizeof *batch->label));
	RS_TRY(batch_grow(&batch->weight, B, sizeof *batch->weight));
	if (batch->K > 0) {
		RS_TRY(batch_grow(&batch->dense, cells, sizeof *batch->dense));
		RS_TRY(batch_grow(&batch->missing, cells, sizeof *batch->missing));
	}
	for (size_t f = 0; f < batch->F; f++) {
		struct batch_column *column = &batch->column[f];

		if (column->offset != NULL)
			RS_TRY(batch_grow(&column->offset, B + 1, sizeof *column->offset));
		else
			RS_TRY(batch_reserve_ids(batch, f, B));
	}
	batch->capacity = B;
	return RS_OK;
}

enum rs_status
batch_init(struct batch *batch, const struct schema *schema)
{
	enum rs_status status;

	*batch = (struct batch){ .K = schema->K, .F = schema->F };
	status = memory_alloc(schema->F + 1, sizeof *batch->column, &batch->column);
	for (size_t f = 0; status == RS_OK && f < schema->F; f++)
		status = column_init(&batch->column[f], schema, f);
	if (status == RS_OK)
		status = batch_grow_rows(batch, BATCH_FIRST);
	if (status != RS_OK)
		batch_free(batch);
	return status;
}

void
batch_free(struct batch *batch)
{
	for (size_t f = 0; batch->column != NULL && f < batch->F; f++) {
		free(batch->column[f].ids);
		free(batch->column[f].weight);
		free(batch->column[f].offset);
	}
	free(batch->column);
	free(batch->label);
	free(batch->weight);
	free(batch->dense);
	free(batch->missing);
	memset(batch, 0, sizeof *batch);
}

void
batch_clear(struct batch *batch)
{
	batch->B = 0;
	for (size_t f = 0; f < batch->F; f++)
		batch->column[f].N = 0;
	batch->first_row = 0;
	batch->epoch = 0;
	batch->last = 0;
}

enum rs_status
batch_reserve(struct batch *batch, size_t B)
{
	if (B <= batch->capacity)
		return RS_OK;
	return batch_grow_rows(batch, B > 2 * batch->capacity ? B : 2 * batch->capacity);
}

enum rs_status
batch_reserve_ids(struct batch *batch, size_t f, size_t n_ids)
{
	struct batch_column *column = &batch->column[f];
	size_t capacity = n_ids > 2 * column->capacity ? n_ids : 2 * column->capacity;

	if (n_ids <= column->capacity)
		return RS_OK;
	if (column->offset != NULL && n_ids > UINT32_MAX)
		return rs_fail(
			RS_ERESOURCE, "more than %u ids of one column in a batch", UINT32_MAX);
	RS_TRY(batch_grow(&column->ids, capacity, sizeof *column->ids));
	if (column->weight != NULL)
		RS_TRY(batch_grow(&column->weight, capacity, sizeof *column->weight));
	column->capacity = capacity;
	return RS_OK;
}

static void
gather_single(struct batch_column *to, size_t B, const struct batch_column *from,
	const uint32_t *row, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to->ids[B + i] = from->ids[row[i]];
	if (to->weight != NULL)
		for (size_t i = 0; i < n; i++)
			to->weight[B + i] = from->weight[row[i]];
	to->N = B + n;
}

static enum rs_status
gather_many(struct batch *batch, size_t f, const struct batch_column *from, const uint32_t *row,
	size_t n)
{
	struct batch_column *to = &batch->column[f];
	size_t total = to->N;

	for (size_t i = 0; i < n; i++)
		total += from->offset[row[i] + 1] - from->offset[row[i]];
	RS_TRY(batch_reserve_ids(batch, f, total));
	for (size_t i = 0; i < n; i++) {
		const size_t begin = from->offset[row[i]], count = from->offset[row[i] + 1] - begin;

		memcpy(to->ids + to->N, from->ids + begin, count * sizeof *to->ids);
		if (to->weight != NULL)
			memcpy(to->weight + to->N, from->weight + begin,
				count * sizeof *to->weight);
		to->N += count;
		to->offset[batch->B + i + 1] = (uint32_t)to->N;
	}
	return RS_OK;
}

enum rs_status
batch_gather(struct batch *batch, const struct batch *src, const uint32_t *row, size_t n)
{
	const size_t B = batch->B, K = batch->K;

	RS_TRY(batch_reserve(batch, B + n));
	for (size_t i = 0; i < n; i++) {
		batch->label[B + i] = src->label[row[i]];
		batch->weight[B + i] = src->weight[row[i]];
	}
	for (size_t i = 0; K > 0 && i < n; i++) {
		memcpy(batch->dense + (B + i) * K, src->dense + row[i] * K,
			K * sizeof *batch->dense);
		memcpy(batch->missing + (B + i) * K, src->missing + row[i] * K, K);
	}
	for (size_t f = 0; f < batch->F; f++) {
		if (batch->column[f].offset != NULL)
			RS_TRY(gather_many(batch, f, &src->column[f], row, n));
		else
			gather_single(&batch->column[f], B, &src->column[f], row, n);
	}
	batch->B = B + n;
	return RS_OK;
}
