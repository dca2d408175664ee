/*
 * Who may connect: the handler that libzmq asks at every CURVE handshake (ZeroMQ RFC 27).
 *
 * A thread of its own answers by the list of public keys; without an entry the answer is
 * no.  The library lets in everybody when there is no handler, so it is opened before any
 * socket is bound.  zap_allow() and zap_find() may be called by any thread.
 */
#ifndef COMM_ZAP_H
#define COMM_ZAP_H

#include "comm/keys.h"

/* Property of a message: the public key of who sent it, Z85. */
#define ZAP_KEY_PROPERTY "X-Key"
#define ZAP_DOMAIN       "recsys-train"

struct zap;

/* context: of libzmq.  zmq_ctx_shutdown() of it comes before zap_close(). */
enum rs_status zap_open(void *context, struct zap **out);
/* Copies the list; NULL: nobody.  On failure nobody is let in. */
enum rs_status zap_allow(struct zap *z, const struct key_list *allowed);
/* 0: the key is not on the list now. */
int zap_find(struct zap *z, const char *public_key, struct key_entry *out);
/* A key that is going to be refused, without a warning: of the self test. */
void zap_expect(struct zap *z, const char *public_key);
void zap_close(struct zap *z);

#endif
