/*
 * A thread that carries n things in every round, in order, while others still make them.
 *
 * Any thread posts thing i once a round, in any order; carry(context, 0), carry(context, 1)
 * .. are called by the courier's thread as they come.  courier_settle() waits until all n
 * were carried, begins the next round, and gives the first failure: after one nothing is
 * carried any more.  What was written before a post is seen by carry, what carry wrote by
 * who settled.  Everything of a round is posted before someone settles it.
 */
#ifndef REDUCE_COURIER_H
#define REDUCE_COURIER_H

#include <stddef.h>

#include "base/status.h"

struct courier;
enum rs_status courier_open(size_t n, enum rs_status (*carry)(void *context, size_t i),
	void *context, struct courier **out);
/* Between rounds, or in one that nobody will settle. */
void courier_close(struct courier *c);
void courier_post(struct courier *c, size_t i);
enum rs_status courier_settle(struct courier *c);

#endif
