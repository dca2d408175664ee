/*
 * Normalisation over the rows of a slot, shared by batch_norm and dice: the two
 * statistics are the node's first parameters, its saved memory begins with
 * xhat [B,H], mean, var, rstd [H].  In training the slot's own statistics are
 * used, otherwise the running ones.  Rows of a history count every position once,
 * whatever row of the batch it belongs to.
 */
#ifndef GRAPH_NORM_H
#define GRAPH_NORM_H

#include "graph/node.h"

enum { NORM_MEAN, NORM_VAR, NORM_N_PARAMS };

void norm_add(struct graph *g, struct node *n, const struct graph_norm_options *o);
const float *norm_xhat(const struct op_run *r, const struct node *n);
/* gamma, beta NULL: 1, 0.  y NULL in training: only xhat. */
void norm_forward(const struct op_run *r, const struct node *n, const float *gamma,
	const float *beta, float *y);
/* Adds into the gradient of the input; writes dgamma, dbeta and the statistics. */
void norm_backward(const struct op_run *r, const struct node *n, const float *gamma,
	const float *dy, float *dgamma, float *dbeta);

#endif
