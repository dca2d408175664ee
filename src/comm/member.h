/*
 * A node's membership: it says HELLO to the coordinator, renews its lease every
 * heartbeat and hears what to do.  All of it happens in a thread of its own.
 *
 * The job runs in rounds.  A round begins when every node has said HELLO for it, which
 * is when member_wait() returns with the view; when a node of the round dies, is silent
 * for the lease or makes no progress, the coordinator ends the round: `stop` is set, all
 * that wait give up, and the node comes to member_wait() again for the next one, where
 * training goes on from the newest step that is left.  A node that cannot reach the
 * coordinator for its lease stops by itself and waits up to `absence`.
 */
#ifndef COMM_MEMBER_H
#define COMM_MEMBER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/job.h"
#include "comm/wire.h"

struct member_options {
	struct wire_context *context;
	const struct job *job;      /* borrowed; node[0] says where the coordinator is */
	const char *endpoint;       /* where this node listens, sent with HELLO; or NULL */
	double heartbeat, lease, absence, rendezvous;
	const volatile int *stop_signal;    /* or NULL                                */
	/* Called once, by the thread of the member, when a round has been over for `hang`
	 * seconds and nobody came to member_wait(): the process hangs, and the others can
	 * only go on when it ends.  NULL: it is left to `absence`. */
	void (*hung)(void *context_of_hung, const char *reason);
	void  *context_of_hung;
	double hang;
};

struct member_view {
	uint32_t epoch;             /* of the round                                   */
	char (*endpoint)[256];      /* [n_nodes] where each listens now; "" nowhere   */
	char (*public_key)[KEY_TEXT];       /* [n_nodes] "" without CURVE             */
	size_t n_nodes;             /* of the job, without monitors                   */
};

struct member;
enum rs_status member_open(const struct member_options *options, struct member **out);
/* Every name/value that the node wants to tell with each sign of life is in one text of
 * lines "key = value", copied. */
void member_report(struct member *m, const char *text);
/* Waits for the next round.  RS_EPEER: rendezvous or absence is over, with the names of
 * those who are missing, or the job has ended; RS_EDENIED, RS_EPROTOCOL: refused;
 * RS_ESIGNAL; when the job ended with a failure, that one. */
enum rs_status member_wait(struct member *m, struct member_view *out);
/* Not 0 as long as the round of the last member_wait() is over. */
const atomic_int *member_stop(const struct member *m);
/* Counted up by whoever works; silence is how the coordinator sees a node that hangs. */
atomic_uint_fast64_t *member_progress(struct member *m);
/* Why the round ended, for messages. */
void member_reason(const struct member *m, char *out, size_t capacity);
/* The node is done (status RS_OK; also NULL) or cannot go on (else: the whole job ends with
 * it, but RS_EPEER ends the round only).  A worker other than 0 that is done waits for
 * worker 0 to be; RS_EPEER: the round ended before, and the node is to come back to
 * member_wait(). */
enum rs_status member_leave(struct member *m, const struct rs_failure *failure);
/* Not 0: the job has ended, 2: with a failure, which member_wait() returns; shards then leave,
 * too. */
int member_job_ended(const struct member *m);
void member_view_free(struct member_view *v);
void member_close(struct member *m);

#endif
