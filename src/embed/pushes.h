/*
 * The pushes of a step, kept until its commit, and their order by table.
 *
 * pushes_put() may be called by any thread, each for other slots.  Every thread that
 * shares in a commit orders them for itself; an order is valid until pushes_clear().
 */
#ifndef EMBED_PUSHES_H
#define EMBED_PUSHES_H

#include <stddef.h>

#include "base/status.h"
#include "base/tree.h"
#include "embed/lookup.h"
#include "embed/merge.h"

struct pushes {
	struct lookup_push *push;  /* [n_slots, n_inputs]; n == 0: none              */
	size_t n_tables, n_slots, n_inputs;
};

struct pushes_order {
	const struct lookup_push **push;   /* [n_slots, n_inputs] by table, slot, input */
	size_t *begin;             /* [n_tables + 1] of each table                   */
	size_t *n;                 /* [n_tables] occurrences                         */
	size_t *twin;              /* [n_tables] of pushes_order_pair()              */
	size_t n_tables, total;
	size_t most;               /* of n                                           */
};

enum rs_status pushes_init(struct pushes *p, size_t n_tables, size_t n_slots, size_t n_inputs);
void pushes_free(struct pushes *p);
void pushes_put(struct pushes *p, const struct lookup_push *push);
void pushes_clear(struct pushes *p);

enum rs_status pushes_order_init(struct pushes_order *o, const struct pushes *p);
void pushes_order_free(struct pushes_order *o);
void pushes_order_make(struct pushes_order *o, const struct pushes *p);
/* Pairs of tables with the same occurrences, vectors and first-order weights: each is the twin
 * of the other; n_tables: there is none. */
void pushes_order_pair(struct pushes_order *o);
/* Sets the pushes of job, node and n: those of a table in the slots of a node. */
void pushes_of_node(const struct pushes_order *o, size_t table, struct tree_node node,
	struct merge_job *job);

#endif
