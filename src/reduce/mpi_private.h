/* What the files of the MPI plane share: the job, and programs of messages and sums. */
#ifndef REDUCE_MPI_PRIVATE_H
#define REDUCE_MPI_PRIVATE_H

#include "reduce/mpi.h"

struct mpi_starter;
struct mpi {
	const struct mpi_plugin *plugin;
	void  *self;
	int    rank, size;
	int    broken;              /* a call failed: messages may be under way for ever */
	double timeout;
	struct mpi_starter *starter;
};

/* One thing to do: messages, of which either may be absent, or a sum, or a copy. */
enum mpi_op_kind { MPI_OP_MESSAGE, MPI_OP_ADD_FLOATS, MPI_OP_ADD_DOUBLES, MPI_OP_COPY };
struct mpi_op {
	enum mpi_op_kind kind;
	int    to, from;            /* processes of the job; -1: no such message      */
	const void *source;         /* what is sent, added or copied                  */
	void  *target;              /* what is received, added to or copied to        */
	int    guard_target;        /* the right child, which is guarded, is added to */
	size_t n_source, n_target;  /* bytes                                          */
};

#define MPI_OPS_MAX 256

/* What is to be done for a piece, one after the other. */
struct mpi_program {
	struct mpi_op op[MPI_OPS_MAX];
	size_t n, at;
	int    started;             /* messages of op[at] are under way               */
	size_t piece;
	struct mpi_message sent, received;
};

struct mpi_run {
	struct mpi *mpi;
	const struct kernel_set *kernel;
	const atomic_int *stop;
	int      in_background;     /* others want the cores                          */
	double   timeout;
	int      tag;               /* of window 0; those of the others follow        */
	size_t   n_pieces;
	enum rs_status (*fill)(void *context, size_t piece, struct mpi_program *p);
	void    *context;
	void   (*who)(void *context, int process, char *out, size_t capacity);
	struct mpi_program *program;        /* [MPI_WINDOW]                           */
};

/* Piece k is done in window k % MPI_WINDOW; pieces of a window follow each other, so
 * messages between two processes with the tag of a window have one order. */
enum rs_status mpi_run(const struct mpi_run *r);

#endif
