/* What the files of launched.h share. */
#ifndef CMD_LAUNCHED_PRIVATE_H
#define CMD_LAUNCHED_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "cmd/launched.h"
#include "cmd/node.h"
#include "place/supervisor.h"

struct launched {
	struct node node;
	struct environment e;       /* its hosts are those that were found            */
	int    is_first;            /* worker 0                                       */
	int    is_alone;            /* all processes are on this host and can meet    */
	char   no_mpi[320];         /* why not; "" it can be used                     */
	int   *world;               /* [size] of node.mpi_world                       */
	char   meeting[4096];       /* the file in which worker 0 tells; "" none      */
	int    has_meeting;         /* it was made here                               */
	int    has_refused;         /* worker 0 told its failure there                */
	int    is_told;             /* the failure at hand is that of worker 0        */
	int    shared_fd;           /* opened here; -1 none                           */
	int    input;               /* of launch, on each host                        */
	/* The children. */
	size_t *own, n_own;         /* numbers in the job                             */
	struct supervisor_options options;
	struct supervisor *supervisor;      /* NULL: none                             */
	char **argument;            /* [n_arguments]                                  */
	size_t n_arguments;
	pthread_t thread;
	int    is_watched;          /* thread runs                                    */
	atomic_int over, gave_up;   /* gave_up: they could not be kept alive          */
	struct rs_failure failure;  /* of gave_up                                     */
};

/* Hosts, and whether MPI can be had; before the plan. */
enum rs_status launched_meet_hosts(struct launched *l);
/* Worker 0 tells where the coordinator is and which key the job has, or, if status is not
 * RS_OK, its failure, which all return then. */
enum rs_status launched_meet(struct launched *l, enum rs_status status);
void launched_meet_end(struct launched *l, enum rs_status status);

/* Where everything goes; settles the spec. */
enum rs_status launched_plan(struct launched *l);
/* The job, its keys and addresses; the children of worker 0, when that is here. */
enum rs_status launched_prepare(struct launched *l);

/* Addresses to listen at, and the key, where they are not ipc of this host alone. */
enum rs_status launched_address(struct launched *l);

/* Makes the private directory; addresses of the children are known then. */
enum rs_status launched_children_open(struct launched *l);
enum rs_status launched_children_start(struct launched *l);
/* The worker has ended with status; returns what the process is to end with. */
enum rs_status launched_children_end(struct launched *l, enum rs_status status);

#endif
