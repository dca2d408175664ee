/* Fingerprints against libfarmhash, TensorFlow, Keras and BigQuery; CRC32C. */
#include "tests/test.h"

#include <string.h>

#include "base/hash.h"

/* n letters of abc..zabc.. stand for the text when text is NULL. */
static const struct {
	const char *text;
	size_t      n;
	uint64_t    hash;
	unsigned    mod_1000;
} vector[] = {
	{ "", 0, 0x9ae16a3b2f90404fu, 263 },
	{ "a", 1, 0xb3454265b6df75e3u, 939 },
	{ "ab", 2, 0xaa8d6e5242ada51eu, 502 },
	{ "abc", 3, 0x24a5b3a074e7f369u, 385 },
	{ "abcd", 4, 0x1a5502de4a1f8101u, 985 },
	{ "abcdefg", 7, 0x3c40c92b1ccb7355u, 229 },
	{ "abcdefgh", 8, 0xfee9d22990c82909u, 497 },
	{ "123456789", 9, 0x6290b5b99f49dc6au, 306 },
	{ "0", 1, 0xd2ed96073b81823fu, 735 },
	{ "1", 1, 0x811f023a122d0be1u, 849 },
	{ "-1", 2, 0x65c727c9a1b5784eu, 430 },
	{ "9223372036854775807", 19, 0xb0ccfb1982e491afu, 319 },
	{ "user_id=12345", 13, 0xa58ff591078a1f00u, 704 },
	{ "68fd1e64", 8, 0x6dea854a18f8ca86u, 598 },
	{ "alphabet", 8, 0xde50f973831e2f95u, 93 },
	{ "1footrue", 8, 0xea9af1c357a4ccc9u, 905 },
	{ "2applefalse", 11, 0x26c7d758028ba93bu, 259 },
	{ "日本語", 9, 0xd99eeda07b1cb847u, 783 },
	{ "🦊", 4, 0x21a79e968e88c723u, 995 },
	{ "naïve café — ünïcödé", 28, 0x268c9894a21319d2u, 954 },
	{ NULL, 15, 0x687dfc2653bb2c1du, 597 },
	{ NULL, 16, 0x54630bad7705cebdu, 621 },
	{ NULL, 17, 0x9e2106c72d7793a8u, 400 },
	{ NULL, 31, 0x642de83168d3f4d0u, 888 },
	{ NULL, 32, 0xff96b8a54087359au, 610 },
	{ NULL, 33, 0x1bd257e2fc3da812u, 594 },
	{ NULL, 63, 0xd52b7a8646a91b9eu, 686 },
	{ NULL, 64, 0x9c4a595c23bb9bfau, 578 },
	{ NULL, 65, 0x2434d8917886fe2au, 154 },
	{ NULL, 127, 0x6c3178e9f2707fa3u, 299 },
	{ NULL, 128, 0xc3244d5ec8a4474au, 66 },
	{ NULL, 129, 0x9b1ca0571b8cefd4u, 628 },
	{ NULL, 192, 0x64856e315b33c277u, 487 },
	{ NULL, 200, 0x25d40299e8419af6u, 166 },
	{ "a\0b", 3, 0x6184a52fe47ca4f8u, 280 },
};

static uint64_t
fingerprint_of(const char *text)
{
	return hash_fingerprint64(text, strlen(text));
}

static void
every_fingerprint_vector_holds(void **state)
{
	char letters[256];

	(void)state;
	for (size_t i = 0; i < sizeof(letters); i++)
		letters[i] = (char)('a' + i % 26);
	for (size_t i = 0; i < N_ROWS(vector); i++) {
		const char    *text = vector[i].text != NULL ? vector[i].text : letters;
		const uint64_t hash = hash_fingerprint64(text, vector[i].n);

		assert_true(hash == vector[i].hash);
		assert_int_equal(hash % 1000, vector[i].mod_1000);
	}
}

static void
bytes_above_127_are_unsigned(void **state)
{
	unsigned char bytes[200];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	assert_true(hash_fingerprint64(bytes, 200) == 0x074c7fcc26d66fb3u);
	memset(bytes, 0xff, sizeof(bytes));
	assert_true(hash_fingerprint64(bytes, 200) == 0x4e34b3b4ef5d5895u);
}

/* The block has the exact length, so that a read outside is seen by a checker. */
static void
nothing_outside_the_text_is_read(void **state)
{
	(void)state;
	for (size_t n = 1; n <= 300; n++) {
		char           *block = malloc(n), *shifted = malloc(n + 1);
		const uint64_t  at_start = (memset(block, 'x', n), hash_fingerprint64(block, n));

		memset(shifted, 'x', n + 1);
		assert_true(hash_fingerprint64(shifted + 1, n) == at_start);
		free(shifted);
		free(block);
	}
}

static void
buckets_equal_those_of_keras_hashing(void **state)
{
	static const char *const letter[] = { "A", "B", "C", "D", "E" };
	static const unsigned    letter_bucket[] = { 1, 0, 1, 1, 2 };
	static const char *const digit[] = { "0", "1", "2", "3", "4" };
	static const unsigned    digit_bucket[] = { 1, 0, 1, 0, 2 };
	static const char *const word[] = { "omar", "stringer", "marlo", "wire", "skywalker" };
	static const unsigned    word_bucket[] = { 0, 0, 1, 0, 0 };

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(fingerprint_of(letter[i]) % 3, letter_bucket[i]);
		assert_int_equal(fingerprint_of(digit[i]) % 3, digit_bucket[i]);
		assert_int_equal(fingerprint_of(word[i]) % 2, word_bucket[i]);
	}
}

/* The documentation of FARM_FINGERPRINT shows signed numbers. */
static void
signed_value_equals_that_of_bigquery(void **state)
{
	(void)state;
	assert_true((int64_t)fingerprint_of("1footrue") == -1541654101129638711);
	assert_true((int64_t)fingerprint_of("2applefalse") == 2794438866806483259);
	assert_true((int64_t)fingerprint_of("3true") == -4880158226897771312);
}

static uint64_t
cross(uint64_t key)
{
	key = hash_cat(key, fingerprint_of("batch1-FC1-F1"));
	key = hash_cat(key, fingerprint_of("batch1-FC2-F1"));
	return hash_cat(key, fingerprint_of("batch1-FC3-F1"));
}

static void
crosses_equal_those_of_tensorflow(void **state)
{
	const uint64_t key = 956888297470u;

	(void)state;
	assert_true(cross(key) % INT64_MAX == 1971693436396284976u);
	assert_int_equal(cross(key) % 100, 83);
	assert_true(cross(key + 1) % INT64_MAX == 4847552627144134031u);
	assert_int_equal(cross(key + 1) % 100, 31);
}

static void
every_crc32c_vector_holds(void **state)
{
	static const unsigned char length_of_foo[8] = { 3 };
	unsigned char              bytes[32];

	(void)state;
	assert_int_equal(hash_crc32c(0, "", 0), 0);
	assert_int_equal(hash_crc32c(0, "123456789", 9), 0xe3069283u);
	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(hash_crc32c(0, bytes, 32), 0x8a9136aau);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(hash_crc32c(0, bytes, 32), 0x62a8ab43u);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)i;
	assert_int_equal(hash_crc32c(0, bytes, 32), 0x46dd794eu);
	assert_int_equal(hash_crc32c(0, "foo", 3), 0xcfc4ae1du);
	assert_int_equal(hash_crc32c_mask(hash_crc32c(0, "foo", 3)), 0xfebe8a61u);
	/* The frame of "foo" in a TFRecord: b0 99 49 0e after the length. */
	assert_int_equal(hash_crc32c_mask(hash_crc32c(0, length_of_foo, 8)), 0x0e4999b0u);
}

static uint32_t
crc_bit_by_bit(const unsigned char *s, size_t n)
{
	uint32_t crc = ~0u;

	for (size_t i = 0; i < n; i++) {
		crc ^= s[i];
		for (int bit = 0; bit < 8; bit++)
			crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
	}
	return ~crc;
}

static void
crc_of_every_length_equals_the_definition(void **state)
{
	enum { N = 7000 };
	static unsigned char bytes[N + 8];

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)hash_mix(i);
	for (size_t n = 0; n < N; n += n < 100 ? 1 : 97)
		assert_int_equal(hash_crc32c(0, bytes + n % 8, n),
			crc_bit_by_bit(bytes + n % 8, n));
}

static void
crc_goes_on_from_a_part(void **state)
{
	static unsigned char bytes[10000];
	uint32_t             whole;

	(void)state;
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)hash_mix(i);
	whole = hash_crc32c(0, bytes, sizeof(bytes));
	for (size_t cut = 0; cut < sizeof(bytes); cut += 333) {
		const uint32_t part = hash_crc32c(0, bytes, cut);

		assert_int_equal(hash_crc32c(part, bytes + cut, sizeof(bytes) - cut), whole);
	}
}

static void
mixer_has_its_known_values_and_no_collisions(void **state)
{
	(void)state;
	/* First output of SplitMix64 with seed 0 (Steele, Lea and Flood 2014). */
	assert_true(hash_mix(0x9e3779b97f4a7c15u) == 0xe220a8397b1dcdafu);
	for (int bit = 0; bit < 64; bit++)
		assert_true(hash_mix((uint64_t)1 << bit) != hash_mix(0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_fingerprint_vector_holds),
		cmocka_unit_test(bytes_above_127_are_unsigned),
		cmocka_unit_test(nothing_outside_the_text_is_read),
		cmocka_unit_test(buckets_equal_those_of_keras_hashing),
		cmocka_unit_test(signed_value_equals_that_of_bigquery),
		cmocka_unit_test(crosses_equal_those_of_tensorflow),
		cmocka_unit_test(every_crc32c_vector_holds),
		cmocka_unit_test(crc_of_every_length_equals_the_definition),
		cmocka_unit_test(crc_goes_on_from_a_part),
		cmocka_unit_test(mixer_has_its_known_values_and_no_collisions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
