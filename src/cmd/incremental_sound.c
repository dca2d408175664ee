/* A damaged current version, and a CURRENT that is lost. */
#include "cmd/incremental_sound.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "train/checkpoint.h"
#include "train/manifest.h"
#include "train/publish.h"

/* --- CURRENT ------------------------------------------------------------------------ */

static enum rs_status
is_there(const char *directory, const char *name, int *there)
{
	char *path;

	RS_TRY(file_join(directory, name, &path));
	*there = access(path, F_OK) == 0 || file_is_shortage(errno);
	free(path);
	return RS_OK;
}

/* The first candidate of a directory has no parent; any other was made while there was a
 * CURRENT. */
static enum rs_status
has_parent(const char *directory, uint64_t version, int *has)
{
	struct manifest manifest;
	char *path;

	RS_TRY(checkpoint_version_path(directory, version, &path));
	const enum rs_status status = manifest_read(&manifest, path);
	free(path);
	*has = status == RS_OK && manifest.parent != 0;
	if (status == RS_OK)
		manifest_free(&manifest);
	return status == RS_ERESOURCE ? status : RS_OK;
}

static enum rs_status
fail_lost(const char *directory, const char *what, uint64_t newest)
{
	(void)rs_fail(RS_EDATA, "'%s/CURRENT' %s", directory, what);
	return newest == 0 ? rs_hint("write the name of a version into it, or train into "
		"another directory")
		: rs_hint("recsys-train rollback %s %" PRIu64 " makes that version current; a run "
		"that was killed may not have judged the newest one", directory, newest);
}

enum rs_status
incremental_sound_mark(const char *directory)
{
	uint64_t *list, current;
	size_t n;
	int there = 0, is_lost = 0;

	RS_TRY(checkpoint_read_current(directory, &current));
	if (current != 0)
		return RS_OK;
	RS_TRY(is_there(directory, "CURRENT", &there));
	RS_TRY(checkpoint_list(directory, &list, &n));
	enum rs_status status = RS_OK;
	for (size_t i = 0; i < n && !is_lost && status == RS_OK; i++)
		status = has_parent(directory, list[i], &is_lost);
	const uint64_t newest = n > 0 ? list[n - 1] : 0;
	free(list);
	RS_TRY(status);
	if (there)
		return fail_lost(directory, "names no version", newest);
	return is_lost ? fail_lost(directory, "is gone, and tells no more which version is "
		"current", newest) : RS_OK;
}

/* --- the version -------------------------------------------------------------------- */

static enum rs_status
go_back(const char *directory, const struct incremental_settings *s,
	const struct rs_failure *why, int *incomplete)
{
	uint64_t target;

	if (publish_rollback_target(directory, 0, &target) != RS_OK) {
		(void)rs_fail(RS_EDATA, "%s%s%s; no former version is sound", why->where,
			why->where[0] != '\0' ? ": " : "", why->text);
		return rs_hint("restore it from a copy, or train into another directory");
	}
	log_passed(why, "going back to v%06" PRIu64 ", what was trained since is trained again",
		target);
	return publish_rollback(directory, target, s, incomplete);
}

enum rs_status
incremental_sound_version(const char *directory, const struct incremental_settings *s,
	int *went_back, int *incomplete)
{
	struct rs_failure why;
	uint64_t current;

	*went_back = 0;
	RS_TRY(checkpoint_read_current(directory, &current));
	if (current == 0 || checkpoint_peek(directory, current, NULL, NULL) == RS_OK)
		return RS_OK;
	rs_failure_take(&why);
	if (why.status != RS_EDATA && why.status != RS_ENOINPUT)
		return rs_failure_put(&why);
	*went_back = 1;
	return go_back(directory, s, &why, incomplete);
}
