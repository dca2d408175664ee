/*
 * Starts the processes of one host, watches them, and starts again who is killed.
 *
 * Children are this program with `node` arguments and a ticket on a descriptor; they inherit
 * nothing else but the shared memory and, the coordinator, the leash.  They have a process
 * group of their own, so that a terminal's signal reaches them once, from here, and die with
 * the parent.  Who ends by a signal is started again, who ends by itself had a reason.
 * SIGTERM and SIGINT go on to the workers; who has not ended after `drain` seconds is killed.
 * At the end no process, socket, directory or shared memory is left.
 *
 * Sockets are ipc in the private directory, which needs no CURVE; with cluster.listen they
 * are tcp on the address given and every node gets a key pair made for the job.
 *
 * Where a launcher starts the workers, each host has a supervisor of its shards, and that of
 * worker 0 of the coordinator; `over` then says that the worker beside them has ended.
 */
#ifndef PLACE_SUPERVISOR_H
#define PLACE_SUPERVISOR_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/job.h"
#include "spec/settings.h"

struct supervisor_options {
	struct job *job;            /* n_workers, n_ps, run, config are set; the rest is made */
	const char *program;        /* path of this program                           */
	const struct cluster_settings *cluster;
	const volatile int *stop_signal;
	const char *runtime;        /* private directory of this user, or NULL        */
	uint64_t shared_bytes;      /* of the shm dense plane; 0 none                 */
	/* Where a launcher starts the workers: the others of this host, by number; NULL: all.
	 * job->node is made then, and endpoints in it stay. */
	const size_t *own;          /* [n_own]                                        */
	size_t n_own;
	const struct key_pair *keys;        /* of all of them; NULL: made when needed */
	int    comes_again;         /* whoever started us does so when we die, and the others of
	                             * the job wait: the coordinator dies with us, silently */
	const atomic_int *over;     /* 1: they are to end within `drain`, 2: now; or NULL */
};

struct supervisor;
/* Options are borrowed until close.  job->directory is there when it returns. */
enum rs_status supervisor_open(const struct supervisor_options *options, struct supervisor **out);
/* arguments: spec and options that every node gets.  *exit_code: that of worker 0, which is
 * the job's, 0 when it is not ours.  RS_EPEER when a node could not be kept alive, and what the
 * exit code of one means that ended before worker 0, with its name and how it ended;
 * *exit_code is -1 then. */
enum rs_status supervisor_run(struct supervisor *s, char *const *arguments, size_t n,
	int *exit_code);
/* Kills who is left and removes everything; the job is the caller's to free. */
void supervisor_close(struct supervisor *s);

#endif
