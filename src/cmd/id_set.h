/*
 * Different 64-bit ids, all of them, in a table that grows: 16 to 32 bytes an id.  A zeroed
 * struct is empty.
 */
#ifndef CMD_ID_SET_H
#define CMD_ID_SET_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct id_set {
	uint64_t *place;               /* [capacity] open addressing, 0 free              */
	size_t    capacity, n;         /* n: ids but 0                                    */
	int       has_zero;
};

/* *is_new: NULL, or gets 1 when the id was not there. */
enum rs_status id_set_add(struct id_set *s, uint64_t id, int *is_new);
size_t id_set_count(const struct id_set *s);
/* All ids, in no order, in memory of their own that the caller frees. */
enum rs_status id_set_list(const struct id_set *s, uint64_t **out);
void id_set_free(struct id_set *s);

#endif
