/*
 * How many different 64-bit hashes were seen: exact up to DISTINCT_EXACT, then an
 * estimate (HyperLogLog, Flajolet et al. 2007, error about 1 %).  A zeroed struct
 * is empty.
 */
#ifndef CMD_DISTINCT_H
#define CMD_DISTINCT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { DISTINCT_EXACT = 1 << 16, DISTINCT_REGISTERS = 1 << 14 };

struct distinct {
	uint64_t *set;                /* [2 * DISTINCT_EXACT] open addressing, 0 free */
	size_t    n;                  /* in the set                                   */
	int       has_zero;
	uint8_t  *reg;                /* [DISTINCT_REGISTERS] once the set is full    */
};

enum rs_status distinct_add(struct distinct *d, uint64_t hash);
uint64_t distinct_count(const struct distinct *d, int *is_exact);
/* 1 when it was seen; what is estimated holds nothing. */
int distinct_holds(const struct distinct *d, uint64_t hash);
void distinct_free(struct distinct *d);

#endif
