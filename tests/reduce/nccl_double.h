/*
 * A double of NCCL for ranks that are threads and whose GPUs are emulated.  Sums are made when
 * all ranks of an id have asked for them, in an order of ranks that differs from float to float
 * and is the same in all ranks.  What is wrong there is what the test asks for.
 */
#ifndef TESTS_REDUCE_NCCL_DOUBLE_H
#define TESTS_REDUCE_NCCL_DOUBLE_H

#include <stddef.h>

#include "reduce/nccl_mesh.h"

enum { NCCL_DOUBLE_RANKS = 8 };

extern const struct nccl_calls nccl_double;
/* Of GPUs of a process, with waits of 10 seconds. */
extern const struct gpu_mesh_maker nccl_double_mesh;

struct nccl_double_plan {
	int is_missing;                /* as if there were no NCCL, of nccl_double_mesh    */
	int has_no_id;                 /* none is made                                    */
	int is_stuck;                  /* no move is ever made                            */
	int wrong;                     /* the rank, from 1, in which everything fails     */
	size_t wrong_after;            /* once it has asked for so many sums, or groups of
	                                * moves                                           */
	int lag;                       /* what began is in progress so often              */
};

/* From now on; nobody may be using it. */
void nccl_double_reset(const struct nccl_double_plan *plan);

/* The same of now, for what goes on. */
void nccl_double_break(const struct nccl_double_plan *plan);

/* Groups that were started by all, and of all ranks how many ended how. */
struct nccl_double_count { size_t groups, aborted, ended, destroyed, sums, moves; };
struct nccl_double_count nccl_double_count(void);
/* Sums that ranks of this number asked for. */
size_t nccl_double_asked(size_t rank);

#endif
