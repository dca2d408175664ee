/*
 * Requests to a set of servers (the shards, or the coordinator) and their answers.
 *
 * A call is sent, then waited for; many may be under way, answered in any order.  One that
 * is not answered in time is asked again with the same request number and FRAME_RETRY
 * (servers drop what they did already), until the server said nothing about it for
 * request_timeout; then RS_EPEER names it.  ACK to PULL, PUSH, SUM or GATHER, or to anything
 * with FRAME_MORE, is no answer yet: "I have it, wait".  A server sends it when it is asked
 * again for what waits for other nodes, with "waits_for = worker 2" as body if it knows;
 * from then on parked_timeout bounds the whole wait.  ERROR becomes the failure it carries.
 * One thread at a time.  All give up (RS_EPEER) within 50 ms when *stop is set.
 */
#ifndef COMM_CLIENT_H
#define COMM_CLIENT_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/wire.h"

struct client_server { const char *endpoint, *key; const char *name; };   /* name: "ps 0" */

struct client_options {
	struct wire_context *context;
	const struct client_server *server;
	size_t n_servers;
	uint64_t job;
	uint32_t epoch, source;
	double   request_timeout;   /* seconds without a word of the server           */
	double   parked_timeout;    /* seconds in all while it says "wait"; 0: ten of these */
	double   patience;          /* before a request is repeated; 0: 2 s; grows    */
	const atomic_int *stop;     /* or NULL                                        */
};

struct client;
enum rs_status client_open(const struct client_options *options, struct client **out);
void client_close(struct client *c);

struct client_call {
	/* Set by the caller; parts stay unchanged until the call is waited for. */
	size_t server;
	struct frame frame;         /* type, flags, lease, slot, attempt, chunk, step */
	struct frame_part part[WIRE_PARTS_MAX];
	size_t n_parts;
	/* Set by client_wait(). */
	struct wire_message reply;
	/* Of the client. */
	uint64_t request;
	double sent_at, first_sent_at, heard_at, patience;
	int    state, parked;
	char   waits_for[72];
	struct client_call *next;
};

/* *call: zeros but for what the caller sets, or a call that was waited for. */
enum rs_status client_send(struct client *c, struct client_call *call);
/* Waits for these; every reply is the caller's to wire_message_free(), also on failure
 * (which gives up all n). */
enum rs_status client_wait(struct client *c, struct client_call *const *call, size_t n);
/* Gives up those that are not answered yet, without a word to the server. */
void client_drop(struct client *c, struct client_call *const *call, size_t n);
/* Takes in what has come, waits for nothing; for calls that are waited for later. */
enum rs_status client_progress(struct client *c);
int client_is_done(const struct client_call *call);

struct client_counts { uint64_t sent, sent_bytes, received_bytes, retries; double waited; };
void client_counts(const struct client *c, size_t server, struct client_counts *out);
size_t client_n_servers(const struct client *c);

#endif
