/*
 * Where records end, and whether they are as they were written.
 */
#include "data/tfrecord.h"

#include "base/hash.h"
#include "data/id_hash.h"

void
tfrecord_read(const char *text, size_t n, struct tfrecord *out)
{
	*out = (struct tfrecord){ .state = TFRECORD_CUT, .frame = n, .data = text };
	if (n < TFRECORD_HEAD)
		return;
	out->n = id_load64(text);
	out->data = text + TFRECORD_HEAD;
	out->stored = (uint32_t)id_load32(text + 8);
	out->computed = hash_crc32c_mask(hash_crc32c(0, text, 8));
	if (out->stored != out->computed) {
		out->state = TFRECORD_BAD_LENGTH;
	} else if (n >= TFRECORD_FRAME && out->n <= n - TFRECORD_FRAME) {
		out->state = TFRECORD_WHOLE;
		out->frame = (size_t)out->n + TFRECORD_FRAME;
	}
}

int
tfrecord_data_is_sound(const struct tfrecord *r, uint32_t *stored, uint32_t *computed)
{
	*stored = (uint32_t)id_load32(r->data + r->n);
	*computed = hash_crc32c_mask(hash_crc32c(0, r->data, (size_t)r->n));
	return *stored == *computed;
}

size_t
tfrecord_split(const char *text, size_t n, int at_end)
{
	struct tfrecord r;
	size_t at = 0;

	while (at < n) {
		tfrecord_read(text + at, n - at, &r);
		if (r.state == TFRECORD_BAD_LENGTH ? at == 0 : r.state == TFRECORD_CUT && at_end)
			return n;
		if (r.state != TFRECORD_WHOLE)
			break;
		at += r.frame;
	}
	return at;
}

uint64_t
tfrecord_count(const char *text, size_t n)
{
	struct tfrecord r = { .state = TFRECORD_WHOLE };
	uint64_t records = 0;

	for (size_t at = 0; at < n && r.state == TFRECORD_WHOLE; at += r.frame) {
		tfrecord_read(text + at, n - at, &r);
		records++;
	}
	return records;
}

uint64_t
tfrecord_overhang(const char *text, size_t n)
{
	struct tfrecord r;

	tfrecord_read(text, n, &r);
	if (r.state != TFRECORD_CUT || n < TFRECORD_HEAD || r.n > UINT64_MAX - TFRECORD_FRAME)
		return 0;
	return r.n + TFRECORD_FRAME - n;
}

static enum rs_status
append_crc(struct buffer *out, const void *bytes, size_t n)
{
	const uint32_t crc = hash_crc32c_mask(hash_crc32c(0, bytes, n));
	const unsigned char little[4] = {
		crc & 0xff, crc >> 8 & 0xff, crc >> 16 & 0xff, crc >> 24,
	};

	return buffer_append(out, little, sizeof little);
}

enum rs_status
tfrecord_append(struct buffer *out, const void *data, size_t n)
{
	unsigned char length[8];

	for (size_t i = 0; i < sizeof length; i++)
		length[i] = (unsigned char)((uint64_t)n >> 8 * i & 0xff);
	RS_TRY(buffer_append(out, length, sizeof length));
	RS_TRY(append_crc(out, length, sizeof length));
	RS_TRY(buffer_append(out, data, n));
	return append_crc(out, data, n);
}
