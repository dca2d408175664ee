/* One column of a delimited file: ends of rows and cells. */
#include "data/row_column.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const struct row_column quoted = { .separator = ',', .quoted = 1, .max_line = 1000,
	.column = 2 };
static const struct row_column plain = { .separator = '\t', .max_line = 10, .column = 1,
	.trim = 1 };

static void
check_cell(const struct row_column *c, const char *row, const char *want)
{
	const char *cell;
	size_t n;

	if (!row_column_cell(c, row, strlen(row), &cell, &n)) {
		assert_null(want);
		return;
	}
	assert_non_null(want);
	assert_int_equal(n, strlen(want));
	assert_memory_equal(cell, want, n);
}

static void
cells_are_found(void **state)
{
	(void)state;
	check_cell(&quoted, "a,b,c\n", "c");
	check_cell(&quoted, "a,b,c\r\n", "c");
	check_cell(&quoted, "a,b,c,d", "c");
	check_cell(&quoted, "a,b,\n", "");
	check_cell(&quoted, "a,b\n", NULL);
	check_cell(&quoted, "\n", NULL);
	check_cell(&quoted, "\"a,\"\"b\"\"\n\",\"\",\"c\"\n", "c");
	check_cell(&quoted, "\"a,b\",c,\"d,\n", "\"d,");
	check_cell(&plain, "a\t b \tc\n", "b");
	check_cell(&plain, "\"a\t\"b\"\n", "\"b\"");
}

static void
rows_end_outside_quotes(void **state)
{
	(void)state;
	assert_int_equal(row_column_end(&quoted, "a,b\nc", 5), 4);
	assert_int_equal(row_column_end(&quoted, "a,b", 3), 0);
	assert_int_equal(row_column_end(&quoted, "", 0), 0);
	assert_int_equal(row_column_end(&quoted, "\"a\nb\",c\nd", 9), 8);
	assert_int_equal(row_column_end(&quoted, "\"a\nb", 4), 0);
	assert_int_equal(row_column_end(&plain, "\"a\nb\"\n", 6), 3);
	/* A row that is too long ends with its line. */
	assert_int_equal(row_column_end(&plain, "0123456789abc", 13), 0);
	assert_int_equal(row_column_end(&plain, "0123456789abc\nd", 15), 14);
}

static void
blank_rows_are_none(void **state)
{
	(void)state;
	assert_true(row_column_is_blank("", 0));
	assert_true(row_column_is_blank("\n", 1));
	assert_true(row_column_is_blank("\r\n", 2));
	assert_false(row_column_is_blank(" \n", 2));
	assert_false(row_column_is_blank("a", 1));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cells_are_found),
		cmocka_unit_test(rows_end_outside_quotes),
		cmocka_unit_test(blank_rows_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
