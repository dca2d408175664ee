/* What goes wrong in one rank of a run is told, and nobody waits for ever. */
#include <string.h>

#include "place_run.h"

static void
a_failure_of_one_rank_is_a_lost_peer_to_the_others(void **state)
{
	char directory[300];

	(void)state;
	for (size_t kind = 0; kind < 4; kind++) {
		struct place_hub *hub = place_hub_open(3, HUB_SHARED);
		struct job job[HUB_RANKS];

		snprintf(directory, sizeof directory, "%s/failed-%zu", place_run_top, kind);
		place_run_begin(job, 3, place_run_spec(kind < 2 ? "deepfm" : "softmax"), directory);
		if (kind % 2 == 0)
			place_hub_fail_pull(hub, 1, 40);
		else
			place_hub_fail_fetch(hub, 1, 3);
		place_run_jobs(job, 3, hub);
		place_hub_close(hub);
		for (size_t r = 0; r < 3; r++) {
			if (job[r].status != (r == 1 ? RS_ERESOURCE : RS_EPEER))
				fail_msg("rank %zu: %s", r, job[r].failure.text);
			assert_int_equal(job[r].summary.version, 0);
			if (kind == 0 && r != 1)
				assert_non_null(strstr(job[r].failure.text, "its part of step"));
		}
		place_run_free(job, 3);
	}
}

static void
a_loss_that_is_not_finite_is_told_alike_by_all(void **state)
{
	struct job job[HUB_RANKS], alone[HUB_RANKS];
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);

	(void)state;
	place_run_begin(alone, 1, place_run_spec("diverging"), NULL);
	place_run_begin(job, 3, place_run_spec("diverging"), NULL);
	alone[0].directory = job[0].directory = place_run_top;
	place_run_jobs(alone, 1, NULL);
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	assert_int_equal(alone[0].status, RS_EDIVERGED);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_EDIVERGED);
		assert_string_equal(job[r].failure.text, alone[0].failure.text);
	}
	place_run_free(job, 3);
	place_run_free(alone, 1);
}

static void
a_rank_with_other_parameters_is_found_and_named(void **state)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	char directory[300];
	struct job job[HUB_RANKS];

	(void)state;
	snprintf(directory, sizeof directory, "%s/corrupt", place_run_top);
	place_run_begin(job, 3, place_run_spec("dcn"), directory);
	job[1].corrupts = 1;
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_EDIVERGED);
		assert_non_null(strstr(job[r].failure.text, "worker 1"));
		assert_int_equal(job[r].summary.version, 0);
	}
	place_run_free(job, 3);
}

static void
L007_the_rank_whose_data_differ_is_named(void **state)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	char directory[300], other[300];
	struct job job[HUB_RANKS];

	(void)state;
	snprintf(directory, sizeof directory, "%s/other", place_run_top);
	snprintf(other, sizeof other, "%s/valid.csv", place_run_top);
	place_run_begin(job, 3, place_run_spec("deepfm"), directory);
	job[2].train = other;
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, RS_EDATA);
		assert_non_null(strstr(job[r].failure.text, "worker 2 has other training data"));
	}
	place_run_free(job, 3);
}

/* A command whose output is another each time. */
static void
L049_ranks_that_read_other_rows_stop_at_once(void **state)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	char directory[300];
	struct job job[HUB_RANKS];

	(void)state;
	snprintf(directory, sizeof directory, "%s/shuffled", place_run_top);
	place_run_begin(job, 3, place_run_spec("shuffled"), directory);
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		if (job[r].status != RS_EDATA)
			fail_msg("%s", job[r].failure.text);
		assert_non_null(strstr(job[r].failure.text, "training rows of worker 1 differ"));
		assert_int_equal(job[r].summary.step, 1);
	}
	place_run_free(job, 3);
}

/* Rows that are fewer, more or others. */
static void
L068_the_rank_whose_validation_data_differ_is_named(void **state)
{
	static const struct { size_t n; uint64_t key; } rows[] = {
		{ 64, 8 }, { N_VALID + 5000, 8 }, { N_VALID, 9 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(rows); i++) {
		struct place_hub *hub = place_hub_open(3, HUB_SHARED);
		char directory[300], other[300];
		struct job job[HUB_RANKS];

		place_run_rows("other.csv", rows[i].n, rows[i].key);
		snprintf(directory, sizeof directory, "%s/valid-%zu", place_run_top, i);
		snprintf(other, sizeof other, "%s/other.csv", place_run_top);
		place_run_begin(job, 3, place_run_spec("catalogue"), directory);
		job[1].valid = other;
		place_run_jobs(job, 3, hub);
		place_hub_close(hub);
		for (size_t r = 0; r < 3; r++) {
			assert_int_equal(job[r].status, RS_EDATA);
			assert_non_null(strstr(job[r].failure.text,
				"worker 1 has other validation data"));
		}
		place_run_free(job, 3);
	}
}

static void
a_failed_start_of_rank_0_is_everyones(void **state)
{
	struct place_hub *hub = place_hub_open(3, HUB_SHARED);
	struct job job[HUB_RANKS];

	(void)state;
	place_run_begin(job, 3, place_run_spec("deepfm"), "/proc/none/of/yours");
	place_run_jobs(job, 3, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 3; r++) {
		assert_int_equal(job[r].status, job[0].status);
		assert_string_equal(job[r].failure.text, job[0].failure.text);
		assert_int_not_equal(job[r].status, RS_EPEER);
	}
	place_run_free(job, 3);
}

static void
more_ranks_than_slots_are_refused(void **state)
{
	struct place_hub *hub = place_hub_open(6, HUB_SHARED);
	struct job job[HUB_RANKS];

	(void)state;
	place_run_begin(job, 6, place_run_spec("deepfm"), "/proc/none/of/yours");
	place_run_jobs(job, 6, hub);
	place_hub_close(hub);
	for (size_t r = 0; r < 6; r++)
		assert_int_equal(job[r].status, RS_ESPEC);
	place_run_free(job, 6);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_failure_of_one_rank_is_a_lost_peer_to_the_others),
		cmocka_unit_test(a_loss_that_is_not_finite_is_told_alike_by_all),
		cmocka_unit_test(a_rank_with_other_parameters_is_found_and_named),
		cmocka_unit_test(L007_the_rank_whose_data_differ_is_named),
		cmocka_unit_test(L049_ranks_that_read_other_rows_stop_at_once),
		cmocka_unit_test(L068_the_rank_whose_validation_data_differ_is_named),
		cmocka_unit_test(a_failed_start_of_rank_0_is_everyones),
		cmocka_unit_test(more_ranks_than_slots_are_refused),
	};

	return cmocka_run_group_tests(tests, place_run_set_up, place_run_tear_down);
}
