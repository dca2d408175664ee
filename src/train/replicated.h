/*
 * The lookup of a run whose ranks all have all tables: mode = allreduce.
 *
 * Pulls are local.  commit sums the gradients of a row over every node of this rank's
 * frontier of the tree of slots, gathers those sums from all ranks and commits them all
 * in this process: every rank applies the same updates, with the bits of one process.
 * Memory and traffic grow with the rows that one step of all ranks touches, not with the
 * tables.  save, load and reset_state are of this rank's tables alone.
 */
#ifndef TRAIN_REPLICATED_H
#define TRAIN_REPLICATED_H

#include "base/status.h"
#include "embed/lookup.h"
#include "reduce/exchange.h"

/* The exchange is borrowed, and called by worker 0 of commit. */
enum rs_status replicated_open(const struct lookup_local_options *options,
	struct exchange *exchange, struct lookup **out);

#endif
