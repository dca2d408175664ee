/*
 * How the weights of a row are kept, in memory and in files: [embedding] storage.
 *
 * bf16 and fp16 take two bytes a weight.  The slots of the optimizer, which follow them at the
 * next multiple of 4 bytes, are fp32 always, and so is everything that is computed: a row is
 * read to fp32, updated there, and written back by stochastic rounding: up with the
 * probability of the part that is cut off, so that small steps are not lost but come through
 * on average (Gupta et al. 2015, section 3.1).  Everything else rounds to the nearest.
 *
 * The random bits of a row are rng_u64(key, column / 4), 16 of them a column, key a function of
 * (seed, table, step, id): the result does not depend on threads, shards or order.
 * A finite weight too large for the storage becomes the largest; infinity and NaN stay.
 *
 * int8 is for serving, in files alone: a row is a float, the scale, and a signed byte a weight,
 * up to a multiple of 4 bytes.  A weight is its byte times the scale, which is the largest of
 * the row / 127, so that it is off by half a scale at most.
 */
#ifndef EMBED_ROW_H
#define EMBED_ROW_H

#include <stddef.h>
#include <stdint.h>

#include "base/rng.h"
#include "data/schema.h"

/* "bf16"; NULL: there is no storage of this number. */
const char *row_storage_name(uint32_t storage);
/* Of D weights in a row, without what fills it up to the slots. */
size_t row_bytes(enum row_storage storage, size_t D);

/* Floats that D weights take the room of: where the slots begin. */
static inline size_t
row_slot_at(enum row_storage storage, size_t D)
{
	if (storage == ROW_INT8)
		return 1 + (D + 3) / 4;
	return storage == ROW_FP32 ? D : (D + 1) / 2;
}

/* What rows start as. */
struct row_start {
	uint64_t key;               /* of the weights                                 */
	double   stddev;            /* of the weights; 0: they are zeros              */
	double   accumulator;       /* sums of squares of the optimizer               */
};
/* D weights as they are stored: normal numbers, a pure function of (key, id, column). */
void row_start_weights(const struct row_start *s, enum row_storage storage, uint64_t id, size_t D,
	void *row);
/* Those of rows.n rows of floats, from the id rows.name on. */
void row_start_floats(const struct row_start *s, struct rng_rows rows, float *row);

/* n weights of one storage as those of another, to the nearest; they do not overlap.  Where one
 * is int8 they are a row, else they may be of many. */
void row_convert(enum row_storage from_storage, const void *from, enum row_storage to_storage,
	void *to, size_t n);
/* w[n] becomes what it reads as once it was stored; no int8. */
void row_round(enum row_storage storage, float *w, size_t n);

/* The key of a table, and of a row of it in a step. */
uint64_t row_table_key(uint64_t seed, const char *table);
static inline uint64_t
row_key(uint64_t table_key, uint64_t step, uint64_t id)
{
	return rng_key(rng_key(table_key, step), id);
}

/* w[n] by stochastic rounding; fp32: as it is. */
void row_put(enum row_storage storage, const float *w, size_t n, uint64_t key, void *to);

#endif
