/*
 * MPI, when it is there: a plug-in that is loaded at run time.
 *
 * mpi_open() finds the plug-in of the launcher's library (in the folder of the program,
 * then in pkglibdir), loads it and joins the job; without one it is RS_EUSAGE with what to
 * do.  MPI's own start and end, which may wait for other processes, run in a thread of
 * their own, so that even they have a deadline.  One thread at a time.
 */
#ifndef REDUCE_MPI_H
#define REDUCE_MPI_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "reduce/exchange.h"
#include "reduce/mpi_plugin.h"

struct mpi_options {
	const char *plugin;         /* path; NULL: looked for                         */
	const char *library;        /* "openmpi", "mpich": the launcher's; NULL: any  */
	const char *interface;      /* that MPI may use between hosts; NULL, "": any  */
	size_t size;                /* processes that the launcher told of; 0: unknown */
	double timeout;             /* seconds for start, end and rendezvous          */
};

struct mpi;
enum rs_status mpi_open(const struct mpi_options *options, struct mpi **out);
/* Leaves the job in order, when all others do. */
void mpi_close(struct mpi *m);
/* The last resort of a rank that cannot go on: ends all processes of the job with this
 * exit code, as mpirun then does.  Does not return. */
void mpi_abort(struct mpi *m, int exit_code);

size_t mpi_rank(const struct mpi *m);
size_t mpi_size(const struct mpi *m);
const char *mpi_library(const struct mpi *m);
/* "openmpi mpich": the plug-ins that belong to this build; "" none. */
const char *mpi_built(void);

/* Every rank's text to every rank: that of rank r is [begin[r],begin[r+1]) of all, which
 * the caller has initialised; begin [size+1].  At most MPI_TEXT_MAX bytes of each. */
#define MPI_TEXT_MAX ((size_t)128 << 20)
enum rs_status mpi_rendezvous(struct mpi *m, const void *text, size_t n, struct buffer *all,
	size_t *begin);

/*
 * The exchange.  Ranks of the exchange are the processes world[0..n_ranks) of the job;
 * epoch keeps the messages of a round apart from those of the rounds before.  Values go in
 * pieces of MPI_PIECE bytes along the tree, each node's sum made by a rank that has one of
 * its children; which one alternates with the piece, so that all ranks work alike.
 */
#define MPI_PIECE  ((size_t)1 << 18)
#define MPI_WINDOW 8                /* pieces under way                               */
enum rs_status mpi_exchange_open(const struct exchange *base, struct mpi *m, const int *world,
	uint32_t epoch, struct exchange **out);

/* A plug-in that is loaded already; self is its own.  For tests. */
enum rs_status mpi_wrap(const struct mpi_plugin *plugin, void *self, double timeout,
	struct mpi **out);

#endif
