/*
 * Hash stack: the rows of a value in a hashed table of several rounds.
 *
 *     row(x) = sum over i = 1 .. n of T[h_i(x) mod E]           (ALGORITHMS C3, PERSIA)
 *
 * In batches the id of a value is then its fingerprint, as for an exact table, so that all
 * rounds follow from the id.  h_1 is the fingerprint itself: the row of a table of one round.
 * h_i is a mixer of the fingerprint and i.  A value may meet one row in two rounds, which then
 * counts twice.  "Missing" is no value and has one row, the last of the table.
 */
#ifndef DATA_HASH_STACK_H
#define DATA_HASH_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "data/schema.h"

#define HASH_STACK_STEP 0x9e3779b97f4a7c15u

/* h_i of the fingerprint, i = round + 1. */
static inline uint64_t
hash_stack_hash(uint64_t fingerprint, size_t round)
{
	return round == 0 ? fingerprint : hash_mix(fingerprint + round * HASH_STACK_STEP);
}

/* How many rows an id of a batch has. */
static inline size_t
hash_stack_rows(const struct schema_table *t, uint64_t id)
{
	return id == t->buckets ? 1 : t->rounds;
}

/* Its row in round 0 .. hash_stack_rows() - 1. */
static inline uint64_t
hash_stack_row(const struct schema_table *t, uint64_t id, size_t round)
{
	if (t->rounds == 1)
		return id;
	return id == t->buckets ? t->rows : hash_stack_hash(id, round) % t->rows;
}

#endif
