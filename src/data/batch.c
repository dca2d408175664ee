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
	if (format == FORMAT_LIBSVM || format == FORMAT_LIBFFM || format == FORMAT_LIBFM)
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
	if (batch->group != NULL)
		RS_TRY(batch_grow(&batch->group, B, sizeof *batch->group));
	if (batch->item != NULL)
		RS_TRY(batch_grow(&batch->item, B, sizeof *batch->item));
	if (batch->time != NULL)
		RS_TRY(batch_grow(&batch->time, B, sizeof *batch->time));
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
	if (status == RS_OK && schema->has_group)
		status = batch_grow(&batch->group, BATCH_FIRST, sizeof *batch->group);
	if (status == RS_OK && schema->item_field < schema->n_fields)
		status = batch_grow(&batch->item, BATCH_FIRST, sizeof *batch->item);
	if (status == RS_OK && schema->has_time)
		status = batch_grow(&batch->time, BATCH_FIRST, sizeof *batch->time);
	if (status == RS_OK)
		status = batch_grow_rows(batch, BATCH_FIRST);
	if (status != RS_OK)
		batch_free(batch);
	return status;
}

void
batch_candidates_free(struct batch_candidates *c)
{
	if (c == NULL)
		return;
	batch_free(&c->own);
	free(c->number);
	free(c->positive);
	free(c->negative);
	free(c->drawn);
	free(c->log_q);
	free(c);
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
	free(batch->group);
	free(batch->item);
	free(batch->time);
	batch_candidates_free(batch->candidates);
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
	batch->drawn = 0;
}

/* How many rows have a time in (after,until]. */
static size_t
count_times(const struct batch *batch, int64_t after, int64_t until)
{
	size_t n = 0;

	for (size_t b = 0; b < batch->B; b++)
		n += batch->time[b] > after && batch->time[b] <= until;
	return n;
}

/* The middle one of the times above 0, which are in [low,high]. */
static int64_t
middle_time(const struct batch *batch, int64_t low, int64_t high)
{
	const size_t half = (count_times(batch, 0, high) + 1) / 2;

	while (low < high) {
		const int64_t middle = low + (high - low) / 2;

		if (count_times(batch, 0, middle) >= half)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

int64_t
batch_newest(const struct batch *batch, int64_t ahead, size_t *n_later)
{
	int64_t oldest = INT64_MAX, newest = 0, last = 0;

	*n_later = 0;
	for (size_t b = 0; batch->time != NULL && b < batch->B; b++) {
		newest = batch->time[b] > newest ? batch->time[b] : newest;
		if (batch->time[b] > 0 && batch->time[b] < oldest)
			oldest = batch->time[b];
	}
	if (newest == 0 || newest - oldest <= ahead)
		return newest;
	const int64_t middle = middle_time(batch, oldest, newest);
	if (newest - middle <= ahead)
		return newest;
	*n_later = count_times(batch, middle + ahead, newest);
	for (size_t b = 0; b < batch->B; b++)
		if (batch->time[b] <= middle + ahead && batch->time[b] > last)
			last = batch->time[b];
	return last;
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

/* Row i of what is appended is a row of one batch, or a place of its own. */
struct gather {
	const struct batch *src;       /* with row, or NULL                              */
	const uint32_t *row;           /* [n]                                            */
	const struct batch_place *place;   /* [n] when src is NULL                       */
	size_t n;
	int    is_run;                 /* row[i] is row[0] + i                           */
};

static int
is_run(const uint32_t *row, size_t n)
{
	size_t same = 0;

	for (size_t i = 0; i < n; i++)
		same += row[i] == row[0] + i;
	return same == n && n > 0;
}

static inline struct batch_place
gather_at(const struct gather *g, size_t i)
{
	return g->src != NULL ? (struct batch_place){ g->src, g->row[i] } : g->place[i];
}

static void
gather_single_rows(struct batch *batch, size_t f, const struct gather *g)
{
	struct batch_column *to = &batch->column[f];
	const struct batch_column *from = &g->src->column[f];
	uint64_t *const ids = to->ids + batch->B;

	if (g->is_run)
		memcpy(ids, from->ids + g->row[0], g->n * sizeof *ids);
	for (size_t i = 0; !g->is_run && i < g->n; i++)
		ids[i] = from->ids[g->row[i]];
	for (size_t i = 0; to->weight != NULL && i < g->n; i++)
		to->weight[batch->B + i] = from->weight[g->row[i]];
}

static void
gather_single_places(struct batch *batch, size_t f, const struct gather *g)
{
	struct batch_column *to = &batch->column[f];

	for (size_t i = 0; i < g->n; i++) {
		const struct batch_column *from = &g->place[i].batch->column[f];

		to->ids[batch->B + i] = from->ids[g->place[i].row];
		if (to->weight != NULL)
			to->weight[batch->B + i] = from->weight[g->place[i].row];
	}
}

static void
gather_single(struct batch *batch, size_t f, const struct gather *g)
{
	if (g->src != NULL)
		gather_single_rows(batch, f, g);
	else
		gather_single_places(batch, f, g);
	batch->column[f].N = batch->B + g->n;
}

static enum rs_status
gather_many(struct batch *batch, size_t f, const struct gather *g)
{
	struct batch_column *to = &batch->column[f];
	size_t total = to->N;

	for (size_t i = 0; i < g->n; i++) {
		const struct batch_place at = gather_at(g, i);
		const uint32_t *offset = at.batch->column[f].offset + at.row;

		total += offset[1] - offset[0];
	}
	RS_TRY(batch_reserve_ids(batch, f, total));
	for (size_t i = 0; i < g->n; i++) {
		const struct batch_place at = gather_at(g, i);
		const struct batch_column *from = &at.batch->column[f];
		const size_t begin = from->offset[at.row];
		const size_t count = from->offset[at.row + 1] - begin;

		memcpy(to->ids + to->N, from->ids + begin, count * sizeof *to->ids);
		if (to->weight != NULL)
			memcpy(to->weight + to->N, from->weight + begin,
				count * sizeof *to->weight);
		to->N += count;
		to->offset[batch->B + i + 1] = (uint32_t)to->N;
	}
	return RS_OK;
}

static enum rs_status
gather_column(struct batch *batch, size_t f, const struct gather *g)
{
	if (batch->column[f].offset != NULL)
		return gather_many(batch, f, g);
	gather_single(batch, f, g);
	return RS_OK;
}

static void
gather_rest(struct batch *batch, const struct gather *g)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct batch_place at = gather_at(g, i);

		batch->label[batch->B + i] = at.batch->label[at.row];
		batch->weight[batch->B + i] = at.batch->weight[at.row];
		if (batch->group != NULL)
			batch->group[batch->B + i] = at.batch->group[at.row];
		if (batch->time != NULL)
			batch->time[batch->B + i] = at.batch->time[at.row];
	}
}

static void
gather_item(struct batch *batch, const struct gather *g)
{
	for (size_t i = 0; batch->item != NULL && i < g->n; i++) {
		const struct batch_place at = gather_at(g, i);

		batch->item[batch->B + i] = at.batch->item[at.row];
	}
}

enum rs_status
batch_gather(struct batch *batch, const struct batch *src, const uint32_t *row, size_t n)
{
	const struct gather g = { .src = src, .row = row, .n = n, .is_run = is_run(row, n) };
	const size_t B = batch->B, K = batch->K, m = g.is_run ? n : 1;     /* rows at once */

	RS_TRY(batch_reserve(batch, B + n));
	gather_rest(batch, &g);
	gather_item(batch, &g);
	for (size_t i = 0; K > 0 && i < n; i += m) {
		memcpy(batch->dense + (B + i) * K, src->dense + row[i] * K,
			m * K * sizeof *batch->dense);
		memcpy(batch->missing + (B + i) * K, src->missing + row[i] * K, m * K);
	}
	for (size_t f = 0; f < batch->F; f++)
		RS_TRY(gather_column(batch, f, &g));
	batch->B = B + n;
	return RS_OK;
}

enum rs_status
batch_add_lists(struct batch *batch, const struct batch *src, const uint32_t *row, size_t n)
{
	const struct gather g = { .src = src, .row = row, .n = n };

	for (size_t f = 0; f < batch->F; f++)
		if (batch->column[f].offset != NULL) {
			RS_TRY(batch_reserve(batch, batch->B + n));
			RS_TRY(gather_many(batch, f, &g));
		}
	batch->B += n;
	return RS_OK;
}

static void
join_dense(struct batch *batch, const uint8_t *of_item, const struct gather *rest,
	const struct gather *item)
{
	const size_t K = batch->K;

	for (size_t i = 0; i < rest->n; i++)
		for (size_t k = 0; k < K; k++) {
			const struct batch_place at = gather_at(of_item[k] ? item : rest, i);

			batch->dense[(batch->B + i) * K + k] = at.batch->dense[at.row * K + k];
			batch->missing[(batch->B + i) * K + k] = at.batch->missing[at.row * K + k];
		}
}

enum rs_status
batch_join(struct batch *batch, const struct schema *schema, const struct batch_place *rest,
	const struct batch_place *item, size_t n)
{
	const struct gather of_rest = { .place = rest, .n = n };
	const struct gather of_item = { .place = item, .n = n };

	RS_TRY(batch_reserve(batch, batch->B + n));
	gather_rest(batch, &of_rest);
	gather_item(batch, &of_item);
	join_dense(batch, schema->of_item + schema->F, &of_rest, &of_item);
	for (size_t f = 0; f < batch->F; f++)
		RS_TRY(gather_column(batch, f, schema->of_item[f] ? &of_item : &of_rest));
	batch->B += n;
	return RS_OK;
}

enum rs_status
batch_add_missing(struct batch *batch, const struct schema *schema)
{
	const size_t B = batch->B;

	RS_TRY(batch_reserve(batch, B + 1));
	for (size_t k = 0; k < batch->K; k++) {
		batch->dense[B * batch->K + k] = 0;
		batch->missing[B * batch->K + k] = 1;
	}
	for (size_t f = 0; f < batch->F; f++) {
		const struct schema_field *field = &schema->field[schema->column_field[f]];
		struct batch_column *c = &batch->column[f];

		RS_TRY(batch_reserve_ids(batch, f, c->N + 1));
		if (field->settings->type != FIELD_SEQUENCE) {
			c->ids[c->N] = schema->table[field->table].buckets;
			if (c->weight != NULL)
				c->weight[c->N] = 1;
			c->N++;
		}
		if (c->offset != NULL)
			c->offset[B + 1] = (uint32_t)c->N;
	}
	batch->label[B] = 0;
	batch->weight[B] = 1;
	if (batch->group != NULL)
		batch->group[B] = 0;
	if (batch->item != NULL)
		batch->item[B] = 0;
	if (batch->time != NULL)
		batch->time[B] = 0;
	batch->B++;
	return RS_OK;
}
