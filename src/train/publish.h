/*
 * Which version is current, what is kept of a rejected one, and the copy for serving.
 *
 *     DIR/CURRENT -> v000142            commit point: a rename
 *     DIR/v000143.rejected/             a candidate that the gate refused, for inspection
 *     PUBLISH/142/  PUBLISH/current -> 142
 *
 * Each is one atomic step; after a kill anywhere publish_repair() makes the second follow
 * from the first.  The model directory is locked by the caller.
 */
#ifndef TRAIN_PUBLISH_H
#define TRAIN_PUBLISH_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "spec/settings.h"

/* Makes it CURRENT, copies it to incremental.publish, runs incremental.command; the last
 * two failing is a warning, *incomplete and work for publish_repair(), not a failure. */
enum rs_status publish_accept(const char *directory, uint64_t version,
	const struct incremental_settings *s, int *incomplete);
/* v000143 becomes v000143.rejected with a line in its file REJECTED. */
enum rs_status publish_reject(const char *directory, uint64_t version, const char *why);
/* What an earlier process did not get done: copy, link, command.  Cheap when all is. */
enum rs_status publish_repair(const char *directory, const struct incremental_settings *s,
	int *incomplete);

/* Rejected candidates, ascending; caller frees. */
enum rs_status publish_rejected(const char *directory, uint64_t **version, size_t *n);
/* CURRENT goes back to `version`, 0: to the newest complete version before it, and what is
 * published with it; newer versions become .rejected so that no later run goes on from
 * them.  *now: what is current. */
enum rs_status publish_rollback(const char *directory, uint64_t version,
	const struct incremental_settings *s, uint64_t *now);

#endif
