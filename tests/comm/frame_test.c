/* The message header: a vector written by hand, every byte changed, every cut. */
#include "tests/test.h"

#include <string.h>

#include "base/status.h"
#include "comm/frame.h"

/* Bytes 0..59 by hand, byte 60.. by the bitwise CRC below. */
static const uint8_t vector[FRAME_BYTES] = {
	'R', 'S', 'T', '1', 1, 0x05, 23, 0,
	0xef, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23, 0x01,
	7, 0, 0, 0, 3, 0, 0, 0x80,
	0x11, 0x22, 0, 0, 0, 0, 0, 0x33,
	0x44, 0, 0, 0, 0, 0, 0, 0x55,
	6, 0, 0, 1, 2, 1, 4, 3,
	0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
	9, 0, 0, 0, 0x47, 0x5a, 0xfd, 0xaa,
};

static const struct frame expected = {
	.type = FRAME_PUSH, .flags = FRAME_INT8 | FRAME_RETRY, .job = 0x0123456789abcdefu,
	.epoch = 7, .source = 0x80000003u, .request = 0x3300000000002211u,
	.lease = 0x5500000000000044u, .slot = 0x01000006u, .attempt = 0x0102, .chunk = 0x0304,
	.step = 0x1122334455667788u,
};

static const struct frame_part body[] = { { "1234", 4 }, { "", 0 }, { "56789", 5 } };

static uint32_t
crc_bitwise(uint32_t crc, const uint8_t *bytes, size_t n)
{
	crc = ~crc;
	for (size_t i = 0; i < n; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void
header_is_the_one_written_by_hand(void **state)
{
	uint8_t bytes[FRAME_BYTES];
	uint32_t crc;

	(void)state;
	assert_int_equal(frame_encode(&expected, body, N_ROWS(body), bytes), RS_OK);
	assert_memory_equal(bytes, vector, 60);
	crc = crc_bitwise(crc_bitwise(0, vector, 60), (const uint8_t *)"123456789", 9);
	assert_int_equal(bytes[60] | bytes[61] << 8 | bytes[62] << 16 |
		(uint32_t)bytes[63] << 24, crc);
	assert_memory_equal(bytes + 60, vector + 60, 4);
}

static void
fields_come_back(void **state)
{
	struct frame f;

	(void)state;
	assert_int_equal(frame_decode(vector, FRAME_BYTES, &f), RS_OK);
	assert_int_equal(f.type, expected.type);
	assert_int_equal(f.flags, expected.flags);
	assert_true(f.job == expected.job && f.request == expected.request);
	assert_true(f.lease == expected.lease && f.step == expected.step);
	assert_int_equal(f.epoch, expected.epoch);
	assert_true(f.source == expected.source);
	assert_int_equal(f.slot, expected.slot);
	assert_int_equal(f.attempt, expected.attempt);
	assert_int_equal(f.chunk, expected.chunk);
	assert_int_equal(f.body_bytes, 9);
	assert_int_equal(frame_check(&f, vector, body, N_ROWS(body)), RS_OK);
}

static enum rs_status
read_back(const uint8_t header[FRAME_BYTES], const struct frame_part *part, size_t n)
{
	struct frame f;

	if (frame_decode(header, FRAME_BYTES, &f) != RS_OK)
		return rs_failure()->status;
	return frame_check(&f, header, part, n);
}

static void
every_changed_bit_of_a_header_is_refused(void **state)
{
	(void)state;
	for (size_t bit = 0; bit < 8 * FRAME_BYTES; bit++) {
		uint8_t bytes[FRAME_BYTES];

		memcpy(bytes, vector, FRAME_BYTES);
		bytes[bit / 8] ^= (uint8_t)(1 << bit % 8);
		assert_int_equal(read_back(bytes, body, N_ROWS(body)), RS_EPROTOCOL);
	}
}

static void
every_other_value_of_a_header_byte_is_refused(void **state)
{
	(void)state;
	for (size_t at = 0; at < FRAME_BYTES; at++)
		for (int value = 0; value < 256; value++) {
			uint8_t bytes[FRAME_BYTES];

			memcpy(bytes, vector, FRAME_BYTES);
			bytes[at] = (uint8_t)value;
			assert_int_equal(read_back(bytes, body, N_ROWS(body)),
				value == vector[at] ? RS_OK : RS_EPROTOCOL);
		}
}

static void
every_changed_bit_of_a_body_is_refused(void **state)
{
	(void)state;
	for (size_t bit = 0; bit < 8 * 9; bit++) {
		char text[] = "123456789";
		const struct frame_part part = { text, 9 };

		text[bit / 8] ^= (char)(1 << bit % 8);
		assert_int_equal(read_back(vector, &part, 1), RS_EPROTOCOL);
	}
}

static void
every_cut_is_refused(void **state)
{
	struct frame f;
	uint8_t longer[FRAME_BYTES + 1] = { 0 };

	(void)state;
	for (size_t n = 0; n < FRAME_BYTES; n++) {
		uint8_t *copy = malloc(n > 0 ? n : 1);      /* its end is known to sanitizers */

		memcpy(copy, vector, n);
		assert_int_equal(frame_decode(copy, n, &f), RS_EPROTOCOL);
		free(copy);
	}
	memcpy(longer, vector, FRAME_BYTES);
	assert_int_equal(frame_decode(longer, sizeof(longer), &f), RS_EPROTOCOL);
	for (size_t n = 0; n < 12; n++) {
		const struct frame_part part = { "123456789...", n };

		assert_int_equal(read_back(vector, &part, 1), n == 9 ? RS_OK : RS_EPROTOCOL);
	}
	assert_int_equal(read_back(vector, NULL, 0), RS_EPROTOCOL);
}

static void
only_the_types_of_the_table_are_let_in(void **state)
{
	size_t known = 0;
	size_t rows = 0;

	(void)state;
#define ROW(name, number, text) \
	rows++; \
	assert_int_equal(FRAME_##name, number); \
	assert_string_equal(frame_type_name(number), #name);
	FRAME_TABLE(ROW)
#undef ROW
	for (uint32_t type = 0; type <= UINT16_MAX; type++) {
		const struct frame f = { .type = (uint16_t)type };
		uint8_t bytes[FRAME_BYTES];
		const int is_known = frame_type_name((uint16_t)type) != NULL;

		known += (size_t)is_known;
		assert_int_equal(frame_encode(&f, NULL, 0, bytes), RS_OK);
		assert_int_equal(read_back(bytes, NULL, 0), is_known ? RS_OK : RS_EPROTOCOL);
	}
	assert_int_equal(known, rows);
}

static void
only_known_flags_are_let_in(void **state)
{
	(void)state;
	for (unsigned flags = 0; flags < 256; flags++) {
		const struct frame f = { .type = FRAME_PULL, .flags = (uint8_t)flags };
		uint8_t bytes[FRAME_BYTES];

		assert_int_equal(frame_encode(&f, NULL, 0, bytes), RS_OK);
		assert_int_equal(read_back(bytes, NULL, 0),
			(flags & ~(unsigned)FRAME_FLAGS) == 0 ? RS_OK : RS_EPROTOCOL);
	}
}

static void
a_body_over_the_maximum_is_refused(void **state)
{
	static const uint8_t byte;
	const struct frame f = { .type = FRAME_PULL };
	/* Never looked at. */
	const struct frame_part over[] = { { &byte, FRAME_BODY_MAX }, { &byte, 1 } };
	const struct frame_part wraps[] = { { &byte, 1 }, { &byte, SIZE_MAX } };
	uint8_t bytes[FRAME_BYTES];
	struct frame read;

	(void)state;
	assert_int_equal(frame_encode(&f, over, 2, bytes), RS_ERESOURCE);
	assert_int_equal(frame_encode(&f, wraps, 2, bytes), RS_ERESOURCE);
	memcpy(bytes, vector, FRAME_BYTES);
	bytes[56] = 1;
	bytes[59] = 4;
	assert_int_equal(frame_decode(bytes, FRAME_BYTES, &read), RS_EPROTOCOL);
	bytes[56] = 0;
	assert_int_equal(frame_decode(bytes, FRAME_BYTES, &read), RS_OK);
	assert_int_equal(frame_check(&read, bytes, wraps, 2), RS_EPROTOCOL);
}

static void
messages_name_what_was_wrong(void **state)
{
	uint8_t bytes[FRAME_BYTES];

	(void)state;
	memcpy(bytes, vector, FRAME_BYTES);
	bytes[4] = 2;
	read_back(bytes, body, N_ROWS(body));
	assert_non_null(strstr(rs_failure()->text, "protocol version 2, expected 1"));
	memcpy(bytes, vector, FRAME_BYTES);
	bytes[6] = 99;
	read_back(bytes, body, N_ROWS(body));
	assert_non_null(strstr(rs_failure()->text, "unknown type 99"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(header_is_the_one_written_by_hand),
		cmocka_unit_test(fields_come_back),
		cmocka_unit_test(every_changed_bit_of_a_header_is_refused),
		cmocka_unit_test(every_other_value_of_a_header_byte_is_refused),
		cmocka_unit_test(every_changed_bit_of_a_body_is_refused),
		cmocka_unit_test(every_cut_is_refused),
		cmocka_unit_test(only_the_types_of_the_table_are_let_in),
		cmocka_unit_test(only_known_flags_are_let_in),
		cmocka_unit_test(a_body_over_the_maximum_is_refused),
		cmocka_unit_test(messages_name_what_was_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
