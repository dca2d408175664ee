/* The rows of one value of a field. */
#include "cmd/inspect_feature.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/number.h"
#include "cmd/command.h"
#include "data/feature.h"
#include "data/hash_stack.h"

#define TEXT_MAX ((size_t)1 << 30)

struct asked {
	const struct model_files *files;
	struct schema schema;
	struct batch batch;
	size_t field;
	char  *name;                   /* of the field                                    */
	const char *value;
	const struct batch_column *ids;
};

static enum rs_status
find_field(struct asked *q)
{
	const size_t n = q->schema.n_fields;
	const char **names;

	for (q->field = 0; q->field < n; q->field++)
		if (strcmp(q->schema.field[q->field].name, q->name) == 0)
			break;
	if (q->field < n)
		return RS_OK;
	RS_TRY(memory_alloc(n + 1, sizeof *names, &names));
	for (size_t i = 0; i < n; i++)
		names[i] = q->schema.field[i].name;
	const char *const near = spec_nearest(q->name, names, n);
	free(names);
	(void)rs_fail(RS_EUSAGE, "--feature: the model has no field '%s'", q->name);
	return near != NULL ? rs_hint("did you mean '%s'?", near) : RS_EUSAGE;
}

/* A table is asked by value: not a number's weight, nor a cross, which has no cell. */
static enum rs_status
check_field(const struct asked *q)
{
	const struct schema_field *const f = &q->schema.field[q->field];

	if (f->is_dense) {
		(void)rs_fail(RS_EUSAGE, "--feature: field '%s' is numeric and has no table",
			f->name);
		return rs_hint("its weights are among those of --params");
	}
	if (f->settings->type != FIELD_CROSS)
		return RS_OK;
	(void)rs_fail(RS_EUSAGE, "--feature: field '%s' is a cross and has no values of its own",
		f->name);
	return rs_hint("audit shows the buckets of the crosses of a row");
}

static enum rs_status
find_ids(struct asked *q)
{
	struct cell_error error = { .at = NULL };
	struct feature feature;
	struct buffer scratch;

	RS_TRY(batch_init(&q->batch, &q->schema));
	RS_TRY(batch_reserve(&q->batch, 1));
	feature_init(&feature, &q->schema, q->field, NULL);
	q->ids = &q->batch.column[feature.index];
	buffer_init(&scratch, TEXT_MAX);
	enum rs_status status = feature_cell(&feature,
		(struct cell){ q->value, strlen(q->value) }, &q->batch, &scratch, &error);
	if (status == RS_OK)
		status = feature_close(&feature, 1, &q->batch);
	buffer_free(&scratch);
	if (status != RS_EDATA || error.at == NULL)
		return status;
	(void)rs_fail(RS_EUSAGE, "--feature: %s", error.text);
	return error.hint[0] != '\0' ? rs_hint("%s", error.hint) : RS_EUSAGE;
}

/* Vectors and first-order weights, of those the model has. */
static size_t
find_tables(const struct asked *q, const struct model_table *table[2])
{
	const char *const owner = q->schema.table[q->schema.field[q->field].table].name;
	char name[2][160];
	size_t n = 0;

	snprintf(name[0], sizeof name[0], "%s", owner);
	snprintf(name[1], sizeof name[1], "%s.linear", owner);
	for (size_t i = 0; i < 2; i++) {
		table[n] = model_files_table(q->files, name[i]);
		n += table[n] != NULL;
	}
	return n;
}

static int
is_missing(const struct asked *q, uint64_t id)
{
	return id == q->schema.table[q->schema.field[q->field].table].buckets;
}

/* --- for people ---------------------------------------- */

static enum rs_status
print_numbers(const char *name, const float *x, size_t n)
{
	char text[32];

	if (n == 0)
		return RS_OK;
	RS_TRY(output_printf("  %-8s", name));
	for (size_t i = 0; i < n; i++)
		RS_TRY(output_printf(" %s", number_print_float(text, x[i])));
	return output_printf("\n");
}

static double
norm_of(const float *x, size_t n)
{
	double square = 0;

	for (size_t i = 0; i < n; i++)
		square += (double)x[i] * x[i];
	return sqrt(square);
}

static enum rs_status
print_row(const struct model_table *t, const struct schema_table *of, uint64_t id)
{
	const float *const w = model_table_weights(t, id);
	const size_t dim = t->header->dim;

	if (w == NULL)
		return output_printf("%s   has no row for it\n", t->header->name);
	RS_TRY(output_printf("%s   ", t->header->name));
	if (of->rounds > 1)
		RS_TRY(output_printf("%" PRIu64 "   ", id));
	RS_TRY(output_printf("%s",
		model_table_touched(t, id) ? "trained" : "never trained"));
	if (model_table_entry(t, id) != NULL)
		RS_TRY(output_printf(" %u times", (unsigned)model_table_entry(t, id)->count));
	RS_TRY(output_printf("   norm %.4g\n", norm_of(w, dim)));
	RS_TRY(print_numbers("weights", w, dim));
	return print_numbers(t->header->optimizer, model_table_slots(t, id), t->header->n_slot);
}

static enum rs_status
print_id(const struct asked *q, uint64_t id)
{
	const struct schema_table *const t = &q->schema.table[q->schema.field[q->field].table];
	const char *const missing = is_missing(q, id) ? ", that of missing values" : "";

	if (t->kind == TABLE_EXACT)
		return output_printf("id %" PRIu64 "%s\n", id, missing);
	RS_TRY(output_printf("bucket %" PRIu64, hash_stack_row(t, id, 0)));
	for (size_t r = 1; r < hash_stack_rows(t, id); r++)
		RS_TRY(output_printf(" + %" PRIu64, hash_stack_row(t, id, r)));
	return output_printf(" of %" PRIu64 "%s\n", t->rows, missing);
}

/* The rows of an id in the tables that the field has. */
static enum rs_status
print_rows(const struct asked *q, const struct model_table *const *table, size_t n, uint64_t id)
{
	const struct schema_table *const t = &q->schema.table[q->schema.field[q->field].table];

	for (size_t k = 0; k < n; k++)
		for (size_t r = 0; r < hash_stack_rows(t, id); r++)
			RS_TRY(print_row(table[k], t, hash_stack_row(t, id, r)));
	return RS_OK;
}

static enum rs_status
print_text(const struct asked *q)
{
	const struct schema_field *const f = &q->schema.field[q->field];
	const struct model_table *table[2];
	const size_t n = find_tables(q, table);
	char value[72];

	for (size_t i = 0; i < q->ids->N; i++) {
		RS_TRY(output_printf("%s=%s   ", f->name,
			rs_escape(value, q->value, strlen(q->value))));
		RS_TRY(print_id(q, q->ids->ids[i]));
		RS_TRY(print_rows(q, table, n, q->ids->ids[i]));
	}
	return RS_OK;
}

/* --- for programs ---------------------------------------- */

static void
json_numbers(struct json *j, const char *key, const float *x, size_t n)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < n; i++) {
		char text[32];
		double value = (double)x[i];

		number_print_float(text, x[i]);
		json_double(j, NULL, number_double(text, strlen(text), &value) ? value
			: (double)x[i]);
	}
	json_close(j);
}

static void
json_row(struct json *j, const struct model_table *t, const struct schema_table *of, uint64_t id)
{
	const float *const w = model_table_weights(t, id);

	json_open(j, NULL, '{');
	json_string(j, "name", t->header->name);
	if (of->rounds > 1)
		json_uint(j, "row", id);
	json_bool(j, "touched", model_table_touched(t, id));
	if (w == NULL) {
		json_close(j);
		return;
	}
	if (model_table_entry(t, id) != NULL) {
		json_int(j, "trained", model_table_entry(t, id)->count);
		json_int(j, "last", model_table_entry(t, id)->last);
	}
	json_double(j, "norm", norm_of(w, t->header->dim));
	json_string(j, "optimizer", t->header->optimizer);
	json_numbers(j, "weights", w, t->header->dim);
	json_numbers(j, "slots", model_table_slots(t, id), t->header->n_slot);
	json_close(j);
}

static void
json_rows(struct json *j, const struct asked *q, const struct model_table *const *table, size_t n,
	uint64_t id)
{
	const struct schema_table *const t = &q->schema.table[q->schema.field[q->field].table];

	for (size_t k = 0; k < n; k++)
		for (size_t r = 0; r < hash_stack_rows(t, id); r++)
			json_row(j, table[k], t, hash_stack_row(t, id, r));
}

static enum rs_status
print_json(const struct asked *q)
{
	const struct model_table *table[2];
	const size_t n = find_tables(q, table);
	struct json j;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "field", q->name);
	json_string(&j, "value", q->value);
	json_open(&j, "ids", '[');
	for (size_t i = 0; i < q->ids->N; i++) {
		json_open(&j, NULL, '{');
		json_uint(&j, "id", q->ids->ids[i]);
		json_bool(&j, "missing", is_missing(q, q->ids->ids[i]));
		json_open(&j, "tables", '[');
		json_rows(&j, q, table, n, q->ids->ids[i]);
		json_close(&j);
		json_close(&j);
	}
	json_close(&j);
	json_close(&j);
	const enum rs_status status = output_printf("%s\n", json_text(&j));
	json_free(&j);
	return status;
}

static enum rs_status
ask(struct asked *q, const char *text)
{
	const char *const equals = strchr(text, '=');

	if (equals == NULL || equals == text)
		return rs_fail(RS_EUSAGE, "--feature: '%s', wanted FIELD=VALUE", text);
	RS_TRY(memory_strdup(text, &q->name));
	q->name[equals - text] = '\0';
	q->value = equals + 1;
	RS_TRY(schema_build(spec_settings(q->files->spec), &q->schema));
	RS_TRY(find_field(q));
	RS_TRY(check_field(q));
	return find_ids(q);
}

enum rs_status
inspect_feature(const struct model_files *f, const char *text, int json)
{
	struct asked q = { .files = f };
	enum rs_status status = ask(&q, text);

	if (status == RS_OK)
		status = json ? print_json(&q) : print_text(&q);
	batch_free(&q.batch);
	schema_free(&q.schema);
	free(q.name);
	return status;
}
