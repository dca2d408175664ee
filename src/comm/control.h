/*
 * Bodies of the messages between nodes and the coordinator, as fields.
 *
 *	HELLO     who I am; incarnation (0: none yet), last_epoch, progress, why (the round
 *	          was given up)
 *	WELCOME   incarnation
 *	RENEW     incarnation, last_epoch, progress, report (lines)
 *	RENEW_ACK order: wait, go, over (with reason) or end (with the failure, if it is one)
 *	VIEW      epoch, nodes, and node = NUMBER KEY ENDPOINT of each
 *	BYE       who I am; incarnation; status OK, or a failure
 *	STATUS    format: text or json; STATUS_R is the table itself
 *
 * A BYE is answered by ACK when the node may go, by RENEW_ACK when it may not yet.  ERROR
 * refuses the node for good.  frame.source is the node's number, frame.epoch the last round
 * that the sender knows of.  The starter's BYE (source JOB_NO_NODE) has "node" and "how".
 */
#ifndef COMM_CONTROL_H
#define COMM_CONTROL_H

#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "comm/fields.h"
#include "comm/job.h"
#include "comm/member.h"
#include "comm/wire.h"

struct control_self {
	char     program[32], role[16];
	uint64_t index, n_workers, n_ps, config, nonce, pid;
	char     endpoint[256], public_key[KEY_TEXT], host[64], boot[64];
};

struct control_life {
	uint64_t incarnation, progress;
	uint32_t last_epoch;
	const char *report;         /* lines, or NULL                                 */
};

void control_describe_self(const struct job *job, const char *endpoint, struct control_self *out);
enum rs_status control_put_hello(struct buffer *b, const struct control_self *self,
	const struct control_life *life, const char *why);
enum rs_status control_put_renew(struct buffer *b, const struct control_life *life);
enum rs_status control_put_bye(struct buffer *b, const struct control_self *self,
	const struct control_life *life, const struct rs_failure *failure);
enum rs_status control_put_node(struct buffer *b, size_t number, const char *public_key,
	const char *endpoint);

/* All read what any peer may have sent. */
enum rs_status control_read_self(const struct fields *f, struct control_self *out);
enum rs_status control_read_life(const struct fields *f, struct control_life *out);
/* The failure of a BYE, or RS_OK in it. */
enum rs_status control_read_bye(const struct fields *f, struct rs_failure *out);
/* Of a job of n_nodes; RS_EPROTOCOL when one is missing. */
enum rs_status control_read_view(const struct fields *f, size_t n_nodes, struct member_view *out);
enum rs_status control_copy_view(const struct member_view *from, struct member_view *out);
/* The first part of a body. */
struct fields control_fields(const struct wire_message *m);
/* The node did what it was there for: RS_OK, or an end that is no failure of the run. */
int control_is_done(enum rs_status status);

#endif
