/* Rounds begin and end, nodes die and come back, jobs end. */
#include "tests/place/coordinator_bed.h"

static void
all_come_and_see_each_other(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_open(&b);
	for (size_t i = 1; i < NODES; i++) {
		assert_int_equal(NODES, b.node[i].view.n_nodes);
		assert_string_equal("ipc:///x/1", b.node[i].view.endpoint[PS]);
		assert_string_equal("", b.node[i].view.endpoint[WORKER0]);
		assert_string_equal(b.endpoint, b.node[i].view.endpoint[0]);
	}
	all_leave(&b);
	bed_close(&b);
}

/* dmlc/ps-lite: killing a server hangs the job. */
static void
L044_a_dead_shard_ends_the_round_and_its_return_begins_the_next(void **state)
{
	struct bed b;
	char reason[256];

	(void)state;
	bed_open(&b);
	all_open(&b);
	member_close(b.node[PS].member);
	b.node[PS].member = NULL;
	assert_true(until_stop(&b, WORKER0, 5) < 3);
	assert_true(until_stop(&b, WORKER1, 5) < 3);
	member_reason(b.node[WORKER0].member, reason, sizeof(reason));
	assert_non_null(strstr(reason, "ps 0"));
	node_open(&b, PS);
	all_wait(&b, 2);
	all_leave(&b);
	bed_close(&b);
}

static void
a_kill_that_the_starter_saw_is_told_at_once(void **state)
{
	static const char line[] = "died 2 was killed by signal 9\n";
	struct bed b;
	char reason[256];

	(void)state;
	bed_open(&b);
	b.cluster.lease = 30;
	all_open(&b);
	assert_int_equal((ssize_t)strlen(line), write(b.leash[1], line, strlen(line)));
	assert_true(until_stop(&b, WORKER1, 5) < 3);
	member_reason(b.node[WORKER1].member, reason, sizeof(reason));
	assert_string_equal("worker 0 was killed by signal 9", reason);
	all_wait(&b, 2);
	const struct monitor_options o = { .context = b.context, .endpoint = b.endpoint, .job = 7,
		.timeout = 5 };
	assert_int_equal(RS_OK, monitor_died(&o, WORKER1, "was killed by signal 15"));
	assert_true(until_stop(&b, PS, 5) < 3);
	assert_int_equal(RS_EPROTOCOL, monitor_died(&o, NODES, "x"));
	all_wait(&b, 3);
	all_leave(&b);
	bed_close(&b);
}

/* One who cannot reach its peer comes back to ask, which is how the others hear of it. */
static void
a_node_that_gives_up_ends_the_round_for_all(void **state)
{
	struct bed b;
	char reason[256];

	(void)state;
	bed_open(&b);
	all_open(&b);
	wait_start(&b, WORKER1);
	assert_true(until_stop(&b, WORKER0, 5) < 3);
	member_reason(b.node[WORKER0].member, reason, sizeof(reason));
	assert_non_null(strstr(reason, "worker 1 gave up"));
	wait_start(&b, WORKER0);
	wait_start(&b, PS);
	for (size_t i = 1; i < NODES; i++) {
		thread_join(b.node[i].thread);
		assert_int_equal(RS_OK, b.node[i].status);
		assert_int_equal(2, b.node[i].view.epoch);
	}
	all_leave(&b);
	bed_close(&b);
}

/* Answers to what was asked before the round come late, and more than once. */
static void
a_node_may_give_up_as_soon_as_it_is_in(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	b.cluster.restarts = 1000;
	b.cluster.heartbeat = .002;
	all_open(&b);
	for (uint32_t epoch = 2; epoch < 40; epoch++)
		all_wait(&b, epoch);
	all_leave(&b);
	bed_close(&b);
}

static void
count_hang(void *context, const char *reason)
{
	assert_non_null(strstr(reason, "ps 0"));
	atomic_fetch_add((atomic_int *)context, 1);
}

static void
a_node_that_does_not_come_back_is_called_hung(void **state)
{
	struct bed b;
	atomic_int n_hung = 0;

	(void)state;
	bed_open(&b);
	coordinator_start(&b);
	for (size_t i = 1; i < NODES; i++)
		node_open(&b, i);
	member_close(b.node[WORKER1].member);
	const struct member_options o = { .context = b.context, .job = &b.node[WORKER1].job,
		.heartbeat = .05, .lease = 5, .absence = 5, .rendezvous = 5, .hang = .3,
		.hung = count_hang, .context_of_hung = &n_hung };
	assert_int_equal(RS_OK, member_open(&o, &b.node[WORKER1].member));
	all_wait(&b, 1);
	wait_start(&b, PS);
	assert_true(until_stop(&b, WORKER1, 5) < 3);
	usleep(150000);
	assert_int_equal(0, atomic_load(&n_hung));
	usleep(600000);
	assert_int_equal(1, atomic_load(&n_hung));
	wait_start(&b, WORKER0);
	wait_start(&b, WORKER1);
	for (size_t i = 1; i < NODES; i++)
		thread_join(b.node[i].thread);
	all_leave(&b);
	bed_close(&b);
}

/* elasticdl: a worker hangs when a server never starts, and the master never exits. */
static void
L050_a_node_that_never_comes_is_named_in_time(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	b.cluster.rendezvous = .5;
	coordinator_start(&b);
	node_open(&b, WORKER1);
	wait_start(&b, WORKER1);
	thread_join(b.node[WORKER1].thread);
	assert_int_equal(RS_EPEER, b.node[WORKER1].status);
	assert_true(b.node[WORKER1].seconds < 4);
	assert_string_equal("ps 0, worker 0 did not come within 0.5 s",
		b.node[WORKER1].failure.text);
	assert_int_equal(RS_OK, member_leave(b.node[WORKER1].member, &b.node[WORKER1].failure));
	coordinator_join(&b);
	assert_int_equal(RS_EPEER, b.status);
	assert_non_null(strstr(b.failure.text, "worker 0"));
	bed_close(&b);
}

static void
L050_a_coordinator_that_never_comes_is_named_in_time(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	b.cluster.rendezvous = .4;
	node_open(&b, WORKER0);
	wait_start(&b, WORKER0);
	thread_join(b.node[WORKER0].thread);
	assert_int_equal(RS_EPEER, b.node[WORKER0].status);
	assert_true(b.node[WORKER0].seconds > .3 && b.node[WORKER0].seconds < 4);
	assert_non_null(strstr(b.node[WORKER0].failure.text, b.endpoint));
	assert_non_null(strstr(b.node[WORKER0].failure.text, "nobody listens there"));
	bed_close(&b);
}

/* horovod: elastic deadlock, a new worker hangs. */
static void
L052_nodes_go_and_come_again_and_again(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	b.cluster.restarts = 100;
	all_open(&b);
	for (uint32_t epoch = 2; epoch < 8; epoch++) {
		const size_t i = 1 + epoch % (NODES - 1);

		member_close(b.node[i].member);
		node_open(&b, i);
		all_wait(&b, epoch);
	}
	all_leave(&b);
	bed_close(&b);
}

/* dlrover: a single worker is preempted and the master hangs. */
static void
L072_a_worker_that_never_comes_back_ends_the_job_by_name(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	b.cluster.absence = .6;
	all_open(&b);
	member_close(b.node[WORKER1].member);
	b.node[WORKER1].member = NULL;
	wait_start(&b, WORKER0);
	wait_start(&b, PS);
	thread_join(b.node[WORKER0].thread);
	thread_join(b.node[PS].thread);
	assert_int_equal(RS_EPEER, b.node[WORKER0].status);
	assert_true(b.node[WORKER0].seconds < 3);
	assert_non_null(strstr(b.node[WORKER0].failure.text, "worker 1"));
	assert_true(member_job_ended(b.node[PS].member));
	assert_int_equal(RS_OK, member_leave(b.node[PS].member, NULL));
	assert_int_equal(RS_OK, member_leave(b.node[WORKER0].member, &b.node[WORKER0].failure));
	coordinator_join(&b);
	assert_int_equal(RS_EPEER, b.status);
	bed_close(&b);
}

static void
rounds_without_progress_come_to_an_end(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_open(&b);
	for (uint32_t epoch = 2; epoch < 4; epoch++)
		all_wait(&b, epoch);
	wait_start(&b, WORKER0);
	thread_join(b.node[WORKER0].thread);
	assert_int_equal(RS_EPEER, b.node[WORKER0].status);
	assert_non_null(strstr(b.node[WORKER0].failure.text, "3 rounds made no progress"));
	for (size_t i = 1; i < NODES; i++)
		assert_int_equal(RS_OK, member_leave(b.node[i].member, NULL));
	coordinator_join(&b);
	bed_close(&b);
}

static void
progress_starts_the_count_anew(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_open(&b);
	for (uint32_t epoch = 2; epoch < 8; epoch++) {
		atomic_fetch_add(member_progress(b.node[WORKER0].member), 1);
		usleep(150000);
		all_wait(&b, epoch);
	}
	all_leave(&b);
	bed_close(&b);
}

static void
a_failure_of_a_worker_is_that_of_the_job(void **state)
{
	struct bed b;
	struct rs_failure failure;

	(void)state;
	bed_open(&b);
	all_open(&b);
	rs_fail_at(RS_EDATA, "day_3.tsv", 12, 4, "'x' is no number");
	rs_hint("clean it");
	rs_failure_take(&failure);
	assert_int_equal(RS_OK, member_leave(b.node[WORKER1].member, &failure));
	assert_true(until_stop(&b, WORKER0, 5) < 3);
	wait_start(&b, WORKER0);
	thread_join(b.node[WORKER0].thread);
	assert_int_equal(RS_EDATA, b.node[WORKER0].status);
	assert_string_equal("'x' is no number", b.node[WORKER0].failure.text);
	assert_string_equal("clean it", b.node[WORKER0].failure.hint);
	assert_string_equal("day_3.tsv:12:4", b.node[WORKER0].failure.where);
	assert_int_equal(2, member_job_ended(b.node[PS].member));
	assert_int_equal(RS_OK, member_leave(b.node[PS].member, NULL));
	assert_int_equal(RS_OK, member_leave(b.node[WORKER0].member, &failure));
	coordinator_join(&b);
	assert_int_equal(RS_EDATA, b.status);
	bed_close(&b);
}

/* It fails before it ever joined; nobody waits for it in vain. */
static void
a_failure_before_the_start_ends_the_job(void **state)
{
	const struct rs_failure failure = { .status = RS_ENOINPUT, .text = "no such file" };
	struct bed b;

	(void)state;
	bed_open(&b);
	coordinator_start(&b);
	node_open(&b, WORKER0);
	node_open(&b, WORKER1);
	wait_start(&b, WORKER0);
	assert_int_equal(RS_OK, member_leave(b.node[WORKER1].member, &failure));
	thread_join(b.node[WORKER0].thread);
	assert_int_equal(RS_ENOINPUT, b.node[WORKER0].status);
	assert_int_equal(RS_OK, member_leave(b.node[WORKER0].member, &failure));
	coordinator_join(&b);
	assert_int_equal(RS_ENOINPUT, b.status);
	bed_close(&b);
}

static void
a_node_of_another_spec_is_refused(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	b.cluster.rendezvous = 1;
	coordinator_start(&b);
	node_open(&b, WORKER0);
	b.node[WORKER0].job.config = 43;
	member_close(b.node[WORKER0].member);
	const struct member_options o = { .context = b.context, .job = &b.node[WORKER0].job,
		.heartbeat = .05, .lease = .8, .absence = 5, .rendezvous = 5 };
	assert_int_equal(RS_OK, member_open(&o, &b.node[WORKER0].member));
	wait_start(&b, WORKER0);
	thread_join(b.node[WORKER0].thread);
	assert_int_equal(RS_EPROTOCOL, b.node[WORKER0].status);
	assert_string_equal("worker 0 has another spec (000000000000002b) than the coordinator "
		"(000000000000002a)", b.node[WORKER0].failure.text);
	assert_true(b.node[WORKER0].seconds < 3);
	coordinator_join(&b);
	assert_non_null(strstr(b.failure.text, "worker 0 (was refused: worker 0 has another spec"));
	bed_close(&b);
}

static void
of_two_with_one_place_the_second_has_it(void **state)
{
	struct bed b;
	struct member *first;

	(void)state;
	bed_open(&b);
	all_open(&b);
	first = b.node[WORKER1].member;
	node_open(&b, WORKER1);
	wait_start(&b, WORKER1);
	assert_true(until_stop(&b, WORKER0, 5) < 3);
	wait_start(&b, WORKER0);
	wait_start(&b, PS);
	for (size_t i = 1; i < NODES; i++) {
		thread_join(b.node[i].thread);
		assert_int_equal(RS_OK, b.node[i].status);
		assert_int_equal(2, b.node[i].view.epoch);
	}
	struct member_view view;
	assert_int_equal(RS_EDENIED, member_wait(first, &view));
	assert_non_null(strstr(rs_failure()->text, "worker 1"));
	member_close(first);
	assert_int_equal(0, atomic_load(member_stop(b.node[WORKER0].member)));
	all_leave(&b);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(all_come_and_see_each_other),
		cmocka_unit_test(L044_a_dead_shard_ends_the_round_and_its_return_begins_the_next),
		cmocka_unit_test(a_kill_that_the_starter_saw_is_told_at_once),
		cmocka_unit_test(a_node_that_gives_up_ends_the_round_for_all),
		cmocka_unit_test(a_node_may_give_up_as_soon_as_it_is_in),
		cmocka_unit_test(a_node_that_does_not_come_back_is_called_hung),
		cmocka_unit_test(L050_a_node_that_never_comes_is_named_in_time),
		cmocka_unit_test(L050_a_coordinator_that_never_comes_is_named_in_time),
		cmocka_unit_test(L052_nodes_go_and_come_again_and_again),
		cmocka_unit_test(L072_a_worker_that_never_comes_back_ends_the_job_by_name),
		cmocka_unit_test(rounds_without_progress_come_to_an_end),
		cmocka_unit_test(progress_starts_the_count_anew),
		cmocka_unit_test(a_failure_of_a_worker_is_that_of_the_job),
		cmocka_unit_test(a_failure_before_the_start_ends_the_job),
		cmocka_unit_test(a_node_of_another_spec_is_refused),
		cmocka_unit_test(of_two_with_one_place_the_second_has_it),
	};

	return cmocka_run_group_tests_name("place/coordinator", test, NULL, NULL);
}
