/*
 * The vectors of the rows of --users by the tower of users, with the names of --id, else of
 * data.id, else with the numbers of the rows.
 */
#ifndef CMD_USER_VECTORS_H
#define CMD_USER_VECTORS_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "cmd/command.h"

struct user_vectors {
	float  *vector;                    /* [n,D]                                   */
	size_t  n, capacity;
	struct buffer text;                /* names, one after the other              */
	uint64_t *end;                     /* [n] of each                             */
};

/* Of the model that is positional 0.  Free it also after a failure. */
enum rs_status user_vectors_make(const struct arguments *a, struct user_vectors *out);
void user_vectors_free(struct user_vectors *u);

#endif
