/* The steady state of the scoring library: no allocation. */
#include "lib/recsys.h"

#include <string.h>

#include "tests/allocations.h"
#include "tests/test.h"

#include "recsys_case.h"

#define ROUNDS 50

/* All rows at once, then each alone, as text; a row of values; a bad row. */
static void
score_all(struct recsys_scorer *s, const struct recsys_case *c)
{
	static const struct recsys_value value[] = {
		{ .field = "a", .text = "u7", .n_text = 2 },
		{ .field = "b", .type = RECSYS_INT, .integer = 12 },
		{ .field = "m", .text = "k1", .n_text = 2 },
		{ .field = "m", .text = "k2", .n_text = 2 },
		{ .field = "x", .type = RECSYS_NUMBER, .number = 3.5 },
	};
	const struct recsys_row row[] = { { value, N_ROWS(value) }, { value, 1 } };
	struct recsys_scores out;

	assert_int_equal(recsys_score_text(s, c->text, c->n, &out), RECSYS_OK);
	for (size_t i = 0; i < RECSYS_CASE_ROWS; i++)
		assert_int_equal(recsys_case_line(c, s, i, &out), RECSYS_OK);
	assert_int_equal(recsys_score_rows(s, row, 2, &out), RECSYS_OK);
	assert_int_equal(recsys_score_text(s, "u1\n", 3, &out), RECSYS_EPARTIAL);
}

static void
scoring_does_not_allocate_once_it_is_warm(void **state)
{
	struct recsys_scorer *s;
	struct recsys *m;

	(void)state;
	if (!ALLOCATIONS_CAN_COUNT)
		SKIP_BECAUSE("allocations cannot be counted in this build");
	struct recsys_case *const c = recsys_case_make(NULL);
	assert_int_equal(recsys_open(c->directory, &m), RECSYS_OK);
	assert_int_equal(recsys_scorer_open(m, RECSYS_PREDICTION, &s), RECSYS_OK);
	for (int i = 0; i < 3; i++)
		score_all(s, c);
	const size_t before = allocations_count();
	for (int i = 0; i < ROUNDS; i++)
		score_all(s, c);
	assert_int_equal(allocations_count(), before);
	/* The count would notice one. */
	recsys_case_name(c, 2);
	assert_int_equal(recsys_reload(m, NULL), RECSYS_OK);
	score_all(s, c);
	assert_true(allocations_count() > before);
	recsys_case_end(c, m, s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scoring_does_not_allocate_once_it_is_warm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
