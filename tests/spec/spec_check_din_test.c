/* Rules of din in a spec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "spec/spec.h"

#define HEAD "[model]\ntype = din\n[data]\ntrain = /d/t.tsv\nlabel = 1\n" \
	"[field item]\ncolumn = 2\n[field tags]\ncolumn = 3\ntype = multi\n"
#define SEQUENCE(name) "[field " name "]\ncolumn = 4\ntype = sequence\n"

/* words NULL: no error at all. */
static void
assert_error(const char *text, const char *words)
{
	struct spec *spec;
	char found[512] = "";

	(void)spec_load_text(text, "t.ini", &spec);
	for (size_t i = 0; i < spec_n_problems(spec) && *found == '\0'; i++)
		if (spec_problem(spec, i)->is_error)
			snprintf(found, sizeof(found), "%s", spec_problem(spec, i)->text);
	spec_free(spec);
	if (words == NULL ? *found != '\0' : strstr(found, words) == NULL)
		fail_msg("wanted '%s', found '%s'", words == NULL ? "" : words, found);
}

static void
a_history_is_needed(void **state)
{
	(void)state;
	assert_error(HEAD, "din needs a field of type sequence");
	assert_error(HEAD SEQUENCE("clicked") "share = item\n", NULL);
}

static void
items_are_compared_with_the_one_id_of_a_field(void **state)
{
	(void)state;
	assert_error(HEAD SEQUENCE("clicked"),
		"[field clicked] share: the field that the items are compared with is needed");
	assert_error(HEAD SEQUENCE("clicked") "share = tags\n",
		"'tags' has several ids a row; items are compared with one");
	assert_error(HEAD SEQUENCE("clicked") "share = itme\n", "there is no field 'itme'");
}

static void
plain_pooling_compares_nothing(void **state)
{
	(void)state;
	assert_error(HEAD SEQUENCE("clicked") "[din]\npooling = mean\n", NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_history_is_needed),
		cmocka_unit_test(items_are_compared_with_the_one_id_of_a_field),
		cmocka_unit_test(plain_pooling_compares_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
