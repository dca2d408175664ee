/*
 * Counters of ids that wait for a row: an open table in the order of ids.
 *
 * The ids of one table have the same top 6 bits; an id's home is its other bits scaled to
 * the capacity, ids lie in ascending order from there on without gaps, so a walk over the
 * places meets them in order.  It grows by a quarter when four fifths are used and never
 * shrinks.  A pointer to an entry is good until the next put or removal.
 */
#ifndef EMBED_WAITING_H
#define EMBED_WAITING_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define WAITING_ID_BITS 58     /* of 64, those that differ                        */

struct waiting_entry {
	uint64_t id;
	uint32_t count;            /* 0: the place is free                           */
	uint32_t last;             /* embed/expiry.h                                 */
};

struct waiting {
	struct waiting_entry *entry;    /* [places]                                  */
	size_t n, capacity, places;
};

void waiting_free(struct waiting *w);
void waiting_clear(struct waiting *w);
uint64_t waiting_bytes(const struct waiting *w);

/* NULL: not there. */
struct waiting_entry *waiting_find(const struct waiting *w, uint64_t id);
/* id must not be there, the count not be 0. */
enum rs_status waiting_put(struct waiting *w, const struct waiting_entry *e);
void waiting_remove(struct waiting *w, struct waiting_entry *e);

#endif
