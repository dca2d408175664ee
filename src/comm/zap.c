/* The handler of CURVE handshakes: lets in who is on the list. */
#include "comm/zap.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"

enum { POLL_MS = 10000, CURVE_BYTES = 32 };

#define WARN_SECONDS 10.0

enum request_frame { VERSION, ID, DOMAIN, ADDRESS, ROUTING_ID, MECHANISM, CREDENTIALS, N_FRAMES };

struct zap {
	void *socket;
	pthread_t thread;
	pthread_mutex_t lock;       /* of all below                                   */
	struct key_list allowed;
	char expected[KEY_TEXT];
	/* Of the thread. */
	double warned_at;
	uint64_t unreported;
};

int
zap_find(struct zap *z, const char *public_key, struct key_entry *out)
{
	const struct key_entry *e;

	pthread_mutex_lock(&z->lock);
	e = key_list_find(&z->allowed, public_key);
	if (e != NULL)
		*out = *e;
	pthread_mutex_unlock(&z->lock);
	return e != NULL;
}

void
zap_expect(struct zap *z, const char *public_key)
{
	pthread_mutex_lock(&z->lock);
	memcpy(z->expected, public_key, KEY_TEXT);
	pthread_mutex_unlock(&z->lock);
}

/* At most one line in WARN_SECONDS: strangers do not fill the log. */
static void
warn_refused(struct zap *z, const char *public_key, const zmq_msg_t *address)
{
	const double now = clock_seconds();
	char id[9], from[72];
	int is_expected;

	pthread_mutex_lock(&z->lock);
	is_expected = strcmp(z->expected, public_key) == 0;
	pthread_mutex_unlock(&z->lock);
	if (is_expected)
		return;
	z->unreported++;
	if (z->warned_at > 0 && now - z->warned_at < WARN_SECONDS)
		return;
	key_id(public_key, id);
	rs_escape(from, zmq_msg_data((zmq_msg_t *)(uintptr_t)address), zmq_msg_size(address));
	if (z->unreported > 1)
		log_warn("refused key id %s from %s, which is not on the list, and %llu more "
			"before", id, from, (unsigned long long)z->unreported - 1);
	else
		log_warn("refused key id %s from %s, which is not on the list", id, from);
	z->warned_at = now;
	z->unreported = 0;
}

/* Frames of a request, those behind the known ones dropped; RS_OK also when it is short. */
static int
receive(struct zap *z, zmq_msg_t frame[N_FRAMES])
{
	size_t n = 0;

	for (int more = 1; more; ) {
		zmq_msg_t extra;
		zmq_msg_t *to = n < N_FRAMES ? &frame[n] : &extra;

		zmq_msg_init(to);
		if (zmq_msg_recv(to, z->socket, ZMQ_DONTWAIT) < 0) {
			zmq_msg_close(to);
			break;
		}
		more = zmq_msg_more(to);
		n++;
		if (to == &extra)
			zmq_msg_close(&extra);
	}
	for (size_t i = n; i < N_FRAMES; i++)
		zmq_msg_init(&frame[i]);
	return n > 0;
}

/* ZMTP property: length and name, length in network order and value. */
static size_t
put_property(char *to, const char *name, const char *value, size_t n)
{
	const size_t n_name = strlen(name);

	to[0] = (char)n_name;
	memcpy(to + 1, name, n_name);
	memset(to + 1 + n_name, 0, 3);
	to[n_name + 4] = (char)n;
	memcpy(to + n_name + 5, value, n);
	return n_name + 5 + n;
}

static void
put_frame(struct zap *z, const void *data, size_t n, int more)
{
	while (zmq_send(z->socket, data, n, ZMQ_DONTWAIT | (more ? ZMQ_SNDMORE : 0)) < 0 &&
	    errno == EINTR)
		continue;
}

static void
answer(struct zap *z, zmq_msg_t frame[N_FRAMES], const struct key_entry *e)
{
	char properties[64];
	size_t n = 0;

	if (e != NULL)
		n = put_property(properties, ZAP_KEY_PROPERTY, e->public_key, KEY_TEXT - 1);
	put_frame(z, "1.0", 3, 1);
	put_frame(z, zmq_msg_data(&frame[ID]), zmq_msg_size(&frame[ID]), 1);
	put_frame(z, e != NULL ? "200" : "400", 3, 1);
	put_frame(z, e != NULL ? "OK" : "refused", e != NULL ? 2 : 7, 1);
	put_frame(z, e != NULL ? e->name : "", e != NULL ? strlen(e->name) : 0, 1);
	put_frame(z, properties, n, 0);
}

static int
equals(const zmq_msg_t *frame, const char *text)
{
	const size_t n = strlen(text);

	return zmq_msg_size(frame) == n &&
		memcmp(zmq_msg_data((zmq_msg_t *)(uintptr_t)frame), text, n) == 0;
}

static void
decide(struct zap *z, zmq_msg_t frame[N_FRAMES])
{
	struct key_entry e;
	char key[KEY_TEXT];

	if (!equals(&frame[VERSION], "1.0") || !equals(&frame[MECHANISM], "CURVE") ||
	    zmq_msg_size(&frame[CREDENTIALS]) != CURVE_BYTES ||
	    zmq_z85_encode(key, zmq_msg_data(&frame[CREDENTIALS]), CURVE_BYTES) == NULL) {
		answer(z, frame, NULL);
		return;
	}
	if (zap_find(z, key, &e)) {
		answer(z, frame, &e);
		return;
	}
	warn_refused(z, key, &frame[ADDRESS]);
	answer(z, frame, NULL);
}

static void *
serve(void *argument)
{
	struct zap *z = argument;

	for (;;) {
		zmq_pollitem_t item = { .socket = z->socket, .events = ZMQ_POLLIN };
		zmq_msg_t frame[N_FRAMES];
		const int n = zmq_poll(&item, 1, POLL_MS);

		if (n < 0 && errno == ETERM)
			break;
		if (n <= 0)
			continue;
		if (receive(z, frame))
			decide(z, frame);
		for (size_t i = 0; i < N_FRAMES; i++)
			zmq_msg_close(&frame[i]);
	}
	zmq_close(z->socket);
	return NULL;
}

enum rs_status
zap_open(void *context, struct zap **out)
{
	struct zap *z;
	const int no_linger = 0;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*z), &z));
	pthread_mutex_init(&z->lock, NULL);
	z->socket = zmq_socket(context, ZMQ_REP);
	if (z->socket == NULL ||
	    zmq_setsockopt(z->socket, ZMQ_LINGER, &no_linger, sizeof(no_linger)) != 0 ||
	    zmq_bind(z->socket, "inproc://zeromq.zap.01") != 0)
		status = rs_fail(RS_ERESOURCE, "cannot answer handshakes: %s",
			zmq_strerror(errno));
	else
		status = thread_start(&z->thread, "rs-zap", serve, z);
	if (status != RS_OK) {
		if (z->socket != NULL)
			zmq_close(z->socket);
		pthread_mutex_destroy(&z->lock);
		free(z);
		return status;
	}
	*out = z;
	return RS_OK;
}

enum rs_status
zap_allow(struct zap *z, const struct key_list *allowed)
{
	struct key_list copy = { 0 }, old;
	enum rs_status status = RS_OK;

	if (allowed != NULL && allowed->n > 0)
		status = memory_alloc(allowed->n, sizeof(*copy.entry), &copy.entry);
	if (allowed != NULL && allowed->n > 0 && status == RS_OK) {
		memcpy(copy.entry, allowed->entry, allowed->n * sizeof(*copy.entry));
		copy.n = allowed->n;
	}
	pthread_mutex_lock(&z->lock);
	old = z->allowed;
	z->allowed = copy;
	pthread_mutex_unlock(&z->lock);
	key_list_free(&old);
	return status;
}

void
zap_close(struct zap *z)
{
	if (z == NULL)
		return;
	thread_join(z->thread);
	key_list_free(&z->allowed);
	pthread_mutex_destroy(&z->lock);
	free(z);
}
