/* The scoring library: vectors of models with towers. */
#include "lib/recsys.h"

#include <math.h>
#include <string.h>

#include "tests/test.h"

#include "recsys_case.h"

static const enum recsys_output output_of[] = { RECSYS_LOGIT, RECSYS_USER, RECSYS_ITEM };

static void
text_rows_give_what_the_trainer_says(void **state)
{
	struct recsys_case *const c = recsys_case_make_towers();
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scores out;

	(void)state;
	for (size_t k = 0; k < N_ROWS(output_of); k++) {
		struct recsys_scorer *const s = recsys_case_scorer(m, output_of[k]);

		assert_int_equal(recsys_score_text(s, c->text, c->n, &out), RECSYS_OK);
		assert_int_equal(out.n, RECSYS_CASE_ROWS);
		assert_int_equal(out.width, k == 0 ? 1 : 8);
		assert_true(recsys_case_is_right(c, output_of[k], 0, &out));
		for (size_t i = 0; i < RECSYS_CASE_ROWS; i++) {
			assert_int_equal(recsys_case_line(c, s, i, &out), RECSYS_OK);
			assert_true(recsys_case_is_right(c, output_of[k], i, &out));
		}
		recsys_scorer_close(s);
	}
	recsys_close(m);
	recsys_case_free(c);
}

/* similarity = cosine, temperature = 0.5; Yi et al. 2019, section 3. */
static void
the_logit_is_the_product_of_the_vectors_over_the_temperature(void **state)
{
	struct recsys_case *const c = recsys_case_make_towers();
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *scorer[N_ROWS(output_of)];
	struct recsys_scores out[N_ROWS(output_of)];

	(void)state;
	for (size_t k = 0; k < N_ROWS(output_of); k++) {
		scorer[k] = recsys_case_scorer(m, output_of[k]);
		assert_int_equal(recsys_score_text(scorer[k], c->text, c->n, &out[k]), RECSYS_OK);
	}
	for (size_t i = 0; i < RECSYS_CASE_ROWS; i++) {
		const float *const user = out[1].value + i * out[1].width;
		const float *const item = out[2].value + i * out[2].width;
		double dot = 0, length = 0;

		for (size_t d = 0; d < out[1].width; d++) {
			dot += (double)user[d] * (double)item[d];
			length += (double)user[d] * (double)user[d];
		}
		assert_true(recsys_case_near((float)length, 1));
		assert_true(recsys_case_near((float)(dot / 0.5), out[0].value[i]));
	}
	for (size_t k = 0; k < N_ROWS(output_of); k++)
		recsys_scorer_close(scorer[k]);
	recsys_close(m);
	recsys_case_free(c);
}

/* A user is known before the items are. */
static void
values_of_one_tower_are_enough_for_its_vector(void **state)
{
	struct recsys_case *const c = recsys_case_make_towers();
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const user = recsys_case_scorer(m, RECSYS_USER);
	struct recsys_scorer *const item = recsys_case_scorer(m, RECSYS_ITEM);
	static const char text[] = "u7\t12\tk1|k2\t3\n";
	const struct recsys_value of_user[] = {
		{ .field = "a", .text = "u7", .n_text = 2 },
		{ .field = "m", .text = "k1", .n_text = 2 },
		{ .field = "m", .text = "k2", .n_text = 2 },
	};
	const struct recsys_value of_item[] = {
		{ .field = "b", .type = RECSYS_INT, .integer = 12 },
		{ .field = "x", .type = RECSYS_NUMBER, .number = 3 },
	};
	const struct recsys_row user_row = { of_user, N_ROWS(of_user) };
	const struct recsys_row item_row = { of_item, N_ROWS(of_item) };
	struct recsys_scores out;
	float want[8];

	(void)state;
	assert_int_equal(recsys_score_text(user, text, strlen(text), &out), RECSYS_OK);
	assert_int_equal(out.width, N_ROWS(want));
	memcpy(want, out.value, sizeof want);
	assert_int_equal(recsys_score_rows(user, &user_row, 1, &out), RECSYS_OK);
	assert_memory_equal(out.value, want, sizeof want);
	assert_int_equal(recsys_score_text(item, text, strlen(text), &out), RECSYS_OK);
	memcpy(want, out.value, sizeof want);
	assert_int_equal(recsys_score_rows(item, &item_row, 1, &out), RECSYS_OK);
	assert_memory_equal(out.value, want, sizeof want);
	/* The other tower's say nothing. */
	assert_int_equal(recsys_score_rows(item, &user_row, 1, &out), RECSYS_OK);
	assert_memory_not_equal(out.value, want, sizeof want);
	recsys_scorer_close(user);
	recsys_case_end(c, m, item);
}

static void
a_bad_row_has_a_vector_of_nan(void **state)
{
	struct recsys_case *const c = recsys_case_make_towers();
	struct recsys *const m = recsys_case_open(c);
	struct recsys_scorer *const s = recsys_case_scorer(m, RECSYS_ITEM);
	static const char text[] = "u7\t12\tk1\t3\nu7\t12\tk1\tabc\n";
	struct recsys_scores out;

	(void)state;
	assert_int_equal(recsys_score_text(s, text, strlen(text), &out), RECSYS_EPARTIAL);
	assert_int_equal(out.n, 2);
	for (size_t d = 0; d < out.width; d++)
		assert_true(isfinite(out.value[d]) && isnan(out.value[out.width + d]));
	recsys_case_end(c, m, s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_rows_give_what_the_trainer_says),
		cmocka_unit_test(the_logit_is_the_product_of_the_vectors_over_the_temperature),
		cmocka_unit_test(values_of_one_tower_are_enough_for_its_vector),
		cmocka_unit_test(a_bad_row_has_a_vector_of_nan),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
