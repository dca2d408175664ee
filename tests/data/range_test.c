/* Names of parts of a file: what is one, and that they print as they read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/file.h"
#include "base/rng.h"
#include "data/range.h"

static char directory[] = "/tmp/range_test.XXXXXX";

static int
setup(void **state)
{
	(void)state;
	return mkdtemp(directory) == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	return file_remove_tree(directory) == RS_OK ? 0 : -1;
}

static const struct {
	const char *name, *path;
	const char *printed;       /* NULL: as it was written                         */
} good[] = {
	{ "a.tsv@0-97", "a.tsv", NULL },
	{ "a.tsv@0-97,5000-9000", "a.tsv", NULL },
	{ "a.tsv@97-", "a.tsv", NULL },
	{ "a.tsv@0-97,200-", "a.tsv", NULL },
	{ "d/x@y@3-4", "d/x@y", NULL },
	{ "x@1-2@3-4", "x@1-2", NULL },
	{ "a@007-0010", "a", "a@7-10" },
	{ "a@0-18446744073709551614", "a", NULL },
};

static const char *const plain[] = {
	"a.tsv", "", "@", "@0-5", "a@", "a@5", "a@-5", "a@5-5", "a@6-5", "a@0-5,", "a@,0-5",
	"a@0-5,5-9", "a@0-5,4-9", "a@5-9,0-3", "a@0-,5-9", "a@0-5 ", "a@ 0-5", "a@+0-5",
	"a@0-5x", "a@0--5", "a@0-5-9", "a@0-18446744073709551615", "a@0-18446744073709551616",
	"a@18446744073709551615-", "a@1e3-2e3", "u@example.org", "-@0-5", "a@0-5/b",
};

static void
names_of_ranges_print_as_they_read(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
		struct range_list list;
		struct buffer text;
		char *path;

		buffer_init(&text, 4096);
		assert_int_equal(range_parse(good[i].name, &path, &list), RS_OK);
		assert_string_equal(path, good[i].path);
		assert_true(list.n > 0);
		assert_int_equal(range_print(path, &list, &text), RS_OK);
		assert_string_equal(text.data,
			good[i].printed != NULL ? good[i].printed : good[i].name);
		buffer_free(&text);
		range_list_free(&list);
		free(path);
	}
}

static void
other_text_is_a_plain_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof plain / sizeof *plain; i++) {
		struct range_list list;
		char *path;

		assert_int_equal(range_parse(plain[i], &path, &list), RS_OK);
		if (path != NULL)
			fail_msg("'%s' was taken for ranges of '%s'", plain[i], path);
		assert_int_equal(list.n, 0);
	}
}

static void
a_file_called_so_comes_first(void **state)
{
	struct range_list list;
	char name[128], *path;

	(void)state;
	(void)snprintf(name, sizeof name, "%s/a@0-5", directory);
	assert_int_equal(range_parse(name, &path, &list), RS_OK);
	assert_non_null(path);
	range_list_free(&list);
	free(path);
	assert_int_equal(file_replace(name, "x", 1), RS_OK);
	assert_int_equal(range_parse(name, &path, &list), RS_OK);
	assert_null(path);
}

static void
ranges_that_meet_are_one(void **state)
{
	struct range_list list = { .n = 0 };

	(void)state;
	assert_int_equal(range_list_add(&list, 0, 97), RS_OK);
	assert_int_equal(range_list_add(&list, 100, 150), RS_OK);
	assert_int_equal(range_list_add(&list, 150, 200), RS_OK);
	assert_int_equal(list.n, 2);
	assert_int_equal(range_list_bytes(&list), 97 + 100);
	assert_int_equal(range_list_add(&list, 199, 300), RS_EDATA);
	assert_int_equal(range_list_add(&list, 300, 300), RS_EDATA);
	assert_int_equal(range_list_add(&list, 300, RANGE_END), RS_OK);
	assert_int_equal(range_list_add(&list, 400, 500), RS_EDATA);
	assert_int_equal(list.n, 3);
	range_list_free(&list);
}

/* Any text is a plain name, or ranges that print and read back the same. */
static void
fuzz_of_the_syntax(void **state)
{
	static const char alphabet[] = "0123456789--,,@@a/ ";
	uint64_t n_ranges = 0;

	(void)state;
	for (uint64_t i = 0; i < 50000; i++) {
		const size_t n = (size_t)rng_below(i, 0, 12);
		char name[32] = "nofile@";
		struct range_list list, again;
		struct buffer text;
		char *path, *path_again;

		for (size_t k = 0; k < n; k++)
			name[7 + k] = alphabet[rng_below(i, k + 1, sizeof alphabet - 1)];
		assert_int_equal(range_parse(name, &path, &list), RS_OK);
		if (path == NULL)
			continue;
		n_ranges++;
		buffer_init(&text, 4096);
		assert_int_equal(range_print(path, &list, &text), RS_OK);
		assert_int_equal(range_parse(text.data, &path_again, &again), RS_OK);
		assert_string_equal(path_again, path);
		assert_int_equal(again.n, list.n);
		assert_memory_equal(again.item, list.item, list.n * sizeof *list.item);
		for (size_t k = 0; k < list.n; k++)
			assert_true(list.item[k].begin < list.item[k].end &&
				(k == 0 || list.item[k - 1].end < list.item[k].begin));
		buffer_free(&text);
		range_list_free(&list);
		range_list_free(&again);
		free(path);
		free(path_again);
	}
	assert_true(n_ranges > 100);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_ranges_print_as_they_read),
		cmocka_unit_test(other_text_is_a_plain_name),
		cmocka_unit_test(a_file_called_so_comes_first),
		cmocka_unit_test(ranges_that_meet_are_one),
		cmocka_unit_test(fuzz_of_the_syntax),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
