/*
 * A training run whose workers mpirun started, each by the same command line.
 *
 * Rank 0 plans and records as for any job; then coordinator and shards are started and
 * watched in a process beside it, which dies with it.  All join MPI, over which rank 0
 * gives out the resolved spec and the tickets, and each goes on as a worker.
 */
#ifndef CMD_TRAIN_MPI_H
#define CMD_TRAIN_MPI_H

#include <sys/types.h>

#include "base/memory.h"
#include "base/status.h"
#include "cmd/command.h"
#include "place/environment.h"
#include "place/supervisor.h"
#include "spec/spec.h"

struct train_mpi {
	struct environment environment;
	const char *library;        /* of whoever started this process; NULL: not MPI */
	int    is_wanted;           /* mpirun started more than this process          */
	int    is_settled;
	double rendezvous, drain;   /* seconds, of the spec                           */
	pid_t  starter;             /* rank 0: of the process beside it; 0 none       */
	struct buffer text;         /* rank 0: what the ranks are to know             */
};

enum rs_status train_mpi_init(struct train_mpi *m);
/* The number of workers is that of the processes; what cannot be is refused. */
enum rs_status train_mpi_settle(struct train_mpi *m, struct spec *spec);
/* Rank 0.  run: in the process beside, to its end; returns what that ends with. */
enum rs_status train_mpi_start(struct train_mpi *m,
	int (*run)(void *context, struct train_mpi *m, int tell), void *context);
/* In run: the spec and the tickets of the workers, written to tell, which is closed. */
enum rs_status train_mpi_tell(const struct train_mpi *m, struct supervisor *s,
	const struct spec *spec, int tell);
/* Every rank: joins MPI and works to the end of the job.  status: how rank 0 fared until
 * now; the others hear of its failure and end with its exit code. */
enum rs_status train_mpi_work(struct train_mpi *m, const struct arguments *a,
	enum rs_status status);
void train_mpi_free(struct train_mpi *m);

#endif
