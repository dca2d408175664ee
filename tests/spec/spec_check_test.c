/* Rules of a spec that concern the processes of a run, or all fields at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "spec/spec.h"

#define HEAD "[model]\ntype = deepfm\n[data]\ntrain = /d/t.tsv\nlabel = 1\n" \
	"[field C1]\ncolumn = 2\n[cluster]\n"

/* words "": no problem at all. */
static void
assert_problem(const char *text, const char *words)
{
	struct spec *spec;

	(void)spec_load_text(text, "t.ini", &spec);
	const char *found = spec_n_problems(spec) > 0 ? spec_problem(spec, 0)->text : "";
	if (*words == '\0' ? *found != '\0' : strstr(found, words) == NULL)
		fail_msg("wanted '%s', found '%s'", words, found);
	spec_free(spec);
}

static void
a_lease_is_worth_two_heartbeats(void **state)
{
	(void)state;
	assert_problem(HEAD "heartbeat = 3\n",
		"[cluster] heartbeat: a lease of 4.5 s is too short for a heartbeat of 3 s");
	assert_problem(HEAD "lease = 0.9s\n", "[cluster] lease: a lease of 0.9 s is too short");
	assert_problem(HEAD "heartbeat = 3\nlease = 6\n", "");
}

#define MODEL(name) "[model]\ntype = " name "\n[data]\ntrain = /d/t.tsv\nlabel = 1\n"
#define IDS(name) "[field " name "]\n"
#define NUMBER(name) "[field " name "]\ntype = numeric\n"

static void
a_model_of_vectors_has_a_field_with_one(void **state)
{
	(void)state;
	assert_problem(MODEL("fm") IDS("A") "part = wide\n", "fm needs a vector, but all fields");
	assert_problem(MODEL("wide_deep") IDS("A") "part = wide\n" NUMBER("B") "part = wide\n",
		"wide_deep needs a vector, but all fields have part = wide");
	assert_problem(MODEL("deepfm") IDS("A") "part = wide\n" IDS("B") "part = deep\n", "");
	assert_problem(MODEL("deepfm") NUMBER("A"), "");
	assert_problem(MODEL("dcn") NUMBER("A"), "");
}

static void
dlrm_has_two_vectors(void **state)
{
	(void)state;
	assert_problem(MODEL("dlrm") IDS("A"), "needs two, but there is one field");
	assert_problem(MODEL("dlrm") NUMBER("A") NUMBER("B"), "but there are only numeric fields");
	assert_problem(MODEL("dlrm") NUMBER("A") IDS("B"), "");
	assert_problem(MODEL("dlrm") IDS("A") IDS("B"), "");
	assert_problem(MODEL("dlrm") NUMBER("A") NUMBER("B") "transform = bucketize\n"
		"boundaries = 1,2\n", "");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_lease_is_worth_two_heartbeats),
		cmocka_unit_test(a_model_of_vectors_has_a_field_with_one),
		cmocka_unit_test(dlrm_has_two_vectors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
