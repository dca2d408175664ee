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
#include "data/hash_stack.h"
#include "data/loader.h"

#define BATCH_ROWS 4096
/* Different values have different ids, but for one pair in 2^62: a multiple of the buckets,
 * so that id mod buckets is the bucket. */
#define IDS_MAX    ((int64_t)1 << 62)

struct table_count {
	struct id_set values;
	struct schema_table of;        /* as the model has it                             */
	uint64_t n, occupied;          /* values; buckets that have any                   */
	uint64_t collide;              /* values that are one with another, but for one of them */
	uint64_t shared;               /* values that are one with another                */
	uint64_t most;                 /* values that are one                             */
	double   expected;             /* collisions by chance                            */
	double   expected_occupied;    /* buckets by chance                               */
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
		c->table[t].of = c->schema.table[t];
	schema_free(&c->schema);
	for (size_t i = 0; i < s->n_fields; i++)
		if (copy[i].buckets > 0)
			copy[i].buckets *= IDS_MAX / copy[i].buckets;
	return schema_build(&c->settings, &c->schema);
}

static enum rs_status
add_batch(void *context, const struct batch *batch, int *done)
{
	struct collisions *const c = context;

	(void)done;
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

	return loader_each(&options, add_batch, c, NULL);
}

/* --- what came of it ---------------------------------------- */

static int
compare_ids(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Values are one when they have the same rows: lists of `of->rounds` of them, sorted. */
static int
compare_lists(const void *a, const void *b, void *of)
{
	const size_t n = ((const struct schema_table *)of)->rounds;
	const uint64_t *const x = a, *const y = b;
	int order = 0;

	for (size_t r = 0; order == 0 && r < n; r++)
		order = compare_ids(&x[r], &y[r]);
	return order;
}

/* What is left to choose of a list: `rest` rows, none of which is in it more than `most` times. */
struct choice {
	size_t rest, most;
	size_t taken;                  /* different rows in the list so far               */
	double lists;                  /* ways so far                                     */
	double p;                      /* of one of them                                  */
};

/* E(different lists that n values have), of B buckets: over the kinds of lists, by how often
 * they have their rows, the lists of that kind times 1 - (1 - p)^n. */
static double
expect_lists(double n, double B, struct choice c)
{
	double sum = 0, factorial = 1;

	if (c.rest == 0)               /* of none, p may be anything                      */
		return c.lists > 0 && n > 0 ? c.lists * -expm1(n * log1p(-c.p)) : 0;
	for (size_t i = 2; i <= c.most; i++)
		factorial *= (double)i;
	for (size_t k = 0; c.most > 0 && k * c.most <= c.rest; k++) {
		struct choice next = c;

		next.rest -= k * c.most;
		next.most--;
		sum += expect_lists(n, B, next);
		c.lists *= fmax(0, B - (double)c.taken) / (double)(k + 1);
		c.p /= factorial;
		c.taken++;
	}
	return sum;
}

/* R! / B^R is the chance of a list of rows that are all different. */
static double
expect_different(double n, double B, size_t R)
{
	struct choice c = { .rest = R, .most = R, .lists = 1, .p = 1 };

	for (size_t i = 1; i <= R; i++)
		c.p *= (double)i / B;
	return expect_lists(n, B, c);
}

/* Rows that have any value, of n lists; sorts them all. */
static uint64_t
count_occupied(uint64_t *row, size_t n)
{
	uint64_t occupied = 0;

	qsort(row, n, sizeof *row, compare_ids);
	for (size_t i = 0; i < n; i++)
		occupied += i == 0 || row[i] != row[i - 1];
	return occupied;
}

/* The lists of rows of all values: counts those that are the same. */
static void
count_lists(struct table_count *t, uint64_t *row)
{
	const size_t R = t->of.rounds;

	qsort_r(row, t->n, R * sizeof *row, compare_lists, &t->of);
	for (size_t i = 0, end; i < t->n; i = end) {
		for (end = i + 1; end < t->n
		    && compare_lists(row + end * R, row + i * R, &t->of) == 0; end++)
			continue;
		t->collide += end - i - 1;
		t->shared += end - i > 1 ? end - i : 0;
		t->most = end - i > t->most ? end - i : t->most;
	}
}

static enum rs_status
count_table(struct table_count *t)
{
	const size_t R = t->of.rounds;
	const double B = (double)t->of.rows;
	uint64_t *id, *row;

	t->n = id_set_count(&t->values);
	RS_TRY(id_set_list(&t->values, &id));
	id_set_free(&t->values);
	const enum rs_status status = memory_alloc(t->n * R + 1, sizeof *row, &row);
	for (size_t i = 0; status == RS_OK && i < t->n * R; i++)
		row[i] = R > 1 ? hash_stack_row(&t->of, id[i / R], i % R) : id[i] % t->of.rows;
	free(id);
	RS_TRY(status);
	for (size_t i = 0; R > 1 && i < t->n; i++)
		qsort(row + i * R, R, sizeof *row, compare_ids);
	count_lists(t, row);
	t->occupied = count_occupied(row, t->n * R);
	free(row);
	t->expected = (double)t->n - expect_different((double)t->n, B, R);
	t->expected_occupied = expect_different((double)(t->n * R), B, 1);
	return RS_OK;
}

static double
share_of(uint64_t part, uint64_t all)
{
	return all > 0 ? (double)part / (double)all : 0;
}

static enum rs_status
put_buckets(struct layout *l, const struct schema_table *t)
{
	char text[32];

	layout_count(text, (int64_t)t->rows);
	return t->rounds > 1 ? layout_cell(l, "%s x %zu", text, t->rounds)
		: layout_cell(l, "%s", text);
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
		RS_TRY(put_buckets(l, &t->of));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)t->n)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)t->occupied)));
		RS_TRY(layout_cell(l, "%s", layout_count(text, (int64_t)t->collide)));
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
		json_int(&j, "buckets", (int64_t)t->of.rows);
		json_int(&j, "values", (int64_t)t->n);
		json_int(&j, "occupied", (int64_t)t->occupied);
		json_int(&j, "collisions", (int64_t)t->collide);
		json_double(&j, "expected", t->expected);
		json_int(&j, "shared", (int64_t)t->shared);
		json_int(&j, "most", (int64_t)t->most);
		json_int(&j, "rounds", (int64_t)t->of.rounds);
		json_double(&j, "expected_occupied", t->expected_occupied);
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
