/*
 * The cartesian product of the parts of a cross, into its column.
 */
#include "data/cross.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

struct cross {
	const struct feature *feature;
	const struct feature **part;   /* [n_parts] in the order of `fields`         */
	size_t n_parts;
	size_t *at;                    /* [n_parts] item of each part                */
};

static enum rs_status
cross_part(const struct schema *schema, struct feature *feature, const char *name,
	const struct field_settings *cross, struct cross_values *values,
	const struct feature **out)
{
	for (size_t i = 0; i < schema->n_fields; i++) {
		if (strcmp(schema->field[i].name, name) != 0 ||
		    schema->field[i].settings->type == FIELD_CROSS)
			continue;
		feature[i].values = &values[i];
		feature[i].path = FEATURE_GENERAL;
		*out = &feature[i];
		return RS_OK;
	}
	return rs_fail_at(RS_ESPEC, cross->file, cross->line, 0,
		"[field %s] fields: there is no field '%s' to cross", cross->name, name);
}

static enum rs_status
cross_init(struct cross *c, const struct schema *schema, struct feature *feature, size_t field,
	struct cross_values *values)
{
	const struct field_settings *const s = schema->field[field].settings;

	c->feature = &feature[field];
	RS_TRY(memory_alloc(s->fields.n + 1, sizeof *c->part, &c->part));
	RS_TRY(memory_alloc(s->fields.n + 1, sizeof *c->at, &c->at));
	for (; c->n_parts < s->fields.n; c->n_parts++)
		RS_TRY(cross_part(schema, feature, s->fields.item[c->n_parts], s, values,
			&c->part[c->n_parts]));
	return RS_OK;
}

enum rs_status
crosses_init(struct crosses *c, const struct schema *schema, struct feature *feature)
{
	size_t n = 0;

	*c = (struct crosses){ .n_fields = schema->n_fields };
	for (size_t i = 0; i < schema->n_fields; i++)
		n += schema->field[i].settings->type == FIELD_CROSS;
	if (n == 0)
		return RS_OK;
	RS_TRY(memory_alloc(n, sizeof *c->cross, &c->cross));
	RS_TRY(memory_alloc(schema->n_fields, sizeof *c->values, &c->values));
	for (size_t i = 0; i < schema->n_fields; i++)
		if (schema->field[i].settings->type == FIELD_CROSS)
			RS_TRY(cross_init(&c->cross[c->n++], schema, feature, i, c->values));
	return RS_OK;
}

void
crosses_free(struct crosses *c)
{
	for (size_t i = 0; i < c->n; i++) {
		free(c->cross[i].part);
		free(c->cross[i].at);
	}
	for (size_t i = 0; c->values != NULL && i < c->n_fields; i++)
		free(c->values[i].value);
	free(c->cross);
	free(c->values);
	*c = (struct crosses){ .n = 0 };
}

void
crosses_begin_row(struct crosses *c)
{
	for (size_t i = 0; c->values != NULL && i < c->n_fields; i++)
		c->values[i].n = 0;
}

/* The next item of the part from *at on that is a value; 0: there is none. */
static int
part_next(const struct feature *part, const struct batch *batch, size_t *at)
{
	const size_t n = part->values->n;
	const struct batch_column *column;

	if (part->field->is_dense)
		return *at < n;
	column = &batch->column[part->index];
	while (*at < n && column->ids[column->N - n + *at] == part->buckets.d)
		++*at;
	return *at < n;
}

/* To the first combination; 0: some part has no value. */
static int
product_begin(const struct cross *c, const struct batch *batch)
{
	for (size_t i = 0; i < c->n_parts; i++) {
		c->at[i] = 0;
		if (!part_next(c->part[i], batch, &c->at[i]))
			return 0;
	}
	return 1;
}

static int
product_next(const struct cross *c, const struct batch *batch)
{
	for (size_t i = c->n_parts; i-- > 0;) {
		c->at[i]++;
		if (part_next(c->part[i], batch, &c->at[i]))
			return 1;
		c->at[i] = 0;
		(void)part_next(c->part[i], batch, &c->at[i]);
	}
	return 0;
}

static uint64_t
product_bucket(const struct cross *c)
{
	uint64_t hash = CROSS_KEY;

	for (size_t i = 0; i < c->n_parts; i++)
		hash = hash_cat(hash, c->part[i]->values->value[c->at[i]]);
	return id_remainder(hash, &c->feature->buckets);
}

static enum rs_status
cross_row(const struct cross *c, const char *row, struct batch *batch, struct cell_error *error)
{
	struct batch_column *const column = &batch->column[c->feature->index];
	const size_t begin = column->N;

	if (!product_begin(c, batch))
		return RS_OK;
	do {
		if (column->N - begin == CROSS_MOST)
			return cell_error_set(error, row,
				"field '%s': more than %zu combinations in one row",
				c->feature->field->name, CROSS_MOST);
		RS_TRY(batch_reserve_ids(batch, c->feature->index, column->N + 1));
		column->ids[column->N++] = product_bucket(c);
	} while (product_next(c, batch));
	return RS_OK;
}

enum rs_status
crosses_end_row(const struct crosses *c, const char *row, struct batch *batch,
	struct cell_error *error)
{
	for (size_t i = 0; i < c->n; i++)
		RS_TRY(cross_row(&c->cross[i], row, batch, error));
	return RS_OK;
}
