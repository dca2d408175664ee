/* The table of dense planes. */
#include "reduce/plane.h"

#include <string.h>

#include "config.h"

#ifdef HAVE_ZMQ
#define NO_ZMQ NULL
#else
#define NO_ZMQ "this build has no ZeroMQ (--with-zmq)"
#endif

#if defined(HAVE_OPENMPI) || defined(HAVE_MPICH)
#define NO_MPI NULL
#else
#define NO_MPI "this build has no plug-in for MPI (--with-mpi)"
#endif

#ifdef HAVE_NCCL
#define NO_NCCL NULL
#else
#define NO_NCCL "this build has no NCCL (--with-nccl)"
#endif

const struct plane plane_table[] = {
	{ "shm", "all workers are on one host", NULL },
	{ "mpi", "mpirun or srun starts the processes", NO_MPI },
	{ "pushpull", "parameter server shards", NO_ZMQ },
	{ "nccl", "every worker has a GPU", NO_NCCL },
};

const size_t plane_n = sizeof(plane_table) / sizeof(plane_table[0]);

const struct plane *
plane_find(const char *name)
{
	for (size_t i = 0; i < plane_n; i++)
		if (strcmp(plane_table[i].name, name) == 0)
			return &plane_table[i];
	return NULL;
}
