/* Values of the data by bucket. */
#include "cmd/inspect_names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "base/memory.h"
#include "cmd/dump.h"
#include "cmd/id_set.h"
#include "cmd/layout.h"
#include "cmd/model_data.h"
#include "cmd/scorer.h"
#include "data/feature.h"
#include "data/hash_stack.h"
#include "data/loader.h"

#define TEXT_MAX ((size_t)1 << 36)

struct name { uint64_t id; size_t begin, n; };     /* in names.text                      */

/* Of one table of the schema. */
struct table_names {
	const struct model_table *table;   /* vectors, else first-order weights; NULL: none  */
	struct id_set seen;            /* fingerprints of values                          */
	struct name *name;             /* [n] by id, then in order of the data            */
	size_t n, capacity;
	uint64_t trained, known;       /* buckets; of them with a name                    */
};

struct names {
	const char *only;              /* field, or NULL                                  */
	struct schema schema;
	struct feature *feature;       /* [n_fields]                                      */
	struct batch batch;            /* for one value                                   */
	struct buffer scratch, text;
	struct table_names *table;     /* [schema.n_tables]                               */
};

static int
is_list(const struct field_settings *f)
{
	return f->type == FIELD_MULTI || f->type == FIELD_SEQUENCE;
}

/* A cell has values of the field's table. */
static int
is_wanted(const struct names *q, size_t field)
{
	const struct schema_field *const f = &q->schema.field[field];

	return !f->is_dense && f->settings->type != FIELD_NUMERIC
		&& f->settings->type != FIELD_CROSS
		&& dump_is_of_field(q->schema.table[f->table].name, q->only);
}

static enum rs_status
keep_name(struct names *q, struct table_names *t, uint64_t id, struct cell value)
{
	if (t->n == t->capacity) {
		const size_t capacity = t->capacity > 0 ? 2 * t->capacity : 256;
		struct name *const grown = realloc(t->name, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory for %zu names", capacity);
		t->name = grown;
		t->capacity = capacity;
	}
	t->name[t->n++] = (struct name){ id, q->text.n, value.n };
	return buffer_append(&q->text, value.text, value.n);
}

static enum rs_status
add_value(struct names *q, size_t field, struct cell value)
{
	struct table_names *const t = &q->table[q->schema.field[field].table];
	struct batch_column *const c = &q->batch.column[q->schema.field[field].index];
	struct cell_error error;
	int is_new;

	if (feature_is_missing(&q->feature[field], value))
		return RS_OK;
	RS_TRY(id_set_add(&t->seen, hash_fingerprint64(value.text, value.n), &is_new));
	if (!is_new)
		return RS_OK;
	const enum rs_status status = feature_item(&q->feature[field], value, 1, &q->batch,
		&q->scratch, &error);
	if (status != RS_OK || c->N == 0)
		return status == RS_EDATA ? RS_OK : status;
	const struct schema_table *const of = &q->schema.table[q->schema.field[field].table];
	const uint64_t id = c->ids[c->N - 1];
	c->N = 0;
	for (size_t r = 0; r < hash_stack_rows(of, id); r++)
		RS_TRY(keep_name(q, t, hash_stack_row(of, id, r), value));
	return RS_OK;
}

/* The value of an item, which may have a weight behind it. */
static struct cell
without_weight(const struct field_settings *f, struct cell item)
{
	const char *const separator = f->weight_separator;
	const size_t width = separator == NULL ? 0 : strlen(separator);

	for (size_t at = item.n; width > 0 && at >= width; at--)
		if (memcmp(item.text + at - width, separator, width) == 0)
			return (struct cell){ item.text, at - width };
	return item;
}

/* Items of a list; of several cells there are commas between. */
static enum rs_status
add_list(struct names *q, size_t field, struct cell cell)
{
	const struct field_settings *const f = q->schema.field[field].settings;
	const char *const own = f->multi_separator;
	const char *const separator = own != NULL && *own != '\0' ? own : ",";
	const char *const end = cell.text + cell.n;
	const size_t width = strlen(separator);

	for (const char *p = cell.text; p != NULL && p < end;) {
		const char *const cut = memmem(p, (size_t)(end - p), separator, width);
		const struct cell item = { p, (size_t)((cut != NULL ? cut : end) - p) };

		RS_TRY(add_value(q, field, without_weight(f, item)));
		p = cut != NULL ? cut + width : NULL;
	}
	return RS_OK;
}

static enum rs_status
add_rows(struct names *q, const struct scorer *s, const struct scorer_rows *rows)
{
	for (size_t b = 0; b < rows->batch->B; b++)
		for (size_t i = 0; i < q->schema.n_fields; i++) {
			struct cell cell;

			if (!is_wanted(q, i))
				continue;
			cell.text = scorer_cell(s, b, i, &cell.n);
			if (cell.text == NULL)
				continue;
			RS_TRY(is_list(q->schema.field[i].settings) ? add_list(q, i, cell)
				: add_value(q, i, cell));
		}
	return RS_OK;
}

static enum rs_status
read_data(struct names *q, const struct arguments *a, const struct text_list *files)
{
	const struct scorer_options options = { .model = a->positional[0],
		.data = (const char *const *)files->item, .n_data = files->n,
		.purpose = PARSE_TRAIN, .without_scores = 1, .with_cells = 1, .n_threads = 1 };
	struct scorer_rows rows;
	struct scorer *s;

	RS_TRY(scorer_open(&options, &s));
	enum rs_status status;
	do {
		status = scorer_next(s, &rows);
		if (status == RS_OK)
			status = add_rows(q, s, &rows);
	} while (status == RS_OK && rows.batch->B > 0);
	const struct parser_tally *const tally = scorer_tally(s);
	if (status == RS_OK && tally->read == tally->skipped)
		status = loader_no_rows(scorer_files(s)->item[0], scorer_files(s)->n,
			tally->skipped > 0);
	scorer_close(s);
	return status;
}

/* --- what came of it ---------------------------------------- */

static int
compare_names(const void *a, const void *b)
{
	const struct name *const x = a, *const y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Only trained buckets are of interest; the one for missing values has no name. */
static void
count_names(struct table_names *t, uint64_t missing)
{
	size_t kept = 0;

	for (uint64_t i = 0; i < model_table_count(t->table); i++) {
		const uint64_t id = model_table_id(t->table, i);

		t->trained += id != missing && model_table_touched(t->table, id);
	}
	for (size_t i = 0; i < t->n; i++)
		if (model_table_touched(t->table, t->name[i].id))
			t->name[kept++] = t->name[i];
	t->n = kept;
	if (t->n > 0)
		qsort(t->name, t->n, sizeof *t->name, compare_names);
	for (size_t i = 0; i < t->n; i++)
		t->known += i == 0 || t->name[i].id != t->name[i - 1].id;
}

static enum rs_status
print_text(const struct names *q, const char *table, const struct table_names *t)
{
	char known[32], trained[32], value[72];

	RS_TRY(output_printf("%s   names known: %s of %s trained buckets (%.0f%%)\n", table,
		layout_count(known, (int64_t)t->known), layout_count(trained, (int64_t)t->trained),
		t->trained > 0 ? 100 * (double)t->known / (double)t->trained : 0));
	for (size_t i = 0; i < t->n; i++) {
		const struct name *const n = &t->name[i];
		const int is_first = i == 0 || n[-1].id != n->id;

		if (is_first)
			RS_TRY(output_printf("%s%s\t%" PRIu64, i > 0 ? "\n" : "", table, n->id));
		RS_TRY(output_printf("\t%s", rs_escape(value, q->text.data + n->begin, n->n)));
	}
	return t->n > 0 ? output_printf("\n") : RS_OK;
}

static enum rs_status
json_value(struct json *j, const char *text, size_t n)
{
	struct buffer copy;

	buffer_init(&copy, TEXT_MAX);
	const enum rs_status status = buffer_printf(&copy, "%.*s", (int)n, text);
	if (status == RS_OK)
		json_string(j, NULL, copy.data);
	buffer_free(&copy);
	return status;
}

static enum rs_status
json_table(struct json *j, const struct names *q, const char *table, const struct table_names *t)
{
	json_open(j, NULL, '{');
	json_string(j, "table", table);
	json_int(j, "trained", (int64_t)t->trained);
	json_int(j, "known", (int64_t)t->known);
	json_open(j, "buckets", '[');
	for (size_t i = 0; i < t->n; i++) {
		const struct name *const n = &t->name[i];

		if (i == 0 || n[-1].id != n->id) {
			json_open(j, NULL, '{');
			json_uint(j, "bucket", n->id);
			json_open(j, "values", '[');
		}
		RS_TRY(json_value(j, q->text.data + n->begin, n->n));
		if (i + 1 == t->n || n[1].id != n->id) {
			json_close(j);
			json_close(j);
		}
	}
	json_close(j);
	json_close(j);
	return RS_OK;
}

static enum rs_status
fill_json(struct json *j, const struct names *q)
{
	json_open(j, NULL, '{');
	json_open(j, "names", '[');
	for (size_t i = 0; i < q->schema.n_tables; i++)
		if (q->table[i].table != NULL)
			RS_TRY(json_table(j, q, q->schema.table[i].name, &q->table[i]));
	json_close(j);
	json_close(j);
	return output_printf("%s\n", json_text(j));
}

static enum rs_status
print_names(const struct names *q, int as_json)
{
	enum rs_status status = RS_OK;
	struct json j;

	if (as_json) {
		json_init(&j);
		status = fill_json(&j, q);
		json_free(&j);
		return status;
	}
	for (size_t i = 0; i < q->schema.n_tables; i++)
		if (q->table[i].table != NULL)
			RS_TRY(print_text(q, q->schema.table[i].name, &q->table[i]));
	return RS_OK;
}

/* --- all together ---------------------------------------- */

static enum rs_status
find_table(const struct names *q, const struct model_files *f, size_t t,
	const struct model_table **out)
{
	struct buffer name;

	*out = model_files_table(f, q->schema.table[t].name);
	if (*out != NULL)
		return RS_OK;
	buffer_init(&name, 1024);
	const enum rs_status status = buffer_printf(&name, "%s.linear", q->schema.table[t].name);
	if (status == RS_OK)
		*out = model_files_table(f, name.data);
	buffer_free(&name);
	return status;
}

static enum rs_status
set_up(struct names *q, const struct model_files *f)
{
	buffer_init(&q->scratch, TEXT_MAX);
	buffer_init(&q->text, TEXT_MAX);
	RS_TRY(schema_build(spec_settings(f->spec), &q->schema));
	RS_TRY(batch_init(&q->batch, &q->schema));
	RS_TRY(batch_reserve(&q->batch, 1));
	RS_TRY(memory_alloc(q->schema.n_tables + 1, sizeof *q->table, &q->table));
	RS_TRY(memory_alloc(q->schema.n_fields + 1, sizeof *q->feature, &q->feature));
	for (size_t i = 0; i < q->schema.n_fields; i++) {
		const size_t t = q->schema.field[i].table;

		feature_init(&q->feature[i], &q->schema, i, NULL);
		if (is_wanted(q, i))
			RS_TRY(find_table(q, f, t, &q->table[t].table));
	}
	return RS_OK;
}

static void
tear_down(struct names *q)
{
	for (size_t i = 0; q->table != NULL && i < q->schema.n_tables; i++) {
		id_set_free(&q->table[i].seen);
		free(q->table[i].name);
	}
	free(q->table);
	free(q->feature);
	batch_free(&q->batch);
	schema_free(&q->schema);
	buffer_free(&q->scratch);
	buffer_free(&q->text);
}

enum rs_status
inspect_names(const struct arguments *a, const struct model_files *f, const char *field)
{
	struct names q = { .only = field };
	struct text_list files;

	RS_TRY(model_data_files(a, f, &files));
	enum rs_status status = set_up(&q, f);
	if (status == RS_OK)
		status = read_data(&q, a, &files);
	for (size_t i = 0; status == RS_OK && i < q.schema.n_tables; i++)
		if (q.table[i].table != NULL)
			count_names(&q.table[i], q.schema.table[i].rows);
	if (status == RS_OK)
		status = print_names(&q, command_json(a));
	tear_down(&q);
	model_data_free(&files);
	return status;
}
