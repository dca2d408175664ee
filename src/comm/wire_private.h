/* What the parts of wire share: the fields of a socket and its monitor. */
#ifndef COMM_WIRE_PRIVATE_H
#define COMM_WIRE_PRIVATE_H

#include <stdatomic.h>

#include "comm/wire.h"
#include "comm/zap.h"

/* The largest frame.  A good part of a second on 10 Mbit/s, less than the heartbeat's three. */
enum { WIRE_FRAME_MAX = 1 << 19 };

struct wire_context {
	void *zmq;
	struct zap *zap;            /* NULL without keys                              */
	struct key_pair self;
	atomic_int  has_list;
	atomic_uint n_wires, n_monitors;
};

struct wire {
	struct wire_context *context;
	void *socket, *monitor;     /* a DEALER has a monitor                         */
	char  endpoint[300];
	int   is_router, is_secure;
	uint64_t malformed;
	enum rs_status trouble;     /* see wire_trouble()                             */
	char  why[200];
	unsigned n_hung_up;         /* handshakes in a row that the peer ended,       */
	double   hung_up_at;        /* when the first of them was, and for how long   */
	double   hung_up_seconds;   /* that may be chance                             */
};

/* Has news of the link of a DEALER told to a socket; before it is connected. */
enum rs_status wire_monitor_open(struct wire *w);
void wire_monitor_close(struct wire *w);
/* Takes in the news, waits for nothing. */
void wire_monitor_read(struct wire *w);
/* Trouble that does not heal by itself. */
int  wire_is_refused(const struct wire *w);
enum rs_status wire_fail_trouble(const struct wire *w);

#endif
