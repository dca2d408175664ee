/*
 * items.bin: the catalogue of a version.  Little-endian, in this order:
 *
 *     char magic[8]  "RSITEMS1"
 *     u64  n, text_bytes, n_columns
 *     n_columns times: u64 name (Fingerprint64 of the field), kind, N
 *     u64  key[n], rows[n], text_end[n];  char text[text_bytes]
 *     the columns: numbers f32 value[n], u8 missing[n]; ids u64[N]; lists besides
 *     u32 offset[n+1], and with weights f32[N]
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "data/catalogue.h"

static const char items_magic[8] = { 'R', 'S', 'I', 'T', 'E', 'M', 'S', '1' };

struct items_head {
	char     magic[8];
	uint64_t n, text_bytes, n_columns;
};

enum column_kind { COLUMN_NUMBERS, COLUMN_IDS, COLUMN_LISTS, COLUMN_WEIGHTED };

struct column_head {
	uint64_t name, kind, N;
};

/* A column of items.fields: f < F an id column, else dense column f - F. */
static struct column_head
column_head(const struct catalogue *c, const struct schema *schema, size_t f)
{
	const size_t field = f < schema->F ? schema->column_field[f] :
		schema->dense_field[f - schema->F];
	const char *const name = schema->field[field].name;
	const struct batch_column *const column = &c->items.column[f < schema->F ? f : 0];
	struct column_head head = { hash_fingerprint64(name, strlen(name)), COLUMN_NUMBERS, c->n };

	if (f >= schema->F)
		return head;
	head.kind = column->weight != NULL ? COLUMN_WEIGHTED :
		column->offset != NULL ? COLUMN_LISTS : COLUMN_IDS;
	head.N = column->N;
	return head;
}

static size_t
n_item_columns(const struct schema *schema)
{
	size_t n = 0;

	for (size_t f = 0; f < schema->F + schema->K; f++)
		n += schema->of_item[f];
	return n;
}

/* --- saving ---------------------------------------------------------------- */

static enum rs_status
write_numbers(const struct batch *items, size_t k, struct file_writer *w)
{
	for (size_t i = 0; i < items->B; i++)
		RS_TRY(file_writer_write(w, &items->dense[i * items->K + k], sizeof(float)));
	for (size_t i = 0; i < items->B; i++)
		RS_TRY(file_writer_write(w, &items->missing[i * items->K + k], 1));
	return RS_OK;
}

static enum rs_status
write_column(const struct batch *items, size_t f, struct file_writer *w)
{
	const struct batch_column *column;

	if (f >= items->F)
		return write_numbers(items, f - items->F, w);
	column = &items->column[f];
	RS_TRY(file_writer_write(w, column->ids, column->N * sizeof *column->ids));
	if (column->offset != NULL)
		RS_TRY(file_writer_write(
			w, column->offset, (items->B + 1) * sizeof *column->offset));
	if (column->weight != NULL)
		RS_TRY(file_writer_write(w, column->weight, column->N * sizeof *column->weight));
	return RS_OK;
}

enum rs_status
catalogue_save(const struct catalogue *c, const struct schema *schema, struct file_writer *w)
{
	struct items_head head = { .n = c->n, .text_bytes = c->n > 0 ? c->text_end[c->n - 1] : 0,
		.n_columns = n_item_columns(schema) };

	memcpy(head.magic, items_magic, sizeof head.magic);
	RS_TRY(file_writer_write(w, &head, sizeof head));
	for (size_t f = 0; f < schema->F + schema->K; f++) {
		const struct column_head column = column_head(c, schema, f);

		if (schema->of_item[f])
			RS_TRY(file_writer_write(w, &column, sizeof column));
	}
	RS_TRY(file_writer_write(w, c->key, c->n * sizeof *c->key));
	RS_TRY(file_writer_write(w, c->rows, c->n * sizeof *c->rows));
	RS_TRY(file_writer_write(w, c->text_end, c->n * sizeof *c->text_end));
	RS_TRY(file_writer_write(w, c->text, head.text_bytes));
	for (size_t f = 0; f < schema->F + schema->K; f++)
		if (schema->of_item[f])
			RS_TRY(write_column(&c->items, f, w));
	return RS_OK;
}

/* --- loading --------------------------------------------------------------- */

struct reading {
	const struct schema *schema;
	const char *path;
	struct file_map map;
	size_t at;
	struct items_head head;
	struct catalogue *c;
};

/* Copies n elements to `to`, which has room for them. */
static enum rs_status
take(struct reading *r, void *to, size_t n, size_t size)
{
	if (n > (r->map.size - r->at) / size)
		return rs_fail_at(RS_EDATA, r->path, 0, 0, "damaged: it ends early");
	memcpy(to, r->map.data + r->at, n * size);
	r->at += n * size;
	return RS_OK;
}

static enum rs_status
damaged(const struct reading *r, const char *what)
{
	return rs_fail_at(RS_EDATA, r->path, 0, 0, "damaged: %s", what);
}

static enum rs_status
take_head(struct reading *r)
{
	RS_TRY(take(r, &r->head, 1, sizeof r->head));
	if (memcmp(r->head.magic, items_magic, sizeof items_magic) != 0)
		return rs_fail_at(RS_EDATA, r->path, 0, 0, "not a file of items");
	if (r->head.n == 0 || r->head.n > r->map.size / sizeof(uint64_t) ||
	    r->head.text_bytes > r->map.size)
		return damaged(r, "its size does not hold the items");
	return RS_OK;
}

static enum rs_status
take_keys(struct reading *r)
{
	const size_t n = (size_t)r->head.n;
	struct catalogue *const c = r->c;
	uint64_t *key;
	enum rs_status status;

	RS_TRY(memory_alloc(n, sizeof *key, &key));
	status = take(r, key, n, sizeof *key);
	for (size_t i = 0; status == RS_OK && i < n; i++) {
		uint32_t number;
		int is_new;

		status = catalogue_count(c, key[i], 0, &number, &is_new);
		if (status == RS_OK && !is_new)
			status = damaged(r, "an item is there twice");
	}
	free(key);
	RS_TRY(status);
	RS_TRY(take(r, c->rows, n, sizeof *c->rows));
	RS_TRY(take(r, c->text_end, n, sizeof *c->text_end));
	for (size_t i = 0; i < n; i++)
		if (c->text_end[i] > r->head.text_bytes ||
		    (i > 0 && c->text_end[i] < c->text_end[i - 1]))
			return damaged(r, "a name lies outside");
	RS_TRY(memory_alloc((size_t)r->head.text_bytes + 1, 1, &c->text));
	return take(r, c->text, (size_t)r->head.text_bytes, 1);
}

static enum rs_status
take_numbers(struct reading *r, size_t k)
{
	struct batch *const items = &r->c->items;

	for (size_t i = 0; i < items->B; i++)
		RS_TRY(take(r, &items->dense[i * items->K + k], 1, sizeof(float)));
	for (size_t i = 0; i < items->B; i++)
		RS_TRY(take(r, &items->missing[i * items->K + k], 1, 1));
	return RS_OK;
}

static enum rs_status
take_ids(struct reading *r, size_t f, size_t N)
{
	const struct schema_field *const field = &r->schema->field[r->schema->column_field[f]];
	const uint64_t buckets = r->schema->table[field->table].buckets;
	struct batch *const items = &r->c->items;
	struct batch_column *const column = &items->column[f];

	if (N > r->map.size / sizeof *column->ids || (column->offset == NULL && N != items->B))
		return damaged(r, "a column does not hold the items");
	RS_TRY(batch_reserve_ids(items, f, N));
	column->N = N;
	RS_TRY(take(r, column->ids, N, sizeof *column->ids));
	for (size_t i = 0; i < N; i++)
		if (column->ids[i] > buckets)
			return damaged(r, "an id lies outside of its table");
	if (column->offset == NULL)
		return RS_OK;
	RS_TRY(take(r, column->offset, items->B + 1, sizeof *column->offset));
	for (size_t i = 0; i < items->B; i++)
		if (column->offset[i] > column->offset[i + 1])
			return damaged(r, "the items of a column are not in order");
	if (column->offset[0] != 0 || column->offset[items->B] != N)
		return damaged(r, "a column does not hold the items");
	return column->weight == NULL ? RS_OK : take(r, column->weight, N, sizeof *column->weight);
}

/* The columns the file names are those of the schema, one by one. */
static enum rs_status
check_columns(struct reading *r, struct column_head *head)
{
	size_t n = 0;

	if (r->head.n_columns != n_item_columns(r->schema))
		return rs_fail_at(RS_ESPEC, r->path, 0, 0,
			"the items saved have %zu fields, items.fields has %zu",
			(size_t)r->head.n_columns, n_item_columns(r->schema));
	RS_TRY(take(r, head, (size_t)r->head.n_columns, sizeof *head));
	for (size_t f = 0; f < r->schema->F + r->schema->K; f++) {
		const struct column_head wanted = column_head(r->c, r->schema, f);

		if (!r->schema->of_item[f])
			continue;
		if (head[n].name != wanted.name || head[n].kind != wanted.kind)
			return rs_fail_at(RS_ESPEC, r->path, 0, 0,
				"the items saved have other fields than items.fields");
		n++;
	}
	return RS_OK;
}

static enum rs_status
take_columns(struct reading *r, const struct column_head *head)
{
	struct batch *const items = &r->c->items;
	size_t n = 0;

	for (size_t i = 0; i < r->head.n; i++) {
		RS_TRY(batch_add_missing(items, r->schema));
		items->item[i] = r->c->key[i];
	}
	for (size_t f = 0; f < r->schema->F + r->schema->K; f++) {
		if (!r->schema->of_item[f])
			continue;
		RS_TRY(f < r->schema->F ? take_ids(r, f, (size_t)head[n].N) :
					  take_numbers(r, f - r->schema->F));
		n++;
	}
	return r->at == r->map.size ? RS_OK : damaged(r, "there is more behind its end");
}

static enum rs_status
read_all(struct reading *r)
{
	struct column_head *head;
	enum rs_status status;

	RS_TRY(take_head(r));
	RS_TRY(memory_alloc(1, sizeof *r->c, &r->c));
	RS_TRY(batch_init(&r->c->items, r->schema));
	RS_TRY(memory_alloc(n_item_columns(r->schema) + 1, sizeof *head, &head));
	status = check_columns(r, head);
	if (status == RS_OK)
		status = take_keys(r);
	if (status == RS_OK)
		status = take_columns(r, head);
	free(head);
	return status;
}

enum rs_status
catalogue_load(const struct schema *schema, const char *path, struct catalogue **out)
{
	struct reading r = { .schema = schema, .path = path };
	enum rs_status status;

	*out = NULL;
	if (schema->item_field == schema->n_fields)
		return rs_fail_at(RS_ESPEC, path, 0, 0, "items, but the spec has no items.key");
	RS_TRY(file_map_open(&r.map, path));
	status = read_all(&r);
	file_map_close(&r.map);
	if (status != RS_OK) {
		catalogue_free(r.c);
		return status;
	}
	*out = r.c;
	return RS_OK;
}

enum rs_status
catalogue_peek(const char *path, uint64_t *n)
{
	struct reading r = { .path = path };
	enum rs_status status;

	RS_TRY(file_map_open(&r.map, path));
	status = take_head(&r);
	file_map_close(&r.map);
	*n = r.head.n;
	return status;
}
