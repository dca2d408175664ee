/* A run of several ranks is, to the bit, the run of one process. */
#include <signal.h>
#include <string.h>

#include "place_run.h"

/* n_ranks 0: without a place. */
static void
train_cut(const char *name, size_t n_ranks, enum hub_tables tables, uint64_t bucket_bytes,
	char directory[300])
{
	struct job job[HUB_RANKS] = { 0 };
	struct place_hub *hub = n_ranks > 0 ? place_hub_open(n_ranks, tables) : NULL;
	const size_t n = n_ranks > 0 ? n_ranks : 1;

	place_run_directory(directory, name, n_ranks, tables);
	if (bucket_bytes > 0)
		snprintf(directory + strlen(directory), 300 - strlen(directory), "-cut");
	if (hub != NULL)
		place_hub_cut(hub, bucket_bytes);
	for (size_t r = 0; r < n; r++) {
		job[r].spec = place_run_spec(name);
		job[r].directory = directory;
		job[r].threads = n_ranks == 2 && r == 1 && name[0] == 's' ? 2 : 1;
	}
	place_run_jobs(job, n, hub);
	for (size_t r = 0; r < n; r++) {
		if (job[r].status != RS_OK)
			fail_msg("%s rank %zu of %zu: %s", name, r, n, job[r].failure.text);
		assert_int_equal(job[r].summary.version, job[0].summary.version);
		assert_memory_equal(&job[r].summary.valid.logloss, &job[0].summary.valid.logloss,
			sizeof(double));
		assert_memory_equal(&job[r].summary.loss, &job[0].summary.loss, sizeof(double));
	}
	place_run_free(job, n);
	if (hub != NULL)
		place_hub_close(hub);
}

static void
train(const char *name, size_t n_ranks, enum hub_tables tables, char directory[300])
{
	train_cut(name, n_ranks, tables, 0, directory);
}

static const char *const model[] = { "deepfm", "early", "dcn", "din", "softmax", "sampled",
	"full", "bpr", "ccl", "catalogue" };

static void
L036_any_number_of_ranks_makes_the_version_of_one_process(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(model); i++) {
		char alone[300], together[300];

		train(model[i], 0, HUB_NONE, alone);
		for (size_t n = 1; n <= 4; n++) {
			train(model[i], n, HUB_SHARED, together);
			place_run_assert_same(alone, together, 1);
		}
		train(model[i], 3, HUB_NONE, together);
		place_run_assert_same(alone, together, 1);
	}
}

/* Nearly every parameter by itself, and a few together. */
static void
gradients_in_buckets_make_the_same_version(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_ROWS(model); i++) {
		char alone[300], together[300];

		place_run_directory(alone, model[i], 0, HUB_NONE);
		train_cut(model[i], 2, HUB_SHARED, 1, together);
		place_run_assert_same(alone, together, 1);
		train_cut(model[i], 3, HUB_SHARED, 150, together);
		place_run_assert_same(alone, together, 1);
		train_cut(model[i], 4, HUB_NONE, 37, together);
		place_run_assert_same(alone, together, 1);
	}
}

/* A signal that one rank sees ends all after the same step; fewer ranks then go on. */
static void
stop_and_resume(enum hub_tables tables)
{
	char directory[300], alone[300];
	struct job job[HUB_RANKS];
	struct place_hub *hub = place_hub_open(4, tables);

	snprintf(directory, sizeof directory, "%s/stopped-%d", place_run_top, tables);
	place_run_begin(job, 4, place_run_spec("softmax"), directory);
	job[2].signal = SIGTERM;
	place_run_jobs(job, 4, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 4; r++) {
		if (job[r].status != RS_ESIGNAL)
			fail_msg("rank %zu: %s", r, job[r].failure.text);
		assert_int_equal(job[r].signal, SIGTERM);
		assert_int_equal(job[r].summary.version, 1);
		assert_int_equal(job[r].summary.step, 1);
	}
	place_run_free(job, 4);

	hub = place_hub_open(3, tables);
	place_run_begin(job, 3, place_run_spec("softmax"), directory);
	for (size_t r = 0; r < 3; r++)
		job[r].resume = 1;
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++)
		assert_int_equal(job[r].status, RS_OK);
	place_run_free(job, 3);
	place_run_directory(alone, "softmax", 0, HUB_NONE);
	place_run_assert_same(alone, directory, 0);
}

static void
a_signal_of_one_rank_stops_all_and_others_resume(void **state)
{
	(void)state;
	stop_and_resume(HUB_SHARED);
	stop_and_resume(HUB_NONE);
	stop_and_resume(HUB_OWN);
}

static void
all_save_when_rank_0_would(void **state)
{
	char directory[300];
	struct job job[HUB_RANKS];
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);

	(void)state;
	snprintf(directory, sizeof directory, "%s/saving", place_run_top);
	place_run_begin(job, 3, place_run_spec("saving"), directory);
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_OK);
		assert_int_equal(job[r].summary.version, job[0].summary.version);
	}
	assert_true(job[0].summary.version >= 4);
	place_run_free(job, 3);
}

static void
the_time_limit_of_one_ends_all_after_the_same_step(void **state)
{
	char directory[300];
	struct job job[HUB_RANKS];
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);

	(void)state;
	snprintf(directory, sizeof directory, "%s/short", place_run_top);
	place_run_begin(job, 3, place_run_spec("short_of_time"), directory);
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_OK);
		assert_int_equal(job[r].summary.out_of_time, 1);
		assert_int_equal(job[r].summary.step, 1);
	}
	place_run_free(job, 3);
}

static void
a_warm_start_is_the_same_in_all_ranks(void **state)
{
	char from[300], directory[2][300];

	(void)state;
	place_run_directory(from, "deepfm", 0, HUB_NONE);
	for (unsigned kind = 0; kind < 3; kind++) {
		struct place_hub *hub = kind > 0 ? place_hub_open(3, kind) : NULL;
		struct job job[HUB_RANKS];

		snprintf(directory[kind > 0], sizeof directory[0], "%s/warm-%u", place_run_top,
			kind);
		place_run_begin(job, 3, place_run_spec("deepfm"), directory[kind > 0]);
		job[0].from = from;
		place_run_jobs(job, kind > 0 ? 3 : 1, hub);
		if (hub != NULL)
			place_hub_close(hub);
		for (size_t r = 0; r < (kind > 0 ? 3 : 1); r++)
			assert_int_equal(job[r].status, RS_OK);
		place_run_free(job, 3);
		if (kind > 0)
			place_run_assert_same(directory[0], directory[1], 1);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L036_any_number_of_ranks_makes_the_version_of_one_process),
		cmocka_unit_test(gradients_in_buckets_make_the_same_version),
		cmocka_unit_test(a_signal_of_one_rank_stops_all_and_others_resume),
		cmocka_unit_test(all_save_when_rank_0_would),
		cmocka_unit_test(the_time_limit_of_one_ends_all_after_the_same_step),
		cmocka_unit_test(a_warm_start_is_the_same_in_all_ranks),
	};

	return cmocka_run_group_tests(tests, place_run_set_up, place_run_tear_down);
}
