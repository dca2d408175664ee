/* Allocation, arena, buffers, large blocks. */
#include "tests/test.h"

#include <string.h>

#include "base/memory.h"

static void
products_that_overflow_are_refused(void **state)
{
	size_t n;

	(void)state;
	assert_int_equal(size_mul(6, 7, &n), RS_OK);
	assert_int_equal(n, 42);
	assert_int_equal(size_mul(SIZE_MAX, 1, &n), RS_OK);
	assert_int_equal(size_mul(SIZE_MAX / 2 + 1, 2, &n), RS_ERESOURCE);
	assert_int_equal(size_mul((size_t)1 << 32, (size_t)1 << 32, &n), RS_ERESOURCE);
}

static void
memory_is_zeroed_and_aligned(void **state)
{
	unsigned char *block;

	(void)state;
	for (size_t n = 0; n < 200; n += 7) {
		assert_int_equal(memory_alloc(n, 3, &block), RS_OK);
		assert_int_equal((uintptr_t)block % 64, 0);
		for (size_t i = 0; i < 3 * n; i++)
			assert_int_equal(block[i], 0);
		free(block);
	}
}

static void
impossible_sizes_fail_and_give_null(void **state)
{
	void *block = &block;

	(void)state;
	assert_int_equal(memory_alloc(SIZE_MAX, 2, &block), RS_ERESOURCE);
	assert_null(block);
	assert_int_equal(memory_alloc(SIZE_MAX, 1, &block), RS_ERESOURCE);
	assert_null(block);
	assert_int_equal(large_alloc(SIZE_MAX, &block), RS_ERESOURCE);
	assert_null(block);
}

static void
arena_pieces_are_aligned_and_do_not_overlap(void **state)
{
	struct arena a;
	char        *one, *two;

	(void)state;
	assert_int_equal(arena_init(&a, 200), RS_OK);
	one = arena_alloc(&a, 65);
	two = arena_alloc(&a, 1);
	assert_int_equal((uintptr_t)one % 64, 0);
	assert_ptr_equal(two, one + 128);
	arena_reset(&a);
	assert_ptr_equal(arena_alloc(&a, 200), one);
	arena_free(&a);
	assert_null(a.block);
}

static void
buffer_grows_to_its_limit_and_no_further(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 1000);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(buffer_append(&b, "0123456789", 10), RS_OK);
	assert_int_equal(b.n, 1000);
	assert_true(b.capacity <= 1000);
	assert_memory_equal(b.data + 990, "0123456789", 10);
	assert_int_equal(buffer_append(&b, "x", 1), RS_EDATA);
	assert_int_equal(b.n, 1000);
	assert_int_equal(buffer_reserve(&b, SIZE_MAX), RS_EDATA);
	buffer_free(&b);
	assert_int_equal(b.limit, 1000);
}

static void
printed_text_is_terminated(void **state)
{
	struct buffer b;

	(void)state;
	buffer_init(&b, 1 << 20);
	assert_int_equal(buffer_printf(&b, "%s", ""), RS_OK);
	assert_string_equal(b.data, "");
	for (int i = 0; i < 500; i++)
		assert_int_equal(buffer_printf(&b, "%d,", i % 10), RS_OK);
	assert_int_equal(b.n, 1000);
	assert_int_equal(strlen(b.data), 1000);
	buffer_free(&b);
}

static void
large_blocks_are_zeroed_and_aligned_to_huge_pages(void **state)
{
	static const size_t size[] = { 1, 4096, (2 << 20) - 1, 2 << 20, (5 << 20) + 3 };

	(void)state;
	for (size_t i = 0; i < N_ROWS(size); i++) {
		unsigned char *block;

		assert_int_equal(large_alloc(size[i], &block), RS_OK);
		assert_int_equal((uintptr_t)block % (2 << 20), 0);
		assert_int_equal(block[0], 0);
		assert_int_equal(block[size[i] - 1], 0);
		memset(block, 1, size[i]);
		large_free(block, size[i]);
	}
	large_free(NULL, 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products_that_overflow_are_refused),
		cmocka_unit_test(memory_is_zeroed_and_aligned),
		cmocka_unit_test(impossible_sizes_fail_and_give_null),
		cmocka_unit_test(arena_pieces_are_aligned_and_do_not_overlap),
		cmocka_unit_test(buffer_grows_to_its_limit_and_no_further),
		cmocka_unit_test(printed_text_is_terminated),
		cmocka_unit_test(large_blocks_are_zeroed_and_aligned_to_huge_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
