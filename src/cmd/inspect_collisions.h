/*
 * How many values of the data share a bucket of a table, and how many would by chance:
 *
 *     n values in B buckets fill B (1 - (1 - 1/B)^n) of them, and n less that many collide
 *
 * In a table of R rounds two values collide when they have the same R rows, in any order, so
 * that their vectors are the same; their n R rows fill buckets as so many values do.
 *
 * Counted exactly: every value of every row, each once.
 */
#ifndef CMD_INSPECT_COLLISIONS_H
#define CMD_INSPECT_COLLISIONS_H

#include "base/status.h"
#include "cmd/command.h"
#include "cmd/model_files.h"

/* field NULL: every table. */
enum rs_status inspect_collisions(const struct arguments *a, const struct model_files *f,
	const char *field);

#endif
