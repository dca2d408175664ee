/* The JSON writer: structure, escaping, numbers. */
#include "tests/test.h"

#include <math.h>

#include "base/json.h"

static void
commas_and_brackets_nest(void **state)
{
	struct json j;

	(void)state;
	json_init(&j);
	json_open(&j, NULL, '{');
	json_int(&j, "a", -1);
	json_open(&j, "list", '[');
	json_bool(&j, NULL, 1);
	json_bool(&j, NULL, 0);
	json_open(&j, NULL, '{');
	json_close(&j);
	json_string(&j, NULL, NULL);
	json_close(&j);
	json_double(&j, "b", .1);
	json_close(&j);
	assert_string_equal(json_text(&j), "{\"a\":-1,\"list\":[true,false,{},null],\"b\":0.1}");
	json_reset(&j);
	json_open(&j, NULL, '[');
	json_close(&j);
	assert_string_equal(json_text(&j), "[]");
	json_free(&j);
}

static void
numbers_are_exact_and_never_nan(void **state)
{
	struct json j;

	(void)state;
	json_init(&j);
	json_open(&j, NULL, '[');
	json_double(&j, NULL, NAN);
	json_double(&j, NULL, -INFINITY);
	json_double(&j, NULL, 0.1 + 0.2);
	json_double(&j, NULL, 1e300);
	json_int(&j, NULL, INT64_MIN);
	json_close(&j);
	assert_string_equal(json_text(&j),
		"[null,null,0.30000000000000004,1e+300,-9223372036854775808]");
	json_free(&j);
}

static void
text_is_escaped(void **state)
{
	static const struct {
		const char *value, *quoted;
	} row[] = {
		{ "", "\"\"" },
		{ "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\n\r\t\b\f", "\"\\n\\r\\t\\b\\f\"" },
		{ "\x01\x1f\x7f", "\"\\u0001\\u001f\\u007f\"" },
		{ "naïve 🦊", "\"naïve 🦊\"" },
		{ "\xff!", "\"\\u00ff!\"" },
		{ "\xe6\x97", "\"\\u00e6\\u0097\"" },
		{ "\xed\xa0\x80", "\"\\u00ed\\u00a0\\u0080\"" },
		{ "/", "\"/\"" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		struct json j;

		json_init(&j);
		json_string(&j, NULL, row[i].value);
		assert_string_equal(json_text(&j), row[i].quoted);
		json_free(&j);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commas_and_brackets_nest),
		cmocka_unit_test(numbers_are_exact_and_never_nan),
		cmocka_unit_test(text_is_escaped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
