/* News of the link of a DEALER: who refused whom, and is anybody there. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zmq.h>

#include "base/thread.h"
#include "comm/wire_private.h"

/* Of these, nothing else is told: the link is asked for when it is waited for. */
#define EVENTS (ZMQ_EVENT_HANDSHAKE_SUCCEEDED | ZMQ_EVENT_HANDSHAKE_FAILED_AUTH | \
	ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL | ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL | \
	ZMQ_EVENT_CLOSED | ZMQ_EVENT_DISCONNECTED)

/*
 * A server hangs up on who expects another key of it, and does not say why, nor always if
 * one of the two has none.  It may also have been killed just then, or a relay before it has
 * nobody behind it yet; but not so often in a row, and for so long.  One that is stopped
 * looks the same, if the library's error is an old one, but only every five seconds.
 */
enum { HUNG_UP_MIN = 8 };

#define HUNG_UP_SECONDS 3.0

enum rs_status
wire_monitor_open(struct wire *w)
{
	char address[64];
	const int no_limit = 0, no_linger = 0;

	/* Never used before: an address is free only some time after its socket is closed. */
	snprintf(address, sizeof(address), "inproc://monitor-%u",
		atomic_fetch_add(&w->context->n_monitors, 1));
	w->hung_up_seconds = HUNG_UP_SECONDS;
	w->monitor = zmq_socket(w->context->zmq, ZMQ_PAIR);
	/* No limit, as the thread of the library would wait for room. */
	if (w->monitor == NULL ||
	    zmq_setsockopt(w->monitor, ZMQ_RCVHWM, &no_limit, sizeof(no_limit)) != 0 ||
	    zmq_setsockopt(w->monitor, ZMQ_LINGER, &no_linger, sizeof(no_linger)) != 0 ||
	    zmq_socket_monitor(w->socket, address, EVENTS) != 0 ||
	    zmq_connect(w->monitor, address) != 0)
		return rs_fail(RS_ERESOURCE, "cannot watch the link to '%s': %s", w->endpoint,
			zmq_strerror(errno));
	return RS_OK;
}

void
wire_monitor_close(struct wire *w)
{
	if (w->monitor == NULL)
		return;
	zmq_socket_monitor(w->socket, NULL, 0);
	zmq_close(w->monitor);
	w->monitor = NULL;
}

static void
set_trouble(struct wire *w, enum rs_status status, const char *why)
{
	w->trouble = status;
	snprintf(w->why, sizeof(w->why), "%s", why);
}

static void
handshake_failed(struct wire *w, unsigned event, uint32_t value)
{
	if (event == ZMQ_EVENT_HANDSHAKE_FAILED_AUTH)
		set_trouble(w, RS_EDENIED, "refuses the key of this node");
	else if (value == ZMQ_PROTOCOL_ERROR_ZMTP_MECHANISM_MISMATCH)
		set_trouble(w, RS_EDENIED, w->is_secure ? "speaks without keys" :
			"wants a key, and this node has none");
	else if (value == ZMQ_PROTOCOL_ERROR_ZMTP_CRYPTOGRAPHIC)
		set_trouble(w, RS_EDENIED, "has not the key that is expected of it");
	else
		set_trouble(w, RS_EPROTOCOL, "does not speak the protocol");
}

static void
hung_up(struct wire *w, uint32_t error)
{
	if (error != EPIPE && error != ECONNRESET) {
		set_trouble(w, RS_EPEER, "does not answer the handshake");
		return;
	}
	if (w->n_hung_up == 0)
		w->hung_up_at = clock_seconds();
	if (w->n_hung_up < HUNG_UP_MIN)
		w->n_hung_up++;
	if (w->n_hung_up == HUNG_UP_MIN && clock_seconds() - w->hung_up_at >= w->hung_up_seconds)
		set_trouble(w, RS_EDENIED, w->is_secure ?
			"hangs up: has it the key that is expected of it?" :
			"hangs up: does it want a key?");
	else
		set_trouble(w, RS_EPEER, "hangs up");
}

static void
take_event(struct wire *w, unsigned event, uint32_t value)
{
	switch (event) {
	case ZMQ_EVENT_HANDSHAKE_SUCCEEDED:
		w->trouble = RS_OK;
		w->n_hung_up = 0;
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_AUTH:
	case ZMQ_EVENT_HANDSHAKE_FAILED_PROTOCOL:
		handshake_failed(w, event, value);
		break;
	case ZMQ_EVENT_HANDSHAKE_FAILED_NO_DETAIL:
		hung_up(w, value);
		break;
	case ZMQ_EVENT_CLOSED:
		w->n_hung_up = 0;
		set_trouble(w, RS_EPEER, "cannot be reached: nobody listens there");
		break;
	case ZMQ_EVENT_DISCONNECTED:        /* follows a failed handshake, too        */
		if (w->trouble == RS_OK)
			set_trouble(w, RS_EPEER, "has broken the link");
		break;
	default:
		break;
	}
}

void
wire_monitor_read(struct wire *w)
{
	uint8_t event[6];

	while (w->monitor != NULL) {
		int more = 0;
		size_t n_more = sizeof(more);
		char endpoint[300];
		const int n = zmq_recv(w->monitor, event, sizeof(event), ZMQ_DONTWAIT);

		if (n < 0)
			return;
		if (zmq_getsockopt(w->monitor, ZMQ_RCVMORE, &more, &n_more) == 0 && more)
			zmq_recv(w->monitor, endpoint, sizeof(endpoint), ZMQ_DONTWAIT);
		if (n == sizeof(event)) {
			uint16_t number;
			uint32_t value;

			/* In the order of bytes of the machine. */
			memcpy(&number, event, sizeof(number));
			memcpy(&value, event + sizeof(number), sizeof(value));
			take_event(w, number, value);
		}
	}
}

int
wire_is_refused(const struct wire *w)
{
	return w->trouble != RS_OK && w->trouble != RS_EPEER;
}

enum rs_status
wire_fail_trouble(const struct wire *w)
{
	char id[9];

	if (w->trouble == RS_OK)
		return RS_OK;
	rs_fail(w->trouble, "'%s' %s", w->endpoint, w->why);
	if (w->trouble != RS_EDENIED || !w->is_secure)
		return w->trouble;
	key_id(w->context->self.public_key, id);
	return rs_hint("the key id of this node is %s", id);
}

enum rs_status
wire_trouble(struct wire *w)
{
	wire_monitor_read(w);
	return wire_fail_trouble(w);
}

const char *
wire_trouble_text(struct wire *w)
{
	wire_monitor_read(w);
	return w->trouble != RS_OK ? w->why : "";
}
