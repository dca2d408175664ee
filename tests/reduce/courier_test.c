/* What is posted in any order is carried in order, once; failures come out. */
#include "../test.h"

#include <pthread.h>

#include "base/thread.h"
#include "reduce/courier.h"

enum { N = 5, ROUNDS = 200 };

struct cart {
	size_t load[N], got[N], n, fails_at;
};

static enum rs_status
carry(void *context, size_t i)
{
	struct cart *c = context;

	assert_true(c->n == i);
	c->got[c->n++] = c->load[i];
	return i == c->fails_at ? rs_fail(RS_EPEER, "thing %zu fell off", i) : RS_OK;
}

static void
things_are_carried_in_order_however_they_are_posted(void **state)
{
	struct cart c = { .fails_at = N };
	struct courier *courier;

	(void)state;
	assert_int_equal(courier_open(N, carry, &c, &courier), RS_OK);
	for (size_t round = 0; round < ROUNDS; round++) {
		c.n = 0;
		for (size_t k = 0; k < N; k++) {
			const size_t i = (k * (1 + round % 4) + round) % N;

			c.load[i] = round * N + i;
			courier_post(courier, i);
		}
		assert_int_equal(courier_settle(courier), RS_OK);
		assert_int_equal(c.n, N);
		for (size_t i = 0; i < N; i++)
			assert_int_equal(c.got[i], round * N + i);
	}
	courier_close(courier);
}

static void
after_a_failure_nothing_is_carried(void **state)
{
	struct cart c = { .fails_at = 2 };
	struct courier *courier;

	(void)state;
	assert_int_equal(courier_open(N, carry, &c, &courier), RS_OK);
	for (size_t round = 0; round < 2; round++) {
		for (size_t i = N; i-- > 0;)
			courier_post(courier, i);
		assert_int_equal(courier_settle(courier), RS_EPEER);
		assert_string_equal(rs_failure()->text, "thing 2 fell off");
		assert_int_equal(c.n, 3);
	}
	courier_close(courier);
}

static void
a_round_that_nobody_settles_is_left(void **state)
{
	struct cart c = { .fails_at = N };
	struct courier *courier;

	(void)state;
	assert_int_equal(courier_open(N, carry, &c, &courier), RS_OK);
	courier_post(courier, 1);
	courier_close(courier);
	assert_int_equal(c.n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(things_are_carried_in_order_however_they_are_posted),
		cmocka_unit_test(after_a_failure_nothing_is_carried),
		cmocka_unit_test(a_round_that_nobody_settles_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
