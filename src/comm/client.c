/* Pipelined requests: sending, matching answers, asking again, giving up. */
#include "comm/client.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/thread.h"
#include "comm/fields.h"

#define LOOK_SECONDS     0.05       /* *stop is looked at so often                     */
#define PATIENCE_SECONDS 2.0        /* before a request is repeated, and               */
#define BYTES_A_SECOND   1e7        /* so much more for what it carries                */
#define PATIENCE_GROWS   1.5
#define PATIENCE_MOST    20.0
#define UNSENT_SECONDS   0.001      /* before what had no room is tried again, up to   */
#define UNSENT_MOST      0.02
#define ASLEEP_SECONDS   1.0        /* a longer gap between looks: we were stopped     */

enum call_state { CALL_IDLE, CALL_UNSENT, CALL_SENT, CALL_DONE };

struct server {
	struct wire *wire;
	char *endpoint, *name;
	size_t n_open;              /* calls under way                                */
	size_t n_unsent;            /* of them, those that had no room, and           */
	double try_at, backoff;     /* when they are tried again                      */
	struct client_counts counts;
};

struct client {
	struct client_options o;
	struct server *server;      /* [o.n_servers]                                  */
	struct wire_poll *poll;     /* [o.n_servers]                                  */
	struct client_call *first, **last;   /* under way, in the order of sending    */
	uint64_t next_request;
	uint64_t n_repeated;        /* counter of the jitter                          */
	double looked_at;
};

static enum rs_status
open_server(struct client *c, const struct client_server *from, struct server *s)
{
	s->backoff = UNSENT_SECONDS;
	RS_TRY(memory_strdup(from->endpoint, &s->endpoint));
	RS_TRY(memory_strdup(from->name, &s->name));
	return wire_connect(c->o.context, from->endpoint, from->key, &s->wire);
}

enum rs_status
client_open(const struct client_options *options, struct client **out)
{
	struct client *c;

	RS_TRY(memory_alloc(1, sizeof(*c), &c));
	c->o = *options;
	if (c->o.parked_timeout <= 0)
		c->o.parked_timeout = 10 * c->o.request_timeout;
	if (c->o.patience <= 0)
		c->o.patience = PATIENCE_SECONDS;
	c->next_request = 1;
	c->last = &c->first;
	enum rs_status status = memory_alloc(c->o.n_servers, sizeof(*c->server), &c->server);
	if (status == RS_OK)
		status = memory_alloc(c->o.n_servers, sizeof(*c->poll), &c->poll);
	for (size_t i = 0; status == RS_OK && i < c->o.n_servers; i++)
		status = open_server(c, &options->server[i], &c->server[i]);
	c->o.server = NULL;                 /* borrowed for the call only             */
	if (status != RS_OK) {
		client_close(c);
		return status;
	}
	*out = c;
	return RS_OK;
}

void
client_close(struct client *c)
{
	if (c == NULL)
		return;
	for (size_t i = 0; c->server != NULL && i < c->o.n_servers; i++) {
		if (c->server[i].wire != NULL)
			wire_close(c->server[i].wire);
		free(c->server[i].endpoint);
		free(c->server[i].name);
	}
	free(c->server);
	free(c->poll);
	free(c);
}

size_t
client_n_servers(const struct client *c)
{
	return c->o.n_servers;
}

void
client_counts(const struct client *c, size_t server, struct client_counts *out)
{
	assert(server < c->o.n_servers);
	*out = c->server[server].counts;
}

int
client_is_done(const struct client_call *call)
{
	return call->state == CALL_DONE;
}

static size_t
call_bytes(const struct client_call *call)
{
	size_t bytes = FRAME_BYTES;

	for (size_t i = 0; i < call->n_parts; i++)
		bytes += call->part[i].n;
	return bytes;
}

/* Up to a tenth more or less, so that many who wait do not ask in step. */
static double
jitter(struct client *c)
{
	const uint64_t key = rng_key(c->o.job, c->o.source);

	return 0.9 + 0.2 * rng_uniform(key, c->n_repeated++);
}

/* Sends, or leaves the call unsent when there is no room or no link. */
static enum rs_status
transmit(struct client *c, struct client_call *call, double now)
{
	struct server *s = &c->server[call->server];
	struct wire_part part[WIRE_PARTS_MAX];

	for (size_t i = 0; i < call->n_parts; i++)
		part[i] = (struct wire_part){ .data = call->part[i].data, .n = call->part[i].n };
	const enum rs_status status = wire_send(s->wire, NULL, &call->frame, part, call->n_parts);
	call->sent_at = now;
	if (status == RS_EPEER) {
		s->try_at = now + s->backoff;
		s->backoff = s->backoff * 2 < UNSENT_MOST ? s->backoff * 2 : UNSENT_MOST;
		return RS_OK;
	}
	RS_TRY(status);
	s->backoff = UNSENT_SECONDS;
	s->n_unsent -= call->state == CALL_UNSENT;
	call->state = CALL_SENT;
	s->counts.sent++;
	s->counts.sent_bytes += call_bytes(call);
	return RS_OK;
}

static void
link_call(struct client *c, struct client_call *call)
{
	call->next = NULL;
	*c->last = call;
	c->last = &call->next;
	c->server[call->server].n_open++;
}

static void
unlink_call(struct client *c, struct client_call *call)
{
	struct client_call **at = &c->first;

	while (*at != call)
		at = &(*at)->next;
	*at = call->next;
	if (c->last == &call->next)
		c->last = at;
	c->server[call->server].n_open--;
	c->server[call->server].n_unsent -= call->state == CALL_UNSENT;
}

enum rs_status
client_send(struct client *c, struct client_call *call)
{
	const double now = clock_seconds();

	assert(call->server < c->o.n_servers && call->n_parts <= WIRE_PARTS_MAX);
	assert(call->state != CALL_SENT && call->state != CALL_UNSENT);
	call->request = c->next_request++;
	call->frame.request = call->request;
	call->frame.job = c->o.job;
	call->frame.epoch = c->o.epoch;
	call->frame.source = c->o.source;
	call->frame.flags &= (uint8_t)~FRAME_RETRY;
	call->reply = (struct wire_message){ 0 };
	call->first_sent_at = call->heard_at = call->sent_at = now;
	call->patience = c->o.patience + (double)call_bytes(call) / BYTES_A_SECOND;
	call->parked = 0;
	call->waits_for[0] = '\0';
	call->state = CALL_UNSENT;
	struct server *s = &c->server[call->server];
	const int room = s->n_unsent++ == 0;    /* else behind those that had none     */
	link_call(c, call);
	const enum rs_status status = room ? transmit(c, call, now) : RS_OK;
	if (status != RS_OK) {
		unlink_call(c, call);
		call->state = CALL_IDLE;
	}
	return status;
}

/* ACK says "wait" where it cannot be the answer. */
static int
is_parking(const struct client_call *call, const struct frame *answer)
{
	const uint16_t type = call->frame.type;

	return answer->type == FRAME_ACK && ((answer->flags & FRAME_MORE) != 0 ||
		type == FRAME_PULL || type == FRAME_PUSH || type == FRAME_SUM ||
		type == FRAME_GATHER);
}

static void
park(struct client_call *call, const struct wire_message *m)
{
	const struct fields f = { m->n_parts > 0 ? m->part[0].data : NULL,
		m->n_parts > 0 ? m->part[0].n : 0 };
	const char *who;
	size_t n;

	call->parked = 1;
	call->heard_at = clock_seconds();
	if (fields_find(&f, "waits_for", 0, &who, &n))
		rs_escape(call->waits_for, who, n < 30 ? n : 30);
}

/* Of an answer to a call under way the call is the owner; others are dropped. */
static void
take(struct client *c, size_t server, struct wire_message *m)
{
	struct client_call *call = c->first;

	c->server[server].counts.received_bytes += m->bytes;
	while (call != NULL && (call->request != m->frame.request || call->server != server))
		call = call->next;
	if (call == NULL || (c->o.job != 0 && m->frame.job != c->o.job)) {
		wire_message_free(m);
		return;
	}
	if (is_parking(call, &m->frame)) {
		park(call, m);
		wire_message_free(m);
		return;
	}
	unlink_call(c, call);
	call->reply = *m;
	call->state = CALL_DONE;
}

static enum rs_status
receive(struct client *c)
{
	for (size_t i = 0; i < c->o.n_servers; i++)
		for (int got = 1; got;) {
			struct wire_message m;

			RS_TRY(wire_receive(c->server[i].wire, &m, &got));
			if (got)
				take(c, i, &m);
		}
	return RS_OK;
}

/* Those of a server that had no room go in the order in which they were asked for. */
static double
due_at(const struct client *c, const struct client_call *call)
{
	if (call->state == CALL_UNSENT)
		return c->server[call->server].try_at;
	return call->sent_at + call->patience;
}

static enum rs_status
repeat_due(struct client *c, double now)
{
	for (struct client_call *call = c->first; call != NULL; call = call->next) {
		if (now < due_at(c, call))
			continue;
		if (call->state == CALL_SENT) {
			const double longer = call->patience * PATIENCE_GROWS * jitter(c);

			call->frame.flags |= FRAME_RETRY;
			call->patience = longer < PATIENCE_MOST ? longer : PATIENCE_MOST;
			c->server[call->server].counts.retries++;
		}
		RS_TRY(transmit(c, call, now));
	}
	return RS_OK;
}

/* When this process was stopped, or the caller was at work, silence is not the servers'. */
static void
forgive_gap(struct client *c, double now)
{
	const double gap = now - c->looked_at;

	c->looked_at = now;
	if (gap < ASLEEP_SECONDS)
		return;
	for (struct client_call *call = c->first; call != NULL; call = call->next)
		if (now - gap > call->heard_at)
			call->heard_at += gap;
		else
			call->heard_at = now;
}

enum rs_status
client_progress(struct client *c)
{
	const double now = clock_seconds();

	forgive_gap(c, now);
	RS_TRY(receive(c));
	return repeat_due(c, now);
}

/* why: what is known of its link, or "". */
static enum rs_status
give_up(const struct client *c, const struct client_call *call, const char *what, const char *why)
{
	const struct server *s = &c->server[call->server];
	const char *type = frame_type_name(call->frame.type);

	return rs_fail(RS_EPEER, "%s (%s) %s (%s of step %" PRIu64 ")%s%s", s->name, s->endpoint,
		what, type != NULL ? type : "?", call->frame.step, why[0] != '\0' ? ": it " : "",
		why);
}

static enum rs_status
check_time(const struct client *c, const struct client_call *call, double now)
{
	char what[160];

	if (c->o.stop != NULL && atomic_load(c->o.stop) != 0)
		return give_up(c, call, "is not waited for any more: the round is over", "");
	if (now - call->heard_at >= c->o.request_timeout) {
		snprintf(what, sizeof(what), "does not answer for %g s", c->o.request_timeout);
		return give_up(c, call, what, wire_trouble_text(c->server[call->server].wire));
	}
	if (!call->parked || now - call->first_sent_at < c->o.parked_timeout)
		return RS_OK;
	snprintf(what, sizeof(what), "waits for %s for %g s",
		call->waits_for[0] != '\0' ? call->waits_for : "other nodes", c->o.parked_timeout);
	return give_up(c, call, what, "");
}

/* Waits for the servers that have calls under way, up to the next thing to do. */
static enum rs_status
wait_a_little(struct client *c)
{
	const double now = clock_seconds();
	double seconds = LOOK_SECONDS;
	size_t n = 0;

	for (const struct client_call *call = c->first; call != NULL; call = call->next) {
		const double left = due_at(c, call) - now;
		seconds = left < seconds ? left : seconds;
	}
	for (size_t i = 0; i < c->o.n_servers; i++)
		if (c->server[i].n_open > 0)
			c->poll[n++] = (struct wire_poll){ .wire = c->server[i].wire };
	const enum rs_status status = wire_wait(c->poll, n, seconds > 0 ? seconds : 0);
	const double waited = clock_seconds() - now;
	for (size_t i = 0; i < c->o.n_servers; i++)
		if (c->server[i].n_open > 0)
			c->server[i].counts.waited += waited;
	return status;
}

static enum rs_status
check_answer(const struct client *c, const struct client_call *call)
{
	const struct wire_message *m = &call->reply;

	if (m->frame.type != FRAME_ERROR)
		return RS_OK;
	const struct fields f = { m->n_parts > 0 ? m->part[0].data : NULL,
		m->n_parts > 0 ? m->part[0].n : 0 };
	return fields_failure(&f, c->server[call->server].name);
}

void
client_drop(struct client *c, struct client_call *const *call, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (call[i]->state == CALL_SENT || call[i]->state == CALL_UNSENT) {
			unlink_call(c, call[i]);
			call[i]->state = CALL_IDLE;
		}
}

/* Ends with the first refusal: what others wait for may then never come. */
static enum rs_status
wait_for(struct client *c, struct client_call *const *call, size_t n)
{
	for (size_t i = 0;;) {
		RS_TRY(client_progress(c));
		while (i < n && call[i]->state == CALL_DONE)
			i++;
		if (i == n)
			return RS_OK;
		const double now = clock_seconds();
		for (size_t k = i; k < n; k++)
			RS_TRY(call[k]->state == CALL_DONE ? check_answer(c, call[k])
							   : check_time(c, call[k], now));
		RS_TRY(wait_a_little(c));
	}
}

enum rs_status
client_wait(struct client *c, struct client_call *const *call, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert(call[i]->state != CALL_IDLE);
	const enum rs_status status = wait_for(c, call, n);
	if (status == RS_OK)
		for (size_t i = 0; i < n; i++)
			RS_TRY(check_answer(c, call[i]));
	client_drop(c, call, n);
	return status;
}
