/*
 * A SUM or GATHER as it came, checked wholly: bounds, the tree's nodes of the rank, and
 * that the body is exactly as long as it says.  Borrows the message.
 */
#ifndef REMOTE_COLLECT_REQUEST_H
#define REMOTE_COLLECT_REQUEST_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/collective.h"
#include "comm/wire.h"

struct collect_request {
	const struct wire_message *message;
	uint16_t type, chunk;
	size_t   rank;
	uint64_t step;
	struct collective_head head;
	size_t   rest_bytes;        /* heads and values, or bytes: what is not read yet */
	size_t   part, at;          /* where it begins                                */
};

/* RS_EPROTOCOL says what is wrong. */
enum rs_status collect_request_read(const struct wire_message *m, struct collect_request *out);
/* Copies the rest_bytes. */
void collect_request_rest(struct collect_request *q, void *out);

#endif
