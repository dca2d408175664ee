/*
 * The coordinator of a job: who is in, is everybody alive, when does a round begin and end.
 *
 * Its state (epoch, members with incarnation) is in job.db of its directory and committed
 * before the answer that relies on it; started again, it goes on, and nodes that renew are
 * known.  A node is out when it said so, when its connection to the starter broke, when it
 * is silent for `lease`, or makes no progress for max(60 s, 20 steps).
 */
#ifndef PLACE_COORDINATOR_H
#define PLACE_COORDINATOR_H

#include <stdint.h>

#include "base/status.h"
#include "comm/job.h"
#include "comm/wire.h"
#include "spec/settings.h"

struct coordinator_options {
	struct wire *wire;          /* bound                                          */
	const struct job *job;
	const struct cluster_settings *cluster;
	const char *directory;      /* of job.db; the job's private one               */
	const volatile int *stop_signal;
	int leash;                  /* a descriptor: at its end the starter is gone; -1 none */
};

/* Serves until the job has ended and every node has left, or `drain` is over. */
enum rs_status coordinator_serve(const struct coordinator_options *options);

#endif
