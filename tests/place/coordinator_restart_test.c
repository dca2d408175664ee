/* The coordinator dies, is stopped, is started again; and what it says of the nodes. */
#include "tests/place/coordinator_bed.h"

#include "comm/client.h"

static void
a_coordinator_that_is_killed_goes_on_where_it_was(void **state)
{
	struct bed b;
	int status;

	(void)state;
	bed_open(&b);
	pid_t pid = fork_coordinator(&b);
	for (size_t i = 1; i < NODES; i++)
		node_open(&b, i);
	all_wait(&b, 1);
	for (int i = 0; i < 2; i++) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		pid = fork_coordinator(&b);
		/* Longer than the lease: everybody has found it again. */
		usleep(1000000);
		for (size_t k = 1; k < NODES; k++)
			assert_int_equal(0, atomic_load(member_stop(b.node[k].member)));
	}
	/* And it still knows what it is there for. */
	member_close(b.node[WORKER1].member);
	assert_true(until_stop(&b, WORKER0, 5) < 3);
	node_open(&b, WORKER1);
	all_wait(&b, 2);
	leave_start(&b, WORKER1);
	leave_start(&b, WORKER0);
	thread_join(b.node[WORKER0].thread);
	thread_join(b.node[WORKER1].thread);
	assert_int_equal(RS_OK, b.node[WORKER1].status);
	assert_int_equal(RS_OK, member_leave(b.node[PS].member, NULL));
	assert_int_equal(pid, waitpid(pid, &status, 0));
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	bed_close(&b);
}

/* A node that hears nothing stops by itself and waits. */
static void
a_lost_coordinator_stops_the_round_after_the_lease(void **state)
{
	struct bed b;
	int status;

	(void)state;
	bed_open(&b);
	pid_t pid = fork_coordinator(&b);
	for (size_t i = 1; i < NODES; i++)
		node_open(&b, i);
	all_wait(&b, 1);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	const double seconds = until_stop(&b, WORKER0, 5);
	assert_true(seconds > .5 && seconds < 4);
	pid = fork_coordinator(&b);
	all_wait(&b, 2);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	bed_close(&b);
}

/* Who waits hears that nobody knows it, and comes again by itself. */
static void
a_coordinator_without_its_book_lets_all_in_again(void **state)
{
	static const char *const name[] = { "job.db", "job.db-wal", "job.db-shm" };
	struct bed b;
	char path[128];
	int status;

	(void)state;
	bed_open(&b);
	pid_t pid = fork_coordinator(&b);
	for (size_t i = 1; i < NODES; i++)
		node_open(&b, i);
	wait_start(&b, PS);
	wait_start(&b, WORKER1);
	usleep(400000);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	for (size_t i = 0; i < N_ROWS(name); i++) {
		snprintf(path, sizeof(path), "%s/%s", b.directory, name[i]);
		unlink(path);
	}
	pid = fork_coordinator(&b);
	wait_start(&b, WORKER0);
	for (size_t i = 1; i < NODES; i++) {
		thread_join(b.node[i].thread);
		assert_int_equal(RS_OK, b.node[i].status);
		assert_int_equal(1, b.node[i].view.epoch);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	bed_close(&b);
}

/* It was stopped for a while: its own silence is nobody else's. */
static void
a_coordinator_that_is_stopped_evicts_nobody(void **state)
{
	struct bed b;
	int status;

	(void)state;
	bed_open(&b);
	pid_t pid = fork_coordinator(&b);
	const double lease = b.cluster.lease;
	b.cluster.lease = 10;               /* that of the nodes                      */
	for (size_t i = 1; i < NODES; i++)
		node_open(&b, i);
	all_wait(&b, 1);
	kill(pid, SIGSTOP);
	usleep((useconds_t)(2 * lease * 1e6));
	kill(pid, SIGCONT);
	usleep(500000);
	for (size_t k = 1; k < NODES; k++)
		assert_int_equal(0, atomic_load(member_stop(b.node[k].member)));
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	bed_close(&b);
}

static void
the_table_of_nodes_says_who_and_how(void **state)
{
	struct bed b;
	struct buffer text;

	(void)state;
	bed_open(&b);
	all_open(&b);
	member_report(b.node[PS].member, "pulls = 12\nqueue = 3\n\nso \"quoted\" = x\n");
	usleep(200000);
	const struct monitor_options o = { .context = b.context, .endpoint = b.endpoint,
		.timeout = 5 };
	buffer_init(&text, FIELDS_MAX);
	assert_int_equal(RS_OK, monitor_status(&o, 0, &text));
	text.data[text.n - 1] = '\0';
	assert_non_null(strstr(text.data, "running, round 1"));
	assert_non_null(strstr(text.data, "worker 1     running"));
	assert_non_null(strstr(text.data, "pulls=12  queue=3"));
	text.n = 0;
	assert_int_equal(RS_OK, monitor_status(&o, 1, &text));
	text.data[text.n - 1] = '\0';
	assert_non_null(strstr(text.data, "\"role\":\"ps\",\"index\":0,\"state\":\"running\""));
	assert_non_null(strstr(text.data,
		"\"pulls\":\"12\",\"queue\":\"3\",\"so__quoted_\":\"x\""));
	buffer_free(&text);
	all_leave(&b);
	bed_close(&b);
}

static void
a_starter_that_is_gone_ends_the_job(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b);
	all_open(&b);
	close(b.leash[1]);
	b.leash[1] = dup(0);
	assert_true(until_stop(&b, PS, 5) < 3);
	for (size_t i = 1; i < NODES; i++) {
		assert_true(until_stop(&b, i, 5) < 3);
		assert_true(member_job_ended(b.node[i].member));
		assert_int_equal(RS_OK, member_leave(b.node[i].member, NULL));
	}
	coordinator_join(&b);
	assert_int_equal(RS_EPEER, b.status);
	bed_close(&b);
}

/* Any message of any sender with any body: refused, and nobody else is disturbed. */
static void
nonsense_is_refused_and_disturbs_nobody(void **state)
{
	static const char *const text[] = { "", "x", "incarnation = 1\nlast_epoch = 1\n",
		"incarnation = 99\nlast_epoch = 4000000000\nprogress = 1\n", "status = OK\n",
		"format = \n", "node = 2\nhow = \x01\n", "role = worker\nindex = -1\n" };
	struct bed b;
	struct wire *hostile;

	(void)state;
	bed_open(&b);
	all_open(&b);
	assert_int_equal(RS_OK, wire_connect(b.context, b.endpoint, NULL, &hostile));
	for (uint16_t type = 1; type <= FRAME_ERROR; type++) {
		const uint32_t source[] = { 0, 1, 2, 3, 4, UINT32_MAX };

		if (frame_type_name(type) == NULL)
			continue;
		for (size_t i = 0; i < N_ROWS(source) * N_ROWS(text); i++) {
			const char *body = text[i % N_ROWS(text)];
			const struct frame f = { .type = type, .source = source[i / N_ROWS(text)],
				.job = i % 7 == 0 ? 8 : 7, .epoch = (uint32_t)i, .request = i };
			const struct wire_part part = { .data = body, .n = strlen(body) };

			wire_send(hostile, NULL, &f, &part, 1);
		}
	}
	usleep(300000);
	wire_close(hostile);
	for (size_t i = 1; i < NODES; i++)
		assert_int_equal(0, atomic_load(member_stop(b.node[i].member)));
	all_leave(&b);
	bed_close(&b);
}

/* A sign of life of the shard, by whoever has this context. */
static enum rs_status
renew_with(struct bed *b, struct wire_context *context, const char *key)
{
	const struct client_server server = { b->endpoint, key, "coordinator" };
	const struct client_options o = { .context = context, .server = &server, .n_servers = 1,
		.job = b->job.id, .source = PS, .request_timeout = 5 };
	const struct control_life life = { .incarnation = 1 };
	struct client *client;
	struct buffer body;

	buffer_init(&body, FIELDS_MAX);
	assert_int_equal(RS_OK, control_put_renew(&body, &life));
	struct client_call call = { .frame.type = FRAME_RENEW, .n_parts = 1,
		.part = { { body.data, body.n } } };
	assert_int_equal(RS_OK, client_open(&o, &client));
	assert_int_equal(RS_OK, client_send(client, &call));
	const enum rs_status status = client_wait(client, (struct client_call *[]){ &call }, 1);
	wire_message_free(&call.reply);
	client_close(client);
	buffer_free(&body);
	return status;
}

/* With keys: a role that the key has not is refused, and so is a place that another key has. */
static void
a_key_is_good_for_its_roles_and_its_place(void **state)
{
	struct bed b;
	struct key_pair key[3];
	struct key_list allowed = { 0 };
	struct wire_context *context[3];

	(void)state;
	bed_open(&b);
	wire_context_close(b.context);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(RS_OK, key_pair_make(&key[i]));
	assert_int_equal(RS_OK, key_list_add(&allowed, "shard", KEY_PS, key[1].public_key));
	assert_int_equal(RS_OK, key_list_add(&allowed, "w", KEY_WORKER | KEY_PS,
		key[2].public_key));
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(RS_OK, wire_context_open(&(struct wire_options){ .self = &key[i],
			.allowed = &allowed }, &context[i]));
	snprintf(b.job.node[0].public_key, KEY_TEXT, "%s", key[0].public_key);
	b.context = context[0];
	coordinator_start(&b);
	b.context = context[1];
	node_open(&b, WORKER0);
	wait_start(&b, WORKER0);
	thread_join(b.node[WORKER0].thread);
	assert_int_equal(RS_EDENIED, b.node[WORKER0].status);
	assert_string_equal("the key 'shard' may not be worker 0", b.node[WORKER0].failure.text);
	const struct monitor_options o = { .context = b.context, .endpoint = b.endpoint,
		.key = key[0].public_key, .job = 7, .timeout = 5 };
	assert_int_equal(RS_EDENIED, monitor_died(&o, PS, "was killed"));
	/* The shard is in; a worker's key that may be a shard does not speak for it. */
	node_open(&b, PS);
	wait_start(&b, PS);
	usleep(200000);
	assert_int_equal(RS_EDENIED, renew_with(&b, context[2], key[0].public_key));
	assert_string_equal("the key 'w' is not that of ps 0", rs_failure()->text);
	close(b.leash[1]);
	b.leash[1] = dup(0);
	thread_join(b.node[PS].thread);
	assert_int_equal(RS_EPEER, b.node[PS].status);
	assert_int_equal(RS_OK, member_leave(b.node[PS].member, NULL));
	coordinator_join(&b);
	for (size_t i = 1; i < NODES; i++) {
		member_close(b.node[i].member);
		b.node[i].member = NULL;
	}
	wire_context_close(context[0]);
	wire_context_close(context[2]);
	key_list_free(&allowed);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(a_coordinator_that_is_killed_goes_on_where_it_was),
		cmocka_unit_test(a_lost_coordinator_stops_the_round_after_the_lease),
		cmocka_unit_test(a_coordinator_without_its_book_lets_all_in_again),
		cmocka_unit_test(a_coordinator_that_is_stopped_evicts_nobody),
		cmocka_unit_test(the_table_of_nodes_says_who_and_how),
		cmocka_unit_test(a_starter_that_is_gone_ends_the_job),
		cmocka_unit_test(a_key_is_good_for_its_roles_and_its_place),
		cmocka_unit_test(nonsense_is_refused_and_disturbs_nobody),
	};

	return cmocka_run_group_tests_name("place/coordinator_restart", test, NULL, NULL);
}
