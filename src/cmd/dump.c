/* The canonical dump of a model. */
#include "cmd/dump.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/number.h"
#include "cmd/command.h"

#define LINE_LIMIT  ((size_t)1 << 30)
#define FLUSH_BYTES ((size_t)64 << 10)

struct dump {
	const struct model_files *files;
	const char *field;
	int is_json;
	char *(*number)(char out[32], float value);
	struct buffer text;
};

static char *
print_hexfloat(char out[32], float value)
{
	snprintf(out, 32, "%a", (double)value);
	return out;
}

static char *
print_json(char out[32], float value)
{
	if (!isfinite(value))
		return memcpy(out, "null", 5);
	return number_print_float(out, value);
}

static const struct dump_format {
	const char *name;
	int is_json;
	char *(*number)(char out[32], float value);
} format_table[] = {
	{ "text", 0, number_print_float },
	{ "hexfloat", 0, print_hexfloat },
	{ "json", 1, print_json },
};

static enum rs_status
flush(struct dump *d, size_t least)
{
	if (d->text.n < least)
		return RS_OK;
	const enum rs_status status = d->text.n > 0 ? output_text(d->text.data, d->text.n) : RS_OK;
	d->text.n = 0;
	return status;
}

/* n floats, maybe unaligned, each after a separator. */
static enum rs_status
put_numbers(struct dump *d, const char *from, size_t n, char separator)
{
	char text[34];

	for (size_t i = 0; i < n; i++) {
		float value;
		memcpy(&value, from + i * sizeof value, sizeof value);
		text[0] = separator;
		d->number(text + 1, value);
		const size_t skip = d->is_json && i == 0;
		RS_TRY(buffer_append(&d->text, text + skip, strlen(text) - skip));
	}
	return RS_OK;
}

/* JSON strings of names: they are plain unless a field name is not. */
static enum rs_status
put_name(struct dump *d, const char *name)
{
	for (; *name != '\0'; name++) {
		const unsigned char c = (unsigned char)*name;
		if (d->is_json && (c == '"' || c == '\\' || c < ' '))
			RS_TRY(buffer_printf(&d->text, "\\u%04x", c));
		else
			RS_TRY(buffer_append(&d->text, name, 1));
	}
	return RS_OK;
}

/* --- text ---------------------------------------------------------------- */

static enum rs_status
text_param(struct dump *d, const struct dense_param *p, const char *suffix, const char *from)
{
	for (size_t r = 0; r < p->rows; r++) {
		RS_TRY(buffer_printf(&d->text, "%s%s %zu", p->name, suffix, r));
		RS_TRY(put_numbers(d, from + r * p->columns * sizeof(float), p->columns, ' '));
		RS_TRY(buffer_append(&d->text, "\n", 1));
		RS_TRY(flush(d, FLUSH_BYTES));
	}
	return RS_OK;
}

static enum rs_status
text_params(struct dump *d)
{
	static const char *const suffix[] = { "", ".m", ".v" };
	const struct dense_view *v = &d->files->dense;

	for (size_t i = 0; i < v->head.n_params; i++) {
		struct dense_param p;
		RS_TRY(dense_file_param(v, i, d->files->dense_path, &p));
		RS_TRY(buffer_printf(&d->text, "param %s %" PRIu64 " %" PRIu64 "\n", p.name, p.rows,
			p.columns));
		for (size_t k = 0; k < (v->head.has_state ? 3 : 1); k++)
			RS_TRY(text_param(d, &p, suffix[k], v->weight + (k * v->head.P + p.offset)
				* sizeof(float)));
	}
	return RS_OK;
}

static uint64_t
count_touched(const struct model_table *t)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < model_table_count(t); i++)
		n += (uint64_t)model_table_touched(t, model_table_id(t, i));
	return n;
}

static uint64_t
hash_row(const struct model_table *t, uint64_t id)
{
	const struct table_file_header *h = t->header;

	return hash_cat(hash_fingerprint64(model_table_weights(t, id), h->dim * sizeof(float)),
		hash_fingerprint64(model_table_slots(t, id), h->n_slot * sizeof(float)));
}

static enum rs_status
text_row(struct dump *d, const struct model_table *t, uint64_t id)
{
	RS_TRY(buffer_printf(&d->text, "%s %" PRIu64, t->header->name, id));
	RS_TRY(put_numbers(d, (const char *)model_table_weights(t, id), t->header->dim, ' '));
	if (t->header->n_slot > 0)
		RS_TRY(buffer_append(&d->text, " |", 2));
	RS_TRY(put_numbers(d, (const char *)model_table_slots(t, id), t->header->n_slot, ' '));
	RS_TRY(buffer_append(&d->text, "\n", 1));
	return flush(d, FLUSH_BYTES);
}

static enum rs_status
text_table(struct dump *d, const struct model_table *t)
{
	const struct table_file_header *h = t->header;
	uint64_t n_untouched = 0, hash = 0;

	RS_TRY(buffer_printf(&d->text, "table %s rows %" PRIu64 " dim %" PRIu32 " optimizer %s "
		"slots %" PRIu32 " touched %" PRIu64 "%s%s\n", h->name, h->rows, h->dim,
		h->optimizer, h->n_slot, count_touched(t),
		h->storage != ROW_FP32 ? " storage " : "",
		h->storage != ROW_FP32 ? row_storage_name(h->storage) : ""));
	for (uint64_t i = 0; i < model_table_count(t); i++) {
		const uint64_t id = model_table_id(t, i);

		if (model_table_touched(t, id)) {
			RS_TRY(text_row(d, t, id));
			continue;
		}
		hash = hash_cat(hash, hash_row(t, id));
		n_untouched++;
	}
	return buffer_printf(&d->text, "untouched %s %" PRIu64 " %016" PRIx64 "\n", h->name,
		n_untouched, hash);
}

static enum rs_status
text_all(struct dump *d)
{
	const struct dense_head *h = &d->files->dense.head;
	char number[32];

	RS_TRY(buffer_printf(&d->text, "recsys-train dump 1\n"));
	if (d->field == NULL) {
		RS_TRY(buffer_printf(&d->text, "step %" PRIu64 "\nskipped_steps "
			"%" PRIu64 "\nrate_factor %s\n",
			h->step, h->skipped_steps,
			number_print_double(number, d->files->manifest.progress.rate_factor)));
		RS_TRY(text_params(d));
	}
	for (size_t i = 0; i < d->files->n_tables; i++)
		if (dump_is_of_field(d->files->table[i].header->name, d->field))
			RS_TRY(text_table(d, &d->files->table[i]));
	return flush(d, 0);
}

/* --- JSON ---------------------------------------------------------------- */

static enum rs_status
json_param(struct dump *d, const struct dense_param *p)
{
	static const char *const key[] = { "weight", "m", "v" };
	const struct dense_view *v = &d->files->dense;

	RS_TRY(buffer_printf(&d->text, "{\"name\":\""));
	RS_TRY(put_name(d, p->name));
	RS_TRY(buffer_printf(&d->text, "\",\"rows\":%" PRIu64 ",\"columns\":%" PRIu64, p->rows,
		p->columns));
	for (size_t k = 0; k < (v->head.has_state ? 3 : 1); k++) {
		RS_TRY(buffer_printf(&d->text, ",\"%s\":[", key[k]));
		RS_TRY(put_numbers(d, v->weight + (k * v->head.P + p->offset) * sizeof(float),
			p->rows * p->columns, ','));
		RS_TRY(buffer_append(&d->text, "]", 1));
		RS_TRY(flush(d, FLUSH_BYTES));
	}
	return buffer_append(&d->text, "}", 1);
}

static enum rs_status
json_row(struct dump *d, const struct model_table *t, uint64_t id, int is_first)
{
	RS_TRY(buffer_printf(&d->text, "%s{\"row\":%" PRIu64 ",\"weight\":[", is_first ? "" : ",",
		id));
	RS_TRY(put_numbers(d, (const char *)model_table_weights(t, id), t->header->dim, ','));
	RS_TRY(buffer_append(&d->text, "],\"slots\":[", 11));
	RS_TRY(put_numbers(d, (const char *)model_table_slots(t, id), t->header->n_slot, ','));
	RS_TRY(buffer_append(&d->text, "]}", 2));
	return flush(d, FLUSH_BYTES);
}

static enum rs_status
json_table(struct dump *d, const struct model_table *t)
{
	const struct table_file_header *h = t->header;
	uint64_t n_untouched = 0, hash = 0;

	RS_TRY(buffer_printf(&d->text, "{\"name\":\""));
	RS_TRY(put_name(d, h->name));
	RS_TRY(buffer_printf(&d->text,
		"\",\"rows\":%" PRIu64 ",\"dim\":%" PRIu32 ",\"optimizer\":\"%s\","
		"\"storage\":\"%s\",\"touched\":[", h->rows, h->dim, h->optimizer,
		row_storage_name(h->storage)));
	for (uint64_t i = 0; i < model_table_count(t); i++) {
		const uint64_t id = model_table_id(t, i);

		if (model_table_touched(t, id)) {
			RS_TRY(json_row(d, t, id, i == n_untouched));
			continue;
		}
		hash = hash_cat(hash, hash_row(t, id));
		n_untouched++;
	}
	return buffer_printf(&d->text,
		"],\"untouched\":%" PRIu64 ",\"untouched_hash\":\"%016" PRIx64 "\"}",
		n_untouched, hash);
}

static enum rs_status
json_all(struct dump *d)
{
	const struct dense_view *v = &d->files->dense;
	const char *comma = "";

	RS_TRY(buffer_printf(&d->text,
		"{\"step\":%" PRIu64 ",\"skipped_steps\":%" PRIu64 ",\"params\":[",
		v->head.step, v->head.skipped_steps));
	for (size_t i = 0; d->field == NULL && i < v->head.n_params; i++) {
		struct dense_param p;
		RS_TRY(dense_file_param(v, i, d->files->dense_path, &p));
		RS_TRY(buffer_printf(&d->text, "%s", i > 0 ? "," : ""));
		RS_TRY(json_param(d, &p));
	}
	RS_TRY(buffer_printf(&d->text, "],\"tables\":["));
	for (size_t i = 0; i < d->files->n_tables; i++) {
		if (!dump_is_of_field(d->files->table[i].header->name, d->field))
			continue;
		RS_TRY(buffer_printf(&d->text, "%s", comma));
		RS_TRY(json_table(d, &d->files->table[i]));
		comma = ",";
	}
	RS_TRY(buffer_append(&d->text, "]}\n", 3));
	return flush(d, 0);
}

int
dump_is_of_field(const char *table, const char *field)
{
	if (field == NULL)
		return 1;
	const size_t n = strlen(field);
	return strncmp(table, field, n) == 0
		&& (table[n] == '\0' || strcmp(table + n, ".linear") == 0);
}

enum rs_status
dump_print(const struct model_files *f, const char *format, const char *field)
{
	for (size_t i = 0; i < sizeof format_table / sizeof format_table[0]; i++) {
		if (strcmp(format_table[i].name, format) != 0)
			continue;
		struct dump d = {
			.files = f, .field = field, .is_json = format_table[i].is_json,
			.number = format_table[i].number,
		};
		buffer_init(&d.text, LINE_LIMIT);
		const enum rs_status status = d.is_json ? json_all(&d) : text_all(&d);
		buffer_free(&d.text);
		return status;
	}
	return rs_fail(RS_EUSAGE, "--dump: there is no format '%s', wanted text, json or hexfloat",
		format);
}
