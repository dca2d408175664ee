/* What is in a model directory, and what of it must stay. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "cmd/cache_files.h"
#include "cmd/gc.h"
#include "train/checkpoint_chain.h"
#include "train/publish.h"

/* --- items -------------------------------------------------------------------------- */

void
gc_free(struct gc *g)
{
	for (size_t i = 0; i < g->n; i++) {
		free(g->item[i].path);
		free(g->item[i].name);
	}
	free(g->item);
	g->item = NULL;
	g->n = g->capacity = 0;
}

enum rs_status
gc_add(struct gc *g, const struct gc_item *item)
{
	struct gc_item copy = *item;

	if (g->n == g->capacity) {
		const size_t capacity = g->capacity > 0 ? 2 * g->capacity : 32;
		struct gc_item *const grown = reallocarray(g->item, capacity, sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "no memory for a list of %zu items", capacity);
		g->item = grown;
		g->capacity = capacity;
	}
	RS_TRY(memory_strdup(item->path, &copy.path));
	const enum rs_status status = memory_strdup(item->name, &copy.name);
	if (status != RS_OK)
		free(copy.path);
	else
		g->item[g->n++] = copy;
	return status;
}

/* Size and time of what is at the path: a directory has those of MANIFEST, or its own. */
static enum rs_status
measure(struct gc_item *item)
{
	struct gc_files files = { .n = 0 };
	struct stat st;
	char *manifest;

	RS_TRY(gc_files_add(&files, item->path, 0));
	for (size_t i = 0; i < files.n; i++)
		item->bytes += files.item[i].bytes;
	gc_files_free(&files);
	RS_TRY(file_join(item->path, "MANIFEST", &manifest));
	if (stat(manifest, &st) == 0 || lstat(item->path, &st) == 0)
		item->time = (int64_t)st.st_mtime;
	free(manifest);
	return RS_OK;
}

/* Takes the path. */
static enum rs_status
add_path(struct gc *g, struct gc_item item, char *path)
{
	const char *const slash = strrchr(path, '/');

	item.path = path;
	if (item.name == NULL)
		item.name = (char *)(uintptr_t)(slash != NULL ? slash + 1 : path);
	enum rs_status status = measure(&item);
	if (status == RS_OK)
		status = gc_add(g, &item);
	free(path);
	return status;
}

/* --- scanning ----------------------------------------------------------------------- */

static enum rs_status
scan_versions(struct gc *g, enum gc_kind kind)
{
	const int rejected = kind == GC_REJECTED;
	uint64_t *list;
	size_t n;
	enum rs_status status = rejected ? publish_rejected(g->directory, &list, &n)
		: checkpoint_list(g->directory, &list, &n);

	for (size_t i = n; status == RS_OK && i-- > 0; ) {
		struct gc_item item = { .kind = kind, .version = list[i] };
		char *path;

		status = rejected ? publish_rejected_path(g->directory, list[i], &path)
			: checkpoint_version_path(g->directory, list[i], &path);
		if (status != RS_OK)
			break;
		status = checkpoint_chain_parent(path, &item.parent);
		if (status == RS_OK)
			status = add_path(g, item, path);
		else
			free(path);
	}
	free(list);
	return status;
}

static enum rs_status
scan_temporary(struct gc *g)
{
	DIR *const dir = opendir(g->directory);
	enum rs_status status = RS_OK;

	if (dir == NULL)
		return rs_fail(file_status_of(errno, RS_ENOINPUT),
			"cannot read the model directory '%s': %s", g->directory, strerror(errno));
	for (const struct dirent *e; status == RS_OK && (e = readdir(dir)) != NULL; ) {
		char *path;

		if (strncmp(e->d_name, ".tmp-", 5) != 0)
			continue;
		status = file_join(g->directory, e->d_name, &path);
		if (status == RS_OK)
			status = add_path(g, (struct gc_item){ .kind = GC_TEMPORARY }, path);
	}
	closedir(dir);
	return status;
}

static enum rs_status
add_named(struct gc *g, enum gc_kind kind, const char *directory, const struct text_list *name)
{
	for (size_t i = 0; i < name->n; i++) {
		char *path;

		RS_TRY(file_join(directory, name->item[i], &path));
		RS_TRY(add_path(g, (struct gc_item){ .kind = kind, .name = path }, path));
	}
	return RS_OK;
}

static void
free_names(struct text_list *name)
{
	for (size_t i = 0; i < name->n; i++)
		free(name->item[i]);
	free(name->item);
}

static enum rs_status
scan_copies(struct gc *g)
{
	struct text_list name;

	RS_TRY(publish_excess(g->directory, g->settings, &name));
	const enum rs_status status = add_named(g, GC_COPY, g->settings->publish, &name);
	free_names(&name);
	return status;
}

static enum rs_status
scan_tables(struct gc *g)
{
	uint64_t version;
	struct text_list name;
	char *path;

	RS_TRY(checkpoint_read_current(g->directory, &version));
	if (version == 0 || version != g->current)
		return RS_OK;
	RS_TRY(checkpoint_version_path(g->directory, version, &path));
	enum rs_status status = checkpoint_unused(g->directory, version, &name);
	if (status == RS_OK) {
		status = add_named(g, GC_TABLE, path, &name);
		free_names(&name);
	}
	free(path);
	return status;
}

/* Those that nobody can use any more; all others may be of other models. */
static enum rs_status
take_rows(void *context, const struct cache_file *file)
{
	struct gc *const g = context;
	const int gone = file->source != NULL && file->state == CACHE_NONE;
	struct gc_item item = { .kind = file->abandoned ? GC_TEMPORARY : GC_ROWS };
	char *path;

	if (!file->abandoned && !gone && file->source != NULL && file->state != CACHE_STALE)
		return RS_OK;
	RS_TRY(memory_strdup(file->path, &path));
	item.name = path;
	if (!file->abandoned)
		gc_reason(&item, file->source == NULL ? "damaged" :
			gone ? "its source is gone" : "its source changed");
	return add_path(g, item, path);
}

/* CURRENT; where it is missing or damaged the version that a reader falls back to. */
static enum rs_status
find_current(struct gc *g)
{
	uint64_t named;

	RS_TRY(checkpoint_read_current(g->directory, &named));
	RS_TRY(checkpoint_peek(g->directory, 0, NULL, &g->current));
	if (named != 0 && g->current != named)
		log_passed(NULL, "v%06" PRIu64 ", which is current, is damaged or not there: v%06"
			PRIu64 " stays in its place", named, g->current);
	return RS_OK;
}

enum rs_status
gc_scan(struct gc *g)
{
	RS_TRY(find_current(g));
	RS_TRY(scan_versions(g, GC_VERSION));
	RS_TRY(scan_versions(g, GC_REJECTED));
	RS_TRY(scan_temporary(g));
	RS_TRY(scan_copies(g));
	RS_TRY(cache_files_each(g->cache, take_rows, g));
	return scan_tables(g);
}

/* --- what must stay ----------------------------------------------------------------- */

static void
bind(struct gc *g, uint64_t version, const char *why)
{
	for (size_t i = 0; i < g->n; i++) {
		struct gc_item *const item = &g->item[i];

		if (item->kind != GC_VERSION || item->version != version)
			continue;
		item->fate = GC_KEEP;
		item->bound = 1;
		gc_reason(item, why);
	}
}

/* A run that was interrupted goes on from the newest sound version, and may want its best
 * one. */
static enum rs_status
bind_unfinished(struct gc *g)
{
	struct checkpoint_progress progress = { .state = CHECKPOINT_FINAL };
	uint64_t newest = 0;

	for (size_t i = 0; newest == 0 && i < g->n && g->item[i].kind == GC_VERSION; i++) {
		const enum rs_status status =
			checkpoint_peek(g->directory, g->item[i].version, &progress, NULL);
		if (status == RS_OK)
			newest = g->item[i].version;
		else if (!checkpoint_is_damage(status))
			return status;
	}
	if (newest == 0 || progress.state != CHECKPOINT_TRAINING)
		return RS_OK;
	bind(g, newest, "unfinished run");
	if (progress.best_version != 0 && progress.best_version != newest)
		bind(g, progress.best_version, "best of the unfinished run");
	return RS_OK;
}

/* The newest few are kept whole; of one whose period no ledger knows of but its own, that. */
static enum rs_status
judge_rejected(struct gc *g, struct gc_item *item, size_t *seen)
{
	enum publish_word by;

	RS_TRY(publish_rejected_by(g->directory, item->version, &by));
	const int by_gate = by == PUBLISH_BY_GATE;
	const int newer = item->version > g->current;
	const int stripped = !checkpoint_is_version(item->path);

	if (newer && stripped) {
		item->fate = GC_KEEP;
		item->bound = 1;
		gc_reason(item, by_gate ? "rejected, ledger only" : "put aside, ledger only");
	} else if (!stripped && (*seen)++ < PUBLISH_REJECTED_KEEP) {
		item->fate = GC_KEEP;
		gc_reason(item, by_gate ? "rejected" : "put aside");
	} else {
		item->fate = newer ? GC_STRIP : GC_REMOVE;
	}
	return RS_OK;
}

enum rs_status
gc_bind(struct gc *g)
{
	size_t seen = 0;

	bind(g, g->current, "current");
	RS_TRY(bind_unfinished(g));
	for (size_t i = 0; i < g->n; i++)
		switch (g->item[i].kind) {
		case GC_VERSION:
			break;
		case GC_REJECTED:
			RS_TRY(judge_rejected(g, &g->item[i], &seen));
			break;
		case GC_TEMPORARY:
			gc_reason(&g->item[i], "left by a process that is gone");
			break;
		case GC_COPY:
			gc_reason(&g->item[i], "published before");
			break;
		case GC_TABLE:
			gc_reason(&g->item[i], "of a field that was removed");
			break;
		case GC_ROWS:
			break;
		}
	return RS_OK;
}
