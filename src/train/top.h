/*
 * The K best of n vectors for each of U others, exact and in blocks.
 *
 * A block of users times a block of items is one gemm, whose scores only choose
 * candidates: whatever is within the rounding error of the K-th best.  These are
 * scored again in double, in the order of the columns, and sorted by that score,
 * equal ones by their number; so neither blocks nor threads show.  Memory besides
 * the vectors: about 4 K candidates for each user of a block and thread.  Vectors
 * must be finite.
 */
#ifndef TRAIN_TOP_H
#define TRAIN_TOP_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "kernel/kernel.h"
#include "train/workers.h"

struct top_item {
	double   score;
	uint32_t number;
};

struct top_input {
	const struct kernel_set *kernel;
	size_t n, U, D, K;
	const float *item;             /* [n,D]                                       */
	const float *user;             /* [U,D]                                       */
	/* Items that are not ranked for a user: masked[begin[u]] .. masked[begin[u+1]-1],
	 * ascending; NULL: all are. */
	const size_t   *masked_begin;  /* [U+1]                                       */
	const uint32_t *masked;
	size_t user_block, item_block; /* 0: chosen here                              */
	/* Best first, n_best <= K; called by any thread, once a user, in no order. */
	void (*take)(void *context, size_t user, const struct top_item *best, size_t n_best);
	void *context;
};

/* workers NULL: the calling thread alone. */
enum rs_status top_run(const struct top_input *in, struct workers *workers);

#endif
