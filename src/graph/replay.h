/*
 * The nodes of a pass in order, in pieces where somebody watches it.
 *
 * Passes of equal shape on a GPU, started as a few graphs rather than kernel by kernel.
 *
 * A shape is what the arguments of kernels depend on but for where things are, which never
 * changes.  The first pass of a shape runs directly, as most shapes of
 * histories never come again; the second makes graphs, later ones start those.  Operators run
 * each time, for what they do on the host, but their kernels are not started then.  Nodes
 * whose kernels get numbers that change with each step (op.varies) always run directly, and
 * cut a pass into pieces with a graph each.  So does who watches, and wants the same in each pass
 * of an output.  The REPLAY_SHAPES last shapes are known.  Used by one thread at a time.
 */
#ifndef GRAPH_REPLAY_H
#define GRAPH_REPLAY_H

#include <stddef.h>

#include "graph/node.h"

enum { REPLAY_SHAPES = 16 };

struct replay;

struct replay_pass {
	const struct op_run *r;
	enum graph_output output;
	int is_backward;
	/* Nodes begin..end-1 in the order of the pass. */
	void (*run)(const struct op_run *r, size_t begin, size_t end);
	const struct exec_watch *watch;        /* NULL: nobody watches                    */
	void (*passed)(const struct op_run *r, size_t k);      /* where watch wants it    */
};

enum rs_status replay_open(const struct graph *g, const struct gpu_replay *gpu,
	struct replay **out);
void replay_close(struct replay *r);
/* No graph is kept: something in one failed. */
void replay_forget(struct replay *r);
/* r NULL: without graphs. */
void replay_run(struct replay *r, const struct replay_pass *p);

#endif
