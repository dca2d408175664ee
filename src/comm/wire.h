/*
 * Sockets: a ROUTER that serves, a DEALER that asks, over ipc or tcp, with CURVE.
 *
 * A context has the keys of this process and the threads of the library.  With keys, a
 * bound socket lets in only who is on the list, by public key (ZAP); a message then
 * carries the sender's name and roles from that list.  Binding outside the loopback
 * without keys and list is RS_EDENIED.  A wire is used by one thread at a time (with a
 * barrier or lock between); nothing here waits but wire_wait(), which always has a
 * deadline.  Fork before, never after, a context is made.  One with keys forbids core
 * files to the process.
 */
#ifndef COMM_WIRE_H
#define COMM_WIRE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/frame.h"
#include "comm/keys.h"

struct wire_context;
struct wire;

struct wire_options {
	const struct key_pair *self;       /* NULL: no CURVE (ipc and loopback only)     */
	const struct key_list *allowed;    /* who may connect to what we bind; with self */
	size_t n_io_threads;               /* 0: 1                                        */
};

enum rs_status wire_context_open(const struct wire_options *options, struct wire_context **out);
/* Copies the list of who may connect, from now on; links of others stay, but their messages
 * are refused.  On failure nobody may. */
enum rs_status wire_context_allow(struct wire_context *c, const struct key_list *allowed);
/* All wires are closed before. */
void wire_context_close(struct wire_context *c);

/* ROUTER. */
enum rs_status wire_bind(struct wire_context *c, const char *endpoint, struct wire **out);
/* Where it listens, port chosen. */
const char *wire_endpoint(const struct wire *w);
/* DEALER; server_key: public, Z85, NULL or "" without CURVE.  Returns at once: the link
 * comes and goes by itself; what is sent before it is there waits for it. */
enum rs_status wire_connect(struct wire_context *c, const char *endpoint, const char *server_key,
	struct wire **out);
/* Why a DEALER has no link now: RS_EDENIED the peer refuses our key, or has not the one that
 * we expect, or one of us has none; RS_EPROTOCOL it speaks something else; RS_EPEER nobody
 * listens there or the link broke, which heals by itself.  RS_OK: it is linked, or there
 * is no news yet.  The first two are told by wire_send() and wire_receive(), too. */
enum rs_status wire_trouble(struct wire *w);
/* The same in words that follow the peer's name, for messages; "" without trouble. */
const char *wire_trouble_text(struct wire *w);
void wire_close(struct wire *w);
/* Dials what was bound with a key made on the spot and wants a refusal: RS_EDENIED when
 * a stranger is let in. */
enum rs_status wire_self_test(struct wire_context *c, struct wire *bound);

#define WIRE_PARTS_MAX 64           /* of a body                                      */

/* Who sent a message to a ROUTER, for the answer. */
struct wire_peer {
	uint8_t id[256];
	size_t  n;
	char    name[64];           /* of the allow-list; "" without CURVE            */
	uint32_t roles;             /* bits of enum key_role; all without CURVE       */
};

struct wire_part {
	const void *data;
	size_t n;
	/* NULL: copied before wire_send() returns.  Else borrowed until the call of
	 * release(data, hint), which is made once, also on failure, by any thread. */
	void (*release)(void *data, void *hint);
	void  *hint;
};

/* Fills body_bytes and crc.  RS_EPEER: the peer is gone or takes nothing more now (the
 * message is dropped: who waits for an answer asks again). */
enum rs_status wire_send(struct wire *w, const struct wire_peer *to, const struct frame *f,
	const struct wire_part *part, size_t n_parts);

struct wire_message {
	struct wire_peer from;      /* of a ROUTER                                    */
	struct frame frame;
	struct frame_part part[WIRE_PARTS_MAX];    /* in the message, aligned to 8 bytes */
	size_t n_parts;
	uint64_t bytes;             /* on the wire, header and body                   */
	void *owned;                /* of wire.c                                      */
};

/* *got = 0 when nothing is there.  Malformed messages are counted, answered with ERROR
 * where there is somebody to answer, and skipped. */
enum rs_status wire_receive(struct wire *w, struct wire_message *m, int *got);
void wire_message_free(struct wire_message *m);
uint64_t wire_malformed(const struct wire *w);

struct wire_poll {
	struct wire *wire;          /* or NULL and                                    */
	int fd;
	int readable;               /* out                                            */
};

/* Waits up to so many seconds for one of them; RS_OK also when none came, or a signal did.
 * A DEALER in lasting trouble is readable: wire_receive() says which. */
enum rs_status wire_wait(struct wire_poll *p, size_t n, double seconds);

#endif
