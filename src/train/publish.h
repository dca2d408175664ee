/*
 * Which version is current, what is kept of a rejected one, and the copy for serving.
 *
 *     DIR/CURRENT -> v000142            commit point: a rename
 *     DIR/v000143.rejected/             a candidate that the gate refused, for inspection;
 *                                       its file REJECTED begins with "gate: "; one that
 *                                       was current before a rollback has "rollback: "
 *     DIR/PENDING                       that the command is to be run
 *     PUBLISH/142/  PUBLISH/current -> 142
 *
 * Each is one atomic step; after a kill anywhere publish_repair() makes the second follow
 * from the first.  The command may be run twice, never not at all.  No number is ever given
 * to two versions, and no copy has a higher one than CURRENT.  The model directory is
 * locked by the caller.
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
/* v000143 becomes v000143.rejected with a line in its file REJECTED.  Of those of the gate
 * the newest PUBLISH_REJECTED_KEEP stay whole; of an older one only the ledger stays, and
 * that only while it is newer than CURRENT. */
enum rs_status publish_reject(const char *directory, uint64_t version, const char *why);
#define PUBLISH_REJECTED_KEEP 3
/* The same of a run of no period, whose rows may still be trained by others: REJECTED begins
 * with "require: ". */
enum rs_status publish_refuse(const char *directory, uint64_t version, const char *why);
/* What an earlier process did not get done: copy, link, command, rollback.  Cheap when all
 * is. */
enum rs_status publish_repair(const char *directory, const struct incremental_settings *s,
	int *incomplete);

/* Rejected candidates, ascending; caller frees. */
enum rs_status publish_rejected(const char *directory, uint64_t **version, size_t *n);
/* Those of the gate that are newer than CURRENT: no ledger knows of their periods but their
 * own. */
enum rs_status publish_remembered(const char *directory, uint64_t **version, size_t *n);
/* "DIR/v000143.rejected"; caller frees. */
enum rs_status publish_rejected_path(const char *directory, uint64_t version, char **out);

/* How its file REJECTED begins. */
enum publish_word {
	PUBLISH_BY_GATE, PUBLISH_BY_REQUIRE, PUBLISH_BY_ROLLBACK, PUBLISH_BY_NOBODY
};
/* By nobody where there is no such file; RS_ERESOURCE, RS_EDENIED: it could not be read. */
enum rs_status publish_rejected_by(const char *directory, uint64_t version,
	enum publish_word *by);
/* Removes a rejected version; of one newer than CURRENT, whose number must not come again,
 * ledger and reason stay. */
enum rs_status publish_shrink(const char *directory, uint64_t version);
/* Is it the name of such a file? */
int publish_stays_stripped(const char *name);
/* Names in incremental.publish that publish_repair() removes: old copies and what killed
 * processes left; the caller frees items and array. */
enum rs_status publish_excess(const char *directory, const struct incremental_settings *s,
	struct text_list *name);

/* The version that a rollback to `version` goes to: itself, 0: the newest sound one before
 * CURRENT.  RS_ENOINPUT: it is not there; RS_EDATA: it is damaged; RS_EUSAGE: its run has
 * not ended. */
enum rs_status publish_rollback_target(const char *directory, uint64_t version,
	uint64_t *target);
/* CURRENT goes back to a version that publish_rollback_target() gave, and what is published
 * with it; newer versions become .rejected so that no later run goes on from them, and what
 * the gate refused since is no longer remembered.  To the current one it finishes what a
 * killed rollback began.  *incomplete as of publish_accept(). */
enum rs_status publish_rollback(const char *directory, uint64_t target,
	const struct incremental_settings *s, int *incomplete);

#endif
