/*
 * Counter-based random numbers: a value is a pure function of (key, counter),
 * so any thread, slot or host draws the same one.  Keys are derived from the
 * seed of the run and the names of streams; nothing keeps a state.
 */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/status.h"

/* Streams of one seed; a new use gets a new row. */
enum rng_stream {
	RNG_INIT_DENSE = 1, RNG_INIT_ROW, RNG_SHUFFLE_GROUP, RNG_SHUFFLE_ROW, RNG_DROPOUT,
	RNG_SYNTH, RNG_SAMPLE, RNG_ROUND, RNG_NEGATIVE, RNG_ADMIT,
	RNG_STORE
};

static inline uint64_t
rng_key(uint64_t parent, uint64_t name)
{
	return hash_mix(parent + 0x9e3779b97f4a7c15u * (name + 1));
}

static inline uint64_t
rng_u64(uint64_t key, uint64_t counter)
{
	return hash_mix(key + 0x9e3779b97f4a7c15u * (counter + 1));
}

/* [0,1) with 53 bits. */
static inline double
rng_uniform(uint64_t key, uint64_t counter)
{
	return (double)(rng_u64(key, counter) >> 11) * 0x1p-53;
}

/* [0,n) without bias that matters (multiply-shift). */
static inline uint64_t
rng_below(uint64_t key, uint64_t counter, uint64_t n)
{
	return (uint64_t)(((unsigned __int128)rng_u64(key, counter) * n) >> 64);
}

/* Standard normal by the inverse distribution function (Wichura 1988, AS 241). */
double rng_normal(uint64_t key, uint64_t counter);

/* x[i] = stddev * normal(key, counter + i). */
void rng_normal_fill(float *x, size_t n, uint64_t key, uint64_t counter, float stddev);

/* Rows of D, `stride` floats from one to the next: row i has the key (parent, name + i) and
 * counters from 0 on. */
struct rng_rows { uint64_t parent, name; size_t n, D, stride; };
void rng_normal_rows(float *x, const struct rng_rows *rows, float stddev);

/* The element that a permutation of [0,n) puts at position i, without a table
 * (a keyed Feistel network with cycle walking). */
uint64_t rng_permute(uint64_t key, uint64_t n, uint64_t i);

/* The same for many positions of one permutation, several times as fast: what the network draws
 * is drawn once, some sqrt(n) numbers.  n is at most 2^32; begin as zeros. */
struct rng_permutation {
	uint64_t n;
	unsigned half;
	uint16_t *drawn;               /* [rounds, 2^half], owned; half is at most 16 */
	size_t   capacity;
};
enum rs_status rng_permutation_set(struct rng_permutation *p, uint64_t key, uint64_t n);
/* out[k] = rng_permute(key, n, first + k) */
void rng_permutation_run(
	const struct rng_permutation *p, uint64_t first, size_t count, uint32_t *out);
void rng_permutation_free(struct rng_permutation *p);

#endif
