/* Labels: the conventions, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "data/label.h"

static char *words[] = { "no", "yes" }, *numbers[] = { "-1", "1" };

static const struct {
	struct data_settings data;
	const char *cell;
	int good;
	float label;
} label_table[] = {
	{ { .label_type = LABEL_BINARY }, "1", 1, 1 },
	{ { .label_type = LABEL_BINARY }, "0.0", 1, 0 },
	{ { .label_type = LABEL_BINARY }, "+1", 1, 1 },
	{ { .label_type = LABEL_BINARY }, "2", 0, 0 },
	{ { .label_type = LABEL_BINARY }, "", 0, 0 },
	{ { .label_type = LABEL_BINARY, .label_values = { words, 2 } }, "yes", 1, 1 },
	{ { .label_type = LABEL_BINARY, .label_values = { words, 2 } }, "no", 1, 0 },
	{ { .label_type = LABEL_BINARY, .label_values = { words, 2 } }, "1", 0, 0 },
	{ { .label_type = LABEL_BINARY, .label_values = { numbers, 2 } }, "-1.0", 1, 0 },
	{ { .label_type = LABEL_BINARY, .label_values = { numbers, 2 } }, "+1", 1, 1 },
	{ { .label_type = LABEL_BINARY, .label_values = { numbers, 2 } }, "0", 0, 0 },
	{ { .label_type = LABEL_PROBABILITY }, "0.25", 1, 0.25f },
	{ { .label_type = LABEL_PROBABILITY }, "1.5", 0, 0 },
	{ { .label_type = LABEL_REAL }, "-3.5", 1, -3.5f },
	{ { .label_type = LABEL_REAL }, "1e300", 0, 0 },
	{ { .label_type = LABEL_REAL }, "x", 0, 0 },
};

static void
labels_follow_the_convention_of_the_spec(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(label_table) / sizeof(label_table[0]); i++) {
		const struct cell cell = { label_table[i].cell, strlen(label_table[i].cell) };
		struct label_rule rule;
		float label = 7;

		label_init(&rule, &label_table[i].data);
		assert_int_equal(!!label_read(&rule, cell, &label), label_table[i].good);
		if (label_table[i].good)
			assert_true(label == label_table[i].label);
	}
}

static void
error_names_the_label_and_what_was_wanted(void **state)
{
	const struct data_settings data = { .label_type = LABEL_BINARY,
		.label_values = { words, 2 } };
	const struct cell cell = { "maybe", 5 };
	struct cell_error error = { .at = NULL };
	struct label_rule rule;

	(void)state;
	label_init(&rule, &data);
	assert_int_equal(label_error(&rule, cell, &error), RS_EDATA);
	assert_string_equal(error.text, "label 'maybe', wanted 'no' or 'yes'");
	assert_ptr_equal(error.at, cell.text);
	assert_non_null(strstr(error.hint, "data.label_values"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(labels_follow_the_convention_of_the_spec),
		cmocka_unit_test(error_names_the_label_and_what_was_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
