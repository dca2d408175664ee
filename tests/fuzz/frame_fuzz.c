/*
 * The header and body of a message, cut into parts: decoding answers RS_OK or RS_EPROTOCOL,
 * and what it lets in is what encoding gives.
 */
#include <string.h>

#include "base/hash.h"
#include "comm/frame.h"
#include "tests/fuzz/fuzz.h"

enum { N_PARTS_MAX = 8, CRC_AT = 60 };

/* Parts whose sizes are told by the first bytes of the body. */
static size_t
cut(const uint8_t *body, size_t n, struct frame_part part[N_PARTS_MAX])
{
	size_t n_parts = 0;

	for (size_t at = 0; at < n; n_parts++) {
		size_t size = n_parts + 1 < N_PARTS_MAX ? body[n_parts % n] % 17 : n - at;

		size = size > n - at ? n - at : size;
		part[n_parts] = (struct frame_part){ body + at, size };
		at += size;
		if (n_parts + 1 == N_PARTS_MAX)
			return N_PARTS_MAX;
	}
	return n_parts;
}

static void
check_again(const struct frame *f, const uint8_t *header, const struct frame_part *part,
	size_t n_parts)
{
	uint8_t again[FRAME_BYTES];

	FUZZ_CHECK(frame_type_name(f->type) != NULL);
	FUZZ_CHECK((f->flags & ~FRAME_FLAGS) == 0);
	FUZZ_CHECK(frame_encode(f, part, n_parts, again) == RS_OK);
	FUZZ_CHECK(memcmp(again, header, FRAME_BYTES) == 0);
}

static void
look(const uint8_t header[FRAME_BYTES], const struct frame_part *part, size_t n_parts)
{
	struct frame f;
	enum rs_status status = frame_decode(header, FRAME_BYTES, &f);

	FUZZ_CHECK(status == RS_OK || status == RS_EPROTOCOL);
	if (status != RS_OK)
		return;
	status = frame_check(&f, header, part, n_parts);
	FUZZ_CHECK(status == RS_OK || status == RS_EPROTOCOL);
	if (status == RS_OK)
		check_again(&f, header, part, n_parts);
}

/* The size and the CRC made right, as a random CRC never is. */
static void
repair(uint8_t header[FRAME_BYTES], const uint8_t *body, size_t n)
{
	uint32_t crc;

	for (size_t i = 0; i < 4; i++)
		header[56 + i] = (uint8_t)(n >> 8 * i);
	crc = hash_crc32c(hash_crc32c(0, header, CRC_AT), body, n);
	for (size_t i = 0; i < 4; i++)
		header[CRC_AT + i] = (uint8_t)(crc >> 8 * i);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct frame_part part[N_PARTS_MAX];
	struct frame f;
	uint8_t header[FRAME_BYTES];

	if (n < FRAME_BYTES) {
		FUZZ_CHECK(frame_decode(data, n, &f) == RS_EPROTOCOL);
		return 0;
	}
	const size_t n_parts = cut(data + FRAME_BYTES, n - FRAME_BYTES, part);

	memcpy(header, data, FRAME_BYTES);
	look(header, part, n_parts);
	repair(header, data + FRAME_BYTES, n - FRAME_BYTES);
	look(header, part, n_parts);
	return 0;
}
