/*
 * What a launcher told this process through its environment: who am I, who are the others.
 *
 * RECSYS_TRAIN_*, TF_CONFIG, Open MPI, PMI (MPICH, Intel MPI), Slurm, Kubernetes indexed
 * jobs and RANK/WORLD_SIZE are asked in this order; the first that is there answers.
 * Options and the spec win over all.  A pure function of the variables given, for tests.
 */
#ifndef PLACE_ENVIRONMENT_H
#define PLACE_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum launcher {
	LAUNCHER_NONE, LAUNCHER_RECSYS, LAUNCHER_TF_CONFIG, LAUNCHER_OPENMPI, LAUNCHER_PMI,
	LAUNCHER_SLURM, LAUNCHER_KUBERNETES, LAUNCHER_TORCHRUN,
	LAUNCHER_SSH                /* our own; says who we are on standard input     */
};

#define ENVIRONMENT_NAME 256        /* of a host, an address, with the NUL            */

struct environment {
	enum launcher launcher;
	const char *name;           /* "Slurm"                                        */
	size_t rank, size;          /* of all processes                               */
	size_t local_rank, local_size;
	size_t n_hosts, host_index; /* host_index: this process's host                */
	uint32_t role;              /* enum key_role, 0: the launcher names none      */
	size_t role_index;
	size_t n_workers, n_ps;     /* when the launcher names roles; else 0          */
	char   coordinator[ENVIRONMENT_NAME];   /* tcp://HOST:PORT, or ""             */
	char   self[ENVIRONMENT_NAME];          /* where this process is to listen, or "" */
	uint64_t job;               /* equal in all processes, 0: unknown             */
	uint64_t restarts;          /* times the job was queued again                 */
	char (*host)[ENVIRONMENT_NAME];   /* [n_hosts] when known, or NULL            */
};

/* get: as getenv().  RS_EUSAGE names the variable that makes no sense. */
enum rs_status environment_read(const char *(*get)(const char *name), struct environment *out);
void environment_free(struct environment *e);

/* Slurm's "gpu[01-03,7],login" as names; RS_EUSAGE: not such a list, or too long. */
enum rs_status environment_hostlist(const char *text, char (**host)[ENVIRONMENT_NAME], size_t *n);

#endif
