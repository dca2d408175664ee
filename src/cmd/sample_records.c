/*
 * Records of tf.Example, looked at as a table: the features are its columns, the
 * values of a list the items of a cell with bars between.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cmd/sample.h"
#include "data/example.h"
#include "data/source.h"
#include "data/tf_example.pb-c.h"
#include "data/tfrecord.h"

enum { READ_BYTES = 1 << 18, FEATURES_MAX = 20000 };

#define RECORD_BYTES_MAX ((size_t)64 << 20)

struct record_table {
	TfExample__Example **example;      /* [n]                                       */
	size_t n, capacity;
	char **name;                       /* [n_names] in order                        */
	size_t n_names;
};

static enum rs_status
read_bytes(const char *path, struct buffer *out)
{
	struct source *source;
	enum rs_status status;
	size_t got = 1;

	RS_TRY(source_open(path, &source));
	for (status = RS_OK; status == RS_OK && got > 0 && out->n + 2 * READ_BYTES <
		RECORD_BYTES_MAX;) {
		status = buffer_reserve(out, READ_BYTES);
		if (status == RS_OK)
			status = source_read(source, out->data + out->n, READ_BYTES, &got);
		out->n += status == RS_OK ? got : 0;
	}
	source_close(source);
	return status;
}

static enum rs_status
add_example(struct record_table *t, TfExample__Example *example)
{
	if (t->n == t->capacity) {
		const size_t capacity = t->capacity > 0 ? 2 * t->capacity : 256;
		TfExample__Example **grown = realloc(t->example, capacity * sizeof *grown);

		if (grown == NULL) {
			tf_example__example__free_unpacked(example, NULL);
			return rs_fail(RS_ERESOURCE, "out of memory");
		}
		t->example = grown;
		t->capacity = capacity;
	}
	t->example[t->n++] = example;
	return RS_OK;
}

/* What cannot be read is left out: training says what is wrong with it. */
static enum rs_status
take_records(struct record_table *t, const struct buffer *bytes, const char *path, uint64_t rows)
{
	RS_TRY(examples_check(path, 1, 0, bytes->data, bytes->n));
	for (size_t at = 0; at < bytes->n && t->n < rows;) {
		TfExample__Example *example;
		struct tfrecord r;

		tfrecord_read(bytes->data + at, bytes->n - at, &r);
		if (r.state != TFRECORD_WHOLE)
			break;
		example = tf_example__example__unpack(NULL, (size_t)r.n, (const uint8_t *)r.data);
		if (example != NULL)
			RS_TRY(add_example(t, example));
		at += r.frame;
	}
	return t->n > 0 ? RS_OK : rs_fail(RS_EDATA, "'%s': there are no records of tf.Example",
		path);
}

static int
name_order(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* A name that is no line of text cannot be a column's. */
static int
is_name(const ProtobufCBinaryData *key)
{
	for (size_t i = 0; i < key->len; i++)
		if (key->data[i] < 0x20)
			return 0;
	return key->len > 0;
}

static enum rs_status
add_name(struct record_table *t, const ProtobufCBinaryData *key)
{
	char *name;

	for (size_t i = 0; i < t->n_names; i++)
		if (strlen(t->name[i]) == key->len &&
			memcmp(t->name[i], key->data, key->len) == 0)
			return RS_OK;
	if (t->n_names == FEATURES_MAX || !is_name(key))
		return RS_OK;
	RS_TRY(memory_alloc(key->len + 1, 1, &name));
	memcpy(name, key->data, key->len);
	t->name[t->n_names++] = name;
	return RS_OK;
}

static enum rs_status
take_names(struct record_table *t)
{
	RS_TRY(memory_alloc(FEATURES_MAX, sizeof *t->name, &t->name));
	for (size_t i = 0; i < t->n && i < 200; i++) {
		const TfExample__Features *features = t->example[i]->features;

		for (size_t k = 0; features != NULL && k < features->n_feature; k++)
			RS_TRY(add_name(t, &features->feature[k]->key));
	}
	qsort(t->name, t->n_names, sizeof *t->name, name_order);
	return RS_OK;
}

/* Bytes that would end a cell become blanks. */
static enum rs_status
print_bytes(struct buffer *out, const ProtobufCBinaryData *value)
{
	RS_TRY(buffer_append(out, value->data, value->len));
	for (size_t i = out->n - value->len; i < out->n; i++)
		if ((unsigned char)out->data[i] < 0x20)
			out->data[i] = ' ';
	return RS_OK;
}

static enum rs_status
print_value(struct buffer *out, const TfExample__Feature *value)
{
	char text[32];

	if (value->kind_case == TF_EXAMPLE__FEATURE__KIND_BYTES)
		for (size_t i = 0; i < value->bytes->n_value; i++) {
			RS_TRY(buffer_printf(out, i > 0 ? "|" : "%s", ""));
			RS_TRY(print_bytes(out, &value->bytes->value[i]));
		}
	else if (value->kind_case == TF_EXAMPLE__FEATURE__KIND_FLOATS)
		for (size_t i = 0; i < value->floats->n_value; i++)
			RS_TRY(buffer_printf(out, "%s%s", i > 0 ? "|" : "",
				example_float_text(text, value->floats->value[i])));
	else if (value->kind_case == TF_EXAMPLE__FEATURE__KIND_INTEGERS)
		for (size_t i = 0; i < value->integers->n_value; i++)
			RS_TRY(buffer_printf(out, "%s%" PRId64, i > 0 ? "|" : "",
				value->integers->value[i]));
	return RS_OK;
}

static const TfExample__Feature *
find_value(const TfExample__Example *example, const char *name)
{
	const TfExample__Features *features = example->features;

	for (size_t k = 0; features != NULL && k < features->n_feature; k++) {
		const TfExample__Entry *entry = features->feature[k];

		if (entry->key.len == strlen(name) &&
			memcmp(entry->key.data, name, entry->key.len) == 0)
			return entry->value;
	}
	return NULL;
}

static enum rs_status
print_table(const struct record_table *t, struct buffer *out)
{
	for (size_t k = 0; k < t->n_names; k++)
		RS_TRY(buffer_printf(out, "%s%s", t->name[k], k + 1 < t->n_names ? "\t" : "\n"));
	for (size_t i = 0; i < t->n; i++)
		for (size_t k = 0; k < t->n_names; k++) {
			const TfExample__Feature *value = find_value(t->example[i], t->name[k]);

			if (value != NULL)
				RS_TRY(print_value(out, value));
			RS_TRY(buffer_printf(out, k + 1 < t->n_names ? "\t" : "\n"));
		}
	return RS_OK;
}

enum rs_status
sample_records(const char *path, uint64_t rows, struct buffer *out)
{
	struct record_table t = { 0 };
	struct buffer bytes;
	enum rs_status status;

	buffer_init(&bytes, RECORD_BYTES_MAX);
	status = read_bytes(path, &bytes);
	if (status == RS_OK)
		status = take_records(&t, &bytes, path, rows);
	if (status == RS_OK)
		status = take_names(&t);
	if (status == RS_OK)
		status = print_table(&t, out);
	for (size_t i = 0; i < t.n; i++)
		tf_example__example__free_unpacked(t.example[i], NULL);
	for (size_t i = 0; i < t.n_names; i++)
		free(t.name[i]);
	free(t.name);
	free(t.example);
	buffer_free(&bytes);
	return status;
}
