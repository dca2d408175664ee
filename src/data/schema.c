/* The schema of a spec: dense columns, id columns and their tables. */
#include "data/schema.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static int
field_is_dense(const struct field_settings *f)
{
	return f->type == FIELD_NUMERIC && f->transform != TRANSFORM_BUCKETIZE;
}

static int
field_is_exact(const struct field_settings *f)
{
	return f->type != FIELD_NUMERIC && f->table == TABLE_EXACT;
}

/* An interval is a row; so is the id of an exact table. */
static size_t
field_rounds(const struct field_settings *f)
{
	return f->type != FIELD_NUMERIC && f->table == TABLE_HASHED && f->rounds > 1
		? (size_t)f->rounds : 1;
}

/* Boundaries that the first pass has not found yet count as the quantiles asked for. */
static uint64_t
field_rows(const struct field_settings *f)
{
	if (field_is_exact(f))
		return SCHEMA_EXACT_BUCKETS;
	if (f->type != FIELD_NUMERIC)
		return f->buckets > 0 ? (uint64_t)f->buckets : 1;
	if (f->boundaries.n > 0)
		return (uint64_t)f->boundaries.n + 1;
	return f->quantiles > 0 ? (uint64_t)f->quantiles : 1;
}

static size_t
field_dim(const struct settings *s, const struct field_settings *f)
{
	const int64_t dim = f->dim > 0 ? f->dim : s->embedding.dim;

	return dim > 0 ? (size_t)dim : 1;
}

static void
schema_add_table(struct schema *schema, struct schema_field *field)
{
	const struct field_settings *const f = field->settings;
	const uint64_t rows = field_rows(f);
	const size_t rounds = field_rounds(f);

	schema->table[schema->n_tables] = (struct schema_table){
		.name = field->name, .dim = field->dim, .settings = f, .rows = rows,
		.kind = field_is_exact(f) ? TABLE_EXACT : TABLE_HASHED, .rounds = rounds,
		.buckets = rounds > 1 ? SCHEMA_EXACT_BUCKETS : rows,
	};
	field->table = schema->n_tables++;
}

static void
schema_add_field(struct schema *schema, size_t i)
{
	struct schema_field *field = &schema->field[i];
	const struct field_settings *f = &schema->settings->field[i];

	*field = (struct schema_field){
		.settings = f, .name = f->name, .is_dense = field_is_dense(f),
		.dim = field_dim(schema->settings, f),
		.single = f->type == FIELD_CATEGORICAL || f->type == FIELD_NUMERIC,
	};
	if (field->is_dense) {
		field->index = schema->K;
		schema->dense_field[schema->K++] = i;
		return;
	}
	field->index = schema->F;
	schema->column_field[schema->F++] = i;
	if (f->share == NULL || *f->share == '\0')
		schema_add_table(schema, field);
}

/* A cross has one id a row when each of its parts has. */
static int
cross_is_single(const struct schema *schema, const struct field_settings *cross)
{
	for (size_t i = 0; i < schema->n_fields; i++)
		for (size_t k = 0; k < cross->fields.n; k++)
			if (strcmp(schema->field[i].name, cross->fields.item[k]) == 0 &&
			    !schema->field[i].single)
				return 0;
	return 1;
}

static enum rs_status
schema_share(struct schema *schema, struct schema_field *field)
{
	for (size_t i = 0; i < schema->n_fields; i++) {
		const struct schema_field *owner = &schema->field[i];

		if (owner == field || owner->is_dense ||
			strcmp(owner->name, field->settings->share) != 0 ||
			(owner->settings->share != NULL && *owner->settings->share != '\0'))
			continue;
		field->table = owner->table;
		field->dim = owner->dim;
		return RS_OK;
	}
	return rs_fail_at(RS_ESPEC, field->settings->file, field->settings->line, 0,
		"field '%s' shares the table of '%s', which has none of its own", field->name,
		field->settings->share);
}

static size_t
schema_find(const struct schema *schema, const char *name)
{
	size_t i = 0;

	while (i < schema->n_fields && (name == NULL || strcmp(schema->field[i].name, name) != 0))
		i++;
	return i;
}

/* Names that are no fields are problems of the spec, found by its checks. */
static void
schema_mark_items(struct schema *schema)
{
	const struct items_settings *items = &schema->settings->items;

	schema->item_field = schema_find(schema, items->key);
	for (size_t i = 0; i < items->fields.n; i++) {
		const size_t field = schema_find(schema, items->fields.item[i]);

		if (field == schema->n_fields)
			continue;
		schema->of_item[schema->field[field].index +
			(schema->field[field].is_dense ? schema->F : 0)] = 1;
	}
}

static int
schema_has_group(const struct data_settings *data)
{
	return data->format == FORMAT_LISTS || (data->group != NULL && *data->group != '\0');
}

/* Rows that go by their age in data time are of exact tables. */
static int
schema_has_time(const struct schema *schema)
{
	int n_exact = 0;

	for (size_t i = 0; i < schema->n_tables; i++)
		n_exact += schema->table[i].settings->table == TABLE_EXACT;
	return n_exact > 0 && schema->settings->embedding.expire_after > 0;
}

enum rs_status
schema_build(const struct settings *settings, struct schema *out)
{
	const size_t n = settings->n_fields;
	enum rs_status status;

	*out = (struct schema){ .settings = settings, .n_fields = n };
	status = memory_alloc(n + 1, sizeof *out->field, &out->field);
	if (status == RS_OK)
		status = memory_alloc(n + 1, sizeof *out->table, &out->table);
	if (status == RS_OK)
		status = memory_alloc(n + 1, sizeof *out->column_field, &out->column_field);
	if (status == RS_OK)
		status = memory_alloc(n + 1, sizeof *out->dense_field, &out->dense_field);
	if (status == RS_OK)
		status = memory_alloc(n + 1, sizeof *out->of_item, &out->of_item);
	for (size_t i = 0; status == RS_OK && i < n; i++)
		schema_add_field(out, i);
	for (size_t i = 0; status == RS_OK && i < n; i++)
		if (out->field[i].settings->type == FIELD_CROSS)
			out->field[i].single = cross_is_single(out, out->field[i].settings);
	for (size_t i = 0; status == RS_OK && i < n; i++)
		if (!out->field[i].is_dense && out->field[i].settings->share != NULL &&
		    *out->field[i].settings->share != '\0')
			status = schema_share(out, &out->field[i]);
	if (status == RS_OK)
		schema_mark_items(out);
	out->has_group = schema_has_group(&settings->data);
	out->has_time = schema_has_time(out);
	if (status != RS_OK)
		schema_free(out);
	return status;
}

void
schema_free(struct schema *schema)
{
	free(schema->field);
	free(schema->table);
	free(schema->column_field);
	free(schema->dense_field);
	free(schema->of_item);
	memset(schema, 0, sizeof *schema);
}

int
schema_has_short_ids(const struct schema *schema, size_t column)
{
	const struct schema_field *const field = &schema->field[schema->column_field[column]];

	return schema->table[field->table].buckets < UINT32_MAX;
}
