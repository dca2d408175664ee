/*
 * The index of a bundle.  The first byte says what the others are: 0 the file, anything else
 * its one block, to which sums and what else an index has are added here.
 */
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "export/bundle.h"
#include "tests/fuzz/place_fuzz.h"

/* a = 0.5, b = 1, 2; more that nobody names. */
static const float tensors[] = { 0.5f, 1, 2, 4, 8, 16, 32, 64 };

static void
put(struct buffer *out, const void *bytes, size_t n)
{
	FUZZ_CHECK(buffer_append(out, bytes, n) == RS_OK);
}

static void
put_varint(struct buffer *out, uint64_t x)
{
	for (; x >= 0x80; x >>= 7)
		put(out, &(unsigned char){ (unsigned char)(x | 0x80) }, 1);
	put(out, &(unsigned char){ (unsigned char)x }, 1);
}

/* Writes the block with its kind and sum, and its place into the handle. */
static void
put_block(struct buffer *out, const void *bytes, size_t n, struct buffer *handle)
{
	put_varint(handle, out->n);
	put_varint(handle, n);
	put(out, bytes, n);
	put(out, "", 1);
	const uint32_t crc = hash_crc32c_mask(hash_crc32c(0, out->data + out->n - n - 1, n + 1));
	put(out, &crc, sizeof crc);
}

static void
make_index(const uint8_t *block, size_t n, struct buffer *out)
{
	static const unsigned char none[] = { 0, 0, 0, 0, 1, 0, 0, 0 };
	static const unsigned char end[] = { 0x57, 0xfb, 0x80, 0x8b, 0x24, 0x75, 0x47, 0xdb };
	struct buffer handle, top, footer;

	buffer_init(&handle, 64);
	buffer_init(&top, 256);
	buffer_init(&footer, 256);
	put_block(out, block, n, &handle);
	put_block(out, none, sizeof none, &footer);
	put_varint(&top, 0);
	put_varint(&top, 1);
	put_varint(&top, handle.n);
	put(&top, "c", 1);
	put(&top, handle.data, handle.n);
	put(&top, none, sizeof none);
	put_block(out, top.data, top.n, &footer);
	while (footer.n < 40)
		put(&footer, "", 1);
	put(out, footer.data, footer.n);
	put(out, end, sizeof end);
	buffer_free(&handle);
	buffer_free(&top);
	buffer_free(&footer);
}

/* What has the shape has its numbers. */
static void
find(const struct bundle *b, const char *name, size_t rank)
{
	static const int64_t dim[] = { 2, 1 };
	const float *x;
	float sum = 0;

	if (bundle_find(b, name, dim, rank, &x) != RS_OK)
		return;
	for (size_t i = 0; i < (rank == 0 ? 1 : 2); i++)
		sum += x[i];
	FUZZ_CHECK(sum >= 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	char prefix[128];
	struct buffer index;
	struct bundle *b;

	if (n == 0)
		return 0;
	buffer_init(&index, (size_t)1 << 24);
	if (data[0] == 0)
		put(&index, data + 1, n - 1);
	else
		make_index(data + 1, n - 1, &index);
	snprintf(prefix, sizeof prefix, "%s/v", place_fuzz_directory());
	place_fuzz_write("v.index", index.data != NULL ? index.data : "", index.n);
	place_fuzz_write("v.data-00000-of-00001", tensors, sizeof tensors);
	buffer_free(&index);
	const enum rs_status status = bundle_open(prefix, &b);
	FUZZ_CHECK(status == RS_OK || status == RS_EDATA || status == RS_ERESOURCE);
	FUZZ_CHECK((status == RS_OK) == (b != NULL));
	for (size_t rank = 0; b != NULL && rank <= 2; rank++) {
		find(b, "a", rank);
		find(b, "b", rank);
	}
	bundle_close(b);
	return 0;
}
