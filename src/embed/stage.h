/*
 * Rows that a pull cannot point at: room for copies of them, one place for every input of
 * every slot, valid until the place is used again.  Slots may be served by any threads.
 */
#ifndef EMBED_STAGE_H
#define EMBED_STAGE_H

#include <stddef.h>

#include "base/status.h"

struct stage_place {
	float *value;
	size_t capacity;           /* floats; it grows to the most that was ever wanted */
};

struct stage {
	struct stage_place *place; /* [n_slots, n_inputs]                            */
	size_t n_slots, n_inputs;  /* twice those of the graph where hash stacks are summed, too */
};

enum rs_status stage_init(struct stage *s, size_t n_slots, size_t n_inputs);
void stage_free(struct stage *s);
/* Room for so many floats. */
enum rs_status stage_take(struct stage *s, size_t slot, size_t input, size_t n, float **out);
size_t stage_bytes(const struct stage *s);

#endif
