/*
 * Layers that multiply the vectors of fields by a weight W [n,H].  A numeric column k gives each
 * row x_k V_k, or U_k where it is missing (op_embedding), so with W_k [dim,H] the rows of W that
 * belong to it
 *
 *	x_k V_k W_k = x_k (V_k W_k),
 *
 * and of dim columns of the product two are left: y = z A + the other columns of x W, with
 * z [B,2K] = x_k and 0, or 0 and 1 where it is missing, and A [2K,H] = V_k W_k and U_k W_k.
 * Backward, dA = z^T dz gives
 *
 *	dW_k = V_k^T dA_2k + U_k^T dA_2k+1,   dV_k += dA_2k W_k^T,   dU_k += dA_2k+1 W_k^T,
 *
 * and the gradient of these columns of x gets nothing.  A weight that is Inf ends a run either way:
 * z A may be NaN in a row where k is missing, too, as 0 times Inf is.  In passes that train, for
 * slots of FOLD_MIN_ROWS rows and more, on the host; two bytes (layer.h) are rounded as the formula
 * of the layer says, unfolded.  What scores is not folded: a row alone, for which that would be
 * more work, has the score that it has among many.
 */
#ifndef GRAPH_FOLD_H
#define GRAPH_FOLD_H

#include <stddef.h>

#include "base/status.h"
#include "graph/layer.h"

/* A smaller layer, or fewer rows, gains nothing. */
enum { FOLD_MIN_ROWS = 8, FOLD_MIN_UNITS = 4, FOLD_MIN_DIM = 3 };

struct fold;

/* Of the nodes of a graph that ends; each is its node's, which destroys it. */
enum rs_status fold_create(const struct graph *g);
void fold_destroy(struct fold *f);
/* The fold of a node's product of so many rows in a pass, or NULL. */
const struct fold *fold_of(const struct op_run *r, const struct node *n, size_t rows);

/* y = x W */
void fold_forward(const struct op_run *r, const struct node *n, const struct layer_forward *f);
/* Writes the gradient of parameter 0, adds into those of the numeric vectors. */
void fold_backward(const struct op_run *r, const struct node *n, const struct layer_backward *b);

#endif
