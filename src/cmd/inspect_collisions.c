/* Values of the data that share a bucket. */
#include "cmd/inspect_collisions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/memory.h"
#include "cmd/dump.h"
#include "cmd/id_set.h"
#include "cmd/layout.h"
#include "cmd/model_data.h"
#include "data/loader.h"

#define BATCH_ROWS 4096
/* Different values have different ids, but for one pair in 2^62: a multiple of the buckets,
 * so that id mod buckets is the bucket. */
#define IDS_MAX    ((int64_t)1 << 62)

struct table_count {
	struct id_set values;
	uint64_t buckets;
	uint64_t n, occupied;          /* values; buckets that have any                   */
	uint64_t shared;               /* values whose bucket has another one, too        */
	uint64_t most;                 /* values of the bucket with the most              */
	double   expected;             /* collisions by chance                            */
};

struct collisions {
	const char *only;              /* field, or NULL                                  */
	struct settings settings;      /* with fields of our own                          */
	struct schema schema;
	struct table_count *table;     /* [schema.n_tables]                               */
	uint64_t rows;
};

/* Is it hashed?  An interval's number is its bucket; ids of an exact table are alone. */
static int
is_hashed(const struct schema_table *t)
{
	return t->settings->type != FIELD_NUMERIC && t->kind != TABLE_EXACT;
}

static int
is_wanted(const struct collisions *c, size_t table)
{
	return is_hashed(&c->schema.table[table])
		&& dump_is_of_field(c->schema.table[table].name, c->only);
}

static enum rs_status
make_schema(struct collisions *c, const struct settings *s)
{
	struct field_settings *copy;

	RS_TRY(memory_alloc(s->n_fields, sizeof *copy, &copy));
	c->settings = *s;
	c->settings.field = copy;
	memcpy(copy, s->field, s->n_fields * sizeof *copy);
	RS_TRY(schema_build(&c->settings, &c->schema));
	RS_TRY(memory_alloc(c->schema.n_tables + 1, sizeof *c->table, &c->table));
	for (size_t t = 0; t < c->schema.n_tables; t++)
		c->table[t].buckets = c->schema.table[t].buckets;
	schema_free(&c->schema);
	for (size_t i = 0; i < s->n_fields; i++)
		if (copy[i].buckets > 0)
			copy[i].buckets *= IDS_MAX / copy[i].buckets;
	return schema_build(&c->settings, &c->schema);
}

static enum rs_status
add_batch(struct collisions *c, const struct batch *batch)
{
	for (size_t f = 0; f < c->schema.F; f++) {
		const size_t t = c->schema.field[c->schema.column_field[f]].table;
		const struct batch_column *const column = &batch->column[f];

		for (size_t i = 0; is_wanted(c, t) && i < column->N; i++)
			if (column->ids[i] != c->schema.table[t].buckets)
				RS_TRY(id_set_add(&c->table[t].values, column->ids[i], NULL));
	}
	c->rows += batch->B;
	return RS_OK;
}

static enum rs_status
read_rows(struct collisions *c, const struct text_list *files)
{
	const struct loader_options options = { .schema = &c->schema, .files = files,
		.purpose = PARSE_TRAIN, .batch_size = BATCH_ROWS, .epochs = 1,
		.n_threads = (size_t)c->settings.data.threads };
	const struct batch *batch;
	struct loader *loader;
	enum rs_status status;

	RS_TRY(loader_open(&options, &loader));
	do {
		status = loader_next(loader, &batch, NULL);
		if (status == RS_OK && batch != NULL)
			status = add_batch(c, batch);
	} while (status == RS_OK && batch != NULL);
	loader_close(loader);
	return status;
}

static int
compare_ids(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static enum rs_status
count_table(struct table_count *t)
{
	const double B = (double)t->buckets;
	uint64_t *bucket;

	t->n = id_set_count(&t->values);
	RS_TRY(id_set_list(&t->values, &bucket));
	id_set_free(&t->values);
	for (size_t i = 0; i < t->n; i++)
		bucket[i] %= t->buckets;
	qsort(bucket, t->n, sizeof *bucket, compare_ids);
	for (size_t i = 0, end; i < t->n; i = end) {
		for (end = i + 1; end < t->n && bucket[end] == bucket[i]; end++)
			continue;
		t->occupied++;
		t->shared += end - i > 1 ? end - i : 0;
		t->most = end - i > t->most ? end - i : t->most;
	}
	free(bucket);
	t->expected = (double)t->n + B * expm1((double)t->n * log1p(-1 / B));
	if (t->buckets == 1)
		t->expected = t->n > 0 ? (double)t->n - 1 : 0;
	return RS_OK;
}

static double
share_of(uint64_t part, uint64_t all)
{
	return all > 0 ? (double)part / (double)all : 0;
}

static enum rs_status
fill_table(struct layout *l, const struct collisions *c)
{
	static const char *const heading[] = { "table", "buckets", "values", "occupied", "collide",
		"expected", "share", "most" };
	char text[32];

	RS_TRY(layout_cells(l, heading));
	for (size_t i = 0; i < c->schema.n_tables; i++) {
		const struct table_count *const t = &c->table[i];

		if (!is_wanted(c, i))
			continue;
		RS_TRY(layout_cell(l, "%s", c->schema.table[i].name));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)t->buckets)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)t->n)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)t->occupied)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)(t->n - t->occupied))));
		RS_TRY(layout_cell(l, "%.1f", t->expected));
		RS_TRY(layout_cell(l, "%.1f%%", 100 * share_of(t->shared, t->n)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)t->most)));
	}
	return RS_OK;
}

static enum rs_status
print_table(const struct collisions *c)
{
	struct layout l;

	layout_init(&l, 8, 0xfe);
	enum rs_status status = fill_table(&l, c);
	if (status == RS_OK)
		status = layout_print(&l);
	layout_free(&l);
	return status;
}

static enum rs_status
print_json(const struct collisions *c)
{
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_int(&j, "rows", (int64_t)c->rows);
	json_open(&j, "collisions", '[');
	for (size_t i = 0; i < c->schema.n_tables; i++) {
		const struct table_count *const t = &c->table[i];

		if (!is_wanted(c, i))
			continue;
		json_open(&j, NULL, '{');
		json_string(&j, "table", c->schema.table[i].name);
		json_int(&j, "buckets", (int64_t)t->buckets);
		json_int(&j, "values", (int64_t)t->n);
		json_int(&j, "occupied", (int64_t)t->occupied);
		json_int(&j, "collisions", (int64_t)(t->n - t->occupied));
		json_double(&j, "expected", t->expected);
		json_int(&j, "shared", (int64_t)t->shared);
		json_int(&j, "most", (int64_t)t->most);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
count_all(struct collisions *c, const struct settings *s, const struct text_list *files)
{
	RS_TRY(make_schema(c, s));
	RS_TRY(read_rows(c, files));
	for (size_t i = 0; i < c->schema.n_tables; i++)
		if (is_wanted(c, i))
			RS_TRY(count_table(&c->table[i]));
	return RS_OK;
}

enum rs_status
inspect_collisions(const struct arguments *a, const struct model_files *f, const char *field)
{
	struct collisions c = { .only = field };
	struct text_list files;

	RS_TRY(model_data_files(a, f, &files));
	enum rs_status status = count_all(&c, spec_settings(f->spec), &files);
	if (status == RS_OK)
		status = command_json(a) ? print_json(&c) : print_table(&c);
	for (size_t i = 0; c.table != NULL && i < c.schema.n_tables; i++)
		id_set_free(&c.table[i].values);
	free(c.table);
	schema_free(&c.schema);
	free(c.settings.field);
	model_data_free(&files);
	return status;
}
