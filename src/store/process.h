/*
 * Which process made a run, and whether it is still there.
 *
 * A process is known by host, boot, pid space, pid and start time, so that a pid
 * used again, a restart of the machine and a container are told apart.
 */
#ifndef STORE_PROCESS_H
#define STORE_PROCESS_H

#include <stdint.h>

struct process_identity {
	char    host[65], boot[40], space[40];
	int64_t pid, start;        /* start: clock ticks after boot, 0 unknown        */
};

void process_self(struct process_identity *out);
/* 1 when the process surely is gone; 0 when it runs or cannot be seen from here. */
int process_is_gone(const struct process_identity *p);

#endif
