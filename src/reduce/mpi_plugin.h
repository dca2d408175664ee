/*
 * What the plug-in recsys-train-mpi-LIBRARY.so gives the program: the few calls of MPI that
 * it needs, so that one binary runs with Open MPI, with MPICH, and without either.
 *
 * Calls return 0, or the library's error code for error_text().  Nothing waits but init
 * and finalize.  They are called by one thread at a time.  self is the plug-in's to
 * ignore; tests have planes of threads behind these calls.
 */
#ifndef REDUCE_MPI_PLUGIN_H
#define REDUCE_MPI_PLUGIN_H

#include <stddef.h>

#define MPI_PLUGIN_VERSION 1
#define MPI_PLUGIN_SYMBOL  "recsys_train_mpi_plugin"

/* A message under way; all zeros: none. */
struct mpi_message { int active, sending; _Alignas(16) unsigned char handle[16]; };

struct mpi_plugin {
	unsigned version;           /* MPI_PLUGIN_VERSION                             */
	const char *library;        /* "openmpi", "mpich"                             */
	int  (*init)(void *self, int *rank, int *size);
	int  (*finalize)(void *self);
	/* Bytes stay where they are until test() says done. */
	int  (*send)(void *self, const void *bytes, size_t n, int to, int tag,
		struct mpi_message *out);
	int  (*receive)(void *self, void *bytes, size_t n, int from, int tag,
		struct mpi_message *out);
	/* *n: bytes received, SIZE_MAX: more than there is room for; NULL for one sent. */
	int  (*test)(void *self, struct mpi_message *m, int *done, size_t *n);
	/* What is received is not written any more; what is sent may still be read. */
	void (*cancel)(void *self, struct mpi_message *m);
	/* Ends all processes of the job; does not return. */
	void (*abort)(void *self, int code);
	void (*error_text)(void *self, int error, char *out, size_t capacity);
};

#endif
