/*
 * What the workers of a run, one a process, tell each other: sums, vectors, bytes.
 *
 * Rank r of R has the slots [tree_rank_begin(n,R,r), tree_rank_begin(n,R,r+1)) of the n
 * slots of a step.  Calls are collective: every rank makes the same calls in the same
 * order, from one thread at a time, and each returns in all ranks or fails in all with
 * RS_EPEER within the step's deadline, naming the rank that is missing (RS_EPROTOCOL: the
 * ranks did not ask for the same).  After a failure an exchange is of no more use.  Sums
 * follow the tree of base/tree.h to the bit, whatever the number of ranks and the order of
 * arrival; so does the guard against wild values: see exchange_combine().
 */
#ifndef REDUCE_EXCHANGE_H
#define REDUCE_EXCHANGE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/tree.h"
#include "kernel/gpu.h"
#include "kernel/kernel_table.h"

#define EXCHANGE_HEADS_MAX 64       /* doubles that come along with a sum             */

/* The sum of this rank's slots [begin,end), one node of its frontier (tree_frontier); or what a
 * slot has on the GPU, which it is left to the exchange to add. */
struct exchange_part {
	struct tree_node node;
	const double *head;         /* [n_heads]                                      */
	const float  *x;            /* [n_floats]                                     */
	struct gpu_mark *made;      /* x is on the GPU, behind this; NULL: on the host */
};

struct exchange_sum {
	size_t n_slots, n_heads, n_floats;
	const struct exchange_part *part;   /* [n_parts] from left to right           */
	size_t n_parts;
	double *head;               /* [n_heads] out                                  */
	float  *x;                  /* [n_floats] out; not one of the parts           */
	uint64_t step;              /* for messages; 0: of none                       */
	int    in_background;       /* cores are wanted meanwhile: waits do not spin  */
};

struct exchange;
struct exchange_ops {
	const char *name;           /* "shm", "pushpull", "mpi"                       */
	enum rs_status (*sum)(struct exchange *e, const struct exchange_sum *s);
	/* Bytes [begin[r],begin[r+1]) of block are rank r's; all ranks then have all. */
	enum rs_status (*gather)(struct exchange *e, void *block, const size_t *begin);
	/* Rank 0's bytes to all. */
	enum rs_status (*broadcast)(struct exchange *e, void *bytes, size_t n);
	void (*close)(struct exchange *e);
};

/* The members that an implementation begins with. */
struct exchange {
	const struct exchange_ops *ops;
	size_t rank, n_ranks;
	const struct kernel_set *kernel;
	/* All parts of a sum may be on the first GPU of it, a slot each; NULL: none. */
	struct gpu_memory *gpu;
	/* Not 0: give up at once (the run is being rewound); NULL: nobody says so. */
	const atomic_int *stop;
	double timeout;             /* seconds that a call may wait for other ranks   */
};

/*
 * Sums head and x of the nodes, which together are the whole tree and come from left to
 * right, along the tree; the floats [from,to) only, and no heads when head is NULL.  x
 * may be part[0].x, head part[0].head.  Where a sum goes through a value that the kernel's
 * guard refuses, x gets a NaN, so that the guard of the result sees what it would have
 * seen in one process.
 */
void exchange_combine(const struct kernel_set *kernel, size_t n_slots,
	const struct exchange_part *part, size_t n_parts, size_t n_heads, double *head,
	size_t from, size_t to, float *x);

/* Heads of the parts of a rank, joined to nodes of its frontier: out [2 * TREE_MAX_DEPTH], of
 * which head has n_heads each.  How many there are. */
size_t exchange_join_heads(const struct exchange_sum *s, struct exchange_part *out, double *head);

/*
 * Processes of one host: a shared mapping.  Its descriptor (memfd) is made by whoever
 * starts the processes and inherited; nothing is left behind in any file system.
 * bytes: exchange_shm_bytes() for the largest sum and gather; a larger one moves in pieces.
 * epoch: of the round, larger than that of any round before on the same memory; what a
 * process that was killed left there is then of no effect.
 */
size_t exchange_shm_bytes(size_t n_ranks, size_t n_slots, size_t n_floats);
enum rs_status exchange_shm_open(const struct exchange *base, int fd, size_t bytes,
	uint32_t epoch, struct exchange **out);

#endif
