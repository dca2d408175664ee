/*
 * Which values are behind the buckets of a model.
 *
 * A model keeps no values, only their hashes; so the data are read again, and every value in
 * them is looked up.  What is not in the data has no name, and how many trained buckets have
 * one is told.
 */
#ifndef CMD_INSPECT_NAMES_H
#define CMD_INSPECT_NAMES_H

#include "base/status.h"
#include "cmd/command.h"
#include "cmd/model_files.h"

/* field NULL: every table. */
enum rs_status inspect_names(const struct arguments *a, const struct model_files *f,
	const char *field);

#endif
