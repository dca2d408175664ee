/*
 * The optimizer of the dense parameters, shared by the workers of a step.
 *
 * Parameters are cut into pieces that do not depend on the number of workers;
 * worker w owns a contiguous run of pieces, so results are equal for any number.
 * With clip_norm the norm is taken over the whole gradient, L2 included, in
 * double, piece by piece: every worker calls dense_measure() on its pieces,
 * all wait for each other, then dense_apply().  Statistics are no parameters.
 */
#ifndef TRAIN_DENSE_H
#define TRAIN_DENSE_H

#include <stddef.h>

#include "base/status.h"
#include "train/model.h"

struct dense_piece {
	size_t offset, n;
	float  l2;
	int    decay;
};

struct dense {
	struct model *model;
	struct dense_piece *piece;     /* [n_pieces]                                  */
	size_t  n_pieces, n_workers;
	double *square;                /* [n_pieces] sums of squares of the gradient  */
	float  *scratch;               /* [n_workers, DENSE_PIECE]                    */
};

#define DENSE_PIECE 8192           /* floats                                      */

enum rs_status dense_init(struct dense *d, struct model *m, size_t n_workers);
void dense_free(struct dense *d);
int  dense_clips(const struct dense *d);
void dense_measure(struct dense *d, size_t worker, const float *grad);
/* step counts from 1 (bias correction of Adam). */
void dense_apply(
	struct dense *d, size_t worker, const float *grad, double rate, unsigned long long step);

#endif
