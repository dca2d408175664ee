/*
 * The coordinator of a job: who is in, is everybody alive, when does a round begin and end.
 *
 * Its state (epoch, members with incarnation) is in job.db of its directory and committed
 * before the answer that relies on it; started again, it goes on, and nodes that renew are
 * known.  A node is out when it said so, when its starter said so, when its connection broke,
 * when it is silent for `lease`; and all are when no worker makes progress for max(60 s, 20
 * steps).  The starter tells of deaths by lines "died NUMBER HOW\n" through the leash, which
 * is the reading end of a pipe or one end of a socket pair, or by monitor_died(); and by
 * "ended NUMBER CODE\n" of a node that is not started again, which ends the job.
 */
#ifndef PLACE_COORDINATOR_H
#define PLACE_COORDINATOR_H

#include <stdint.h>

#include "base/status.h"
#include "comm/job.h"
#include "comm/wire.h"
#include "spec/settings.h"

/* The table of nodes, renewed every second, in the job's directory. */
#define COORDINATOR_TEXT "nodes.txt"
#define COORDINATOR_JSON "nodes.json"

struct coordinator_options {
	struct wire *wire;          /* bound                                          */
	const struct job *job;
	const struct cluster_settings *cluster;
	const char *directory;      /* of job.db; the job's private one               */
	const volatile int *stop_signal;
	int *is_of_job;             /* out, 1: the failure returned is the job's; or NULL */
	int leash;                  /* a descriptor: at its end the starter is gone; -1 none */
};

/* Serves until the job has ended and every node has left, or `drain` is over.  RS_OK: the
 * job ended as it should; else what ended it. */
enum rs_status coordinator_serve(const struct coordinator_options *options);

#endif
