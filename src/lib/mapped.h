/*
 * Tables of a version as they lie in its files, mapped read-only.
 *
 * A lookup with nothing but pull and close.  Each MiB is compared with its CRC in MANIFEST
 * when the first row in it is pulled, and never again; RS_EDATA names the file and the
 * bytes.  Any number of threads pull, each with a stage of its own.  The manifest is
 * borrowed.
 */
#ifndef LIB_MAPPED_H
#define LIB_MAPPED_H

#include "base/status.h"
#include "train/manifest.h"
#include "train/model.h"

/* The tables of m, which m->table describes, in the directory of a version. */
enum rs_status mapped_open(const char *directory, const struct manifest *manifest,
	const struct model *m, struct lookup **out);

#endif
