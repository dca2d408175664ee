/* What is read from the wire is what protobuf-c reads, or it is left to that. */
#include "data/example_wire.h"

#include <stdlib.h>

#include "base/rng.h"
#include "tests/data/example_bed.h"

#define ENTRIES_MAX 64
#define TRIES       60000u

struct entry {
	ProtobufCBinaryData key;
	struct example_value value;
};

static void *block[ENTRIES_MAX];
static size_t n_blocks;

static void *
take(void *unused, size_t n)
{
	(void)unused;
	assert_true(n_blocks < N_ROWS(block));
	return block[n_blocks++] = malloc(n);
}

static void
leave_all(void)
{
	while (n_blocks > 0)
		free(block[--n_blocks]);
}

static ProtobufCAllocator memory = { .alloc = take };

/* Entries of a record; -1: it is not plain. */
static int
read_plainly(const uint8_t *data, size_t n, struct entry *entry)
{
	struct example_wire entries, feature;
	int i = 0;

	if (!example_wire_open(data, n, &entries))
		return -1;
	for (; entries.at < entries.end; i++) {
		assert_true(i < ENTRIES_MAX);
		if (!example_wire_next(&entries, &entry[i].key, &feature)
		    || !example_wire_value(feature, &memory, &entry[i].value))
			return -1;
	}
	return i;
}

static void
assert_same_bytes(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
	assert_int_equal(a->len, b->len);
	if (a->len > 0)
		assert_memory_equal(a->data, b->data, a->len);
}

static void
assert_same(const TfExample__Feature *a, const TfExample__Feature *b)
{
	assert_int_equal(a->kind_case, b->kind_case);
	switch (a->kind_case) {
	case TF_EXAMPLE__FEATURE__KIND_BYTES:
		assert_int_equal(a->bytes->n_value, b->bytes->n_value);
		for (size_t i = 0; i < a->bytes->n_value; i++)
			assert_same_bytes(&a->bytes->value[i], &b->bytes->value[i]);
		break;
	case TF_EXAMPLE__FEATURE__KIND_FLOATS:
		assert_int_equal(a->floats->n_value, b->floats->n_value);
		assert_memory_equal(a->floats->value, b->floats->value,
			a->floats->n_value * sizeof(float));
		break;
	case TF_EXAMPLE__FEATURE__KIND_INTEGERS:
		assert_int_equal(a->integers->n_value, b->integers->n_value);
		assert_memory_equal(a->integers->value, b->integers->value,
			a->integers->n_value * sizeof(int64_t));
		break;
	default:
		fail_msg("a feature of no kind is plain");
	}
}

/* 1: it was read without protobuf-c, and that reads the same. */
static int
compare(const uint8_t *data, size_t n)
{
	static struct entry entry[ENTRIES_MAX];
	const int have = read_plainly(data, n, entry);

	if (have < 0)
		leave_all();
	if (have < 0)
		return 0;
	TfExample__Example *const want = tf_example__example__unpack(NULL, n, data);
	assert_non_null(want);
	assert_non_null(want->features);
	assert_int_equal(want->features->n_feature, have);
	for (int i = 0; i < have; i++) {
		assert_same_bytes(&want->features->feature[i]->key, &entry[i].key);
		assert_same(want->features->feature[i]->value, &entry[i].value.feature);
	}
	tf_example__example__free_unpacked(want, NULL);
	leave_all();
	return 1;
}

/* Of every kind, with one value and with several; as other writers make them, too. */
static size_t
make_record(uint8_t out[512])
{
	static const int64_t integer[] = { 0, -1, 300, INT64_MIN };
	static const float number[] = { 1, -2.5f, 1e30f };
	static struct example_bytes features, example;

	features.n = example.n = 0;
	example_texts(&features, "text", "abc", NULL);
	example_texts(&features, "texts", "", "abcdefgh", "x", NULL);
	example_integers(&features, "one", 1, &integer[2], 1);
	example_integers(&features, "many", 4, integer, 1);
	example_floats(&features, "float", 1, number, 1);
	example_floats(&features, "floats", 3, number, 1);
	example_integers(&features, "loose", 1, &integer[1], 0);
	example_floats(&features, "loose float", 1, &number[1], 0);
	example_field(&example, 1, features.bytes, features.n);
	assert_true(example.n < 500);
	memcpy(out, example.bytes, example.n);
	return example.n;
}

static void
plain_records_are_read_as_protobuf_does(void **state)
{
	uint8_t record[512];

	(void)state;
	assert_true(compare(record, make_record(record)));
}

/* Bytes changed, taken out, put in and cut off: what is still plain is right. */
static void
damaged_records_are_left_to_protobuf_or_right(void **state)
{
	uint8_t record[512], hurt[520];
	const size_t n = make_record(record);
	size_t n_plain = 0;

	(void)state;
	for (uint64_t i = 0; i < TRIES; i++) {
		const size_t changes = 1 + (size_t)rng_below(1, i, 3);
		size_t left = n;

		memcpy(hurt, record, n);
		for (uint64_t k = 0; k < changes; k++) {
			const size_t at = (size_t)rng_below(2 + k, i, left);
			const uint64_t way = rng_below(20 + k, i, 8);

			if (way == 0 && at > 0)
				left = at;
			else if (way == 1)
				memmove(hurt + at, hurt + at + 1, --left - at);
			else if (way == 2)
				memmove(hurt + at + 1, hurt + at, left++ - at);
			else
				hurt[at] = (uint8_t)(way < 5 ? rng_below(40 + k, i, 256)
					: hurt[at] ^ 1u << rng_below(50 + k, i, 8));
		}
		uint8_t *const exact = malloc(left);   /* so that a read behind it is seen */
		memcpy(exact, hurt, left);
		n_plain += (size_t)compare(exact, left);
		free(exact);
	}
	assert_in_range(n_plain, TRIES / 100, TRIES - TRIES / 100);
}

/* No values, no kind, a key behind its value, a feature twice: protobuf-c knows. */
static void
what_is_unusual_is_left_to_protobuf(void **state)
{
	static const uint8_t no_values[] = { 0x0a, 9, 0x0a, 7, 0x0a, 1, 'a', 0x12, 2, 0x1a, 0 };
	static const uint8_t no_kind[] = { 0x0a, 7, 0x0a, 5, 0x0a, 1, 'a', 0x12, 0 };
	static const uint8_t no_value[] = { 0x0a, 5, 0x0a, 3, 0x0a, 1, 'a' };
	static const uint8_t turned[] = { 0x0a, 12, 0x0a, 10, 0x12, 5, 0x1a, 3, 0x0a, 1, 7, 0x0a,
		1, 'a' };
	static const uint8_t twice[] = { 0x0a, 0, 0x0a, 0 };
	static const struct { const uint8_t *bytes; size_t n; } unusual[] = {
		{ no_values, sizeof no_values }, { no_kind, sizeof no_kind },
		{ no_value, sizeof no_value }, { turned, sizeof turned }, { twice, sizeof twice },
		{ twice, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(unusual); i++) {
		TfExample__Example *const e = tf_example__example__unpack(NULL, unusual[i].n,
			unusual[i].bytes);

		assert_non_null(e);
		tf_example__example__free_unpacked(e, NULL);
		assert_false(compare(unusual[i].bytes, unusual[i].n));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_records_are_read_as_protobuf_does),
		cmocka_unit_test(damaged_records_are_left_to_protobuf_or_right),
		cmocka_unit_test(what_is_unusual_is_left_to_protobuf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
