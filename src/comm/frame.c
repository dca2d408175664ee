/* The header of messages: 64 bytes, little-endian, with the CRC of header and body. */
#include "comm/frame.h"

#include <string.h>

#include "base/hash.h"

enum { CRC_AT = 60 };

static const char *const type_name[] = {
#define ROW(name, number, text) [number] = #name,
	FRAME_TABLE(ROW)
#undef ROW
};

static void
put(uint8_t *to, uint64_t value, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static uint64_t
get(const uint8_t *from, size_t n)
{
	uint64_t value = 0;

	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)from[i] << 8 * i;
	return value;
}

/* Fails as soon as the sum is over the maximum, so it cannot overflow. */
static enum rs_status
count_body(const struct frame_part *part, size_t n_parts, size_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < n_parts; i++) {
		if (part[i].n > FRAME_BODY_MAX - n)
			return rs_fail(RS_ERESOURCE, "a message body has more than %zu bytes",
				FRAME_BODY_MAX);
		n += part[i].n;
	}
	*out = n;
	return RS_OK;
}

static uint32_t
checksum(const uint8_t header[FRAME_BYTES], const struct frame_part *part, size_t n_parts)
{
	uint32_t crc = hash_crc32c(0, header, CRC_AT);

	for (size_t i = 0; i < n_parts; i++)
		crc = hash_crc32c(crc, part[i].data, part[i].n);
	return crc;
}

enum rs_status
frame_encode(const struct frame *f, const struct frame_part *part, size_t n_parts,
	uint8_t out[FRAME_BYTES])
{
	size_t body_bytes = 0;

	RS_TRY(count_body(part, n_parts, &body_bytes));
	memcpy(out, FRAME_MAGIC, 4);
	put(out + 4, FRAME_VERSION, 1);
	put(out + 5, f->flags, 1);
	put(out + 6, f->type, 2);
	put(out + 8, f->job, 8);
	put(out + 16, f->epoch, 4);
	put(out + 20, f->source, 4);
	put(out + 24, f->request, 8);
	put(out + 32, f->lease, 8);
	put(out + 40, f->slot, 4);
	put(out + 44, f->attempt, 2);
	put(out + 46, f->chunk, 2);
	put(out + 48, f->step, 8);
	put(out + 56, body_bytes, 4);
	put(out + CRC_AT, checksum(out, part, n_parts), 4);
	return RS_OK;
}

static enum rs_status
check_header(const uint8_t *header, const struct frame *f)
{
	if (header[4] != FRAME_VERSION)
		return rs_fail(RS_EPROTOCOL, "a message of protocol version %u, expected %d",
			header[4], FRAME_VERSION);
	if (frame_type_name(f->type) == NULL)
		return rs_fail(RS_EPROTOCOL, "a message of unknown type %u", f->type);
	if ((f->flags & ~FRAME_FLAGS) != 0)
		return rs_fail(RS_EPROTOCOL, "a %s message with unknown flags 0x%02x",
			frame_type_name(f->type), f->flags & ~FRAME_FLAGS);
	if (f->body_bytes > FRAME_BODY_MAX)
		return rs_fail(RS_EPROTOCOL, "a %s message of %u bytes, at most %zu are allowed",
			frame_type_name(f->type), f->body_bytes, FRAME_BODY_MAX);
	return RS_OK;
}

enum rs_status
frame_decode(const void *bytes, size_t n, struct frame *out)
{
	const uint8_t *header = bytes;

	*out = (struct frame){ 0 };
	if (n != FRAME_BYTES)
		return rs_fail(RS_EPROTOCOL, "a message header of %zu bytes, expected %d", n,
			FRAME_BYTES);
	if (memcmp(header, FRAME_MAGIC, 4) != 0)
		return rs_fail(RS_EPROTOCOL, "a message that does not begin with '%s'",
			FRAME_MAGIC);
	*out = (struct frame){
		.flags = header[5],
		.type = (uint16_t)get(header + 6, 2),
		.job = get(header + 8, 8),
		.epoch = (uint32_t)get(header + 16, 4),
		.source = (uint32_t)get(header + 20, 4),
		.request = get(header + 24, 8),
		.lease = get(header + 32, 8),
		.slot = (uint32_t)get(header + 40, 4),
		.attempt = (uint16_t)get(header + 44, 2),
		.chunk = (uint16_t)get(header + 46, 2),
		.step = get(header + 48, 8),
		.body_bytes = (uint32_t)get(header + 56, 4),
		.crc = (uint32_t)get(header + CRC_AT, 4),
	};
	return check_header(header, out);
}

enum rs_status
frame_check(const struct frame *f, const uint8_t header[FRAME_BYTES],
	const struct frame_part *part, size_t n_parts)
{
	size_t body_bytes = 0;
	uint32_t crc;

	if (count_body(part, n_parts, &body_bytes) != RS_OK || body_bytes != f->body_bytes)
		return rs_fail(RS_EPROTOCOL, "a %s message whose body is not of the %u bytes "
			"that its header tells", frame_type_name(f->type), f->body_bytes);
	crc = checksum(header, part, n_parts);
	if (crc != f->crc)
		return rs_fail(RS_EPROTOCOL, "a %s message is damaged: its CRC is %08x, not %08x",
			frame_type_name(f->type), crc, f->crc);
	return RS_OK;
}

const char *
frame_type_name(uint16_t type)
{
	return type < sizeof(type_name) / sizeof(type_name[0]) ? type_name[type] : NULL;
}
