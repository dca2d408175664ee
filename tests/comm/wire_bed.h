/* A server and a client for tests: contexts with and without keys, one exchange. */
#ifndef TESTS_COMM_WIRE_BED_H
#define TESTS_COMM_WIRE_BED_H

#include "tests/test.h"

#include <string.h>

#include "base/status.h"
#include "base/thread.h"
#include "comm/wire.h"

#define SECONDS 10.0

struct bed {
	struct key_pair server_keys, client_keys;
	struct key_list allowed;
	struct wire_context *server_context, *client_context;
	struct wire *server, *client;
};

static inline void
bed_contexts(struct bed *b, int with_keys)
{
	const struct wire_options server = { .self = with_keys ? &b->server_keys : NULL,
		.allowed = with_keys ? &b->allowed : NULL };
	const struct wire_options client = { .self = with_keys ? &b->client_keys : NULL };

	*b = (struct bed){ .server = NULL };
	if (with_keys) {
		assert_int_equal(key_pair_make(&b->server_keys), RS_OK);
		assert_int_equal(key_pair_make(&b->client_keys), RS_OK);
		assert_int_equal(key_list_add(&b->allowed, "w0", KEY_WORKER | KEY_MONITOR,
			b->client_keys.public_key), RS_OK);
	}
	assert_int_equal(wire_context_open(&server, &b->server_context), RS_OK);
	assert_int_equal(wire_context_open(&client, &b->client_context), RS_OK);
}

static inline void
bed_open(struct bed *b, const char *endpoint, int with_keys)
{
	bed_contexts(b, with_keys);
	assert_int_equal(wire_bind(b->server_context, endpoint, &b->server), RS_OK);
	assert_int_equal(wire_connect(b->client_context, wire_endpoint(b->server),
		b->server_keys.public_key, &b->client), RS_OK);
}

static inline void
bed_close(struct bed *b)
{
	wire_close(b->client);
	wire_close(b->server);
	wire_context_close(b->client_context);
	wire_context_close(b->server_context);
	key_list_free(&b->allowed);
}

/* The next message within `seconds`; 0: none came. */
static inline int
bed_receive(struct wire *w, struct wire_message *m, double seconds)
{
	const double end = clock_seconds() + seconds;
	int got = 0;

	for (;;) {
		struct wire_poll p = { .wire = w };
		const double left = end - clock_seconds();

		assert_int_equal(wire_receive(w, m, &got), RS_OK);
		if (got || left <= 0)
			return got;
		assert_int_equal(wire_wait(&p, 1, left), RS_OK);
	}
}

static inline void
bed_send_text(struct wire *w, const struct wire_peer *to, uint64_t request, const char *text)
{
	const struct frame f = { .type = FRAME_PULL, .request = request };
	const struct wire_part part = { .data = text, .n = strlen(text) };

	assert_int_equal(wire_send(w, to, &f, &part, 1), RS_OK);
}

/* A question and its answer. */
static inline void
bed_exchange(struct bed *b, uint64_t request)
{
	struct wire_message m, reply;

	bed_send_text(b->client, NULL, request, "question");
	assert_true(bed_receive(b->server, &m, SECONDS));
	assert_true(m.frame.request == request);
	bed_send_text(b->server, &m.from, m.frame.request, "answer");
	assert_true(bed_receive(b->client, &reply, SECONDS));
	assert_true(reply.frame.request == request);
	assert_memory_equal(reply.part[0].data, "answer", 6);
	wire_message_free(&m);
	wire_message_free(&reply);
}

/* Waits until the link is in trouble of this kind. */
static inline void
bed_trouble(struct wire *w, enum rs_status wanted, double seconds)
{
	const double end = clock_seconds() + seconds;
	enum rs_status status;

	while ((status = wire_trouble(w)) != wanted && clock_seconds() < end) {
		struct wire_poll p = { .wire = w };

		wire_wait(&p, 1, 0.02);
	}
	assert_int_equal(status, wanted);
}

#endif
