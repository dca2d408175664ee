/* The coordinator's decisions at given times: leases, hangs, ends, who has which place. */
#include "tests/test.h"

#include <string.h>

#include "place/roster.h"

enum { PS = 1, WORKER0 = 2, WORKER1 = 3, NODES = 4 };

struct bed {
	struct job job;
	struct cluster_settings cluster;
	struct roster roster;
	double now;
};

static void
bed_open(struct bed *b)
{
	*b = (struct bed){ .job = { .id = 1, .n_workers = 2, .n_ps = 1 }, .cluster = {
		.rendezvous = 300, .heartbeat = .5, .lease = 4.5, .absence = 300, .drain = 25,
		.restarts = 3 }, .now = 1e6 };
	assert_int_equal(job_make_nodes(&b->job, 1), RS_OK);
	assert_int_equal(roster_init(&b->roster, &b->job, &b->cluster, b->now), RS_OK);
}

static void
bed_close(struct bed *b)
{
	roster_free(&b->roster);
	job_free(&b->job);
}

static enum rs_status
hello(struct bed *b, size_t i, uint64_t nonce, const char *why)
{
	struct roster_hello h = { .nonce = nonce, .last_epoch = b->roster.epoch };

	if (b->roster.node[i].nonce == nonce)
		h.incarnation = b->roster.node[i].incarnation;
	snprintf(h.why, sizeof(h.why), "%s", why);
	return roster_hello(&b->roster, i, &h, b->now);
}

static void
all_hello(struct bed *b)
{
	for (size_t i = 1; i < NODES; i++)
		assert_int_equal(hello(b, i, 100 + i, ""), RS_OK);
	assert_int_equal(b->roster.phase, ROSTER_ROUND);
}

/* Every half second all renew but one, for so long. */
static void
pass(struct bed *b, double seconds, size_t silent, uint64_t progress)
{
	for (const double end = b->now + seconds; b->now < end;) {
		b->now += .5;
		for (size_t i = 1; i < NODES; i++)
			if (i != silent && b->roster.node[i].incarnation != 0 &&
			    b->roster.node[i].state != ROSTER_GONE)
				assert_int_equal(roster_renew(&b->roster, i,
					b->roster.node[i].incarnation,
					b->roster.node[i].progress + progress, b->now), RS_OK);
		roster_tick(&b->roster, b->now);
	}
}

static enum rs_status
bye(struct bed *b, size_t i, enum rs_status status)
{
	struct rs_failure failure = { .status = status, .text = "so it is" };

	return roster_bye(&b->roster, i, b->roster.node[i].incarnation, &failure, b->now);
}

static void
the_round_begins_with_the_last(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	assert_int_equal(hello(&b, PS, 1, ""), RS_OK);
	assert_int_equal(hello(&b, WORKER1, 2, ""), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	assert_int_equal(roster_order(&b.roster, PS), ROSTER_WAIT);
	assert_int_equal(hello(&b, WORKER0, 3, ""), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	assert_int_equal(b.roster.epoch, 1);
	for (size_t i = 1; i < NODES; i++)
		assert_int_equal(roster_order(&b.roster, i), ROSTER_GO);
	assert_true(b.roster.dirty);
	bed_close(&b);
}

static void
a_hello_that_is_repeated_changes_nothing(void **state)
{
	struct bed b;
	struct roster_hello h = { .nonce = 101 };

	(void)state;
	bed_open(&b);
	all_hello(&b);
	const uint64_t incarnation = b.roster.node[PS].incarnation;
	/* Late: from before the round began. */
	assert_int_equal(roster_hello(&b.roster, PS, &h, b.now), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	assert_true(b.roster.node[PS].incarnation == incarnation);
	bed_close(&b);
}

/* Silence of a stop of 3 s and a heartbeat, at most. */
static void
a_stop_of_three_seconds_evicts_nobody_and_a_partition_is_seen_within_five(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	for (int i = 0; i < 10; i++) {
		pass(&b, 3.5, WORKER1, 1);
		pass(&b, .5, 0, 1);
		assert_int_equal(b.roster.phase, ROSTER_ROUND);
	}
	const double began = b.now;
	while (b.roster.phase == ROSTER_ROUND)
		pass(&b, .5, WORKER1, 1);
	assert_true(b.now - began <= 5);
	assert_string_equal(b.roster.reason, "worker 1 was silent for 4.5 s");
	assert_int_equal(b.roster.node[WORKER1].state, ROSTER_ABSENT);
	assert_int_equal(roster_order(&b.roster, WORKER0), ROSTER_OVER);
	/* It was only slow: it hears so, comes again, and is let in. */
	pass(&b, .5, 0, 1);
	assert_int_equal(roster_order(&b.roster, WORKER1), ROSTER_OVER);
	all_hello(&b);
	assert_int_equal(b.roster.epoch, 2);
	bed_close(&b);
}

static void
a_broken_link_is_a_death_unless_it_heals(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	pass(&b, 1, 0, 1);
	roster_broken(&b.roster, PS, b.now);
	pass(&b, .5, 0, 1);
	pass(&b, 1, 0, 1);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	roster_broken(&b.roster, PS, b.now);
	pass(&b, 1, PS, 1);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	assert_non_null(strstr(b.roster.reason, "ps 0 is gone"));
	bed_close(&b);
}

/* The library drops the link of a process that is stopped; that is not its end. */
static void
a_link_that_breaks_in_silence_is_left_to_the_lease(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	pass(&b, 3, PS, 1);
	roster_broken(&b.roster, PS, b.now);
	pass(&b, 1, PS, 1);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	bed_close(&b);
}

static void
a_hang_is_seen_when_nobody_gets_on(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	pass(&b, 30, 0, 1);
	/* Worker 1 stops first, worker 0 a little later for want of it. */
	const uint64_t stuck = b.roster.node[WORKER1].progress;
	for (int i = 0; i < 4; i++) {
		b.now += .5;
		for (size_t k = 1; k < NODES; k++)
			roster_renew(&b.roster, k, b.roster.node[k].incarnation, k == WORKER1 ?
				stuck : b.roster.node[k].progress + 1, b.now);
	}
	pass(&b, 58, 0, 0);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	pass(&b, 4, 0, 0);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	assert_string_equal(b.roster.reason,
		"no worker made progress for 60 s, worker 1 stopped first");
	bed_close(&b);
}

static void
slow_steps_and_a_slow_start_are_no_hang(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	pass(&b, 290, 0, 0);                /* reads data for five minutes            */
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	for (int i = 0; i < 20; i++) {
		pass(&b, .5, 0, 1);
		pass(&b, 19.5, 0, 0);
	}
	pass(&b, 370, 0, 0);                /* 20 steps of 20 s are 400               */
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	pass(&b, 60, 0, 0);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	bed_close(&b);
}

static void
the_place_is_that_of_the_last_who_came(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	const uint64_t first = b.roster.node[WORKER1].incarnation;
	assert_int_equal(hello(&b, WORKER1, 999, ""), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	assert_string_equal(b.roster.reason, "worker 1 was started again");
	assert_true(b.roster.node[WORKER1].incarnation > first);
	assert_int_equal(roster_renew(&b.roster, WORKER1, first, 0, b.now), RS_EDENIED);
	const struct rs_failure failure = { .status = RS_EDATA };
	assert_int_equal(roster_bye(&b.roster, WORKER1, first, &failure, b.now), RS_EDENIED);
	assert_int_equal(roster_bye(&b.roster, WORKER1, 0, &failure, b.now), RS_EDENIED);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	bed_close(&b);
}

static void
a_signal_leaves_worker_0_time_to_save(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	assert_int_equal(bye(&b, WORKER1, RS_ESIGNAL), RS_OK);
	pass(&b, 20, 0, 1);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	assert_int_equal(bye(&b, WORKER0, RS_ESIGNAL), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_int_equal(b.roster.failure.status, RS_ESIGNAL);
	bed_close(&b);
	bed_open(&b);
	all_hello(&b);
	assert_int_equal(bye(&b, WORKER1, RS_ESIGNAL), RS_OK);
	pass(&b, 26, 0, 1);
	assert_int_equal(b.roster.failure.status, RS_ESIGNAL);
	bed_close(&b);
}

static void
the_job_is_done_when_worker_0_is(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	assert_int_equal(bye(&b, WORKER1, RS_OK), RS_OK);
	assert_int_equal(b.roster.node[WORKER1].state, ROSTER_DONE);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	/* Killed while it saves: everybody is wanted again. */
	roster_died(&b.roster, WORKER0, "was killed by signal 9", b.now);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	assert_int_equal(roster_order(&b.roster, WORKER1), ROSTER_OVER);
	assert_int_equal(hello(&b, WORKER0, 7, ""), RS_OK);
	assert_int_equal(hello(&b, WORKER1, 103, ""), RS_OK);
	assert_int_equal(hello(&b, PS, 101, ""), RS_OK);
	assert_int_equal(b.roster.epoch, 2);
	assert_int_equal(bye(&b, WORKER0, RS_EPARTIAL), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	/* From here on no death matters any more. */
	roster_died(&b.roster, WORKER1, "was killed by signal 9", b.now);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_int_equal(b.roster.failure.status, RS_OK);
	assert_int_equal(hello(&b, WORKER1, 8, ""), RS_EPEER);
	assert_int_equal(roster_order(&b.roster, PS), ROSTER_END);
	assert_false(roster_is_empty(&b.roster));
	assert_int_equal(bye(&b, PS, RS_OK), RS_OK);
	assert_true(roster_is_empty(&b.roster));
	bed_close(&b);
}

static void
stragglers_have_drain_seconds(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	assert_int_equal(bye(&b, WORKER0, RS_OK), RS_OK);
	pass(&b, 24, 0, 1);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	pass(&b, 2, 0, 1);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_int_equal(b.roster.failure.status, RS_OK);
	bed_close(&b);
}

static void
who_leaves_for_want_of_a_peer_ends_the_round_only(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	assert_int_equal(bye(&b, WORKER0, RS_EPEER), RS_OK);
	assert_string_equal(b.roster.reason, "worker 0 left: so it is");
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	all_hello(&b);
	/* One shard that is stopped in order is missed; the job waits for its return. */
	assert_int_equal(bye(&b, PS, RS_ESIGNAL), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	all_hello(&b);
	assert_int_equal(bye(&b, PS, RS_EIO), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_int_equal(b.roster.failure.status, RS_EIO);
	bed_close(&b);
}

/* It would fail again: no round is tried, and the code of the job says what it was. */
static void
a_gpu_that_failed_ends_the_job(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	assert_int_equal(bye(&b, WORKER1, RS_EPEER), RS_OK);
	assert_int_equal(bye(&b, WORKER0, RS_EDEVICE), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_int_equal(b.roster.failure.status, RS_EDEVICE);
	assert_int_equal(rs_status_of_exit(rs_exit_code(RS_EDEVICE)), RS_EDEVICE);
	bed_close(&b);
}

static void
rounds_without_progress_are_counted_from_the_last_with_some(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	for (int i = 0; i < 9; i++) {
		all_hello(&b);
		if (i % 3 == 0)
			pass(&b, 1, 0, 1);
		roster_died(&b.roster, PS, "was killed", b.now);
		assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	}
	all_hello(&b);
	roster_died(&b.roster, PS, "was killed", b.now);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	all_hello(&b);
	roster_died(&b.roster, PS, "was killed", b.now);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_string_equal(b.roster.failure.text,
		"4 rounds made no progress, the last because ps 0 was killed");
	bed_close(&b);
}

static void
no_death_ends_the_round_once_worker_0_is_done(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	assert_int_equal(bye(&b, WORKER0, RS_OK), RS_OK);
	roster_died(&b.roster, PS, "was killed", b.now);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	assert_int_equal(roster_order(&b.roster, WORKER1), ROSTER_GO);
	assert_int_equal(bye(&b, WORKER1, RS_OK), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_int_equal(b.roster.failure.status, RS_OK);
	bed_close(&b);
}

static void
worker_0_is_done_though_the_round_has_just_ended(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	assert_int_equal(bye(&b, WORKER1, RS_OK), RS_OK);
	roster_died(&b.roster, PS, "was killed", b.now);
	assert_int_equal(b.roster.phase, ROSTER_GATHERING);
	assert_int_equal(bye(&b, WORKER0, RS_OK), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_int_equal(b.roster.failure.status, RS_OK);
	assert_int_equal(roster_order(&b.roster, WORKER1), ROSTER_END);
	bed_close(&b);
}

/* Ctrl-C while some are still missing: nobody waits for them any more. */
static void
who_leaves_before_the_round_ends_the_job(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	assert_int_equal(hello(&b, WORKER0, 1, ""), RS_OK);
	assert_int_equal(bye(&b, WORKER0, RS_OK), RS_OK);
	assert_int_equal(b.roster.phase, ROSTER_ENDED);
	assert_int_equal(b.roster.node[WORKER0].state, ROSTER_GONE);
	assert_string_equal(b.roster.failure.text, "worker 0 left before the round began");
	bed_close(&b);
}

static void
many_who_are_missing_are_listed_and_counted(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	roster_free(&b.roster);
	job_free(&b.job);
	b.job.n_workers = 500;
	assert_int_equal(job_make_nodes(&b.job, 0), RS_OK);
	assert_int_equal(roster_init(&b.roster, &b.job, &b.cluster, b.now), RS_OK);
	roster_refused(&b.roster, PS, "another spec");
	b.now += 301;
	roster_tick(&b.roster, b.now);
	assert_int_equal(b.roster.failure.status, RS_EPEER);
	assert_non_null(strstr(b.roster.failure.text,
		"ps 0 (was refused: another spec), worker 0, worker 1, "));
	assert_non_null(strstr(b.roster.failure.text, " more did not come within 300 s"));
	bed_close(&b);
}

/* Its book was lost: who was in is believed, and the epoch goes on from theirs. */
static void
a_coordinator_that_lost_its_state_goes_on_above_theirs(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	assert_int_equal(roster_renew(&b.roster, PS, 12, 5, b.now), RS_OK);
	assert_int_equal(roster_order(&b.roster, PS), ROSTER_OVER);
	for (size_t i = 1; i < NODES; i++) {
		const struct roster_hello h = { .incarnation = 10 + i, .nonce = i,
			.last_epoch = 41 };

		assert_int_equal(roster_hello(&b.roster, i, &h, b.now), RS_OK);
	}
	assert_int_equal(b.roster.epoch, 42);
	assert_int_equal(hello(&b, PS, 77, ""), RS_OK);
	assert_true(b.roster.node[PS].incarnation > 13);
	bed_close(&b);
}

static void
a_coordinator_that_slept_gives_the_time_back(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_hello(&b);
	b.now += 1000;
	roster_forgive(&b.roster, 1000);
	roster_tick(&b.roster, b.now);
	assert_int_equal(b.roster.phase, ROSTER_ROUND);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(the_round_begins_with_the_last),
		cmocka_unit_test(a_hello_that_is_repeated_changes_nothing),
		cmocka_unit_test(
			a_stop_of_three_seconds_evicts_nobody_and_a_partition_is_seen_within_five),
		cmocka_unit_test(a_broken_link_is_a_death_unless_it_heals),
		cmocka_unit_test(a_link_that_breaks_in_silence_is_left_to_the_lease),
		cmocka_unit_test(a_hang_is_seen_when_nobody_gets_on),
		cmocka_unit_test(slow_steps_and_a_slow_start_are_no_hang),
		cmocka_unit_test(the_place_is_that_of_the_last_who_came),
		cmocka_unit_test(a_signal_leaves_worker_0_time_to_save),
		cmocka_unit_test(the_job_is_done_when_worker_0_is),
		cmocka_unit_test(stragglers_have_drain_seconds),
		cmocka_unit_test(who_leaves_for_want_of_a_peer_ends_the_round_only),
		cmocka_unit_test(a_gpu_that_failed_ends_the_job),
		cmocka_unit_test(rounds_without_progress_are_counted_from_the_last_with_some),
		cmocka_unit_test(no_death_ends_the_round_once_worker_0_is_done),
		cmocka_unit_test(worker_0_is_done_though_the_round_has_just_ended),
		cmocka_unit_test(who_leaves_before_the_round_ends_the_job),
		cmocka_unit_test(many_who_are_missing_are_listed_and_counted),
		cmocka_unit_test(a_coordinator_that_lost_its_state_goes_on_above_theirs),
		cmocka_unit_test(a_coordinator_that_slept_gives_the_time_back),
	};

	return cmocka_run_group_tests_name("place/roster", test, NULL, NULL);
}
