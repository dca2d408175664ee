/* Ranks die at any point of a run; the rest goes on, and the model is that of no deaths. */
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "place_run.h"
#include "train/checkpoint.h"

/* Who dies when, in the first rounds. */
struct death { size_t rank, call; int after; };

/* What a run of several rounds came to. */
struct course {
	size_t   n_rounds;
	uint64_t recomputed, epochs, rows, skipped;
	double   loss;
	struct train_epoch epoch[16];
	size_t   calls;                /* of rank 0 in the last round                 */
	int      is_late;              /* it only looked at the final version         */
	char     directory[300];
};

static int all_die;
static uint32_t boasting_round;        /* tables are shared, and promised in this round */
static const char *warm_start;         /* the directory, or NULL                      */

static int
has_version(const char *directory)
{
	uint64_t *list;
	size_t n;

	if (checkpoint_list(directory, &list, &n) != RS_OK)
		return 0;
	free(list);
	return n > 0;
}

/* One round; 1: it was the last. */
static int
run_round(struct job *job, size_t n, uint32_t round, const struct death *death, size_t *calls)
{
	struct place_hub *hub = place_hub_open(n, boasting_round > 0 ? HUB_SHARED : HUB_NONE);
	int over = 1;

	place_hub_set_round(hub, round);
	if (round == boasting_round)
		place_hub_boast(hub);
	if (death != NULL)
		place_hub_fail_call(hub, death->rank, death->call, death->after);
	job[0].resume = has_version(job[0].directory);
	job[0].from = job[0].resume ? NULL : warm_start;
	for (size_t r = 0; r < n; r++)
		train_summary_free(&job[r].summary);
	place_run_jobs(job, n, hub);
	for (size_t r = 0; r < n; r++) {
		const int well = job[r].status == RS_OK || job[r].status == RS_EPARTIAL;

		over &= well;
		if (!well && job[r].status != RS_EPEER && job[r].status != RS_ERESOURCE)
			fail_msg("rank %zu in round %u: %s", r, round, job[r].failure.text);
	}
	*calls = place_hub_calls(hub, 0);
	place_hub_close(hub);
	return over;
}

/* A whole run of n ranks with these deaths, one a round. */
static struct course
run(const char *spec, const char *policy, size_t n, const struct death *death, size_t n_deaths)
{
	static size_t number;
	struct job job[HUB_RANKS];
	struct course c = { .n_rounds = 0 };
	int over = 0;

	snprintf(c.directory, sizeof c.directory, "%s/lived-%zu", place_run_top, ++number);
	place_run_begin(job, n, place_run_spec(spec), c.directory);
	for (size_t r = 0; r < n; r++) {
		job[r].policy = policy;
		assert_int_equal(live_open(2, &job[r].live), RS_OK);
	}
	while (!over) {
		const struct death *d = c.n_rounds < n_deaths ? &death[c.n_rounds] : NULL;

		c.n_rounds++;
		for (size_t r = 0; r < n && all_die; r++)
			live_forget(job[r].live);
		over = run_round(job, n, (uint32_t)c.n_rounds, d, &c.calls);
		assert_true(c.n_rounds <= n_deaths + 1 + (boasting_round > 0));
	}
	c.is_late = job[0].summary.rows_read == 0;
	c.recomputed = job[0].summary.recomputed_steps;
	c.epochs = job[0].summary.epochs_done;
	c.rows = job[0].summary.rows_read;
	c.skipped = job[0].summary.rows_skipped;
	memcpy(c.epoch, job[0].epoch, sizeof c.epoch);
	c.loss = job[0].summary.loss;
	for (size_t r = 0; r < n; r++)
		live_close(job[r].live);
	place_run_free(job, n);
	return c;
}

static void
assert_undisturbed(const struct course *whole, const struct course *c, const char *what)
{
	place_run_assert_same(whole->directory, c->directory, 0);
	if (c->is_late)                        /* the final version was there already    */
		return;
	if (c->rows != whole->rows || c->epochs != whole->epochs || c->loss != whole->loss
	    || c->skipped != whole->skipped)
		fail_msg("%s: %zu rows, %zu skipped, %zu epochs, loss %.17g", what,
			(size_t)c->rows, (size_t)c->skipped, (size_t)c->epochs, c->loss);
	for (size_t i = 1; i < N_ROWS(c->epoch); i++) {
		const struct train_epoch *const a = &whole->epoch[i], *const b = &c->epoch[i];

		if (a->rows != b->rows || a->skipped != b->skipped || a->loss != b->loss
		    || a->is_best != b->is_best || a->step != b->step)
			fail_msg("%s, epoch %zu: %zu rows, %zu skipped, loss %.17g", what, i,
				(size_t)b->rows, (size_t)b->skipped, b->loss);
	}
}

/* The figures of the run, too, and no more than one step is done again, in whatever phase a
 * rank dies. */
static void
L056_wherever_a_rank_dies_the_rest_goes_on(void **state)
{
	static const struct { const char *model; size_t stride; } list[] = {
		{ "deepfm", 7 }, { "early", 47 }, { "softmax", 17 }, { "catalogue", 37 },
		{ "sampled", 37 }, { "saving", 19 }, { "bad", 17 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(list); i++) {
		const struct course whole = run(list[i].model, NULL, 2, NULL, 0);

		for (size_t call = 1; call <= whole.calls; call += list[i].stride) {
			const struct death d = { call % 2, call, call / 2 % 2 };
			const struct course c = run(list[i].model, NULL, 2, &d, 1);
			char what[80];

			snprintf(what, sizeof what, "%s, call %zu of %zu", list[i].model, call,
				whole.calls);
			assert_true(c.recomputed <= 1);
			assert_undisturbed(&whole, &c, what);
		}
	}
}

/* One after the other, each in turn. */
static void
many_deaths_change_nothing(void **state)
{
	const struct course whole = run("din", NULL, 4, NULL, 0);
	struct death d[5];

	(void)state;
	for (size_t i = 0; i < N_ROWS(d); i++)
		d[i] = (struct death){ (3 * i + 1) % 4, 24 + i % 5, (int)(i % 2) };
	const struct course c = run("din", NULL, 4, d, N_ROWS(d));
	assert_int_equal(c.n_rounds, N_ROWS(d) + 1);
	assert_true(c.recomputed <= N_ROWS(d));
	assert_undisturbed(&whole, &c, "din");
}

/* The version that it began from has a table of a field that is in the spec no more. */
static void
a_warm_start_still_carries_tables_along(void **state)
{
	const struct course first = run("files", NULL, 2, NULL, 0);

	(void)state;
	warm_start = first.directory;
	const struct course whole = run("bad", NULL, 2, NULL, 0);
	for (size_t call = 20; call <= whole.calls; call += 15) {
		const struct death d = { call / 15 % 2, call, 0 };
		const struct course c = run("bad", NULL, 2, &d, 1);

		assert_undisturbed(&whole, &c, "a warm start");
	}
	warm_start = NULL;
}

/* Also while the start is sent to the others, as long as one has it. */
static void
deaths_at_the_start_of_a_round_change_nothing(void **state)
{
	const struct course whole = run("deepfm", NULL, 4, NULL, 0);

	(void)state;
	for (size_t first = 1; first < 20; first += 9) {
		const struct death d[] = { { 1, 45, 0 }, { 2, first, 0 }, { 0, first + 5, 1 },
			{ 1, first + 2, 1 }, { 2, first + 6, 0 } };
		const struct course c = run("deepfm", NULL, 4, d, N_ROWS(d));

		assert_int_equal(c.n_rounds, N_ROWS(d) + 1);
		assert_true(c.recomputed <= N_ROWS(d));
		assert_undisturbed(&whole, &c, "deepfm");
	}
}

/* Each rank has files of its own, and one that died knows nothing of what it read. */
static void
rows_dealt_by_file_go_on(void **state)
{
	(void)state;
	const struct course whole = run("files", "file", 3, NULL, 0);

	for (size_t call = 2; call <= whole.calls; call += 41) {
		const struct death d = { call % 3, call, 0 };
		const struct course c = run("files", "file", 3, &d, 1);
		char what[80];

		snprintf(what, sizeof what, "files, call %zu of %zu", call, whole.calls);
		assert_true(c.recomputed <= 1);
		assert_undisturbed(&whole, &c, what);
	}
}

/* Nobody has lived on: the last version, or the beginning. */
static void
when_all_die_the_run_begins_with_the_last_version(void **state)
{
	const struct course whole = run("deepfm", NULL, 2, NULL, 0);
	const struct death d[] = { { 0, 25, 0 }, { 1, 40, 0 } };

	(void)state;
	all_die = 1;
	const struct course c = run("deepfm", NULL, 2, d, 2);
	all_die = 0;
	assert_int_equal(c.n_rounds, 3);
	place_run_assert_same(whole.directory, c.directory, 0);
}

/* Who offers tables and cannot give them costs a round and what was not saved, not the run. */
static void
an_offer_that_cannot_be_kept_is_no_end(void **state)
{
	const struct course whole = run("deepfm", NULL, 2, NULL, 0);
	const struct death d = { 1, 30, 0 };

	(void)state;
	boasting_round = 2;
	const struct course c = run("deepfm", NULL, 2, &d, 1);
	boasting_round = 0;
	assert_int_equal(c.n_rounds, 3);
	assert_true(c.recomputed > 0);
	place_run_assert_same(whole.directory, c.directory, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L056_wherever_a_rank_dies_the_rest_goes_on),
		cmocka_unit_test(many_deaths_change_nothing),
		cmocka_unit_test(deaths_at_the_start_of_a_round_change_nothing),
		cmocka_unit_test(a_warm_start_still_carries_tables_along),
		cmocka_unit_test(rows_dealt_by_file_go_on),
		cmocka_unit_test(an_offer_that_cannot_be_kept_is_no_end),
		cmocka_unit_test(when_all_die_the_run_begins_with_the_last_version),
	};

	return cmocka_run_group_tests(tests, place_run_set_up, place_run_tear_down);
}
