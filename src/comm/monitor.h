/*
 * What somebody who is no node of the job asks and tells the coordinator.
 *
 * Each call links up, asks once, patiently, and is back within `timeout`.  With CURVE the key
 * must be one that the coordinator lets in; telling of a death takes the role monitor.
 */
#ifndef COMM_MONITOR_H
#define COMM_MONITOR_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "comm/wire.h"

struct monitor_options {
	struct wire_context *context;
	const char *endpoint, *key; /* of the coordinator; key NULL or "" without CURVE */
	uint64_t job;               /* 0: whichever it is (status only)               */
	double timeout;
};

/* The starter of node `number` of the job knows that it ended: "was killed by signal 9". */
enum rs_status monitor_died(const struct monitor_options *options, size_t number, const char *how);
/* The table of nodes as text, or JSON; appended to out. */
enum rs_status monitor_status(const struct monitor_options *options, int json, struct buffer *out);

#endif
