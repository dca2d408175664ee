/* Which state a round goes on from. */
#include <string.h>

#include "tests/test.h"
#include "train/live.h"
#include "train/place.h"

static struct place_offer offered;

static enum rs_status
offer(void *context, struct place_offer *out)
{
	(void)context;
	*out = offered;
	return RS_OK;
}

static const struct place_tables tables = { .offer = offer };
static const struct train_place place = { .n_ranks = 1, .tables = &tables };

static struct live_state *
put(struct live *l, uint64_t clock, enum live_phase phase)
{
	const struct live_head head = { .tables = 5, .clock = clock, .phase = phase,
		.progress = { .step = clock + 100 }, .P = 2, .n_files = 1 };
	struct live_state *s;

	assert_int_equal(live_put(l, &head, &s), RS_OK);
	l->newest = head.progress.step;
	return s;
}

static void
the_newest_with_tables_is_taken(void **state)
{
	struct live_choice c;
	struct live *l;

	(void)state;
	assert_int_equal(live_open(3, &l), RS_OK);
	for (uint64_t clock = 7; clock < 11; clock++)
		put(l, clock, LIVE_DONE);
	assert_null(live_find(l, 7));
	l->is_whole = 1;
	offered = (struct place_offer){ .tables = 5, .lowest = 2, .highest = 9 };
	assert_int_equal(live_choose(l, &place, 0, &c), RS_OK);
	assert_int_equal(c.holder, 0);
	assert_int_equal(c.clock, 9);
	assert_int_equal(c.step, 109);
	assert_int_equal(c.newest, 110);
	assert_non_null(live_find(l, 8));
	assert_null(live_find(l, 10));         /* will be done again                      */
	live_close(l);
}

/* Other tables, none of these steps, a run that is over, a process that was not ready. */
static void
what_does_not_fit_is_forgotten(void **state)
{
	static const struct {
		struct place_offer offer;
		int is_whole, is_over;
		const char *why;
	} list[] = {
		{ { 6, 0, 100, "" }, 1, 0, "not those of a step" },
		{ { 5, 11, 100, "" }, 1, 0, "not those of a step" },
		{ { 5, 1, 0, "ps 3 has lost its tables" }, 1, 0, "ps 3 has lost" },
		{ { 5, 0, 100, "" }, 0, 0, "no worker has lived on" },
		{ { 5, 0, 100, "" }, 1, 1, "final" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(list); i++) {
		struct live_choice c;
		struct live *l;

		assert_int_equal(live_open(2, &l), RS_OK);
		put(l, 10, LIVE_DONE);
		l->is_whole = list[i].is_whole;
		offered = list[i].offer;
		assert_int_equal(live_choose(l, &place, list[i].is_over, &c), RS_OK);
		assert_true(c.holder == SIZE_MAX);
		assert_int_equal(c.newest, 110);
		if (strstr(c.why, list[i].why) == NULL)
			fail_msg("%zu: %s", i, c.why);
		assert_null(live_newest(l));
		live_close(l);
	}
}

static void
a_run_that_only_restores_needs_no_tables(void **state)
{
	struct live_choice c;
	struct live *l;

	(void)state;
	assert_int_equal(live_open(2, &l), RS_OK);
	put(l, 10, LIVE_RESTORES);
	l->is_whole = 1;
	offered = (struct place_offer){ .tables = 9, .lowest = 1, .why = "lost" };
	assert_int_equal(live_choose(l, &place, 0, &c), RS_OK);
	assert_int_equal(c.holder, 0);
	assert_int_equal(c.phase, LIVE_RESTORES);
	live_close(l);
}

/* Also when a state has more rows of counts than the one that was there. */
static void
states_are_kept_in_their_places(void **state)
{
	struct live_head head = { .clock = 3, .P = 2, .n_files = 1 };
	struct live_state *first, *again;
	struct live *l;

	(void)state;
	assert_int_equal(live_open(1000, &l), RS_OK);
	assert_int_equal(l->depth, LIVE_DEPTH_MAX);
	assert_int_equal(live_put(l, &head, &first), RS_OK);
	const float *const dense = first->dense;
	assert_int_equal(live_put(l, &head, &again), RS_OK);
	assert_ptr_equal(first, again);
	assert_ptr_equal(again->dense, dense);
	head.n_files = 500;
	assert_int_equal(live_put(l, &head, &again), RS_OK);
	assert_ptr_equal(first, again);
	memset(again->tally, 1, 500 * sizeof *again->tally);
	live_forget(l);
	assert_null(live_newest(l));
	live_close(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_newest_with_tables_is_taken),
		cmocka_unit_test(what_does_not_fit_is_forgotten),
		cmocka_unit_test(a_run_that_only_restores_needs_no_tables),
		cmocka_unit_test(states_are_kept_in_their_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
