/*
 * The ticket of a node: which job, which node of it, where the others are, which keys.
 *
 * Whoever starts the processes of one host writes a ticket for each, as fields, into a
 * pipe or memfd that the node inherits (--ticket FD): keys are in no argument, environment
 * or file.  Nodes on other hosts make theirs from the spec, options and environment.
 */
#ifndef COMM_JOB_H
#define COMM_JOB_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "comm/keys.h"

#define JOB_NODES_MAX 4096
#define JOB_NO_NODE   UINT32_MAX    /* frame.source of who asks but is no node     */

struct job_node {
	uint32_t role;              /* one of enum key_role                           */
	size_t   index;             /* of its role                                    */
	char     endpoint[256];     /* where it listens; "" = nowhere (workers)       */
	char     public_key[KEY_TEXT];    /* "" without CURVE                         */
};

struct job {
	uint64_t id;
	size_t   n_workers, n_ps;
	struct job_node *node;      /* [n_nodes] coordinator, shards, workers, then monitors
	                             * when there are some (the starter is one); a node's
	                             * number, frame.source, is its place here        */
	size_t   n_nodes;
	size_t   self;              /* this node's                                    */
	struct key_pair keys;       /* of this node; "" without CURVE                 */
	char     directory[4096];   /* private directory of the host's nodes, or ""   */
	int      shared_fd;         /* of exchange_shm_open(); -1 none                */
	uint64_t shared_bytes;
	int      leash_fd;          /* of the coordinator: struct coordinator_options; -1 none */
	uint64_t version;           /* newest in the model directory when the job began */
	uint64_t began_ms;          /* clock_seconds() of the host at the beginning; 0 unknown */
	int64_t  run;               /* of the run database; 0 none                    */
	size_t   local, n_local;    /* which of the workers of its host a worker is   */
	uint64_t config;            /* hash of spec and program; equal in all nodes   */
};

/* Fills node with the coordinator, n_ps shards, n_workers workers and n_monitors. */
enum rs_status job_make_nodes(struct job *j, size_t n_monitors);
/* Reads a ticket to its end, for at most ten seconds; fd stays open.  RS_EPROTOCOL: it is
 * none. */
enum rs_status job_read(int fd, struct job *out);
enum rs_status job_write(const struct job *j, int fd);
void job_free(struct job *j);                        /* wipes the keys             */
/* NULL: there is none. */
const struct job_node *job_find(const struct job *j, uint32_t role, size_t index);
/* n_nodes: there is none. */
size_t job_number(const struct job *j, uint32_t role, size_t index);
/* "worker 0", "coordinator". */
const char *job_node_name(const struct job *j, size_t number, char out[32]);

#endif
