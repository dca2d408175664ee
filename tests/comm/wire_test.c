/* Sockets: messages whole and aligned, queues, deadlines, threads, addresses. */
#include "tests/comm/wire_bed.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "comm/wire_private.h"

static void
exchange_over(const char *endpoint, int with_keys)
{
	struct bed b;

	bed_open(&b, endpoint, with_keys);
	for (uint64_t i = 1; i < 20; i++)
		bed_exchange(&b, i);
	assert_int_equal(wire_trouble(b.client), RS_OK);
	assert_int_equal(wire_malformed(b.server), 0);
	bed_close(&b);
}

static void
question_and_answer_over_every_transport(void **state)
{
	char endpoint[300];

	snprintf(endpoint, sizeof(endpoint), "ipc://%s/socket", (const char *)*state);
	for (int with_keys = 0; with_keys < 2; with_keys++) {
		exchange_over("tcp://127.0.0.1:0", with_keys);
		exchange_over("tcp://127.0.0.1:*", with_keys);
		exchange_over(endpoint, with_keys);
	}
}

static void
name_and_roles_come_with_a_message(void **state)
{
	struct bed b;
	struct wire_message m;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 1);
	bed_send_text(b.client, NULL, 1, "x");
	assert_true(bed_receive(b.server, &m, SECONDS));
	assert_string_equal(m.from.name, "w0");
	assert_int_equal(m.from.roles, KEY_WORKER | KEY_MONITOR);
	wire_message_free(&m);
	bed_close(&b);
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	bed_send_text(b.client, NULL, 1, "x");
	assert_true(bed_receive(b.server, &m, SECONDS));
	assert_string_equal(m.from.name, "");
	assert_int_equal(m.from.roles, KEY_ALL_ROLES);
	wire_message_free(&m);
	bed_close(&b);
}

static void
count_release(void *data, void *hint)
{
	(void)data;
	atomic_fetch_add((atomic_int *)hint, 1);
}

static void
check_parts(const struct wire_message *m, const char *text)
{
	assert_int_equal(m->n_parts, WIRE_PARTS_MAX);
	for (size_t i = 0; i < WIRE_PARTS_MAX; i++) {
		assert_int_equal(m->part[i].n, 3 * i);
		assert_memory_equal(m->part[i].data, text + i, 3 * i);
		assert_int_equal((uintptr_t)m->part[i].data % 8, 0);
	}
}

static void
wait_count(atomic_int *count, int wanted)
{
	for (int i = 0; i < 2000 && atomic_load(count) < wanted; i++)
		usleep(1000);
	assert_int_equal(atomic_load(count), wanted);
}

static void
parts_arrive_as_they_were_and_are_released_once(void **state)
{
	static char text[4 * WIRE_PARTS_MAX];
	const struct frame f = { .type = FRAME_PUSH, .request = 7, .flags = FRAME_MORE };
	atomic_int released = 0;
	struct wire_part part[WIRE_PARTS_MAX];
	struct wire_message m;
	struct bed b;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7);
	for (size_t i = 0; i < WIRE_PARTS_MAX; i++)
		part[i] = (struct wire_part){ .data = text + i, .n = 3 * i,
			.release = i % 2 ? count_release : NULL, .hint = &released };
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	for (int i = 1; i <= 3; i++) {
		assert_int_equal(wire_send(b.client, NULL, &f, part, WIRE_PARTS_MAX), RS_OK);
		assert_true(bed_receive(b.server, &m, SECONDS));
		check_parts(&m, text);
		assert_int_equal(m.bytes, FRAME_BYTES + 3 * (63 * 64 / 2));
		wire_message_free(&m);
		wait_count(&released, i * WIRE_PARTS_MAX / 2);
	}
	bed_close(&b);
}

static void
release_is_called_when_sending_fails(void **state)
{
	static char byte[1];
	atomic_int released = 0;
	const struct frame f = { .type = FRAME_PULL_R };
	const struct wire_peer stranger = { .id = { 0, 1, 2, 3, 4 }, .n = 5 };
	const struct wire_part part[] = {
		{ .data = byte, .n = 1, .release = count_release, .hint = &released },
		{ .data = byte, .n = 1 },
		{ .data = byte, .n = 1, .release = count_release, .hint = &released },
	};
	const struct wire_part large = { .data = byte, .n = FRAME_BODY_MAX + 1,
		.release = count_release, .hint = &released };
	struct bed b;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	assert_int_equal(wire_send(b.server, &stranger, &f, part, 3), RS_EPEER);
	assert_int_equal(atomic_load(&released), 2);
	assert_int_equal(wire_send(b.client, NULL, &f, &large, 1), RS_ERESOURCE);
	assert_int_equal(atomic_load(&released), 3);
	bed_exchange(&b, 1);
	bed_close(&b);
}

/* Parts around the size at which they are cut, lent and copied. */
static void
large_parts_are_cut_and_put_together(void **state)
{
	static const size_t size[] = { WIRE_FRAME_MAX - 1, WIRE_FRAME_MAX, 0, WIRE_FRAME_MAX + 1,
		7, 2 * WIRE_FRAME_MAX, 3 * WIRE_FRAME_MAX + 5 };
	const struct frame f = { .type = FRAME_PUSH };
	uint32_t *words = malloc(4 * WIRE_FRAME_MAX);
	atomic_int released = 0;
	struct wire_part part[2 * N_ROWS(size)];
	struct wire_message m;
	struct bed b;

	(void)state;
	assert_non_null(words);
	for (size_t i = 0; i < WIRE_FRAME_MAX; i++)
		words[i] = (uint32_t)i * 2654435761u;
	for (size_t i = 0; i < N_ROWS(part); i++)
		part[i] = (struct wire_part){ .data = (const char *)words + i,
			.n = size[i % N_ROWS(size)], .hint = &released,
			.release = i < N_ROWS(size) ? count_release : NULL };
	for (int with_keys = 0; with_keys < 2; with_keys++) {
		bed_open(&b, "tcp://127.0.0.1:0", with_keys);
		assert_int_equal(wire_send(b.client, NULL, &f, part, N_ROWS(part)), RS_OK);
		assert_true(bed_receive(b.server, &m, SECONDS));
		assert_int_equal(m.n_parts, N_ROWS(part));
		for (size_t i = 0; i < N_ROWS(part); i++) {
			assert_int_equal(m.part[i].n, part[i].n);
			assert_int_equal(memcmp(m.part[i].data, part[i].data, part[i].n), 0);
			assert_int_equal((uintptr_t)m.part[i].data % 8, 0);
		}
		wire_message_free(&m);
		wait_count(&released, (with_keys + 1) * (int)N_ROWS(size));
		bed_exchange(&b, 1);
		bed_close(&b);
	}
	free(words);
}

static void
the_largest_body_arrives(void **state)
{
	char *body = calloc(1, FRAME_BODY_MAX);
	const struct frame f = { .type = FRAME_SNAP_R };
	const struct wire_part part = { .data = body, .n = FRAME_BODY_MAX };
	struct wire_message m;

	(void)state;
	assert_non_null(body);
	body[FRAME_BODY_MAX - 1] = 'x';
	for (int with_keys = 0; with_keys < 2; with_keys++) {
		struct bed b;

		bed_open(&b, "tcp://127.0.0.1:0", with_keys);
		assert_int_equal(wire_send(b.client, NULL, &f, &part, 1), RS_OK);
		assert_true(bed_receive(b.server, &m, SECONDS));
		assert_int_equal(m.part[0].n, FRAME_BODY_MAX);
		assert_int_equal(((const char *)m.part[0].data)[FRAME_BODY_MAX - 1], 'x');
		wire_message_free(&m);
		bed_close(&b);
	}
	free(body);
}

/* Answers to a peer that does not read: all that wire_send() took arrive. */
static void
what_was_sent_is_not_dropped(void **state)
{
	static const char text[200];
	struct wire_message m;
	struct wire_part part[5];
	uint64_t sent = 0, received = 0;
	struct bed b;

	(void)state;
	for (size_t i = 0; i < 5; i++)
		part[i] = (struct wire_part){ .data = text, .n = 40 * i };
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	bed_send_text(b.client, NULL, 1, "x");
	assert_true(bed_receive(b.server, &m, SECONDS));
	for (; sent < 100000; sent++) {
		const struct frame f = { .type = FRAME_PULL_R, .request = sent };
		const enum rs_status status = wire_send(b.server, &m.from, &f, part, 5);

		if (status != RS_OK) {
			assert_int_equal(status, RS_EPEER);
			assert_non_null(strstr(rs_failure()->text, "takes nothing more"));
			break;
		}
	}
	wire_message_free(&m);
	assert_in_range(sent, 2000, 99999);
	for (; bed_receive(b.client, &m, received < sent ? SECONDS : 0); received++) {
		assert_true(m.frame.request == received);
		assert_int_equal(m.n_parts, 5);
		wire_message_free(&m);
	}
	assert_int_equal(received, sent);
	bed_close(&b);
}

static void
waiting_ends_at_its_deadline(void **state)
{
	struct bed b;
	int pipe_ends[2];

	(void)state;
	assert_int_equal(pipe(pipe_ends), 0);
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	struct wire_poll p[] = { { .wire = b.server }, { .wire = b.client },
		{ .fd = pipe_ends[0] } };
	double begin = clock_seconds();
	assert_int_equal(wire_wait(p, 3, 0.05), RS_OK);
	assert_true(clock_seconds() - begin >= 0.05 && clock_seconds() - begin < 1);
	assert_true(!p[0].readable && !p[1].readable && !p[2].readable);
	begin = clock_seconds();
	assert_int_equal(wire_wait(p, 3, -1), RS_OK);
	assert_true(clock_seconds() - begin < 1);
	assert_int_equal(write(pipe_ends[1], "x", 1), 1);
	assert_int_equal(wire_wait(p, 3, SECONDS), RS_OK);
	assert_true(!p[0].readable && !p[1].readable && p[2].readable);
	bed_send_text(b.client, NULL, 1, "x");
	assert_int_equal(wire_wait(p, 2, SECONDS), RS_OK);
	assert_true(p[0].readable && !p[1].readable);
	bed_close(&b);
	close(pipe_ends[0]);
	close(pipe_ends[1]);
}

static void
many_sockets_can_be_waited_for(void **state)
{
	struct bed b;
	struct wire *client[100];
	struct wire_poll p[100];
	struct wire_message m;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	for (size_t i = 0; i < N_ROWS(client); i++) {
		assert_int_equal(wire_connect(b.client_context, wire_endpoint(b.server), NULL,
			&client[i]), RS_OK);
		p[i] = (struct wire_poll){ .wire = client[i] };
	}
	bed_send_text(client[77], NULL, 77, "x");
	assert_true(bed_receive(b.server, &m, SECONDS));
	bed_send_text(b.server, &m.from, 77, "y");
	wire_message_free(&m);
	assert_int_equal(wire_wait(p, N_ROWS(p), SECONDS), RS_OK);
	for (size_t i = 0; i < N_ROWS(client); i++) {
		assert_int_equal(p[i].readable, i == 77);
		wire_close(client[i]);
	}
	bed_close(&b);
}

static void
what_is_sent_before_the_server_is_there_arrives(void **state)
{
	char endpoint[300];
	struct bed b;
	struct wire_message m;

	snprintf(endpoint, sizeof(endpoint), "ipc://%s/late", (const char *)*state);
	bed_contexts(&b, 0);
	assert_int_equal(wire_connect(b.client_context, endpoint, NULL, &b.client), RS_OK);
	bed_send_text(b.client, NULL, 5, "early");
	bed_trouble(b.client, RS_EPEER, SECONDS);
	assert_non_null(strstr(rs_failure()->text, "nobody listens"));
	assert_non_null(strstr(rs_failure()->text, endpoint));
	assert_int_equal(wire_bind(b.server_context, endpoint, &b.server), RS_OK);
	assert_true(bed_receive(b.server, &m, SECONDS));
	assert_int_equal(m.frame.request, 5);
	wire_message_free(&m);
	bed_trouble(b.client, RS_OK, SECONDS);
	bed_close(&b);
}

static void
a_server_that_comes_back_is_found_again(void **state)
{
	char endpoint[300];
	struct bed b;
	struct wire_message m;
	struct wire_peer gone;
	const struct frame f = { .type = FRAME_ACK };

	snprintf(endpoint, sizeof(endpoint), "ipc://%s/back", (const char *)*state);
	bed_open(&b, endpoint, 0);
	bed_exchange(&b, 1);
	wire_close(b.server);
	bed_trouble(b.client, RS_EPEER, SECONDS);
	assert_int_equal(wire_bind(b.server_context, endpoint, &b.server), RS_OK);
	bed_exchange(&b, 2);
	bed_send_text(b.client, NULL, 3, "x");
	assert_true(bed_receive(b.server, &m, SECONDS));
	gone = m.from;
	wire_message_free(&m);
	wire_close(b.client);
	b.client = NULL;
	enum rs_status status = RS_OK;
	for (int i = 0; i < 2000 && status == RS_OK; i++) {
		status = wire_send(b.server, &gone, &f, NULL, 0);
		usleep(1000);
	}
	assert_int_equal(status, RS_EPEER);
	bed_close(&b);
}

static void *
exchange_in_thread(void *argument)
{
	bed_exchange(argument, 2);
	return NULL;
}

static void
threads_may_use_a_socket_one_after_the_other(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 1);
	bed_exchange(&b, 1);
	for (int i = 0; i < 5; i++) {
		pthread_t thread;

		assert_int_equal(pthread_create(&thread, NULL, exchange_in_thread, &b), 0);
		pthread_join(thread, NULL);
		bed_exchange(&b, 3);
	}
	bed_close(&b);
}

static void
only_the_loopback_is_bound_without_keys(void **state)
{
	static const char *const refused[] = { "tcp://0.0.0.0:0", "tcp://*:0", "tcp://[::]:0",
		"tcp://10.1.2.3:0", "tcp://128.0.0.1:0", "tcp://lo:0", "tcp://[::ffff:10.0.0.1]:0",
		"tcp://127.0.0.1.example:0", "tcp://localhost.example:0", "tcp://126.0.0.1:0" };
	static const char *const fine[] = { "tcp://127.0.0.1:0", "tcp://127.9.8.7:0",
		"tcp://localhost:0" };
	struct bed b;
	struct wire *w;

	(void)state;
	bed_contexts(&b, 0);
	for (size_t i = 0; i < N_ROWS(refused); i++) {
		assert_int_equal(wire_bind(b.server_context, refused[i], &w), RS_EDENIED);
		assert_non_null(strstr(rs_failure()->hint, "keygen"));
	}
	for (size_t i = 0; i < N_ROWS(fine); i++) {
		assert_int_equal(wire_bind(b.server_context, fine[i], &w), RS_OK);
		assert_memory_equal(wire_endpoint(w), "tcp://127.", 10);
		wire_close(w);
	}
	bed_close(&b);
}

static void
the_world_needs_keys_and_a_list(void **state)
{
	struct bed b;
	struct wire *w;

	(void)state;
	bed_contexts(&b, 1);
	/* The client has a key, but no list. */
	assert_int_equal(wire_bind(b.client_context, "tcp://0.0.0.0:0", &w), RS_EDENIED);
	assert_non_null(strstr(rs_failure()->text, "list"));
	assert_int_equal(wire_bind(b.server_context, "tcp://0.0.0.0:0", &w), RS_OK);
	assert_int_equal(wire_self_test(b.server_context, w), RS_OK);
	wire_close(w);
	bed_close(&b);
}

static void
addresses_that_cannot_be_used_are_told(void **state)
{
	char taken[300], long_path[300] = "ipc:///tmp/";
	struct bed b;
	struct wire *w;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	snprintf(taken, sizeof(taken), "%s", wire_endpoint(b.server));
	if (wire_bind(b.server_context, taken, &w) != RS_EBUSY)
		fail_msg("%s", rs_failure()->text);
	assert_non_null(strstr(rs_failure()->text, taken));
	assert_int_equal(wire_bind(b.server_context, "127.0.0.1:5", &w), RS_EUSAGE);
	assert_int_equal(wire_bind(b.server_context, "tcp://127.0.0.1", &w), RS_EUSAGE);
	assert_int_equal(wire_bind(b.server_context, "tcp://127.0.0.1:99999", &w), RS_EUSAGE);
	assert_int_equal(wire_connect(b.client_context, "pgm://x", NULL, &w), RS_EUSAGE);
	assert_int_equal(wire_connect(b.client_context, "tcp://127.0.0.1:x", NULL, &w), RS_EUSAGE);
	memset(long_path + strlen(long_path), 'x', 200);
	assert_int_equal(wire_bind(b.server_context, long_path, &w), RS_EUSAGE);
	assert_int_equal(wire_bind(b.server_context, "ipc:///nowhere/at/all", &w), RS_EUSAGE);
	bed_exchange(&b, 1);
	bed_close(&b);
}

static void
sockets_come_and_go_without_end(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	for (uint64_t i = 1; i <= 300; i++) {
		wire_close(b.client);
		assert_int_equal(wire_connect(b.client_context, wire_endpoint(b.server), NULL,
			&b.client), RS_OK);
		if (i % 20 == 0)
			bed_exchange(&b, i);
	}
	bed_close(&b);
}

/* Of a program that is started while a node works, such as one that unpacks data. */
static void
children_inherit_no_socket(void **state)
{
	char endpoint[300];
	struct bed b;
	struct stat s;
	struct wire *w;
	int n_sockets = 0;

	snprintf(endpoint, sizeof(endpoint), "ipc://%s/socket", (const char *)*state);
	bed_open(&b, "tcp://127.0.0.1:0", 1);
	assert_int_equal(wire_bind(b.server_context, endpoint, &w), RS_OK);
	bed_exchange(&b, 1);
	for (int fd = 3; fd < 256; fd++)
		if (fstat(fd, &s) == 0 && S_ISSOCK(s.st_mode)) {
			n_sockets++;
			assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		}
	assert_in_range(n_sockets, 4, 256);
	wire_close(w);
	bed_close(&b);
}

static void
files_may_be_as_many_as_the_system_allows(void **state)
{
	struct rlimit limit;
	struct bed b;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = limit.rlim_max > 256 ? 256 : limit.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	bed_contexts(&b, 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(limit.rlim_cur == limit.rlim_max || limit.rlim_cur >= 1 << 20);
	bed_close(&b);
}

static void
with_keys_there_are_no_core_files(void **state)
{
	struct rlimit limit;
	struct bed b;

	(void)state;
	bed_contexts(&b, 1);
	assert_int_equal(getrlimit(RLIMIT_CORE, &limit), 0);
	assert_int_equal(limit.rlim_cur, 0);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(question_and_answer_over_every_transport,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test(name_and_roles_come_with_a_message),
		cmocka_unit_test(parts_arrive_as_they_were_and_are_released_once),
		cmocka_unit_test(release_is_called_when_sending_fails),
		cmocka_unit_test(large_parts_are_cut_and_put_together),
		cmocka_unit_test(the_largest_body_arrives),
		cmocka_unit_test(what_was_sent_is_not_dropped),
		cmocka_unit_test(waiting_ends_at_its_deadline),
		cmocka_unit_test(many_sockets_can_be_waited_for),
		cmocka_unit_test_setup_teardown(what_is_sent_before_the_server_is_there_arrives,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test_setup_teardown(a_server_that_comes_back_is_found_again,
			tmpdir_make, tmpdir_remove),
		cmocka_unit_test(threads_may_use_a_socket_one_after_the_other),
		cmocka_unit_test(only_the_loopback_is_bound_without_keys),
		cmocka_unit_test(the_world_needs_keys_and_a_list),
		cmocka_unit_test(addresses_that_cannot_be_used_are_told),
		cmocka_unit_test(sockets_come_and_go_without_end),
		cmocka_unit_test_setup_teardown(children_inherit_no_socket, tmpdir_make,
			tmpdir_remove),
		cmocka_unit_test(with_keys_there_are_no_core_files),
		cmocka_unit_test(files_may_be_as_many_as_the_system_allows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
