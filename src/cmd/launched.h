/*
 * train as a process of a run whose workers somebody else starts: mpirun, srun, Kubernetes,
 * whoever sets TF_CONFIG or RANK.
 *
 * Each process is the worker of its rank.  The first of each host also starts and watches
 * the shards of that host, and worker 0 the coordinator, as children.  Where they meet and
 * which key the job has comes over MPI, or by a file beside the model directory (Slurm), or
 * from launcher and spec.
 */
#ifndef CMD_LAUNCHED_H
#define CMD_LAUNCHED_H

#include "base/status.h"
#include "cmd/command.h"
#include "place/environment.h"

/* What the launcher said; 1: there is one that started more than this process. */
enum rs_status launched_read(struct environment *out, int *is_launched);
/* Borrows e. */
enum rs_status launched_run(const struct arguments *a, const struct environment *e);

#endif
