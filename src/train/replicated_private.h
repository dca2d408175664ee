/* The replicated lookup inside: pushes become pieces, pieces sections of all ranks. */
#ifndef TRAIN_REPLICATED_PRIVATE_H
#define TRAIN_REPLICATED_PRIVATE_H

#include <stdatomic.h>

#include "base/memory.h"
#include "base/thread.h"
#include "embed/lookup_over.h"
#include "embed/merge.h"
#include "train/replicated.h"

#define REPLICATED_PARTS 16            /* pieces that a node of a table is merged in  */

/* Some ids of one table and node, merged by one worker. */
struct piece {
	size_t table, node;
	size_t push, n_push, n;            /* of r->listed; occurrences              */
	uint64_t begin, end;               /* ids                                    */
	size_t worker, id, x, count, n_rows;   /* in whose buffers the rows are      */
	char  *key_to, *x_to, *count_to;   /* where they go; NULL: nowhere           */
};

struct merger {
	struct merge_scratch scratch;
	struct buffer ids, x, counts;      /* counts: of exact tables                */
};

/* The rows of a table that a node of some rank gives. */
struct section {
	size_t table, slot, n;
	const uint64_t *ids;
	const float *x;
	const uint32_t *count;             /* NULL: of a hashed table                */
	size_t first;                      /* of r->grad                             */
};

struct replicated {
	struct lookup_over over;           /* the local one                          */
	struct exchange *exchange;
	const struct kernel_set *kernel;
	struct lookup_table *table;        /* [n_tables]                             */
	size_t *twin;                      /* [n_tables] first of its twins          */
	size_t n_tables, n_slots, n_inputs, n_workers;
	size_t slot_begin, slot_end;
	struct tree_node node[2 * TREE_MAX_DEPTH];
	size_t n_nodes;
	struct lookup_push *push;          /* [slots here, n_inputs]; n == 0: none   */
	const struct lookup_push **listed; /* the same by table, slot, input         */
	size_t *table_push;                /* [n_tables + 1] of listed               */
	struct piece *piece;
	size_t *node_piece;                /* [n_tables * n_nodes + 1] first piece   */
	struct merger *merger;             /* [n_workers]                            */
	struct buffer block;               /* what all ranks give                    */
	uint64_t *bytes;                   /* [n_ranks]                              */
	size_t *begin;                     /* [n_ranks + 1]                          */
	struct section *section;           /* [n_tables, nodes of all ranks]         */
	size_t n_sections;
	const float **grad;                /* [n_grad] of all sections               */
	size_t n_grad;
	struct barrier barrier;
	atomic_size_t next;
	atomic_int failed;                 /* 1 while one writes failure, then 2     */
	struct rs_failure failure;
};

/* Everything between the pushes of this rank and those of all ranks in the local lookup;
 * called by all workers. */
enum rs_status replicated_share(struct replicated *r, size_t worker);

#endif
