/*
 * What rounding left out of the gradients of rows, until the next push of the row.
 *
 * A table of so many places: all rows have one of their own when there are enough, else
 * rows share them, and who comes later drops what is there, which is counted.  Memory is
 * touched as rows come.  One thread at a time.
 */
#ifndef REMOTE_LOOKUP_RESIDUAL_H
#define REMOTE_LOOKUP_RESIDUAL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct lookup_residual {
	uint64_t *owner;            /* [n_places] id + 1; 0: nothing                  */
	float    *error;            /* [n_places, D]                                  */
	void     *block;
	size_t    block_bytes, n_places, D;
	uint64_t  n_dropped;
};

/* Bytes of n places. */
size_t lookup_residual_bytes(uint64_t n, size_t D);
enum rs_status lookup_residual_init(struct lookup_residual *r, uint64_t n_places, size_t D);
void lookup_residual_free(struct lookup_residual *r);
/* Adds what is left of a row to x [D], and keeps what is left of it now. */
void lookup_residual_add(const struct lookup_residual *r, uint64_t id, float *x);
void lookup_residual_put(struct lookup_residual *r, uint64_t id, const float *error);

#endif
