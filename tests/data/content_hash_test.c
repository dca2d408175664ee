/* The hash of contents does not depend on the pieces it is fed in. */
#include "data/content_hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/hash.h"

enum { N = 3 * 65536 + 1234 };
static char text[N];

static uint64_t
hash_in_pieces(size_t n, size_t piece)
{
	struct content_hash h;
	uint64_t value;

	content_hash_init(&h);
	for (size_t at = 0; at < n; at += piece)
		assert_int_equal(content_hash_feed(&h, text + at,
			n - at < piece ? n - at : piece), RS_OK);
	assert_int_equal(h.size, n);
	value = content_hash_value(&h);
	content_hash_free(&h);
	return value;
}

static void
pieces_make_no_difference(void **state)
{
	static const size_t length[] = { 1, 65535, 65536, 65537, 131072, N };
	static const size_t piece[] = { 7, 4096, 65535, 65536, 65537, 100000, N };

	(void)state;
	for (size_t i = 0; i < N; i++)
		text[i] = (char)hash_mix(i);
	for (size_t i = 0; i < sizeof length / sizeof *length; i++)
		for (size_t k = 0; k < sizeof piece / sizeof *piece; k++)
			assert_int_equal(hash_in_pieces(length[i], piece[k]),
				hash_in_pieces(length[i], length[i]));
}

static void
each_block_counts(void **state)
{
	const uint64_t before = hash_in_pieces(N, N);

	(void)state;
	for (size_t at = 10; at < N; at += 30000) {
		text[at] ^= 1;
		assert_int_not_equal(hash_in_pieces(N, N), before);
		text[at] ^= 1;
	}
	assert_int_not_equal(hash_in_pieces(N - 1, N), before);
	assert_int_equal(hash_in_pieces(0, 1), hash_cat(0, hash_fingerprint64("", 0)));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pieces_make_no_difference),
		cmocka_unit_test(each_block_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
