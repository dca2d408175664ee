/*
 * How many values of the data share a bucket of a table, and how many would by chance:
 *
 *     n values in B buckets fill B (1 - (1 - 1/B)^n) of them, and n less that many collide
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
