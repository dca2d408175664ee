/* What is in each field of the training rows. */
#include "cmd/check_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/command.h"
#include "cmd/distinct.h"
#include "data/loader.h"

enum { NOTE_BYTES = 120, BATCH_ROWS = 4096 };

/* Ids a bucket above which collisions are worth a word. */
#define CROWDED 2.0

struct field_report {
	uint64_t rows, missing, values;
	uint64_t with_target;           /* rows whose target is among the items         */
	struct distinct distinct;
	double   min, max;
	/* of the spec, before it was changed for the report */
	enum transform transform;
	int64_t  buckets;
	char     note[NOTE_BYTES];
};

struct report {
	struct settings settings;       /* its fields are a copy of ours                */
	struct schema schema;
	struct field_report *field;     /* [n_fields]                                   */
	uint64_t rows, wanted;          /* seen; with so many it is enough              */
	double   label_min, label_max;
	uint64_t label_zero, label_one;
	struct parser_tally tally;
};

#define BUCKETS_ALL ((int64_t)1 << 40)

/* Settings of the report: buckets so many that different ids stay different, numbers
 * untransformed. */
static enum rs_status
show_values_as_they_are(const struct settings *s, struct report *r)
{
	struct field_settings *copy;

	RS_TRY(memory_alloc(s->n_fields, sizeof(*r->field), &r->field));
	RS_TRY(memory_alloc(s->n_fields, sizeof(*copy), &copy));
	r->settings = *s;
	r->settings.field = copy;
	memcpy(r->settings.field, s->field, s->n_fields * sizeof(*s->field));
	for (size_t i = 0; i < s->n_fields; i++) {
		struct field_settings *f = &r->settings.field[i];

		r->field[i].transform = f->transform;
		r->field[i].buckets = f->buckets;
		r->field[i].min = INFINITY;
		r->field[i].max = -INFINITY;
		/* boundaries stay: a cross takes the interval */
		f->transform = TRANSFORM_NONE;
		f->buckets = BUCKETS_ALL;
	}
	return RS_OK;
}

static void
add_number(struct field_report *f, double value)
{
	f->min = fmin(f->min, value);
	f->max = fmax(f->max, value);
}

static enum rs_status
add_dense(const struct schema *schema, const struct batch *batch, size_t field,
	struct field_report *f)
{
	const size_t column = schema->field[field].index;

	for (size_t b = 0; b < batch->B; b++) {
		const float value = batch->dense[b * batch->K + column];
		uint32_t bits;

		f->rows++;
		if (batch->missing[b * batch->K + column]) {
			f->missing++;
			continue;
		}
		memcpy(&bits, &value, sizeof(bits));
		add_number(f, value);
		f->values++;
		RS_TRY(distinct_add(&f->distinct, bits));
	}
	return RS_OK;
}

static enum rs_status
add_ids(const struct schema *schema, const struct batch *batch, size_t field,
	struct field_report *f)
{
	const struct batch_column *c = &batch->column[schema->field[field].index];
	const uint64_t none = schema->table[schema->field[field].table].buckets;

	for (size_t b = 0; b < batch->B; b++) {
		const size_t begin = c->offset != NULL ? c->offset[b] : b;
		const size_t end = c->offset != NULL ? c->offset[b + 1] : b + 1;

		f->rows++;
		f->missing += begin == end || (end == begin + 1 && c->ids[begin] == none);
		for (size_t i = begin; i < end; i++) {
			if (c->ids[i] == none)
				continue;
			f->values++;
			RS_TRY(distinct_add(&f->distinct, c->ids[i]));
		}
	}
	return RS_OK;
}

/* The field whose table the sequence uses, if that has one id a row: its target.  Lists
 * end before it by themselves. */
static const struct batch_column *
target_of(const struct schema *schema, const struct batch *batch, size_t field)
{
	const struct schema_field *const f = &schema->field[field];

	if (f->settings->type != FIELD_SEQUENCE || *f->settings->share == '\0' ||
	    schema->settings->data.format == FORMAT_LISTS)
		return NULL;
	for (size_t i = 0; i < schema->n_fields; i++)
		if (strcmp(schema->field[i].name, f->settings->share) == 0)
			return schema->field[i].single ? &batch->column[schema->field[i].index]
						       : NULL;
	return NULL;
}

/* Does place i of the row's history hold the target, in every field that has one? */
static int
place_is_target(const struct schema *schema, const struct batch *batch, size_t field, size_t b,
	size_t i)
{
	for (size_t k = 0; k < schema->n_fields; k++) {
		const struct schema_field *const f = &schema->field[k];
		const struct batch_column *const target = target_of(schema, batch, k);
		const struct batch_column *const c = &batch->column[f->index];

		if (target != NULL &&
		    strcmp(f->settings->history, schema->field[field].settings->history) == 0 &&
		    (c->ids[c->offset[b] + i] != target->ids[b] ||
		     target->ids[b] == schema->table[f->table].buckets))
			return 0;
	}
	return 1;
}

/* Is the history one of items, if the spec says what an item is?  Those of categories
 * alone hold that of the row for good reasons. */
static int
is_of_items(const struct schema *schema, const char *history)
{
	if (schema->item_field == schema->n_fields)
		return 1;
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct field_settings *const f = schema->field[i].settings;

		if (f->type == FIELD_SEQUENCE && strcmp(f->history, history) == 0 &&
		    strcmp(f->share, schema->field[schema->item_field].name) == 0)
			return 1;
	}
	return 0;
}

/* Is the field the first of its history that has a target? */
static int
speaks_for_history(const struct schema *schema, const struct batch *batch, size_t field)
{
	const char *const history = schema->field[field].settings->history;

	if (target_of(schema, batch, field) == NULL || !is_of_items(schema, history))
		return 0;
	for (size_t i = 0; i < field; i++)
		if (target_of(schema, batch, i) != NULL &&
		    strcmp(schema->field[i].settings->history, history) == 0)
			return 0;
	return 1;
}

/* A row that names its target in its own history teaches to find it there. */
static void
add_targets(const struct schema *schema, const struct batch *batch, size_t field,
	struct field_report *f)
{
	const struct batch_column *const c = &batch->column[schema->field[field].index];

	for (size_t b = 0; b < batch->B && speaks_for_history(schema, batch, field); b++) {
		const size_t n = c->offset[b + 1] - c->offset[b];
		size_t i = 0;

		while (i < n && !place_is_target(schema, batch, field, b, i))
			i++;
		f->with_target += i < n;
	}
}

static enum rs_status
add_batch(void *context, const struct batch *batch, int *done)
{
	struct report *const r = context;

	for (size_t i = 0; i < r->schema.n_fields; i++)
		if (!r->schema.field[i].is_dense)
			add_targets(&r->schema, batch, i, &r->field[i]);
	for (size_t i = 0; i < r->schema.n_fields; i++)
		RS_TRY(r->schema.field[i].is_dense ? add_dense(&r->schema, batch, i, &r->field[i]) :
			add_ids(&r->schema, batch, i, &r->field[i]));
	for (size_t b = 0; b < batch->B; b++) {
		r->label_min = fmin(r->label_min, batch->label[b]);
		r->label_max = fmax(r->label_max, batch->label[b]);
		r->label_zero += batch->label[b] == 0;
		r->label_one += batch->label[b] == 1;
	}
	r->rows += batch->B;
	*done = r->rows >= r->wanted;
	return RS_OK;
}

static enum rs_status
read_rows(struct report *r, uint64_t rows)
{
	const struct settings *s = r->schema.settings;
	const struct loader_options options = { .schema = &r->schema, .files = &s->data.train,
		.command = *s->data.command != '\0' ? s->data.command : NULL,
		.purpose = PARSE_TRAIN,
		.batch_size = rows < BATCH_ROWS ? (size_t)rows : BATCH_ROWS, .epochs = 1,
		.n_threads = (size_t)s->data.threads };

	r->wanted = rows;
	return loader_each(&options, add_batch, r, &r->tally);
}

/* One remark a field; the first that holds. */
static void
make_note(const struct field_settings *s, struct field_report *f)
{
	int exact;
	const double ids = (double)distinct_count(&f->distinct, &exact);

	if (f->rows > 0 && f->missing == f->rows)
		snprintf(f->note, NOTE_BYTES, "always missing: contributes nothing");
	else if (ids <= 1 && f->missing == 0)
		snprintf(f->note, NOTE_BYTES, "one value only: contributes nothing");
	else if (s->type == FIELD_NUMERIC && f->transform == TRANSFORM_LOG1P && f->min < 0)
		snprintf(f->note, NOTE_BYTES, "negative values: log1p is sign-safe");
	else if (s->type == FIELD_NUMERIC && f->transform == TRANSFORM_NONE && fmax(-f->min,
		f->max) > 100)
		snprintf(f->note, NOTE_BYTES, "large numbers: try transform = log1p or "
			"standardize");
	else if (s->type != FIELD_NUMERIC && ids > CROWDED * (double)f->buckets)
		snprintf(f->note, NOTE_BYTES, "buckets %lld: %.1f ids a bucket",
			(long long)f->buckets,
			ids / (double)f->buckets);
	else if ((s->type == FIELD_MULTI || s->type == FIELD_SEQUENCE) && f->rows > f->missing)
		snprintf(f->note, NOTE_BYTES, "%.1f items a row",
			(double)f->values / (double)(f->rows - f->missing));
	else if (s->type == FIELD_CATEGORICAL && f->values > 1000 && ids > 0.99 * (double)f->values)
		snprintf(f->note, NOTE_BYTES, "nearly every row has its own value");
}

static void
warn_of_targets(const struct report *r)
{
	const struct settings *s = r->schema.settings;

	for (size_t i = 0; i < r->schema.n_fields; i++)
		if (r->field[i].with_target > 0)
			log_warn("field '%s': in %llu of %llu rows the '%s' of the row is in its "
				"own history; a history ends before what it is to predict",
				s->field[i].name, (unsigned long long)r->field[i].with_target,
				(unsigned long long)r->rows, s->field[i].share);
}

static const char *
number_text(char out[32], double value)
{
	return isfinite(value) ? number_print_float(out, (float)value) : "-";
}

static enum rs_status
print_table(struct report *r)
{
	const struct settings *s = r->schema.settings;
	char low[32], high[32];

	RS_TRY(output_printf("%-12s %10s %8s %10s %10s %10s  %s\n", "field", "rows", "missing",
		"distinct", "min",
		"max", "note"));
	for (size_t i = 0; i < r->schema.n_fields; i++) {
		const struct field_report *f = &r->field[i];
		int exact;
		const uint64_t ids = distinct_count(&f->distinct, &exact);

		RS_TRY(output_printf("%-12s %10llu %7.1f%% %s%*llu %10s %10s  %s\n",
			s->field[i].name,
			(unsigned long long)f->rows, f->rows > 0 ?
			100.0 * (double)f->missing / (double)f->rows : 0,
			exact ? "" : "~", exact ? 10 : 9, (unsigned long long)ids, number_text(low,
			f->min),
			number_text(high, f->max), f->note));
	}
	RS_TRY(output_printf("%-12s %10llu %8s %10s %10s %10s  0: %.1f%%  1: %.1f%%\n", "label",
		(unsigned long long)r->rows, "", "", number_text(low, r->label_min),
		number_text(high, r->label_max),
		100.0 * (double)r->label_zero / (double)(r->rows > 0 ? r->rows : 1),
		100.0 * (double)r->label_one / (double)(r->rows > 0 ? r->rows : 1)));
	if (r->tally.skipped > 0)
		return output_printf("%llu bad rows\n", (unsigned long long)r->tally.skipped);
	return RS_OK;
}

static enum rs_status
print_json(struct report *r)
{
	const struct settings *s = r->schema.settings;
	struct json j;
	enum rs_status status;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "message_type", "data");
	json_int(&j, "rows", (int64_t)r->rows);
	json_int(&j, "bad_rows", (int64_t)r->tally.skipped);
	json_open(&j, "fields", '[');
	for (size_t i = 0; i < r->schema.n_fields; i++) {
		const struct field_report *f = &r->field[i];
		int exact;

		json_open(&j, NULL, '{');
		json_string(&j, "field", s->field[i].name);
		json_int(&j, "rows", (int64_t)f->rows);
		json_int(&j, "missing", (int64_t)f->missing);
		json_int(&j, "distinct", (int64_t)distinct_count(&f->distinct, &exact));
		json_bool(&j, "distinct_exact", exact);
		json_double(&j, "min", f->min);
		json_double(&j, "max", f->max);
		if (*s->field[i].share != '\0' && s->field[i].type == FIELD_SEQUENCE)
			json_int(&j, "rows_with_target", (int64_t)f->with_target);
		json_string(&j, "note", f->note[0] != '\0' ? f->note : NULL);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

enum rs_status
check_data_report(const struct spec *spec, uint64_t rows, int json)
{
	struct report r = { .label_min = INFINITY, .label_max = -INFINITY };
	const struct settings *s = spec_settings(spec);
	enum rs_status status = show_values_as_they_are(s, &r);

	if (status == RS_OK)
		status = schema_build(&r.settings, &r.schema);
	if (status == RS_OK)
		status = read_rows(&r, rows);
	for (size_t i = 0; status == RS_OK && i < s->n_fields; i++)
		make_note(&s->field[i], &r.field[i]);
	if (status == RS_OK)
		warn_of_targets(&r);
	if (status == RS_OK)
		status = json ? print_json(&r) : print_table(&r);
	for (size_t i = 0; r.field != NULL && i < s->n_fields; i++)
		distinct_free(&r.field[i].distinct);
	schema_free(&r.schema);
	free(r.settings.field);
	free(r.field);
	return status;
}
