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

/* Ids of n_bits that have no room beside an index of `shift` bits: how many lower bits of them
 * keys drop.  Of n ids that are spread two seldom have the same rest. */
unsigned id_sort_dropped(unsigned n_bits, unsigned shift);
/* Behind id_sort(): keys with the same rest by id [index], those of one id as they came. */
void id_sort_settle(uint64_t *key, size_t n, unsigned shift, const uint64_t *id);

#endif
