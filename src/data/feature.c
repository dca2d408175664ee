/*
 * Cells to numbers and ids: transforms, missing words, lists.
 */
#include "data/feature.h"

#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

enum rs_status
cell_error_set(struct cell_error *error, const char *at, const char *format, ...)
{
	va_list arguments;

	error->at = at;
	error->hint[0] = '\0';
	va_start(arguments, format);
	vsnprintf(error->text, sizeof error->text, format, arguments);
	va_end(arguments);
	return RS_EDATA;
}

void
feature_log1p_table(float table[FEATURE_LOG1P])
{
	for (size_t i = 0; i < FEATURE_LOG1P; i++)
		table[i] = (float)log1p((double)i);
}

static enum feature_path
feature_path(const struct feature *feature)
{
	const struct field_settings *const s = feature->field->settings;

	if (!feature->only_empty)
		return FEATURE_GENERAL;
	if (s->type == FIELD_CATEGORICAL && feature->field->single)
		return s->id_type == ID_TEXT && !s->fold_case ? FEATURE_ID : FEATURE_GENERAL;
	if (s->type != FIELD_NUMERIC || s->missing_value != 0)
		return FEATURE_GENERAL;
	if (s->transform == TRANSFORM_LOG1P)
		return FEATURE_LOG1P_NUMBER;
	return s->transform == TRANSFORM_NONE ? FEATURE_PLAIN_NUMBER : FEATURE_GENERAL;
}

void
feature_init(struct feature *feature, const struct schema *schema, size_t field, const float *log1p)
{
	const struct schema_field *const f = &schema->field[field];
	const struct text_list *const missing = f->settings->missing_own == TRI_YES ?
		&f->settings->missing : &schema->settings->data.missing;

	*feature = (struct feature){ .field = f, .missing = missing, .log1p = log1p };
	feature->only_empty = missing->n == 1 && missing->item[0][0] == '\0';
	feature->buckets = id_divisor_make(f->is_dense ? 1 : schema->table[f->table].buckets);
	feature->index = f->index;
	feature->path = feature_path(feature);
}

int
feature_is_missing(const struct feature *feature, struct cell cell)
{
	if (feature->only_empty)
		return cell.n == 0;
	for (size_t i = 0; i < feature->missing->n; i++)
		if (strlen(feature->missing->item[i]) == cell.n &&
		    memcmp(feature->missing->item[i], cell.text, cell.n) == 0)
			return 1;
	return 0;
}

static void
id_put(const struct feature *feature, uint64_t id, float weight, struct batch *batch)
{
	struct batch_column *const c = &batch->column[feature->field->index];

	c->ids[c->N] = id;
	if (c->weight != NULL)
		c->weight[c->N] = weight;
	c->N++;
}

static enum rs_status
values_add(struct cross_values *values, uint64_t value)
{
	const size_t capacity = values->capacity > 0 ? 2 * values->capacity : 16;
	uint64_t *grown;

	if (values->n == values->capacity) {
		grown = realloc(values->value, capacity * sizeof *grown);
		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for %zu values of a cross",
				capacity);
		values->value = grown;
		values->capacity = capacity;
	}
	values->value[values->n++] = value;
	return RS_OK;
}

/* An id, and what crosses take it for. */
static enum rs_status
id_add(const struct feature *feature, uint64_t id, uint64_t value, float weight,
	struct batch *batch)
{
	if (feature->values != NULL)
		RS_TRY(values_add(feature->values, value));
	id_put(feature, id, weight, batch);
	return RS_OK;
}

static enum rs_status
id_missing(const struct feature *feature, struct batch *batch)
{
	RS_TRY(batch_reserve_ids(batch, feature->index, batch->column[feature->index].N + 1));
	return id_add(feature, feature->buckets.d, 0, 1, batch);
}

/* sign(x) log1p(|x|): defined everywhere, odd, no NaN. */
static float
log1p_signed(const struct feature *feature, double x)
{
	const double magnitude = fabs(x);
	const size_t i = magnitude < FEATURE_LOG1P ? (size_t)magnitude : 0;
	const float y = (double)i == magnitude ? feature->log1p[i] : (float)log1p(magnitude);

	return x < 0 ? -y : y;
}

/* Limits are floats, too: 0.7 is in the interval that begins at 0.7. */
static size_t
boundary_index(const struct number_list *boundaries, float x)
{
	size_t low = 0, high = boundaries->n;

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (x >= (float)boundaries->item[middle])
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum rs_status
feature_number(const struct feature *feature, double value, struct batch *batch)
{
	const struct field_settings *const s = feature->field->settings;
	const float x = (float)value;
	float y = x;

	if (s->transform == TRANSFORM_BUCKETIZE) {
		const size_t interval = boundary_index(&s->boundaries, x);

		return id_add(feature, interval, interval, 1, batch);
	}
	if (feature->values != NULL)
		RS_TRY(values_add(feature->values, boundary_index(&s->boundaries, x)));
	if (s->transform == TRANSFORM_LOG1P)
		y = log1p_signed(feature, (double)x);
	else if (s->transform == TRANSFORM_STANDARDIZE)
		y = (float)(((double)x - s->mean) / (s->stddev > 0 ? s->stddev : 1));
	batch->dense[batch->B * batch->K + feature->index] = y;
	batch->missing[batch->B * batch->K + feature->index] = 0;
	return RS_OK;
}

static enum rs_status
number_missing(const struct feature *feature, struct batch *batch)
{
	const struct field_settings *const s = feature->field->settings;
	const size_t at = batch->B * batch->K + feature->index;

	if (s->transform == TRANSFORM_BUCKETIZE)
		return id_missing(feature, batch);
	batch->dense[at] = (float)s->missing_value;
	batch->missing[at] = s->missing_value == 0;
	return RS_OK;
}

/* Whole numbers of up to 15 digits are exact and most of all numbers. */
static int
number_read(struct cell cell, double *out)
{
	const int negative = cell.n > 0 && cell.text[0] == '-';
	int64_t value = 0;

	if (cell.n - (size_t)negative == 0 || cell.n > 15)
		return number_double(cell.text, cell.n, out);
	for (size_t i = (size_t)negative; i < cell.n; i++) {
		const unsigned digit = (unsigned char)cell.text[i] - (unsigned)'0';

		if (digit > 9)
			return number_double(cell.text, cell.n, out);
		value = value * 10 + digit;
	}
	*out = (double)(negative ? -value : value);
	return 1;
}

static enum rs_status
number_error(const struct feature *feature, struct cell cell, struct cell_error *error)
{
	char shown[72];

	cell_error_set(error, cell.text, "field '%s': '%s' is not a number", feature->field->name,
		rs_escape(shown, cell.text, cell.n));
	if (memchr(cell.text, ',', cell.n) != NULL)
		snprintf(error->hint, sizeof error->hint,
			"numbers are written with a decimal point "
			"and without separators of thousands");
	else
		snprintf(error->hint, sizeof error->hint,
			"cells that mean \"no value\" are listed in "
			"data.missing");
	return RS_EDATA;
}

/* '007', '+7' -> '7', '-0' -> '0': the decimal text of a 64-bit integer. */
static enum rs_status
integer_normalise(const struct feature *feature, struct cell *cell, uint64_t *value,
	struct buffer *scratch, struct cell_error *error)
{
	const int negative = cell->n > 0 && cell->text[0] == '-';
	char shown[72];
	int64_t low;

	if (cell->n > 1 && cell->text[0] == '+') {
		cell->text++;
		cell->n--;
	}
	if (negative && number_i64(cell->text, cell->n, &low)) {
		scratch->n = 0;
		RS_TRY(buffer_printf(scratch, "%lld", (long long)low));
		*value = (uint64_t)low;
	} else if (!negative && number_u64(cell->text, cell->n, value)) {
		scratch->n = 0;
		RS_TRY(buffer_printf(scratch, "%llu", (unsigned long long)*value));
	} else {
		return cell_error_set(error, cell->text,
			"field '%s': '%s' is not a 64-bit whole number "
			"(id_type = int)",
			feature->field->name, rs_escape(shown, cell->text, cell->n));
	}
	*cell = (struct cell){ scratch->data, scratch->n };
	return RS_OK;
}

static enum rs_status
case_fold(struct cell *cell, struct buffer *scratch)
{
	scratch->n = 0;
	RS_TRY(buffer_append(scratch, cell->text, cell->n));
	for (size_t i = 0; i < scratch->n; i++)
		if (scratch->data[i] >= 'A' && scratch->data[i] <= 'Z')
			scratch->data[i] = (char)(scratch->data[i] - 'A' + 'a');
	*cell = (struct cell){ scratch->data, scratch->n };
	return RS_OK;
}

/* What is hashed for a cell. */
static enum rs_status
id_normalise(const struct feature *feature, struct cell *id, uint64_t *integer,
	struct buffer *scratch, struct cell_error *error)
{
	const struct field_settings *const s = feature->field->settings;

	if (s->id_type == ID_INT)
		return integer_normalise(feature, id, integer, scratch, error);
	return s->fold_case ? case_fold(id, scratch) : RS_OK;
}

enum rs_status
feature_key(const struct feature *feature, struct cell cell, struct buffer *scratch, uint64_t *key,
	struct cell_error *error)
{
	uint64_t integer;

	if (feature_is_missing(feature, cell))
		cell.n = 0;
	else
		RS_TRY(id_normalise(feature, &cell, &integer, scratch, error));
	*key = id_fingerprint(cell.text, cell.n);
	return RS_OK;
}

enum rs_status
feature_item(const struct feature *feature, struct cell id, float weight, struct batch *batch,
	struct buffer *scratch, struct cell_error *error)
{
	uint64_t integer = 0, hash;

	RS_TRY(batch_reserve_ids(batch, feature->field->index,
		batch->column[feature->field->index].N + 1));
	RS_TRY(id_normalise(feature, &id, &integer, scratch, error));
	hash = id_fingerprint(id.text, id.n);
	return id_add(feature, id_remainder(hash, &feature->buckets),
		feature->field->settings->id_type == ID_INT ? integer : hash, weight, batch);
}

/* Where the items of the row being read begin. */
static size_t
row_begin(const struct feature *feature, const struct batch *batch)
{
	const struct batch_column *const c = &batch->column[feature->index];

	return c->offset != NULL ? c->offset[batch->B] : batch->B;
}

void
feature_move_item(const struct feature *feature, struct batch *batch, size_t to, size_t from)
{
	struct batch_column *const c = &batch->column[feature->index];
	const size_t begin = row_begin(feature, batch);

	c->ids[begin + to] = c->ids[begin + from];
	if (c->weight != NULL)
		c->weight[begin + to] = c->weight[begin + from];
	if (feature->values != NULL)
		feature->values->value[to] = feature->values->value[from];
}

void
feature_drop_items(const struct feature *feature, struct batch *batch, size_t n)
{
	struct batch_column *const c = &batch->column[feature->index];
	const size_t count = c->N - row_begin(feature, batch);

	for (size_t i = n; n > 0 && i < count; i++)
		feature_move_item(feature, batch, i - n, i);
	c->N -= n;
	if (feature->values != NULL)
		feature->values->n -= n;
}

void
feature_trim(const struct feature *feature, struct batch *batch)
{
	const struct field_settings *const s = feature->field->settings;
	const uint64_t *const ids = batch->column[feature->index].ids + row_begin(feature, batch);
	const size_t n = batch->column[feature->index].N - row_begin(feature, batch);
	size_t most = s->max_length > 0 ? (size_t)s->max_length : n, kept = n;

	if (feature->keeps_places)
		return;
	if (s->combiner == COMBINE_LAST && s->last_k > 0 && (size_t)s->last_k < most)
		most = (size_t)s->last_k;
	for (size_t i = n; s->unique && i-- > 0 && n - kept < most;) {
		size_t j = kept;

		while (j < n && ids[j] != ids[i])
			j++;
		if (j == n)
			feature_move_item(feature, batch, --kept, i);
	}
	if (!s->unique)
		kept = n > most ? n - most : 0;
	feature_drop_items(feature, batch, kept);
}

static enum rs_status
item_weight(
	const struct feature *feature, struct cell *item, float *weight, struct cell_error *error)
{
	const char *const separator = feature->field->settings->weight_separator;
	const size_t width = separator == NULL ? 0 : strlen(separator);
	const char *at = NULL;
	char shown[72];

	*weight = 1;
	if (width == 0)
		return RS_OK;
	for (const char *p = item->text; (p = memmem(p, (size_t)(item->text + item->n - p),
	     separator, width)) != NULL; p += width)
		at = p;
	if (at == NULL)
		return cell_error_set(error, item->text,
			"field '%s': item '%s' has no weight after '%s'", feature->field->name,
			rs_escape(shown, item->text, item->n), separator);
	if (!number_float(at + width, (size_t)(item->text + item->n - at) - width, weight))
		return cell_error_set(error, at + width,
			"field '%s': weight of item '%s' is not a number", feature->field->name,
			rs_escape(shown, item->text, item->n));
	item->n = (size_t)(at - item->text);
	return RS_OK;
}

static enum rs_status
feature_list(const struct feature *feature, struct cell cell, struct batch *batch,
	struct buffer *scratch, struct cell_error *error)
{
	const char *const separator = feature->field->settings->multi_separator;
	const size_t width = separator == NULL ? 0 : strlen(separator);
	const char *p = cell.text, *const end = cell.text + cell.n;
	int more = cell.n > 0;

	while (more) {
		const char *const cut = width > 0 ? memmem(p, (size_t)(end - p), separator, width) :
						    NULL;
		struct cell item = { p, (size_t)((cut != NULL ? cut : end) - p) };
		float weight;

		p = cut != NULL ? cut + width : end;
		more = p < end || (cut != NULL && feature->keeps_places);
		if (feature_is_missing(feature, item)) {
			if (feature->keeps_places)
				RS_TRY(id_missing(feature, batch));
			continue;
		}
		RS_TRY(item_weight(feature, &item, &weight, error));
		RS_TRY(feature_item(feature, item, weight, batch, scratch, error));
	}
	return RS_OK;
}

enum rs_status
feature_add(const struct feature *feature, struct cell value, struct batch *batch,
	struct buffer *scratch, struct cell_error *error)
{
	if (feature_is_missing(feature, value))
		return feature->keeps_places ? id_missing(feature, batch) : RS_OK;
	return feature_list(feature, value, batch, scratch, error);
}

enum rs_status
feature_cell(const struct feature *feature, struct cell cell, struct batch *batch,
	struct buffer *scratch, struct cell_error *error)
{
	const struct field_settings *const s = feature->field->settings;
	const int missing = feature->only_empty ? cell.n == 0 : feature_is_missing(feature, cell);
	double value;

	switch (s->type) {
	case FIELD_NUMERIC:
		if (missing)
			return number_missing(feature, batch);
		if (number_read(cell, &value) && fabs(value) <= FLT_MAX)
			return feature_number(feature, value, batch);
		return number_error(feature, cell, error);
	case FIELD_CROSS:                      /* has no cell of its own            */
		return RS_OK;
	case FIELD_CATEGORICAL:
		if (missing)
			return id_missing(feature, batch);
		if (s->id_type == ID_TEXT && !s->fold_case && feature->values == NULL)
			id_put(feature, id_bucket(cell.text, cell.n, &feature->buckets), 1, batch);
		else
			return feature_item(feature, cell, 1, batch, scratch, error);
		return RS_OK;
	case FIELD_MULTI:
	case FIELD_SEQUENCE:
		break;
	}
	if (!missing)
		RS_TRY(feature_list(feature, cell, batch, scratch, error));
	feature_trim(feature, batch);
	return RS_OK;
}

int
feature_needs_close(const struct feature *feature)
{
	return !feature->field->is_dense &&
		(!feature->field->single || feature->field->settings->type == FIELD_CROSS);
}

enum rs_status
feature_close(const struct feature *feature, size_t n, struct batch *batch)
{
	for (size_t i = 0; i < n; i++) {
		const struct schema_field *const f = feature[i].field;
		struct batch_column *const c = f->is_dense ? NULL : &batch->column[f->index];
		const size_t begin = c == NULL ? 0 :
			c->offset == NULL      ? batch->B :
						 c->offset[batch->B];

		if (c == NULL)
			continue;
		if (c->N == begin && f->settings->type != FIELD_SEQUENCE) {
			RS_TRY(batch_reserve_ids(batch, f->index, c->N + 1));
			id_put(&feature[i], feature[i].buckets.d, 1, batch);
		}
		if (c->offset != NULL)
			c->offset[batch->B + 1] = (uint32_t)c->N;
	}
	return RS_OK;
}

void
feature_undo(const struct schema *schema, struct batch *batch)
{
	for (size_t f = 0; f < schema->F; f++) {
		struct batch_column *const c = &batch->column[f];

		c->N = c->offset == NULL ? batch->B : c->offset[batch->B];
	}
}
