/* Sorting ids with an index. */
#include "base/rng.h"
#include "embed/id_sort.h"
#include "tests/test.h"

#define N_MAX 3000

static void
any_number_of_ids_is_sorted_stably(void **state)
{
	static uint64_t key[N_MAX], key2[N_MAX];
	static const size_t size[] = { 0, 1, 2, 47, 48, 49, 500, N_MAX };
	static const uint64_t rows[] = { 1, 2, 7, 1024, 1025, 1000001, (uint64_t)1 << 45 };

	(void)state;
	for (size_t k = 0; k < N_ROWS(size); k++)
		for (size_t r = 0; r < N_ROWS(rows); r++) {
			const size_t n = size[k];
			const unsigned shift = id_sort_bits(N_MAX);
			const uint64_t *sorted;

			for (size_t i = 0; i < n; i++)
				key[i] = rng_below(k, i, rows[r]) << shift | i;
			sorted = id_sort(key, key2, n, shift, id_sort_bits(rows[r]));
			for (size_t i = 1; i < n; i++)      /* equal ids by index: strictly */
				assert_true(sorted[i - 1] < sorted[i]);
		}
}

static void
bits_hold_what_is_below_n(void **state)
{
	(void)state;
	assert_int_equal(id_sort_bits(0), 0);
	assert_int_equal(id_sort_bits(1), 0);
	assert_int_equal(id_sort_bits(2), 1);
	assert_int_equal(id_sort_bits(1024), 10);
	assert_int_equal(id_sort_bits(1025), 11);
	assert_int_equal(id_sort_bits(UINT64_MAX), 64);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_ids_is_sorted_stably),
		cmocka_unit_test(bits_hold_what_is_below_n),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
