/* Lines "key = value", written and read, and what is no such thing. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/number.h"
#include "comm/fields.h"

static struct fields
of(const char *text)
{
	return (struct fields){ text, strlen(text) };
}

static void
what_is_put_is_found(void **state)
{
	struct buffer b;
	char text[64];
	uint64_t whole;
	double number;

	(void)state;
	buffer_init(&b, FIELDS_MAX);
	assert_int_equal(RS_OK, fields_put(&b, "name", "%s %d", "ps", 3));
	assert_int_equal(RS_OK, fields_put(&b, "empty", "%s", ""));
	assert_int_equal(RS_OK, fields_put(&b, "bytes", "%llu", 18446744073709551615ULL));
	assert_int_equal(RS_OK, fields_put(&b, "seconds", "%s",
		number_print_double((char[32]){ 0 }, .1)));
	const struct fields f = { b.data, b.n };
	assert_int_equal(RS_OK, fields_text(&f, "name", text, sizeof(text)));
	assert_string_equal("ps 3", text);
	assert_int_equal(RS_OK, fields_text(&f, "empty", text, sizeof(text)));
	assert_string_equal("", text);
	assert_int_equal(RS_OK, fields_u64(&f, "bytes", &whole));
	assert_true(whole == UINT64_MAX);
	assert_int_equal(RS_OK, fields_double(&f, "seconds", &number));
	assert_true(number == .1);
	buffer_free(&b);
}

static void
a_value_is_one_line(void **state)
{
	struct buffer b;
	char text[64];

	(void)state;
	buffer_init(&b, FIELDS_MAX);
	assert_int_equal(RS_OK, fields_put(&b, "text", "%s", "one\nrole = ps\r\x1b[2J"));
	const struct fields f = { b.data, b.n };
	assert_int_equal(RS_OK, fields_text(&f, "text", text, sizeof(text)));
	assert_string_equal("one role = ps  [2J", text);
	assert_int_equal(RS_EPROTOCOL, fields_text(&f, "role", text, sizeof(text)));
	buffer_free(&b);
}

static void
keys_repeat_in_order(void **state)
{
	const struct fields f = of("a = 1\nb = 2\na = 3\naa = 4\na = 5");
	const char *value;
	size_t n, at = 0;

	(void)state;
	assert_true(fields_find(&f, "a", 2, &value, &n));
	assert_int_equal(1, n);
	assert_int_equal('5', value[0]);
	assert_false(fields_find(&f, "a", 3, &value, &n));
	for (const char *want = "135"; *want != '\0'; want++) {
		assert_true(fields_next(&f, "a", &at, &value, &n));
		assert_int_equal(*want, value[0]);
	}
	assert_false(fields_next(&f, "a", &at, &value, &n));
}

static void
malformed_fields_are_named(void **state)
{
	static const char nul[] = "text = a\0b\n";
	static const struct { const char *text, *key; } row[] = {
		{ "", "step" }, { "step", "step" }, { "step = ", "step" }, { "step =4", "step" },
		{ "step = -1", "step" }, { "step = 1x", "step" }, { "step = 0x10", "step" },
		{ "step = 18446744073709551616", "step" }, { " step = 1", "step" },
		{ "step = 1.5", "step" }, { "\n\n = 1\n", "step" },
	};
	char small[4];
	uint64_t whole;
	double number;

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const struct fields f = of(row[i].text);

		assert_int_equal(RS_EPROTOCOL, fields_u64(&f, row[i].key, &whole));
		assert_non_null(strstr(rs_failure()->text, row[i].key));
	}
	const struct fields f = of("text = four\nx = nan\ny = inf\nz = \x1b");
	assert_int_equal(RS_EPROTOCOL, fields_text(&f, "text", small, sizeof(small)));
	assert_int_equal(RS_EPROTOCOL, fields_double(&f, "x", &number));
	assert_int_equal(RS_EPROTOCOL, fields_double(&f, "y", &number));
	assert_int_equal(RS_EPROTOCOL, fields_text(&f, "z", small, sizeof(small)));
	const struct fields g = { nul, sizeof(nul) - 1 };
	assert_int_equal(RS_EPROTOCOL, fields_text(&g, "text", small, sizeof(small)));
}

static void
a_failure_survives_the_way(void **state)
{
	struct rs_failure before, after;
	struct buffer b;

	(void)state;
	buffer_init(&b, FIELDS_MAX);
	rs_fail_at(RS_EDATA, "day_1.tsv", 12, 3, "column '%s' is no number", "x");
	rs_hint("clean it");
	rs_failure_take(&before);
	assert_int_equal(RS_OK, fields_put_failure(&b, &before));
	const struct fields f = { b.data, b.n };
	assert_int_equal(RS_EDATA, fields_failure(&f, "ps 0"));
	rs_failure_take(&after);
	assert_string_equal(before.text, after.text);
	assert_string_equal(before.hint, after.hint);
	assert_string_equal("day_1.tsv:12:3", after.where);
	assert_int_equal(before.file_bytes, after.file_bytes);
	assert_int_equal(12, after.line);
	assert_int_equal(3, after.column);
	buffer_free(&b);
}

static void
a_refusal_is_always_a_failure(void **state)
{
	static const char *const text[] = {
		"", "status = OK\ntext = fine\n", "status = NOTHING\ntext = a\n",
		"status = EPEER\n",
		"status = EPEE\ntext = a\n", "text = a\n", "status = EPEER\ntext = \x01\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(text) / sizeof(text[0]); i++) {
		const struct fields f = of(text[i]);

		assert_int_equal(RS_EPROTOCOL, fields_failure(&f, "ps 7"));
		assert_non_null(strstr(rs_failure()->text, "ps 7"));
	}
	const struct fields f = of("status = EPEER\ntext = a\nwhere = x:3\nplace = 99 3 0\n");
	assert_int_equal(RS_EPEER, fields_failure(&f, "ps 7"));
	assert_int_equal(3, rs_failure()->file_bytes);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(what_is_put_is_found),
		cmocka_unit_test(a_value_is_one_line),
		cmocka_unit_test(keys_repeat_in_order),
		cmocka_unit_test(malformed_fields_are_named),
		cmocka_unit_test(a_failure_survives_the_way),
		cmocka_unit_test(a_refusal_is_always_a_failure),
	};

	return cmocka_run_group_tests_name("comm/fields", test, NULL, NULL);
}
