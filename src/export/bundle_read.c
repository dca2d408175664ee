/* The index of a bundle, and the tensors that it names. */
#include "export/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "export/tf.pb-c.h"

#define TYPE_FLOAT 1
#define FOOTER     48
#define TRAILER    5                       /* behind a block: its kind and CRC        */
#define KEY_LIMIT  ((size_t)1 << 16)
#define MAGIC      0xdb4775248b80fb57u

struct entry { char *name; Tf__BundleEntry *tensor; };

struct bundle {
	const char *prefix;                /* while it is read                        */
	struct file_map index, data;
	struct entry *entry;               /* [n]                                     */
	size_t n;
};

/* What is left of a block. */
struct cursor { const unsigned char *at, *end; };

static enum rs_status
damaged(const struct bundle *b, const char *what)
{
	return rs_fail(RS_EDATA, "'%s.index': %s", b->prefix, what);
}

static uint32_t
get_u32(const unsigned char *p)
{
	return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* UINT64_MAX: there is none. */
static uint64_t
get_varint(struct cursor *c)
{
	uint64_t x = 0;

	for (unsigned shift = 0; c->at < c->end && shift < 64; shift += 7) {
		const unsigned char byte = *c->at++;

		x |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return x;
	}
	c->at = c->end;
	return UINT64_MAX;
}

/* The entries of the block whose place the cursor is at. */
static enum rs_status
open_block(const struct bundle *b, struct cursor *handle, struct cursor *out)
{
	const uint64_t offset = get_varint(handle), size = get_varint(handle);
	const uint64_t all = b->index.size;

	if (offset > all || size > all - offset || all - offset - size < TRAILER || size < 4)
		return damaged(b, "a block is not in it");
	const unsigned char *const bytes = (const unsigned char *)b->index.data + offset;
	if (bytes[size] != 0)
		return damaged(b, "a block is compressed");
	if (get_u32(bytes + size + 1) != hash_crc32c_mask(hash_crc32c(0, bytes, size + 1)))
		return damaged(b, "the checksum of a block does not fit");
	const uint64_t restarts = get_u32(bytes + size - 4);
	if (restarts > (size - 4) / 4)
		return damaged(b, "a block is cut off");
	*out = (struct cursor){ bytes, bytes + size - 4 - 4 * restarts };
	return RS_OK;
}

/* The next entry: its key replaces what is in `key`. */
static enum rs_status
next_entry(const struct bundle *b, struct cursor *c, struct buffer *key, struct cursor *value)
{
	const uint64_t shared = get_varint(c), own = get_varint(c), size = get_varint(c);
	const uint64_t left = (uint64_t)(c->end - c->at);

	if (shared > key->n || own > left || size > left - own)
		return damaged(b, "an entry is cut off");
	key->n = (size_t)shared;
	RS_TRY(buffer_append(key, (const char *)c->at, (size_t)own));
	*value = (struct cursor){ c->at + own, c->at + own + size };
	c->at = value->end;
	return RS_OK;
}

static enum rs_status
check_header(const struct bundle *b, const struct cursor *value)
{
	Tf__BundleHeader *const header = tf__bundle_header__unpack(NULL,
		(size_t)(value->end - value->at), value->at);
	const int good = header != NULL && header->num_shards == 1 && header->endianness == 0;

	if (header != NULL)
		tf__bundle_header__free_unpacked(header, NULL);
	return good ? RS_OK : damaged(b, "not one file of little endian numbers");
}

static enum rs_status
add_entry(struct bundle *b, const struct buffer *key, const struct cursor *value)
{
	struct entry *const grown = realloc(b->entry, (b->n + 1) * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory");
	b->entry = grown;
	grown[b->n].name = strndup(key->data, key->n);
	grown[b->n].tensor = tf__bundle_entry__unpack(NULL, (size_t)(value->end - value->at),
		value->at);
	b->n++;
	return grown[b->n - 1].name != NULL && grown[b->n - 1].tensor != NULL ? RS_OK
		: damaged(b, "an entry cannot be read");
}

static enum rs_status
read_block(struct bundle *b, struct cursor block, struct buffer *key)
{
	struct cursor value;

	key->n = 0;
	while (block.at < block.end) {
		RS_TRY(next_entry(b, &block, key, &value));
		if (key->n == 0)
			RS_TRY(check_header(b, &value));
		else
			RS_TRY(add_entry(b, key, &value));
	}
	return RS_OK;
}

static enum rs_status
read_blocks(struct bundle *b, struct cursor top, struct buffer *key, struct buffer *inner)
{
	struct cursor handle, block;

	while (top.at < top.end) {
		RS_TRY(next_entry(b, &top, key, &handle));
		RS_TRY(open_block(b, &handle, &block));
		RS_TRY(read_block(b, block, inner));
	}
	return RS_OK;
}

static enum rs_status
read_index(struct bundle *b)
{
	struct buffer key, inner;
	struct cursor top;

	if (b->index.size < FOOTER)
		return damaged(b, "it is cut off");
	const unsigned char *const end = (const unsigned char *)b->index.data + b->index.size;
	struct cursor footer = { end - FOOTER, end - 8 };
	if (get_u32(end - 8) != (uint32_t)MAGIC || get_u32(end - 4) != (uint32_t)(MAGIC >> 32))
		return damaged(b, "it is no index of a bundle");
	RS_TRY(open_block(b, &footer, &top));          /* nothing is in that one          */
	RS_TRY(open_block(b, &footer, &top));
	buffer_init(&key, KEY_LIMIT);
	buffer_init(&inner, KEY_LIMIT);
	const enum rs_status status = read_blocks(b, top, &key, &inner);
	buffer_free(&key);
	buffer_free(&inner);
	return status;
}

/* Does the file have all bytes of every tensor, and the right ones? */
static enum rs_status
check_tensors(const struct bundle *b)
{
	for (size_t i = 0; i < b->n; i++) {
		const Tf__BundleEntry *const t = b->entry[i].tensor;
		const uint64_t offset = (uint64_t)t->offset, size = (uint64_t)t->size;

		if (offset > b->data.size || size > b->data.size - offset || offset % 4 != 0)
			return rs_fail(RS_EDATA, "'%s.data-00000-of-00001' is cut off: '%s'",
				b->prefix, b->entry[i].name);
		if (hash_crc32c_mask(hash_crc32c(0, b->data.data + offset, size)) != t->crc32c)
			return rs_fail(RS_EDATA, "'%s.data-00000-of-00001': the checksum of '%s' "
				"does not fit", b->prefix, b->entry[i].name);
	}
	return RS_OK;
}

static enum rs_status
map_file(const char *prefix, const char *suffix, struct file_map *out)
{
	char *path;

	if (asprintf(&path, "%s%s", prefix, suffix) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	const enum rs_status status = file_map_open(out, path);
	free(path);
	return status;
}

enum rs_status
bundle_open(const char *prefix, struct bundle **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	struct bundle *const b = *out;

	b->prefix = prefix;
	enum rs_status status = map_file(prefix, ".index", &b->index);
	if (status == RS_OK)
		status = map_file(prefix, ".data-00000-of-00001", &b->data);
	if (status == RS_OK)
		status = read_index(b);
	if (status == RS_OK)
		status = check_tensors(b);
	if (status != RS_OK) {
		bundle_close(b);
		*out = NULL;
	}
	return status;
}

void
bundle_close(struct bundle *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->n; i++) {
		free(b->entry[i].name);
		if (b->entry[i].tensor != NULL)
			tf__bundle_entry__free_unpacked(b->entry[i].tensor, NULL);
	}
	free(b->entry);
	file_map_close(&b->index);
	file_map_close(&b->data);
	free(b);
}

static int
has_shape(const Tf__BundleEntry *t, const int64_t *dim, size_t rank)
{
	uint64_t bytes = sizeof(float);

	if (t->dtype != TYPE_FLOAT || t->shape == NULL || t->shape->n_dim != rank)
		return 0;
	for (size_t k = 0; k < rank; k++) {
		if (t->shape->dim[k]->size != dim[k])
			return 0;
		if (__builtin_mul_overflow(bytes, (uint64_t)dim[k], &bytes))
			return 0;
	}
	return (uint64_t)t->size == bytes;
}

enum rs_status
bundle_find(const struct bundle *b, const char *name, const int64_t *dim, size_t rank,
	const float **out)
{
	for (size_t i = 0; i < b->n; i++) {
		if (strcmp(b->entry[i].name, name) != 0)
			continue;
		if (!has_shape(b->entry[i].tensor, dim, rank))
			return rs_fail(RS_EDATA, "variable '%s' has another shape", name);
		*out = (const float *)(const void *)(b->data.data + b->entry[i].tensor->offset);
		return RS_OK;
	}
	return rs_fail(RS_EDATA, "there is no variable '%s'", name);
}
