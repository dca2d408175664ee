/*
 * Writes tf.Example by hand, so that the reader is not tested by its own library:
 *
 *     struct example_bytes e = { .n = 0 };
 *     example_text(&e, "c", "abc");  example_integers(&e, "ids", 2, 3, -1);
 *     example_frame(&file, &e);
 */
#ifndef TESTS_DATA_EXAMPLE_BED_H
#define TESTS_DATA_EXAMPLE_BED_H

#include <stdarg.h>
#include <string.h>

#include "tests/test.h"

#include "base/hash.h"

struct example_bytes {
	uint8_t bytes[1 << 16];
	size_t n;
};

static inline void
example_put(struct example_bytes *to, const void *bytes, size_t n)
{
	assert_true(to->n + n <= sizeof to->bytes);
	memcpy(to->bytes + to->n, bytes, n);
	to->n += n;
}

static inline void
example_varint(struct example_bytes *to, uint64_t value)
{
	uint8_t byte;

	do {
		byte = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
		example_put(to, &byte, 1);
		value >>= 7;
	} while (value > 0);
}

/* A field of length-delimited bytes. */
static inline void
example_field(struct example_bytes *to, unsigned field, const void *bytes, size_t n)
{
	example_varint(to, field << 3 | 2);
	example_varint(to, n);
	example_put(to, bytes, n);
}

/* The map entry of one feature, its value already encoded. */
static inline void
example_entry(struct example_bytes *to, const char *key, const struct example_bytes *value)
{
	static struct example_bytes entry;

	entry.n = 0;
	example_field(&entry, 1, key, strlen(key));
	if (value != NULL)
		example_field(&entry, 2, value->bytes, value->n);
	example_field(to, 1, entry.bytes, entry.n);
}

static inline void
example_kind(struct example_bytes *to, const char *key, unsigned kind,
	const struct example_bytes *list)
{
	static struct example_bytes feature;

	feature.n = 0;
	example_field(&feature, kind, list->bytes, list->n);
	example_entry(to, key, &feature);
}

/* NULL ends the texts. */
static inline void
example_texts(struct example_bytes *to, const char *key, ...)
{
	static struct example_bytes list;
	const char *text;
	va_list texts;

	list.n = 0;
	va_start(texts, key);
	while ((text = va_arg(texts, const char *)) != NULL)
		example_field(&list, 1, text, strlen(text));
	va_end(texts);
	example_kind(to, key, 1, &list);
}

static inline void
example_floats(struct example_bytes *to, const char *key, size_t n, const float *value, int packed)
{
	static struct example_bytes list;

	list.n = 0;
	if (packed)
		example_field(&list, 1, value, n * sizeof *value);
	for (size_t i = 0; !packed && i < n; i++) {
		example_varint(&list, 1 << 3 | 5);
		example_put(&list, &value[i], sizeof *value);
	}
	example_kind(to, key, 2, &list);
}

static inline void
example_float(struct example_bytes *to, const char *key, float value)
{
	example_floats(to, key, 1, &value, 1);
}

static inline void
example_integers(struct example_bytes *to, const char *key, size_t n, const int64_t *value,
	int packed)
{
	static struct example_bytes list, run;

	list.n = run.n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!packed)
			example_varint(&list, 1 << 3);
		example_varint(packed ? &run : &list, (uint64_t)value[i]);
	}
	if (packed)
		example_field(&list, 1, run.bytes, run.n);
	example_kind(to, key, 3, &list);
}

static inline void
example_integer(struct example_bytes *to, const char *key, int64_t value)
{
	example_integers(to, key, 1, &value, 1);
}

static inline void
example_crc(struct example_bytes *to, const void *bytes, size_t n)
{
	const uint32_t crc = hash_crc32c_mask(hash_crc32c(0, bytes, n));

	example_put(to, &crc, sizeof crc);
}

/* A record of any data. */
static inline void
example_record(struct example_bytes *file, const void *data, size_t size)
{
	const uint64_t n = size;

	example_put(file, &n, sizeof n);
	example_crc(file, &n, sizeof n);
	example_put(file, data, size);
	example_crc(file, data, size);
}

/* The features as an Example in a record; they are empty afterwards. */
static inline void
example_frame(struct example_bytes *file, struct example_bytes *features)
{
	static struct example_bytes example;

	example.n = 0;
	example_field(&example, 1, features->bytes, features->n);
	example_record(file, example.bytes, example.n);
	features->n = 0;
}

#endif
