/*
 * Numbers for fingerprints: 0, 1, 2, ... in the order of their first appearance.
 * A zeroed struct is empty and ready.
 */
#ifndef TRAIN_GROUPS_H
#define TRAIN_GROUPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define GROUPS_NONE UINT32_MAX

struct groups {
	uint64_t *key;             /* [n] of group i                                  */
	size_t    n, capacity;
	uint32_t *slot;            /* [n_slots] group + 1, 0 empty                    */
	size_t    n_slots;         /* a power of two                                  */
};

void groups_free(struct groups *g);
void groups_clear(struct groups *g);
enum rs_status groups_add(struct groups *g, uint64_t key, uint32_t *number);
/* GROUPS_NONE when it is not there. */
uint32_t groups_find(const struct groups *g, uint64_t key);

#endif
