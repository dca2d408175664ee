/*
 * The memory plan: where each buffer of a graph lies in one block, for slots of
 * at most B_max rows and N_max[i] occurrences of input i (NULL: none).
 *
 * Time runs 0..n-1 through the forward and n..2n-1 through the backward pass.
 * Two buffers share memory only when they never live at the same time; largest
 * first, each at the lowest free place.  Gradients that are read after the pass
 * (op keeps_gradient) are not in that block: their offsets count from the start
 * of another one, of kept_floats, that outlives the pass; those of histories have
 * a buffer of their own there.
 */
#ifndef GRAPH_PLAN_H
#define GRAPH_PLAN_H

#include "graph/node.h"

enum plan_kind { PLAN_VALUE, PLAN_GRADIENT, PLAN_SAVED, PLAN_SCRATCH, PLAN_N_KINDS };

struct plan {
	size_t (*offset)[PLAN_N_KINDS];   /* [n_nodes] in floats                      */
	unsigned char (*first)[NODE_MAX_INPUTS];   /* [n_nodes] first to add          */
	size_t floats, kept_floats;
};

enum rs_status plan_create(const struct graph *g, size_t B_max, const size_t *N_max,
	struct plan *out);
void plan_free(struct plan *plan);

#endif
