/*
 * The products of a node's rows with its weight W [n,H], parameter 0: y = act(x W + b),
 * dW = x^T dz, dx = dz W^T + beta dx.
 *
 * By the kernels' gemm; in passes that train, where graph_set_narrow() says so, with operands of
 * two bytes (kernel/narrow.h; on a GPU the same numbers by its kernels round_rows and gemm_brain,
 * from weights that each exec rounds when it gets new ones), or in floats by the set given, for
 * slots of the usual number of rows.  Those are the products of layers on rows of the batch whose
 * weight is at least LAYER_NARROW_MIN wide and high: rounding costs more than multiplying by a
 * smaller one, and the last layer, whose value is the logit, stays exact.  Positions of histories
 * and the comparisons of a loss are the kernels' too.
 */
#ifndef GRAPH_LAYER_H
#define GRAPH_LAYER_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "graph/graph.h"
#include "kernel/narrow.h"

enum { LAYER_NARROW_MIN = 16, LAYER_BRAIN_ALIGNMENT = 8 };

/* Between rows of n numbers of two bytes on a GPU, which reads so many at once where rows begin
 * at multiples of them. */
static inline size_t
layer_brain_ld(size_t n)
{
	return (n + LAYER_BRAIN_ALIGNMENT - 1) / LAYER_BRAIN_ALIGNMENT * LAYER_BRAIN_ALIGNMENT;
}

struct node;
struct op_run;

/* Of one node; narrow NULL and not is_brain: they are the kernels'. */
struct layer {
	struct narrow *narrow;
	int    is_brain;                        /* a GPU multiplies two bytes             */
	size_t rounded;                         /* where W is in op_rounded()             */
	size_t saved_before, scratch_before;    /* floats a row, before what is rounded   */
	atomic_uint_fast64_t packed;            /* twice the weights that are packed, one less
	                                           while somebody packs them               */
};

/* Of the graph's end. */
void graph_close_narrow(struct graph *g);

/* Of one exec. */
struct layer_lanes {
	struct narrow_lane **lane;              /* [n_nodes] or NULL                      */
	void  *scratch;
	size_t scratch_bytes;
};

/* For rows of an output in passes that train; kept when there is room already. */
enum rs_status layer_lanes_reserve(const struct graph *g, enum graph_output output, size_t rows,
	struct layer_lanes *lanes);
void layer_lanes_free(const struct graph *g, struct layer_lanes *lanes);

/* On a GPU: r(W) of all layers into op_rounded(), before a pass that trains. */
void layer_round_weights(const struct op_run *r);

struct layer_forward { size_t rows; const float *x, *bias; int act; float *y; };
struct layer_backward { size_t rows; const float *x, *dz; float beta, *dx; };

/* bias NULL: neither bias nor act. */
void layer_forward(const struct op_run *r, const struct node *n, const struct layer_forward *f);
/* Writes the gradient of parameter 0. */
void layer_backward(const struct op_run *r, const struct node *n, const struct layer_backward *b);

#endif
