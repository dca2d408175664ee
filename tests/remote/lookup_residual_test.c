/* What rounding leaves out of gradients: kept, added, dropped and counted. */
#include "remote/lookup_residual.h"
#include "tests/test.h"

static void
what_is_left_is_added_to_the_next_gradient_of_the_row(void **state)
{
	struct lookup_residual r;
	float x[2] = { 1, 2 };

	(void)state;
	assert_int_equal(lookup_residual_init(&r, 10, 2), RS_OK);
	lookup_residual_add(&r, 3, x);
	assert_true(x[0] == 1 && x[1] == 2);
	lookup_residual_put(&r, 3, (const float[]){ 0.25f, -0.5f });
	lookup_residual_put(&r, 4, (const float[]){ 8, 8 });
	lookup_residual_add(&r, 3, x);
	assert_true(x[0] == 1.25f && x[1] == 1.5f);
	lookup_residual_put(&r, 3, (const float[]){ 0, 1 });
	lookup_residual_add(&r, 3, x);
	assert_true(x[0] == 1.25f && x[1] == 2.5f);
	assert_int_equal(r.n_dropped, 0);
	lookup_residual_free(&r);
}

static void
a_row_that_wants_the_place_of_another_drops_what_is_there(void **state)
{
	struct lookup_residual r;
	float x[1] = { 0 };

	(void)state;
	assert_int_equal(lookup_residual_init(&r, 4, 1), RS_OK);
	lookup_residual_put(&r, 1, (const float[]){ 5 });
	lookup_residual_put(&r, 5, (const float[]){ 7 });
	assert_int_equal(r.n_dropped, 1);
	lookup_residual_add(&r, 1, x);
	assert_true(x[0] == 0);
	lookup_residual_add(&r, 5, x);
	assert_true(x[0] == 7);
	lookup_residual_free(&r);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_left_is_added_to_the_next_gradient_of_the_row),
		cmocka_unit_test(a_row_that_wants_the_place_of_another_drops_what_is_there),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
