/* Requests and their answers: any order, lost, late, refused, never. */
#include "tests/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "comm/client.h"
#include "comm/fields.h"

enum { N_CALLS = 3, JOB = 5 };

/* A server whose way to answer is the test's. */
struct bed {
	struct wire_context *context;
	struct wire *server;
	struct client *client;
	atomic_int stop, quit;
	pthread_t thread;
	int has_thread;
	void (*take)(struct bed *b, const struct wire_message *m);
	atomic_int n_asked, n_retries;
	uint64_t kept[N_CALLS];
	double answer_at;
};

static void
answer(struct bed *b, const struct wire_message *m, uint16_t type, uint8_t flags,
	uint64_t request, const char *text)
{
	const struct frame f = { .type = type, .flags = flags, .job = JOB, .request = request,
		.step = request };
	const struct wire_part part = { .data = text, .n = strlen(text) };

	wire_send(b->server, &m->from, &f, &part, part.n > 0);
}

static void *
serve(void *argument)
{
	struct bed *b = argument;

	while (!atomic_load(&b->quit)) {
		struct wire_poll poll = { .wire = b->server };
		struct wire_message m;
		int got;

		assert_int_equal(wire_wait(&poll, 1, .01), RS_OK);
		assert_int_equal(wire_receive(b->server, &m, &got), RS_OK);
		if (!got)
			continue;
		atomic_fetch_add(&b->n_asked, 1);
		atomic_fetch_add(&b->n_retries, (m.frame.flags & FRAME_RETRY) != 0);
		b->take(b, &m);
		wire_message_free(&m);
	}
	return NULL;
}

static void
start_server(struct bed *b, const char *endpoint)
{
	assert_int_equal(wire_bind(b->context, endpoint, &b->server), RS_OK);
	assert_int_equal(thread_start(&b->thread, "server", serve, b), RS_OK);
	b->has_thread = 1;
}

static void
bed_open(struct bed *b, const char *endpoint, double timeout,
	void (*take)(struct bed *b, const struct wire_message *m))
{
	const struct client_server server = { .endpoint = endpoint, .name = "ps 1" };

	*b = (struct bed){ .take = take };
	assert_int_equal(wire_context_open(&(struct wire_options){ .n_io_threads = 1 },
		&b->context), RS_OK);
	if (take != NULL)
		start_server(b, endpoint);
	const struct client_options o = { .context = b->context, .server = &server,
		.n_servers = 1, .job = JOB, .epoch = 2, .source = 3, .request_timeout = timeout,
		.parked_timeout = 1, .patience = .1, .stop = &b->stop };
	assert_int_equal(client_open(&o, &b->client), RS_OK);
}

static void
bed_close(struct bed *b)
{
	atomic_store(&b->quit, 1);
	if (b->has_thread)
		thread_join(b->thread);
	client_close(b->client);
	wire_close(b->server);
	wire_context_close(b->context);
}

static enum rs_status
ask(struct bed *b, struct client_call *call)
{
	struct client_call *list[] = { call };

	call->frame.type = FRAME_PULL;
	call->frame.step = 812;
	RS_TRY(client_send(b->client, call));
	return client_wait(b->client, list, 1);
}

static void
echo(struct bed *b, const struct wire_message *m)
{
	answer(b, m, FRAME_PULL_R, 0, m->frame.request, "rows");
}

static void
backwards(struct bed *b, const struct wire_message *m)
{
	const int n = atomic_load(&b->n_asked);

	assert_int_equal(m->frame.epoch, 2);
	assert_int_equal(m->frame.source, 3);
	b->kept[n - 1] = m->frame.request;
	for (int i = N_CALLS; n == N_CALLS && i-- > 0;)
		answer(b, m, FRAME_PULL_R, 0, b->kept[i], "rows");
}

static void
answers_come_in_any_order(void **state)
{
	struct client_call call[N_CALLS] = { 0 }, *list[N_CALLS];
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://order", 5, backwards);
	for (size_t i = 0; i < N_CALLS; i++) {
		list[i] = &call[i];
		call[i].frame.type = FRAME_PULL;
		assert_int_equal(client_send(b.client, &call[i]), RS_OK);
		assert_false(client_is_done(&call[i]));
	}
	assert_int_equal(client_wait(b.client, list, N_CALLS), RS_OK);
	for (size_t i = 0; i < N_CALLS; i++) {
		assert_int_equal(call[i].reply.frame.step, call[i].request);
		assert_int_equal(call[i].reply.part[0].n, 4);
		wire_message_free(&call[i].reply);
	}
	bed_close(&b);
}

static void
deaf_at_first(struct bed *b, const struct wire_message *m)
{
	if ((m->frame.flags & FRAME_RETRY) != 0)
		echo(b, m);
	else
		b->kept[0] = m->frame.request;
}

static void
what_is_lost_is_asked_for_again_by_the_same_number(void **state)
{
	struct client_call call = { 0 };
	struct client_counts counts;
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://lost", 5, deaf_at_first);
	assert_int_equal(ask(&b, &call), RS_OK);
	assert_int_equal(call.reply.frame.request, b.kept[0]);
	wire_message_free(&call.reply);
	assert_int_equal(atomic_load(&b.n_retries), 1);
	client_counts(b.client, 0, &counts);
	assert_int_equal(counts.sent, 2);
	assert_int_equal(counts.retries, 1);
	assert_int_equal(counts.sent_bytes, 2 * FRAME_BYTES);
	assert_int_equal(counts.received_bytes, FRAME_BYTES + 4);
	/* A call may be used again; its first request is no repeated one. */
	b.take = echo;
	assert_int_equal(ask(&b, &call), RS_OK);
	wire_message_free(&call.reply);
	assert_int_equal(atomic_load(&b.n_retries), 1);
	bed_close(&b);
}

static void
deaf(struct bed *b, const struct wire_message *m)
{
	(void)b;
	(void)m;
}

static void
L044_a_server_that_does_not_answer_is_named(void **state)
{
	struct client_call call = { 0 };
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://deaf", .8, deaf);
	const double began = clock_seconds();
	assert_int_equal(ask(&b, &call), RS_EPEER);
	assert_string_equal(rs_failure()->text,
		"ps 1 (inproc://deaf) does not answer for 0.8 s (PULL of step 812)");
	assert_true(clock_seconds() - began < 2);
	/* After .1, .15, .22, .34: every time it is waited for longer. */
	assert_in_range(atomic_load(&b.n_asked), 2, 6);
	wire_message_free(&call.reply);
	bed_close(&b);
}

static void
where_nobody_listens_is_said(void **state)
{
	char directory[] = "/tmp/client_test.XXXXXX", endpoint[64], want[200];
	struct client_call call = { 0 };
	struct bed b;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/s", directory);
	bed_open(&b, endpoint, .5, NULL);
	assert_int_equal(ask(&b, &call), RS_EPEER);
	snprintf(want, sizeof(want), "ps 1 (%s) does not answer for 0.5 s (PULL of step 812): it "
		"cannot be reached: nobody listens there", endpoint);
	assert_string_equal(rs_failure()->text, want);
	bed_close(&b);
	assert_int_equal(file_remove_tree(directory), RS_OK);
}

static void
L050_a_server_that_comes_late_is_waited_for(void **state)
{
	char directory[] = "/tmp/client_test.XXXXXX", endpoint[64];
	struct client_call call = { 0 }, *list[] = { &call };
	struct bed b;

	(void)state;
	assert_non_null(mkdtemp(directory));
	snprintf(endpoint, sizeof(endpoint), "ipc://%s/s", directory);
	bed_open(&b, endpoint, 10, NULL);
	call.frame.type = FRAME_PULL;
	assert_int_equal(client_send(b.client, &call), RS_OK);
	usleep(200000);
	assert_int_equal(client_progress(b.client), RS_OK);
	b.take = echo;
	start_server(&b, endpoint);
	assert_int_equal(client_wait(b.client, list, 1), RS_OK);
	wire_message_free(&call.reply);
	bed_close(&b);
	assert_int_equal(file_remove_tree(directory), RS_OK);
}

/* "I have it, wait" to all that comes before the time. */
static void
park(struct bed *b, const struct wire_message *m)
{
	if (b->answer_at > 0 && clock_seconds() >= b->answer_at)
		echo(b, m);
	else
		answer(b, m, FRAME_ACK, 0, m->frame.request, "waits_for = worker 2\n");
}

static void
what_waits_for_others_is_no_silence(void **state)
{
	struct client_call call = { 0 };
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://parked", .4, park);
	b.answer_at = clock_seconds() + .6;
	assert_int_equal(ask(&b, &call), RS_OK);
	assert_int_equal(call.reply.frame.type, FRAME_PULL_R);
	wire_message_free(&call.reply);
	bed_close(&b);
}

static void
who_is_waited_for_is_named_when_it_takes_too_long(void **state)
{
	struct client_call call = { 0 };
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://parked2", .6, park);
	assert_int_equal(ask(&b, &call), RS_EPEER);
	assert_string_equal(rs_failure()->text,
		"ps 1 (inproc://parked2) waits for worker 2 for 1 s (PULL of step 812)");
	wire_message_free(&call.reply);
	bed_close(&b);
}

/* ACK is the answer to what has no other, unless more is to come. */
static void
acknowledge(struct bed *b, const struct wire_message *m)
{
	answer(b, m, FRAME_ACK, FRAME_MORE, m->frame.request, "");
	answer(b, m, FRAME_ACK, 0, m->frame.request, "done");
}

static void
an_acknowledgement_may_be_the_answer(void **state)
{
	struct client_call call = { .frame.type = FRAME_INIT_TABLE }, *list[] = { &call };
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://ack", 5, acknowledge);
	assert_int_equal(client_send(b.client, &call), RS_OK);
	assert_int_equal(client_wait(b.client, list, 1), RS_OK);
	assert_int_equal(call.reply.n_parts, 1);
	wire_message_free(&call.reply);
	bed_close(&b);
}

static void
refuse(struct bed *b, const struct wire_message *m)
{
	answer(b, m, FRAME_ERROR, 0, m->frame.request, m->frame.step == 812 ?
		"status = EDENIED\ntext = the key 'x' may not push\nhint = ask\n" : "status");
}

static void
a_refusal_becomes_the_failure_it_carries(void **state)
{
	struct client_call call = { 0 }, *list[] = { &call };
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://refused", 5, refuse);
	assert_int_equal(ask(&b, &call), RS_EDENIED);
	assert_string_equal(rs_failure()->text, "the key 'x' may not push");
	assert_string_equal(rs_failure()->hint, "ask");
	wire_message_free(&call.reply);
	call.frame.step = 1;
	assert_int_equal(client_send(b.client, &call), RS_OK);
	assert_int_equal(client_wait(b.client, list, 1), RS_EPROTOCOL);
	assert_non_null(strstr(rs_failure()->text, "ps 1"));
	wire_message_free(&call.reply);
	bed_close(&b);
}

/* A push is refused; the pull that waits for it is not answered. */
static void
refuse_push(struct bed *b, const struct wire_message *m)
{
	if (m->frame.type == FRAME_PUSH)
		answer(b, m, FRAME_ERROR, 0, m->frame.request,
			"status = EPROTOCOL\ntext = no such table\n");
}

static void
a_refusal_ends_the_wait_for_all(void **state)
{
	struct client_call call[2] = { 0 }, *list[] = { &call[0], &call[1] };
	const double begin = clock_seconds();
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://refused-push", 5, refuse_push);
	call[0].frame.type = FRAME_PULL;
	call[1].frame.type = FRAME_PUSH;
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(client_send(b.client, &call[i]), RS_OK);
	assert_int_equal(client_wait(b.client, list, 2), RS_EPROTOCOL);
	assert_non_null(strstr(rs_failure()->text, "no such table"));
	assert_true(clock_seconds() - begin < 2);
	assert_false(client_is_done(&call[0]));
	wire_message_free(&call[1].reply);
	bed_close(&b);
}

static void *
stop_soon(void *argument)
{
	struct bed *b = argument;

	usleep(100000);
	atomic_store(&b->stop, 1);
	return NULL;
}

static void
all_give_up_at_once_when_the_round_is_over(void **state)
{
	struct client_call call[2] = { 0 }, *list[] = { &call[0], &call[1] };
	struct bed b;
	pthread_t thread;

	(void)state;
	bed_open(&b, "inproc://stop", 60, deaf);
	for (size_t i = 0; i < 2; i++) {
		call[i].frame.type = FRAME_SUM;
		assert_int_equal(client_send(b.client, &call[i]), RS_OK);
	}
	assert_int_equal(thread_start(&thread, "stop", stop_soon, &b), RS_OK);
	const double began = clock_seconds();
	assert_int_equal(client_wait(b.client, list, 2), RS_EPEER);
	assert_true(clock_seconds() - began < .25);
	assert_non_null(strstr(rs_failure()->text, "the round is over"));
	thread_join(thread);
	assert_false(client_is_done(&call[0]) || client_is_done(&call[1]));
	bed_close(&b);
}

/* The answer to what was given up, answers of another job and to nothing at all. */
static void
babble(struct bed *b, const struct wire_message *m)
{
	const struct frame other = { .type = FRAME_PULL_R, .job = JOB + 1,
		.request = m->frame.request };

	if (m->frame.request == 1)
		return;
	wire_send(b->server, &m->from, &other, NULL, 0);
	answer(b, m, FRAME_PULL_R, 0, 1, "old");
	answer(b, m, FRAME_PULL_R, 0, 99, "none");
	echo(b, m);
	echo(b, m);
}

static void
answers_that_nobody_waits_for_are_dropped(void **state)
{
	struct client_call call = { 0 };
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://babble", .3, babble);
	assert_int_equal(ask(&b, &call), RS_EPEER);
	for (uint64_t i = 2; i < 5; i++) {
		assert_int_equal(ask(&b, &call), RS_OK);
		assert_int_equal(call.reply.frame.request, i);
		assert_int_equal(call.reply.part[0].n, 4);
		wire_message_free(&call.reply);
	}
	bed_close(&b);
}

static void
an_answer_is_taken_when_it_is_there(void **state)
{
	enum { N = 500 };
	struct client_call call = { 0 };
	struct bed b;

	(void)state;
	bed_open(&b, "inproc://fast", 5, echo);
	const double began = clock_seconds();
	for (int i = 0; i < N; i++) {
		assert_int_equal(ask(&b, &call), RS_OK);
		wire_message_free(&call.reply);
	}
	const double mean = (clock_seconds() - began) / N;
	print_message("%.1f us a request\n", mean * 1e6);
	assert_true(mean < 2e-3);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest test[] = {
		cmocka_unit_test(answers_come_in_any_order),
		cmocka_unit_test(what_is_lost_is_asked_for_again_by_the_same_number),
		cmocka_unit_test(L044_a_server_that_does_not_answer_is_named),
		cmocka_unit_test(where_nobody_listens_is_said),
		cmocka_unit_test(L050_a_server_that_comes_late_is_waited_for),
		cmocka_unit_test(what_waits_for_others_is_no_silence),
		cmocka_unit_test(who_is_waited_for_is_named_when_it_takes_too_long),
		cmocka_unit_test(an_acknowledgement_may_be_the_answer),
		cmocka_unit_test(a_refusal_becomes_the_failure_it_carries),
		cmocka_unit_test(a_refusal_ends_the_wait_for_all),
		cmocka_unit_test(all_give_up_at_once_when_the_round_is_over),
		cmocka_unit_test(answers_that_nobody_waits_for_are_dropped),
		cmocka_unit_test(an_answer_is_taken_when_it_is_there),
	};

	return cmocka_run_group_tests_name("comm/client", test, NULL, NULL);
}
