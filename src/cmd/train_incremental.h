/*
 * train --incremental: the periods that are new, one after the other, each trained, judged
 * and published before the next.
 */
#ifndef CMD_TRAIN_INCREMENTAL_H
#define CMD_TRAIN_INCREMENTAL_H

#include "base/status.h"
#include "cmd/session.h"

/* The session has its directory, threads and progress.  spec is borrowed. */
enum rs_status train_incremental(struct session *s, const struct spec *spec);

#endif
