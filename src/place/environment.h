/*
 * What a launcher told this process through its environment: who am I, who are the others.
 *
 * RECSYS_*, TF_CONFIG, Open MPI, MPICH and Intel MPI (PMI), Slurm, Kubernetes indexed jobs,
 * MASTER_ADDR/RANK, in this order; options and spec win over all.  A pure function of the
 * variables given, for tests.
 */
#ifndef PLACE_ENVIRONMENT_H
#define PLACE_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum launcher {
	LAUNCHER_NONE, LAUNCHER_RECSYS, LAUNCHER_TF_CONFIG, LAUNCHER_OPENMPI, LAUNCHER_PMI,
	LAUNCHER_SLURM, LAUNCHER_KUBERNETES, LAUNCHER_TORCHRUN
};

struct launch_environment {
	enum launcher launcher;
	const char *name;           /* "Slurm"                                        */
	size_t rank, size;          /* of all processes                               */
	size_t local_rank, local_size;
	size_t n_hosts;
	uint32_t role;              /* enum key_role, 0: by rank                      */
	size_t role_index;
	size_t n_workers, n_ps;     /* when the launcher names roles                  */
	char   coordinator[256];    /* tcp://HOST:PORT, or ""                         */
	uint64_t job;               /* hash of the launcher's job, equal in all        */
	uint64_t restarts;          /* times it was queued again                      */
	char (*host)[256];          /* [n_hosts] when known, or NULL                  */
};

/* get: as getenv(); RS_EUSAGE names the variable that makes no sense. */
enum rs_status environment_read(const char *(*get)(const char *name),
	struct launch_environment *out);
void environment_free(struct launch_environment *e);

#endif
