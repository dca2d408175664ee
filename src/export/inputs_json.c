/* The inputs of a program as JSON. */
#include "export/inputs_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/json.h"
#include "data/hash_stack.h"
#include "spec/option.h"
#include "train/row_numbers.h"

#define TEXT_LIMIT ((size_t)64 << 20)

static const struct { const char *name, *type, *text; } kind_table[] = {
	[PROGRAM_ID] = { "id", "int64", "one row of the table for every row of the batch" },
	[PROGRAM_BAG] = { "bag", "int64", "rows of the table in order, -1 behind the last; at "
		"least one column" },
	[PROGRAM_WEIGHT] = { "weight", "float32", "of every id of the bag, 0 behind the last" },
	[PROGRAM_VALUE] = { "value", "float32", "the number after the transform, NaN where it is "
		"missing" },
};

/* Every key of the field's section that has a value. */
static enum rs_status
put_settings(struct json *j, const struct field_settings *field)
{
	enum rs_status status = RS_OK;

	json_open(j, "settings", '{');
	for (const struct option_row *row = option_table; row->section != NULL; row++) {
		struct buffer text;

		if (status != RS_OK || strcmp(row->section, "field") != 0)
			continue;
		buffer_init(&text, TEXT_LIMIT);
		status = option_print(row, field, &text);
		if (status == RS_OK && text.n > 0)
			json_string(j, row->key, text.data);
		buffer_free(&text);
	}
	json_close(j);
	return status;
}

/* How a text becomes a row; of an exact table: which fingerprint each row has, in order. */
static void
put_rows(struct json *j, const struct model *m, size_t table, size_t round)
{
	uint64_t n;
	const uint64_t *const known = row_numbers_known(m, table, &n);
	char text[24];

	if (known == NULL) {
		json_string(j, "hash", round == 0
			? "FarmHash Fingerprint64 of the text, mod buckets"
			: "finaliser of SplitMix64 of the FarmHash Fingerprint64 of the text + "
			"increment, mod buckets");
		if (round > 0)
			json_uint(j, "increment", round * HASH_STACK_STEP);
		json_int(j, "buckets", (int64_t)m->schema.table[table].rows);
		return;
	}
	json_string(j, "hash", "FarmHash Fingerprint64 of the text");
	json_string(j, "rows", "a fingerprint's place in fingerprints, in hexadecimal and in "
		"order; unknown_row of any other");
	json_open(j, "fingerprints", '[');
	for (uint64_t i = 0; i < n; i++) {
		snprintf(text, sizeof(text), "%016" PRIx64, known[i]);
		json_string(j, NULL, text);
	}
	json_close(j);
	json_int(j, "unknown_row", (int64_t)n);
}

static enum rs_status
put_feature(struct json *j, const struct program *p, const struct program_feature *f)
{
	const struct schema *const s = &p->model->schema;
	const struct schema_field *const field = &s->field[f->field];

	json_open(j, NULL, '{');
	json_string(j, "name", f->name);
	json_string(j, "kind", kind_table[f->kind].name);
	json_string(j, "type", kind_table[f->kind].type);
	json_open(j, "shape", '[');
	json_string(j, NULL, "N");
	if (f->kind == PROGRAM_BAG || f->kind == PROGRAM_WEIGHT)
		json_string(j, NULL, "L");
	json_close(j);
	json_string(j, "text", kind_table[f->kind].text);
	json_string(j, "field", field->name);
	if (f->kind == PROGRAM_ID || f->kind == PROGRAM_BAG) {
		const uint64_t buckets = s->table[field->table].buckets;

		put_rows(j, p->model, field->table, f->round);
		json_int(j, "missing_row", row_numbers_round(p->model, field->table, buckets,
			f->round));
	}
	const enum rs_status status = put_settings(j, field->settings);
	json_close(j);
	return status;
}

static void
put_list(struct json *j, const char *key, const struct text_list *list)
{
	json_open(j, key, '[');
	for (size_t i = 0; i < list->n; i++)
		json_string(j, NULL, list->item[i]);
	json_close(j);
}

static void
put_head(struct json *j, const struct program *p)
{
	const struct settings *const s = p->model->schema.settings;

	json_open(j, NULL, '{');
	json_string(j, "model", s->model.type);
	json_string(j, "separator", s->data.separator);
	put_list(j, "missing", &s->data.missing);
	json_open(j, "inputs", '[');
}

static enum rs_status
put_end(struct json *j, const struct program *p, const char *path)
{
	json_close(j);
	json_open(j, "outputs", '[');
	for (size_t k = 0; k < p->n_outputs; k++)
		json_string(j, NULL, p->output[k].name);
	json_close(j);
	json_close(j);
	return file_replace(path, json_text(j), strlen(json_text(j)));
}

enum rs_status
inputs_json_write(const struct program *p, const char *path)
{
	enum rs_status status = RS_OK;
	struct json j;

	json_init(&j);
	put_head(&j, p);
	for (size_t i = 0; i < p->n_features && status == RS_OK; i++)
		status = put_feature(&j, p, &p->feature[i]);
	if (status == RS_OK)
		status = put_end(&j, p, path);
	json_free(&j);
	return status;
}

static enum rs_status
put_raw(struct json *j, const struct program *p, const struct inputs_json_raw *raw)
{
	const struct schema_field *const field = &p->model->schema.field[raw->field];
	const int is_number = field->settings->type == FIELD_NUMERIC;
	const struct text_list *const missing = field->settings->missing_own == TRI_YES
		? &field->settings->missing : &p->model->schema.settings->data.missing;

	json_open(j, NULL, '{');
	json_string(j, "name", raw->name);
	json_string(j, "kind", raw->is_weight ? "weights" : is_number ? "number"
		: raw->rank == 2 ? "list" : "text");
	json_string(j, "type", raw->is_weight || is_number ? "float32" : "string");
	json_open(j, "shape", '[');
	json_string(j, NULL, "N");
	if (raw->rank == 2)
		json_string(j, NULL, "L");
	json_close(j);
	json_string(j, "text", raw->is_weight ? "of every item, 0 where there is none"
		: is_number ? "the number as it is in the data, NaN where it is missing"
		: raw->rank == 2 ? "the items as they are in the data, empty texts where there is "
		"none" : "the cell as it is in the data");
	put_list(j, "missing", missing);
	if (raw->rank == 2) {
		json_string(j, "item_separator", field->settings->multi_separator);
		json_string(j, "weight_separator", field->settings->weight_separator);
	}
	json_string(j, "field", field->name);
	const enum rs_status status = put_settings(j, field->settings);
	json_close(j);
	return status;
}

enum rs_status
inputs_json_write_raw(const struct program *p, const struct inputs_json_raw *raw, size_t n,
	const char *path)
{
	enum rs_status status = RS_OK;
	struct json j;

	json_init(&j);
	put_head(&j, p);
	for (size_t i = 0; i < n && status == RS_OK; i++)
		status = put_raw(&j, p, &raw[i]);
	if (status == RS_OK)
		status = put_end(&j, p, path);
	json_free(&j);
	return status;
}
