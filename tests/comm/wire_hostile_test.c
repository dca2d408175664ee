/*
 * Peers that must not get in, or say what is no message: they are refused and told so
 * quickly, and who is honest does not notice.
 */
#include "tests/comm/wire_bed.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
#include <zmq.h>

#include "base/hash.h"
#include "base/log.h"
#include "comm/fields.h"
#include "comm/wire_private.h"

#define QUICK 5.0

/* A client of this key pair (NULL: none) that knows the server by this key. */
static struct wire *
dial(struct bed *b, const struct key_pair *self, const char *server_key, struct wire_context **c)
{
	const struct wire_options options = { .self = self };
	struct wire *w;

	assert_int_equal(wire_context_open(&options, c), RS_OK);
	assert_int_equal(wire_connect(*c, wire_endpoint(b->server), server_key, &w), RS_OK);
	w->hung_up_seconds = 0.2;
	return w;
}

static void
expect_refusal(struct bed *b, const struct key_pair *self, const char *server_key,
	const char *says)
{
	struct wire_context *c;
	struct wire *w = dial(b, self, server_key, &c);
	const struct frame f = { .type = FRAME_HELLO };
	struct wire_poll p = { .wire = w };
	struct wire_message m;
	const double begin = clock_seconds();
	int got;

	bed_trouble(w, RS_EDENIED, QUICK);
	assert_non_null(strstr(rs_failure()->text, wire_endpoint(b->server)));
	if (strstr(rs_failure()->text, says) == NULL)
		fail_msg("'%s' is not in '%s'", says, rs_failure()->text);
	assert_int_equal(wire_send(w, NULL, &f, NULL, 0), RS_EDENIED);
	assert_int_equal(wire_wait(&p, 1, SECONDS), RS_OK);
	assert_true(p.readable);
	assert_int_equal(wire_receive(w, &m, &got), RS_EDENIED);
	assert_true(clock_seconds() - begin < QUICK);
	wire_close(w);
	wire_context_close(c);
	bed_exchange(b, 2);
	assert_false(bed_receive(b->server, &m, 0.02));
}

static void
who_is_not_on_the_list_is_refused_quickly(void **state)
{
	struct key_pair stranger, other;
	struct bed b;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 1);
	bed_exchange(&b, 1);
	assert_int_equal(key_pair_make(&stranger), RS_OK);
	assert_int_equal(key_pair_make(&other), RS_OK);
	expect_refusal(&b, &stranger, b.server_keys.public_key, "refuses the key");
	/* The right public key with a secret that is not its own. */
	memcpy(stranger.public_key, b.client_keys.public_key, KEY_TEXT);
	expect_refusal(&b, &stranger, b.server_keys.public_key, "");
	/* The right key, but another server is expected. */
	expect_refusal(&b, &b.client_keys, other.public_key, "the key that is expected");
	expect_refusal(&b, NULL, NULL, "want");
	bed_close(&b);
}

static void
a_server_without_keys_is_refused_by_who_expects_one(void **state)
{
	struct bed b;
	struct key_pair k;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	assert_int_equal(key_pair_make(&k), RS_OK);
	expect_refusal(&b, &k, k.public_key, "key");
	bed_close(&b);
}

static void
a_client_without_a_key_cannot_expect_one(void **state)
{
	struct key_pair k;
	struct bed b;
	struct wire *w;

	(void)state;
	bed_contexts(&b, 0);
	assert_int_equal(key_pair_make(&k), RS_OK);
	assert_int_equal(wire_connect(b.client_context, "tcp://127.0.0.1:1", k.public_key, &w),
		RS_EDENIED);
	bed_close(&b);
}

static void
an_empty_list_lets_in_nobody(void **state)
{
	struct bed b;
	const struct key_list nobody = { 0 };

	(void)state;
	bed_contexts(&b, 1);
	assert_int_equal(wire_context_allow(b.server_context, &nobody), RS_OK);
	assert_int_equal(wire_bind(b.server_context, "tcp://127.0.0.1:0", &b.server), RS_OK);
	assert_int_equal(wire_connect(b.client_context, wire_endpoint(b.server),
		b.server_keys.public_key, &b.client), RS_OK);
	bed_trouble(b.client, RS_EDENIED, QUICK);
	bed_close(&b);
}

static void
expect_error(struct wire *w, enum rs_status wanted, uint64_t request)
{
	struct wire_message m;

	assert_true(bed_receive(w, &m, SECONDS));
	assert_int_equal(m.frame.type, FRAME_ERROR);
	assert_true(m.frame.request == request);
	assert_int_equal(m.n_parts, 1);
	const struct fields body = { m.part[0].data, m.part[0].n };
	assert_int_equal(fields_failure(&body, "the server"), wanted);
	wire_message_free(&m);
}

static void
a_key_taken_off_the_list_is_out_at_once(void **state)
{
	const struct key_list nobody = { 0 };
	struct wire_message m;
	struct bed b;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 1);
	bed_exchange(&b, 1);
	assert_int_equal(wire_context_allow(b.server_context, &nobody), RS_OK);
	bed_send_text(b.client, NULL, 2, "x");
	assert_false(bed_receive(b.server, &m, 0.2));
	expect_error(b.client, RS_EDENIED, 2);
	assert_int_equal(wire_malformed(b.server), 1);
	assert_int_equal(wire_context_allow(b.server_context, &b.allowed), RS_OK);
	bed_exchange(&b, 3);
	bed_close(&b);
}

static void
the_self_test_sees_a_server_that_lets_in_strangers(void **state)
{
	struct bed b;
	struct wire open_server = { .is_router = 1 };
	void *zmq = zmq_ctx_new(), *socket = zmq_socket(zmq, ZMQ_ROUTER);
	const int yes = 1, none = 0;
	size_t n = sizeof(open_server.endpoint);

	(void)state;
	bed_contexts(&b, 1);
	/* CURVE, but no handler: the library lets in everybody. */
	zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &yes, sizeof(yes));
	zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, b.server_keys.secret_key, KEY_TEXT);
	zmq_setsockopt(socket, ZMQ_LINGER, &none, sizeof(none));
	assert_int_equal(zmq_bind(socket, "tcp://127.0.0.1:*"), 0);
	assert_int_equal(zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, open_server.endpoint, &n), 0);
	assert_int_equal(wire_self_test(b.server_context, &open_server), RS_EDENIED);
	assert_non_null(strstr(rs_failure()->text, "stranger"));
	zmq_close(socket);
	zmq_ctx_term(zmq);
	assert_int_equal(wire_bind(b.server_context, "tcp://127.0.0.1:0", &b.server), RS_OK);
	assert_int_equal(wire_self_test(b.server_context, b.server), RS_OK);
	bed_close(&b);
}

static uint16_t
port_of(const char *endpoint)
{
	return (uint16_t)strtoul(strrchr(endpoint, ':') + 1, NULL, 10);
}

static int
dial_tcp(uint16_t port)
{
	const struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&to, sizeof(to)), 0);
	return fd;
}

static int
listen_tcp(uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(at);
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, 10), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

/* A greeting of ZMTP 3 with mechanism NULL, READY of a DEALER, a frame of 8 KB too many. */
static const uint8_t hello_zmtp[64 + 30 + 9] = {
	0xff, 0, 0, 0, 0, 0, 0, 0, 1, 0x7f, 3, 0, 'N', 'U', 'L', 'L',
	[64] = 4, 28, 5, 'R', 'E', 'A', 'D', 'Y', 11, 'S', 'o', 'c', 'k', 'e', 't', '-', 'T', 'y',
	'p', 'e', 0, 0, 0, 6, 'D', 'E', 'A', 'L', 'E', 'R',
	[94] = 2, 0, 0, 0, 0, 0, 0x08, 0x20, 0,
};

static void
send_garbage(uint16_t port, unsigned kind)
{
	uint8_t bytes[4096];
	const int fd = dial_tcp(port);
	size_t n = kind % 7 == 0 ? sizeof(bytes) : 1 + kind * 37 % 200;

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)hash_mix(kind * 10000 + i);
	/* As much of a right beginning as the kind says. */
	memcpy(bytes, hello_zmtp, kind % (sizeof(hello_zmtp) + 1));
	if (n < kind % sizeof(hello_zmtp))
		n = kind % sizeof(hello_zmtp);
	(void)!send(fd, bytes, n, MSG_NOSIGNAL);
	close(fd);
}

static void
garbage_on_the_port_hurts_nobody(void **state)
{
	for (int with_keys = 0; with_keys < 2; with_keys++) {
		struct bed b;
		int silent[50];

		(void)state;
		bed_open(&b, "tcp://127.0.0.1:0", with_keys);
		const uint16_t port = port_of(wire_endpoint(b.server));
		for (size_t i = 0; i < N_ROWS(silent); i++)
			silent[i] = dial_tcp(port);
		for (unsigned kind = 0; kind < 300; kind++) {
			send_garbage(port, kind);
			if (kind % 10 == 0)
				bed_exchange(&b, kind);
		}
		for (size_t i = 0; i < N_ROWS(silent); i++)
			close(silent[i]);
		bed_exchange(&b, 1000);
		/* Without keys, bytes may happen to be a message of ZMTP 1. */
		if (with_keys)
			assert_int_equal(wire_malformed(b.server), 0);
		bed_close(&b);
	}
}

/* What the peer says until it closes (1) or is silent (0). */
static int
read_until_closed(int fd, int seconds, int microseconds)
{
	const struct timeval patience = { .tv_sec = seconds, .tv_usec = microseconds };
	uint8_t bytes[256];
	ssize_t n;

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		continue;
	return n == 0 || errno == ECONNRESET;
}

static void
a_frame_over_the_maximum_ends_the_link(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	const int fd = dial_tcp(port_of(wire_endpoint(b.server)));
	assert_int_equal(send(fd, hello_zmtp, 94, MSG_NOSIGNAL), 94);
	assert_int_equal(read_until_closed(fd, 0, 200000), 0);
	assert_int_equal(send(fd, hello_zmtp + 94, 9, MSG_NOSIGNAL), 9);
	/* Well before the heartbeat ends it. */
	assert_int_equal(read_until_closed(fd, 0, 700000), 1);
	close(fd);
	bed_exchange(&b, 1);
	bed_close(&b);
}

/* A DEALER of the library itself, which sends what it is told. */
struct raw { void *zmq, *socket; };

static void
raw_open(struct raw *r, const char *endpoint)
{
	const int none = 0, patience = 10000;

	r->zmq = zmq_ctx_new();
	r->socket = zmq_socket(r->zmq, ZMQ_DEALER);
	zmq_setsockopt(r->socket, ZMQ_LINGER, &none, sizeof(none));
	zmq_setsockopt(r->socket, ZMQ_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(zmq_connect(r->socket, endpoint), 0);
}

static void
raw_close(struct raw *r)
{
	zmq_close(r->socket);
	zmq_ctx_term(r->zmq);
}

/* The ERROR that answers what was sent. */
static void
raw_expect_error(struct raw *r, uint64_t request)
{
	uint8_t header[FRAME_BYTES], body[2000];
	struct frame f;
	int n;

	assert_int_equal(zmq_recv(r->socket, header, sizeof(header), 0), FRAME_BYTES);
	n = zmq_recv(r->socket, body, sizeof(body), 0);
	assert_in_range(n, 1, sizeof(body));
	const struct frame_part part = { body, (size_t)n };
	assert_int_equal(frame_decode(header, FRAME_BYTES, &f), RS_OK);
	assert_int_equal(frame_check(&f, header, &part, 1), RS_OK);
	assert_int_equal(f.type, FRAME_ERROR);
	assert_true(f.request == request);
	const struct fields fields = { part.data, part.n };
	assert_int_equal(fields_failure(&fields, "the server"), RS_EPROTOCOL);
}

static void
send_malformed(struct raw *r, int kind)
{
	const struct frame f = { .type = kind == 7 ? 99 : FRAME_PUSH, .request = 5,
		.flags = kind == 6 ? 0x80 : 0 };
	const struct frame_part part = { "body", 4 };
	uint8_t header[FRAME_BYTES];
	int n_parts = kind == 5 ? WIRE_PARTS_MAX + 20 : 1;

	assert_int_equal(frame_encode(&f, &part, 1, header), RS_OK);
	if (kind == 1)
		header[0] = 'X';
	if (kind == 2)
		header[60] ^= 1;
	if (kind == 8)
		header[4] = 2;
	zmq_send(r->socket, header, kind == 3 ? 63 : kind == 4 ? 0 : FRAME_BYTES, ZMQ_SNDMORE);
	for (int i = 0; i < n_parts; i++)
		zmq_send(r->socket, "bodies", kind == 0 ? 6 : i == 0 ? 4 : 0,
			i + 1 < n_parts ? ZMQ_SNDMORE : 0);
}

/* A part of which more should come, at the end of the message. */
static void
send_without_end(struct raw *r)
{
	static const uint8_t body[WIRE_FRAME_MAX];
	const struct frame f = { .type = FRAME_PUSH, .request = 6 };
	const struct frame_part part = { body, sizeof(body) };
	uint8_t header[FRAME_BYTES];

	assert_int_equal(frame_encode(&f, &part, 1, header), RS_OK);
	zmq_send(r->socket, header, FRAME_BYTES, ZMQ_SNDMORE);
	zmq_send(r->socket, body, sizeof(body), 0);
}

static void
malformed_messages_are_counted_and_answered(void **state)
{
	/* Kinds whose header tells the number of the request. */
	static const uint64_t request[] = { 5, 0, 5, 0, 0, 5, 5, 5, 5 };
	struct bed b;
	struct raw r;
	struct wire_message m;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	raw_open(&r, wire_endpoint(b.server));
	for (size_t kind = 0; kind < N_ROWS(request); kind++) {
		send_malformed(&r, (int)kind);
		for (int i = 0; i < 500 && wire_malformed(b.server) == kind; i++)
			assert_false(bed_receive(b.server, &m, 0.01));
		assert_int_equal(wire_malformed(b.server), kind + 1);
		raw_expect_error(&r, request[kind]);
		bed_exchange(&b, kind);
	}
	send_without_end(&r);
	for (int i = 0; i < 500 && wire_malformed(b.server) == N_ROWS(request); i++)
		assert_false(bed_receive(b.server, &m, 0.01));
	raw_expect_error(&r, 6);
	bed_exchange(&b, 1);
	raw_close(&r);
	bed_close(&b);
}

static void
a_flood_of_malformed_messages_gives_others_their_turn(void **state)
{
	struct bed b;
	struct raw r;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	raw_open(&r, wire_endpoint(b.server));
	for (int i = 0; i < 1000; i++)
		send_malformed(&r, i % 9);
	for (uint64_t i = 1; i < 10; i++)
		bed_exchange(&b, i);
	raw_close(&r);
	bed_close(&b);
}

static void
an_error_is_not_answered_with_an_error(void **state)
{
	const struct frame f = { .type = FRAME_ERROR, .request = 9 };
	uint8_t header[FRAME_BYTES];
	struct bed b;
	struct raw r;
	struct wire_message m;
	const int patience = 100;

	(void)state;
	bed_open(&b, "tcp://127.0.0.1:0", 0);
	raw_open(&r, wire_endpoint(b.server));
	zmq_setsockopt(r.socket, ZMQ_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(frame_encode(&f, NULL, 0, header), RS_OK);
	header[60] ^= 1;
	zmq_send(r.socket, header, FRAME_BYTES, 0);
	for (int i = 0; i < 500 && wire_malformed(b.server) == 0; i++)
		assert_false(bed_receive(b.server, &m, 0.01));
	assert_int_equal(wire_malformed(b.server), 1);
	assert_int_equal(zmq_recv(r.socket, header, FRAME_BYTES, 0), -1);
	raw_close(&r);
	bed_close(&b);
}

static void
a_peer_of_another_protocol_is_told(void **state)
{
	char endpoint[64];
	uint16_t port;
	const int fd = listen_tcp(&port);
	struct bed b;

	(void)state;
	bed_contexts(&b, 0);
	snprintf(endpoint, sizeof(endpoint), "tcp://127.0.0.1:%u", port);
	assert_int_equal(wire_connect(b.client_context, endpoint, NULL, &b.client), RS_OK);
	const int peer = accept(fd, NULL, NULL);
	assert_true(peer >= 0);
	(void)!send(peer, hello_zmtp, 64, MSG_NOSIGNAL);
	(void)!send(peer, "\x04\x05\x04NOPE", 7, MSG_NOSIGNAL);
	bed_trouble(b.client, RS_EPROTOCOL, QUICK);
	close(peer);
	close(fd);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_not_on_the_list_is_refused_quickly),
		cmocka_unit_test(a_server_without_keys_is_refused_by_who_expects_one),
		cmocka_unit_test(a_client_without_a_key_cannot_expect_one),
		cmocka_unit_test(an_empty_list_lets_in_nobody),
		cmocka_unit_test(a_key_taken_off_the_list_is_out_at_once),
		cmocka_unit_test(the_self_test_sees_a_server_that_lets_in_strangers),
		cmocka_unit_test(garbage_on_the_port_hurts_nobody),
		cmocka_unit_test(a_frame_over_the_maximum_ends_the_link),
		cmocka_unit_test(malformed_messages_are_counted_and_answered),
		cmocka_unit_test(a_flood_of_malformed_messages_gives_others_their_turn),
		cmocka_unit_test(an_error_is_not_answered_with_an_error),
		cmocka_unit_test(a_peer_of_another_protocol_is_told),
	};

	log_set_level(LOG_ERROR);           /* strangers are warned of                */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
