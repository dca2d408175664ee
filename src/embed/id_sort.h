/*
 * Sorting of ids together with where they came from: a key is id << shift | index.
 *
 * The sort is stable and looks at the id only; ids have n_bits bits, indices `shift`.
 */
#ifndef EMBED_ID_SORT_H
#define EMBED_ID_SORT_H

#include <stddef.h>
#include <stdint.h>

/* Bits that hold 0..n-1. */
unsigned id_sort_bits(uint64_t n);
/* Sorts key [n]; key2 [n] is overwritten; returns the one that holds the result. */
uint64_t *id_sort(uint64_t *key, uint64_t *key2, size_t n, unsigned shift, unsigned n_bits);

#endif
