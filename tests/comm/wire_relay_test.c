/* What an ear on the line hears: a relay between client and server that keeps all bytes. */
#include "tests/comm/wire_bed.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define MARKER "the row of user 4711, in the clear"

enum { HEARD_MAX = 1 << 20 };

struct relay {
	pthread_t thread;
	int listener, stop[2];
	uint16_t port, server_port;
	char *heard;                /* [HEARD_MAX] both ways, one after the other     */
	size_t n_heard;
};

static int
dial(uint16_t port)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&to, sizeof(to)) != 0)
		return -1;
	return fd;
}

/* 0: the link is over. */
static int
pass_on(struct relay *r, int from, int to)
{
	char bytes[4096];
	const ssize_t n = recv(from, bytes, sizeof(bytes), 0);

	if (n <= 0 || send(to, bytes, (size_t)n, MSG_NOSIGNAL) != n)
		return 0;
	if (r->n_heard + (size_t)n <= HEARD_MAX) {
		memcpy(r->heard + r->n_heard, bytes, (size_t)n);
		r->n_heard += (size_t)n;
	}
	return 1;
}

static void
relay_link(struct relay *r, int client, int server)
{
	struct pollfd p[] = { { client, POLLIN, 0 }, { server, POLLIN, 0 },
		{ r->stop[0], POLLIN, 0 } };

	for (int is_up = 1; is_up && poll(p, 3, 10000) > 0 && p[2].revents == 0; ) {
		if (p[0].revents != 0)
			is_up = pass_on(r, client, server);
		if (is_up && p[1].revents != 0)
			is_up = pass_on(r, server, client);
	}
}

static void *
relay_run(void *argument)
{
	struct relay *r = argument;
	struct pollfd p[] = { { r->listener, POLLIN, 0 }, { r->stop[0], POLLIN, 0 } };

	while (poll(p, 2, 10000) > 0 && p[1].revents == 0) {
		const int client = accept(r->listener, NULL, NULL), server = dial(r->server_port);

		if (client >= 0 && server >= 0)
			relay_link(r, client, server);
		close(client);
		close(server);
	}
	return NULL;
}

static void
relay_open(struct relay *r, uint16_t server_port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(at);

	*r = (struct relay){ .server_port = server_port, .heard = malloc(HEARD_MAX) };
	assert_non_null(r->heard);
	assert_int_equal(pipe(r->stop), 0);
	r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(r->listener, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(r->listener, 10), 0);
	assert_int_equal(getsockname(r->listener, (struct sockaddr *)&at, &n), 0);
	r->port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&r->thread, NULL, relay_run, r), 0);
}

static void
relay_stop(struct relay *r)
{
	assert_int_equal(write(r->stop[1], "x", 1), 1);
	pthread_join(r->thread, NULL);
	close(r->listener);
	close(r->stop[0]);
	close(r->stop[1]);
}

static void
talk_through(struct bed *b)
{
	struct wire_message m;

	for (uint64_t i = 1; i < 50; i++) {
		bed_send_text(b->client, NULL, i, MARKER);
		assert_true(bed_receive(b->server, &m, SECONDS));
		assert_memory_equal(m.part[0].data, MARKER, strlen(MARKER));
		bed_send_text(b->server, &m.from, i, MARKER " too");
		wire_message_free(&m);
		assert_true(bed_receive(b->client, &m, SECONDS));
		assert_memory_equal(m.part[0].data, MARKER " too", strlen(MARKER " too"));
		wire_message_free(&m);
	}
}

static int
was_heard(const struct relay *r, const char *text)
{
	return memmem(r->heard, r->n_heard, text, strlen(text)) != NULL;
}

static void
with_keys_no_plaintext_is_on_the_line(void **state)
{
	(void)state;
	for (int with_keys = 0; with_keys < 2; with_keys++) {
		char endpoint[64];
		struct relay r;
		struct bed b;

		bed_contexts(&b, with_keys);
		assert_int_equal(wire_bind(b.server_context, "tcp://127.0.0.1:0", &b.server),
			RS_OK);
		relay_open(&r, (uint16_t)strtoul(strrchr(wire_endpoint(b.server), ':') + 1, NULL,
			10));
		snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u", r.port);
		assert_int_equal(wire_connect(b.client_context, endpoint,
			b.server_keys.public_key, &b.client), RS_OK);
		talk_through(&b);
		relay_stop(&r);
		assert_true(r.n_heard > 98 * (FRAME_BYTES + strlen(MARKER)));
		/* Without keys the relay must hear it, or this test could not fail. */
		assert_int_equal(was_heard(&r, MARKER), !with_keys);
		assert_int_equal(was_heard(&r, FRAME_MAGIC), !with_keys);
		if (with_keys)
			assert_false(was_heard(&r, b.client_keys.secret_key));
		free(r.heard);
		bed_close(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_keys_no_plaintext_is_on_the_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
