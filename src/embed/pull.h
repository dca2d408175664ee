/*
 * The rows of a table in memory for lookup_ops.pull: pointers to them, or to copies in a stage
 * where they are no floats or are not there.  Any number of threads.
 */
#ifndef EMBED_PULL_H
#define EMBED_PULL_H

#include "base/status.h"
#include "embed/lookup.h"
#include "embed/stage.h"
#include "embed/table.h"

/* own: where copies go if the pull brings no stage.  RS_EDATA: an id is not here. */
enum rs_status pull_rows(const struct table *t, const struct lookup_pull *p, struct stage *own);
enum rs_status pull_unknown_id(const struct table *t, uint64_t id);

#endif
