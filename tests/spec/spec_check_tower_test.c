/* Rules of two_tower in a spec. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "spec/spec.h"

#define HEAD "[data]\ntrain = /d/t.tsv\nlabel = 1\n[field u]\ncolumn = 2\n[field i]\ncolumn = 3\n"
#define MODEL(loss) "[model]\ntype = two_tower\nloss = " loss "\n"
#define TOWERS "[tower user]\nfields = u\n[tower item]\nfields = i\n"

/* The text of the first error; "" when the spec is good. */
static void
first_error(const char *text, char *out, size_t size)
{
	struct spec *spec;

	*out = '\0';
	(void)spec_load_text(text, "t.ini", &spec);
	for (size_t i = 0; i < spec_n_problems(spec) && *out == '\0'; i++)
		if (spec_problem(spec, i)->is_error)
			snprintf(out, size, "%s", spec_problem(spec, i)->text);
	spec_free(spec);
}

static void
assert_error(const char *text, const char *words)
{
	char found[512];

	first_error(text, found, sizeof(found));
	if (strstr(found, words) == NULL || (*words == '\0' && *found != '\0'))
		fail_msg("wanted '%s', found '%s'", words, found);
}

static void
every_field_is_in_exactly_one_tower(void **state)
{
	(void)state;
	assert_error(HEAD MODEL("softmax") TOWERS, "");
	assert_error(HEAD MODEL("softmax") "[tower user]\nfields = u\n",
		"[tower item] fields: the fields of this tower are needed");
	assert_error(HEAD MODEL("softmax") "[tower user]\nfields = u,i\n[tower item]\nfields = i\n",
		"field 'i' is named twice");
	assert_error(HEAD MODEL("softmax") "[tower user]\nfields = v\n[tower item]\nfields = i\n",
		"there is no field 'v'");
	assert_error(HEAD MODEL("softmax") "[field x]\ncolumn = 4\n" TOWERS,
		"[field x] is in no tower");
}

static void
misspelt_field_of_items_is_suggested(void **state)
{
	static const char *const line[] = {
		"key = itm\n", "fields = item,itm\n", "within = itm\n",
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < sizeof(line) / sizeof(line[0]); i++) {
		struct spec *spec;

		snprintf(text, sizeof(text), "[model]\ntype = fm\n"
			"[data]\ntrain = /d/t.tsv\nlabel = 1\n"
			"[field item]\ncolumn = 2\n[items]\n%s%s",
			i == 0 ? "" : "key = item\n", line[i]);
		(void)spec_load_text(text, "t.ini", &spec);
		assert_true(spec_n_problems(spec) > 0);
		assert_non_null(strstr(spec_problem(spec, 0)->text, "there is no field 'itm'"));
		assert_string_equal(spec_problem(spec, 0)->hint, "did you mean 'item'?");
		spec_free(spec);
	}
}

static void
vectors_are_equally_wide(void **state)
{
	(void)state;
	assert_error(HEAD MODEL("softmax") TOWERS "hidden = 32\n",
		"a vector of 32 columns, but that of the user has 64");
	assert_error(HEAD MODEL("softmax") "[embedding]\ndim = 8\n[tower user]\nfields = u\n"
		"hidden = 20,8\n[tower item]\nfields = i\nhidden =\n", "");
}

static void
losses_need_what_they_compare_with(void **state)
{
	(void)state;
	assert_error(HEAD MODEL("bpr") TOWERS, "[items] negatives");
	assert_error(HEAD MODEL("sampled_softmax") TOWERS, "[items] negatives");
	assert_error(HEAD MODEL("ccl") TOWERS "[items]\nnegatives = 5\n[two_tower]\n"
		"similarity = dot\n", "loss = ccl is of cosines");
	assert_error(HEAD MODEL("softmax") TOWERS "[items]\nnegatives = 5\n", "none are drawn");
	assert_error(HEAD MODEL("bpr") TOWERS "[items]\nnegatives = 5\n", "");
	assert_error(HEAD "[model]\ntype = deepfm\nloss = bpr\n",
		"[model] loss: 'bpr' is for model type two_tower");
}

static void
a_label_is_wanted_only_where_there_are_no_other_negatives(void **state)
{
	static const char data[] = "[data]\ntrain = t\nformat = tsv\n[field u]\ncolumn = 1\n"
		"[field i]\ncolumn = 2\n";
	char text[1024];

	(void)state;
	snprintf(text, sizeof text, "%s" MODEL("softmax") TOWERS, data);
	assert_error(text, "");
	snprintf(text, sizeof text, "%s" MODEL("logloss") TOWERS, data);
	assert_error(text, "the column of the label is needed");
	snprintf(text, sizeof text, "%s[model]\ntype = deepfm\n", data);
	assert_error(text, "the column of the label is needed");
	snprintf(text, sizeof text, "%s[model]\ntype = deepfm\n[items]\nkey = i\n"
		"negatives = 4\n", data);
	assert_error(text, "");
}

static void
items_are_what_their_tower_is_made_of(void **state)
{
	(void)state;
	assert_error(HEAD MODEL("softmax") TOWERS "[items]\nfields = i,u\n",
		"[items] fields: 'u' is not a field of [tower item]");
	assert_error(HEAD "[field c]\ncolumn = 4\n" MODEL("softmax") "[tower user]\nfields = u\n"
		"[tower item]\nfields = i,c\n[items]\nfields = i\n",
		"'c' of [tower item] is not among them");
	assert_error(HEAD MODEL("softmax") TOWERS "[items]\nfields = i\n", "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_in_exactly_one_tower),
		cmocka_unit_test(misspelt_field_of_items_is_suggested),
		cmocka_unit_test(vectors_are_equally_wide),
		cmocka_unit_test(losses_need_what_they_compare_with),
		cmocka_unit_test(a_label_is_wanted_only_where_there_are_no_other_negatives),
		cmocka_unit_test(items_are_what_their_tower_is_made_of),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
