/*
 * Starts the processes of one host, watches them, and starts again who dies.
 *
 * Children are this program with `node` arguments, a ticket on a descriptor, and die with
 * the parent.  SIGTERM and SIGINT go on to them; who has not ended after `drain` seconds is
 * killed.  At the end no process, socket, directory or shared memory is left.
 */
#ifndef PLACE_SUPERVISOR_H
#define PLACE_SUPERVISOR_H

#include <stddef.h>

#include "base/status.h"
#include "comm/job.h"
#include "spec/settings.h"

struct supervisor_options {
	struct job *job;            /* all nodes are of this host; keys are made here  */
	const char *program;        /* path of this program                           */
	char *const *arguments;     /* [n_arguments] spec and options that nodes get   */
	size_t n_arguments;
	const struct cluster_settings *cluster;
	const volatile int *stop_signal;
	uint64_t shared_bytes;      /* of the shm dense plane; 0 none                 */
};

/* *exit_code: that of worker 0, which is the job's; RS_EPEER when a node could not be kept
 * alive, with its name and how it ended. */
enum rs_status supervisor_run(const struct supervisor_options *options, int *exit_code);

#endif
