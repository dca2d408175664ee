/*
 * One process of a run of many: coordinator, parameter server shard or worker.
 *
 * cmd/node.c reads ticket, spec and keys and then calls the function of the role, each in a
 * file of its own.  Worker 0 speaks for the job; the failures of the others reach it through
 * the coordinator, so they print only what could not be told that way.
 */
#ifndef CMD_NODE_H
#define CMD_NODE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "cmd/command.h"
#include "comm/job.h"
#include "comm/member.h"
#include "comm/wire.h"
#include "place/placement.h"
#include "reduce/mpi.h"
#include "spec/spec.h"

/* Who reads the list of who may join again. */
struct node_keys { pthread_t thread; int runs; atomic_int quit; };

struct node {
	const struct arguments *a;
	struct spec *spec;
	const struct settings *settings;
	struct job   job;
	struct key_list allowed;
	struct placement placement; /* without a ticket                               */
	const char *kernel;
	int    has_ticket;
	struct wire_context *context;
	struct node_keys keys;
	struct member *member;      /* NULL: not open                                 */
	char   name[32];            /* "worker 1"                                     */
	int    is_told;             /* the failure at hand came from, or went to, the others */
	struct mpi *mpi;            /* of a worker that MPI knows; borrowed           */
	const int *world;           /* [n_workers] their processes of MPI             */
	int    asks_to_resume;      /* an unfinished run goes on only when the user says so */
};

/* Fills job, placement, keys and name of a node without a ticket; settles its spec. */
enum rs_status node_hosts(struct node *n);
/* Carries out the role: a, name, spec (taken), settings and job (taken) are set. */
enum rs_status node_run(struct node *n);
/* What node_run() opened, spec and job; sets the exit code of a failure that is told. */
void node_end(struct node *n, enum rs_status status);

/* From now on cluster.keys is read again on SIGHUP. */
enum rs_status node_keys_open(struct node *n);
void node_keys_close(struct node *n);

enum rs_status node_coordinator(struct node *n);
enum rs_status node_ps(struct node *n);
enum rs_status node_worker(struct node *n);

/* Of the roles: binds what this node's entry says. */
enum rs_status node_bind(struct node *n, struct wire **out);
/* endpoint: where the node listens, or NULL. */
enum rs_status node_join(struct node *n, const char *endpoint);
/* The next round, or the end of the job: *over = 1. */
enum rs_status node_wait(struct node *n, struct member_view *view, int *over);
/* Says how it went; status RS_OK: done.  RS_EPEER: come to node_wait() again. */
enum rs_status node_leave(struct node *n, enum rs_status status);

#endif
