/* Tensors behind each other, and the index of their names. */
#include "export/bundle.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "export/tf.pb-c.h"

#define TYPE_FLOAT     1
#define BLOCK_BYTES    262144
#define RESTART_EVERY  16
#define INDEX_LIMIT    ((size_t)1 << 30)
#define MAGIC          0xdb4775248b80fb57u
#define FOOTER_HANDLES 40

/* A block being made: entries in order, then where whole keys stand. */
struct block {
	struct buffer bytes, key;          /* key: the last one                       */
	struct buffer restart;             /* uint32_t, little endian                 */
	size_t n, every;                   /* entries; a whole key every so many      */
};

struct bundle_writer {
	char *prefix;
	struct file_writer data, index;
	int has_data, has_index;
	struct block block, top;           /* of data; of the blocks                  */
	char *name;                        /* of the tensor being written, or NULL    */
	Tf__BundleEntry entry;
	Tf__Shape shape;
	Tf__Dim dim[8], *dims[8];
	uint32_t crc;
};

/* --- blocks ---------------------------------------- */

static void
block_init(struct block *b, size_t every)
{
	buffer_init(&b->bytes, INDEX_LIMIT);
	buffer_init(&b->key, INDEX_LIMIT);
	buffer_init(&b->restart, INDEX_LIMIT);
	b->n = 0;
	b->every = every;
}

static void
block_free(struct block *b)
{
	buffer_free(&b->bytes);
	buffer_free(&b->key);
	buffer_free(&b->restart);
}

static enum rs_status
put_varint(struct buffer *to, uint64_t x)
{
	char bytes[10];
	size_t n = 0;

	for (; x >= 0x80; x >>= 7)
		bytes[n++] = (char)(x | 0x80);
	bytes[n++] = (char)x;
	return buffer_append(to, bytes, n);
}

static enum rs_status
put_u32(struct buffer *to, uint32_t x)
{
	const char bytes[] = { (char)x, (char)(x >> 8), (char)(x >> 16), (char)(x >> 24) };

	return buffer_append(to, bytes, sizeof bytes);
}

static enum rs_status
block_add(struct block *b, const char *key, size_t n, const void *value, size_t size)
{
	size_t shared = 0;

	if (b->n % b->every == 0)
		RS_TRY(put_u32(&b->restart, (uint32_t)b->bytes.n));
	else
		while (shared < n && shared < b->key.n && key[shared] == b->key.data[shared])
			shared++;
	RS_TRY(put_varint(&b->bytes, shared));
	RS_TRY(put_varint(&b->bytes, n - shared));
	RS_TRY(put_varint(&b->bytes, size));
	RS_TRY(buffer_append(&b->bytes, key + shared, n - shared));
	RS_TRY(buffer_append(&b->bytes, value, size));
	b->key.n = 0;
	b->n++;
	return buffer_append(&b->key, key, n);
}

/* Writes the block; its place becomes `handle`. */
static enum rs_status
block_write(struct bundle_writer *w, struct block *b, struct buffer *handle)
{
	const uint64_t offset = w->index.size;

	if (b->restart.n == 0)
		RS_TRY(put_u32(&b->restart, 0));
	RS_TRY(buffer_append(&b->bytes, b->restart.data, b->restart.n));
	RS_TRY(put_u32(&b->bytes, (uint32_t)(b->restart.n / 4)));
	RS_TRY(put_varint(handle, offset));
	RS_TRY(put_varint(handle, b->bytes.n));
	RS_TRY(buffer_append(&b->bytes, "", 1));           /* not compressed          */
	RS_TRY(put_u32(&b->bytes, hash_crc32c_mask(hash_crc32c(0, b->bytes.data, b->bytes.n))));
	RS_TRY(file_writer_write(&w->index, b->bytes.data, b->bytes.n));
	b->bytes.n = b->restart.n = b->n = 0;
	return RS_OK;
}

/* A short key that is not before the last of the block, and before `next` when there is one. */
static size_t
separator(struct buffer *key, const char *next, size_t n)
{
	size_t i = 0;

	while (next != NULL && i < n && i < key->n && key->data[i] == next[i])
		i++;
	if (next == NULL)
		while (i < key->n && (unsigned char)key->data[i] == 0xff)
			i++;
	if (i >= key->n || (next != NULL && i >= n))
		return key->n;
	const unsigned char byte = (unsigned char)key->data[i];
	if (byte == 0xff || (next != NULL && byte + 1 >= (unsigned char)next[i]))
		return key->n;
	key->data[i] = (char)(byte + 1);
	return i + 1;
}

/* The block of data ends; its place goes into the block of blocks. */
static enum rs_status
end_block(struct bundle_writer *w, const char *next, size_t n)
{
	struct buffer handle;

	buffer_init(&handle, 64);
	enum rs_status status = block_write(w, &w->block, &handle);
	const size_t size = separator(&w->block.key, next, n);
	if (status == RS_OK)
		status = block_add(&w->top, size > 0 ? w->block.key.data : "", size, handle.data,
			handle.n);
	buffer_free(&handle);
	return status;
}

static enum rs_status
add_message(struct bundle_writer *w, const char *key, const ProtobufCMessage *message)
{
	uint8_t bytes[512];
	const size_t size = protobuf_c_message_get_packed_size(message);

	if (size > sizeof bytes)
		return rs_fail(RS_ECREATE, "'%s': the entry of '%s' is too long", w->prefix, key);
	if (w->block.bytes.n >= BLOCK_BYTES)
		RS_TRY(end_block(w, key, strlen(key)));
	(void)protobuf_c_message_pack(message, bytes);
	return block_add(&w->block, key, strlen(key), bytes, size);
}

/* --- the writer ---------------------------------------- */

static enum rs_status
open_file(const char *prefix, const char *suffix, struct file_writer *out)
{
	char *path;

	if (asprintf(&path, "%s%s", prefix, suffix) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory");
	const enum rs_status status = file_writer_open(out, path);
	free(path);
	return status;
}

static enum rs_status
put_header(struct bundle_writer *w)
{
	Tf__BundleHeader header;
	Tf__Versions version;

	tf__bundle_header__init(&header);
	tf__versions__init(&version);
	version.has_producer = 1;
	version.producer = 1;
	header.has_num_shards = 1;
	header.num_shards = 1;
	header.version = &version;
	return add_message(w, "", &header.base);
}

enum rs_status
bundle_writer_open(const char *prefix, struct bundle_writer **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	struct bundle_writer *const w = *out;

	block_init(&w->block, RESTART_EVERY);
	block_init(&w->top, 1);
	enum rs_status status = memory_strdup(prefix, &w->prefix);
	if (status == RS_OK)
		status = open_file(prefix, ".data-00000-of-00001", &w->data);
	w->has_data = status == RS_OK;
	if (status == RS_OK)
		status = open_file(prefix, ".index", &w->index);
	w->has_index = w->has_data && status == RS_OK;
	if (status == RS_OK)
		status = put_header(w);
	if (status != RS_OK) {
		bundle_writer_close(w);
		*out = NULL;
	}
	return status;
}

/* The tensor is complete: its entry. */
static enum rs_status
end_tensor(struct bundle_writer *w)
{
	if (w->name == NULL)
		return RS_OK;
	w->entry.size = (int64_t)w->data.size - w->entry.offset;
	w->entry.has_size = w->entry.size != 0;
	w->entry.has_offset = w->entry.offset != 0;
	w->entry.crc32c = hash_crc32c_mask(w->crc);
	w->entry.has_crc32c = 1;
	const enum rs_status status = add_message(w, w->name, &w->entry.base);
	free(w->name);
	w->name = NULL;
	return status;
}

enum rs_status
bundle_writer_begin(struct bundle_writer *w, const char *name, const int64_t *dim, size_t rank)
{
	RS_TRY(end_tensor(w));
	RS_TRY(memory_strdup(name, &w->name));
	tf__bundle_entry__init(&w->entry);
	tf__shape__init(&w->shape);
	w->entry.has_dtype = 1;
	w->entry.dtype = TYPE_FLOAT;
	w->entry.shape = &w->shape;
	w->entry.offset = (int64_t)w->data.size;
	w->shape.n_dim = rank;
	w->shape.dim = w->dims;
	for (size_t k = 0; k < rank; k++) {
		tf__dim__init(&w->dim[k]);
		w->dim[k].size = dim[k];
		w->dim[k].has_size = dim[k] != 0;
		w->dims[k] = &w->dim[k];
	}
	w->crc = 0;
	return RS_OK;
}

enum rs_status
bundle_writer_add(struct bundle_writer *w, const float *x, size_t n)
{
	w->crc = hash_crc32c(w->crc, x, n * sizeof *x);
	return file_writer_write(&w->data, x, n * sizeof *x);
}

/* Behind the blocks: an empty one, that of the blocks, and where they are. */
static enum rs_status
put_footer(struct bundle_writer *w, struct buffer *footer)
{
	static const char zero[FOOTER_HANDLES];
	struct block empty;

	RS_TRY(end_block(w, NULL, 0));
	block_init(&empty, RESTART_EVERY);
	const enum rs_status status = block_write(w, &empty, footer);
	block_free(&empty);
	RS_TRY(status);
	RS_TRY(block_write(w, &w->top, footer));
	RS_TRY(buffer_append(footer, zero, FOOTER_HANDLES - footer->n));
	RS_TRY(put_u32(footer, (uint32_t)MAGIC));
	RS_TRY(put_u32(footer, (uint32_t)(MAGIC >> 32)));
	return file_writer_write(&w->index, footer->data, footer->n);
}

enum rs_status
bundle_writer_commit(struct bundle_writer *w)
{
	struct buffer footer;

	RS_TRY(end_tensor(w));
	RS_TRY(file_writer_commit(&w->data));
	buffer_init(&footer, 64);
	enum rs_status status = put_footer(w, &footer);
	buffer_free(&footer);
	if (status == RS_OK)
		status = file_writer_commit(&w->index);
	return status;
}

void
bundle_writer_close(struct bundle_writer *w)
{
	if (w == NULL)
		return;
	if (w->has_data)
		file_writer_close(&w->data);
	if (w->has_index)
		file_writer_close(&w->index);
	block_free(&w->block);
	block_free(&w->top);
	free(w->name);
	free(w->prefix);
	free(w);
}
