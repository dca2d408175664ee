/* One process that a supervisor starts: its descriptors, its death. */
#ifndef PLACE_SUPERVISOR_CHILD_H
#define PLACE_SUPERVISOR_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "base/status.h"

struct supervisor_child_start {
	const char *program;
	char *const *argv;          /* ends with NULL                                 */
	const int *keep;            /* [n_keep] descriptors that it inherits          */
	size_t n_keep;
	int keep_stdin;             /* else /dev/null                                 */
	int death_signal;           /* that it gets when this process dies            */
};

struct supervisor_child {
	pid_t pid;                  /* 0: does not run                                */
	int   pidfd;                /* -1: none                                       */
};

enum rs_status supervisor_child_start(const struct supervisor_child_start *start,
	struct supervisor_child *out);
/* 1: it has ended, *status as of waitpid(). */
int supervisor_child_ended(struct supervisor_child *c, int *status);
/* SIGKILL, and waits until it is gone. */
void supervisor_child_kill(struct supervisor_child *c);

#endif
