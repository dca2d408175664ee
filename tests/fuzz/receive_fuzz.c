/*
 * Messages of any frames through a socket: the header, the sizes of the frames, their number.
 * What is let in has the bytes that were sent; what is not is counted and answered once.
 *
 * Input: 64 bytes of header; a byte of choices: 1 repairs size and CRC; then one byte a frame,
 * of which the upper bits choose sizes around the one at which parts are cut.
 */
#include <string.h>
#include <zmq.h>

#include "base/hash.h"
#include "comm/wire.h"
#include "comm/wire_private.h"
#include "tests/fuzz/fuzz.h"

enum { N_FRAMES_MAX = 80, N_LARGE_MAX = 4, CRC_AT = 60 };

static struct wire_context *context;
static struct wire *server;
static void *client;
static uint8_t body[WIRE_FRAME_MAX + 1];

static void
open_sockets(void)
{
	const struct wire_options options = { .self = NULL };
	const int none = 0, patience = 5000;

	FUZZ_CHECK(wire_context_open(&options, &context) == RS_OK);
	FUZZ_CHECK(wire_bind(context, "inproc://fuzz", &server) == RS_OK);
	client = zmq_socket(context->zmq, ZMQ_DEALER);
	FUZZ_CHECK(client != NULL);
	zmq_setsockopt(client, ZMQ_LINGER, &none, sizeof(none));
	zmq_setsockopt(client, ZMQ_RCVTIMEO, &patience, sizeof(patience));
	FUZZ_CHECK(zmq_connect(client, "inproc://fuzz") == 0);
	for (size_t i = 0; i < sizeof(body); i++)
		body[i] = (uint8_t)hash_mix(i);
}

/* Not too many large ones, for speed. */
static size_t
read_sizes(const uint8_t *data, size_t n, size_t size[N_FRAMES_MAX])
{
	size_t n_frames = 0, n_large = 0;

	for (; n_frames < n && n_frames < N_FRAMES_MAX; n_frames++) {
		const uint8_t c = data[n_frames];

		size[n_frames] = c < 0xc0 ? c % 64u : WIRE_FRAME_MAX + c % 4u - 2;
		if (c >= 0xc0 && ++n_large > N_LARGE_MAX)
			break;
	}
	return n_frames;
}

static void
repair(uint8_t header[FRAME_BYTES], const size_t *size, size_t n_frames)
{
	uint64_t sum = 0;
	uint32_t crc;

	for (size_t i = 0; i < n_frames; i++)
		sum += size[i];
	for (size_t i = 0; i < 4; i++)
		header[56 + i] = (uint8_t)(sum >> 8 * i);
	crc = hash_crc32c(0, header, CRC_AT);
	for (size_t i = 0; i < n_frames; i++)
		crc = hash_crc32c(crc, body, size[i]);
	for (size_t i = 0; i < 4; i++)
		header[CRC_AT + i] = (uint8_t)(crc >> 8 * i);
}

/* The parts are the frames, those of the full size joined with what follows them. */
static void
check_parts(const struct wire_message *m, const size_t *size, size_t n_frames)
{
	size_t part = 0, at = 0;

	for (size_t i = 0; i < n_frames; i++) {
		FUZZ_CHECK(part < m->n_parts && at + size[i] <= m->part[part].n);
		FUZZ_CHECK((uintptr_t)m->part[part].data % 8 == 0);
		if (size[i] > 0)
			FUZZ_CHECK(memcmp((const char *)m->part[part].data + at, body,
				size[i]) == 0);
		at += size[i];
		if (size[i] < WIRE_FRAME_MAX) {
			FUZZ_CHECK(at == m->part[part].n);
			part++;
			at = 0;
		}
	}
	FUZZ_CHECK(part == m->n_parts && at == 0);
}

static void
drain_answer(void)
{
	char bytes[64];
	int more = 1;
	size_t n = sizeof(more);

	while (more) {
		FUZZ_CHECK(zmq_recv(client, bytes, sizeof(bytes), 0) >= 0);
		FUZZ_CHECK(zmq_getsockopt(client, ZMQ_RCVMORE, &more, &n) == 0);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	uint8_t header[FRAME_BYTES];
	size_t size[N_FRAMES_MAX], n_frames = 0;
	struct wire_message m;
	int got;

	if (context == NULL)
		open_sockets();
	memset(header, 0, sizeof(header));
	memcpy(header, data, n < FRAME_BYTES ? n : FRAME_BYTES);
	if (n > FRAME_BYTES) {
		n_frames = read_sizes(data + FRAME_BYTES + 1, n - FRAME_BYTES - 1, size);
		if (data[FRAME_BYTES] & 1)
			repair(header, size, n_frames);
	}
	const size_t n_header = n < FRAME_BYTES ? n : FRAME_BYTES;
	FUZZ_CHECK(zmq_send(client, header, n_header, n_frames > 0 ? ZMQ_SNDMORE : 0) >= 0);
	for (size_t i = 0; i < n_frames; i++)
		FUZZ_CHECK(zmq_send(client, body, size[i],
			i + 1 < n_frames ? ZMQ_SNDMORE : 0) >= 0);
	const uint64_t malformed = wire_malformed(server);

	FUZZ_CHECK(wire_receive(server, &m, &got) == RS_OK);
	FUZZ_CHECK(wire_malformed(server) == malformed + !got);
	if (got) {
		check_parts(&m, size, n_frames);
		wire_message_free(&m);
	} else if (header[6] != FRAME_ERROR || header[7] != 0 || n_header < FRAME_BYTES ||
	    memcmp(header, FRAME_MAGIC, 4) != 0) {
		drain_answer();
	}
	return 0;
}
