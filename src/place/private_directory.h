/*
 * The private directory of a job: sockets, the coordinator's database, the resolved spec.
 *
 * It is RUNTIME/recsys-train/JOB, or /tmp/recsys-train-UID/JOB where RUNTIME is missing, not
 * ours or too long for the name of a socket.  Both levels are ours alone (mode 0700); what
 * belongs to somebody else or is open to others is RS_EDENIED.  Who opened it holds a lock in
 * it for as long as it lives; directories of jobs that died are removed by the next open.
 */
#ifndef PLACE_PRIVATE_DIRECTORY_H
#define PLACE_PRIVATE_DIRECTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* What the kernel takes as the path of a socket, and what we keep of it for a name. */
#define PRIVATE_DIRECTORY_SOCKET_MAX 107
#define PRIVATE_DIRECTORY_NAME_MAX   12

struct private_directory {
	char base[4096], path[4096];
	int  lock;                  /* -1: not open                                   */
};

/* Seconds for who makes or removes another one at this moment; then RS_EBUSY.  Tests set it. */
extern double private_directory_patience;

/* runtime: a directory of this user, or NULL.  Keep the struct zeroed until then. */
enum rs_status private_directory_open(const char *runtime, uint64_t job,
	struct private_directory *out);
/* The same for who may have been killed: the directory of this job is taken over as it is
 * when its lock is free and something was written in it in the last so many seconds. */
enum rs_status private_directory_reopen(const char *runtime, uint64_t job, double seconds,
	struct private_directory *out);
/* Removes it, and its parent when no other job is there. */
void private_directory_close(struct private_directory *d);
/* The same for somebody who did not open it, once the opener is dead. */
void private_directory_remove(const char *path);

/* The directory that has those of all jobs of this user. */
void private_directory_base(const char *runtime, char out[4096]);

#endif
