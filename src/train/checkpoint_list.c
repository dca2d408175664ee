/* The versions of a model directory: their names, the list of them, CURRENT, pruning. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/memory.h"
#include "train/checkpoint_chain.h"
#include "train/checkpoint_private.h"
#include "train/manifest.h"

/* --- names --------------------------------------------------------------- */

enum rs_status
checkpoint_rejected_path(const char *directory, uint64_t version, char **out)
{
	char *path;

	*out = NULL;
	RS_TRY(checkpoint_version_path(directory, version, &path));
	const int n = asprintf(out, "%s" CHECKPOINT_REJECTED, path);
	free(path);
	if (n >= 0)
		return RS_OK;
	*out = NULL;
	return rs_fail(RS_ERESOURCE, "out of memory: a name is wanted");
}

/* --- listing ------------------------------------------------------------- */

static int
compare_versions(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static enum rs_status
is_complete(const char *directory, uint64_t version, int *is)
{
	char *path, *manifest = NULL;

	RS_TRY(checkpoint_version_path(directory, version, &path));
	const enum rs_status status = file_join(path, "MANIFEST", &manifest);
	*is = manifest != NULL && (access(manifest, F_OK) == 0 || errno == EACCES
		|| file_is_shortage(errno));
	free(manifest);
	free(path);
	return status;
}

struct list { uint64_t *item; size_t n, capacity; };

static enum rs_status
list_add(struct list *l, uint64_t version)
{
	if (l->n == l->capacity) {
		const size_t capacity = l->capacity ? 2 * l->capacity : 16;
		uint64_t *const grown = realloc(l->item, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "no memory for a list of %zu versions",
				capacity);
		l->item = grown;
		l->capacity = capacity;
	}
	l->item[l->n++] = version;
	return RS_OK;
}

static enum rs_status
fail_list(const char *directory, enum rs_status otherwise)
{
	return rs_fail(file_status_of(errno, otherwise),
		"cannot read the model directory '%s': %s", directory, strerror(errno));
}

/* Directories "v000012SUFFIX"; without a suffix they must be complete. */
static enum rs_status
list_names(const char *directory, const char *suffix, uint64_t **version, size_t *n)
{
	DIR *const dir = opendir(directory);
	struct list list = { NULL, 0, 0 };
	enum rs_status status = RS_OK;

	*version = NULL;
	*n = 0;
	if (dir == NULL)
		return errno == ENOENT ? RS_OK : fail_list(directory, RS_ENOINPUT);
	for (const struct dirent *e; status == RS_OK && (e = readdir(dir)) != NULL; ) {
		const uint64_t v = checkpoint_version_of_name(e->d_name, suffix);

		int is = v != 0;

		if (is && suffix[0] == '\0')
			status = is_complete(directory, v, &is);
		if (status == RS_OK && is)
			status = list_add(&list, v);
	}
	closedir(dir);
	if (status != RS_OK) {
		free(list.item);
		return status;
	}
	if (list.n > 0)
		qsort(list.item, list.n, sizeof *list.item, compare_versions);
	*version = list.item;
	*n = list.n;
	return RS_OK;
}

enum rs_status
checkpoint_list(const char *directory, uint64_t **version, size_t *n)
{
	return list_names(directory, "", version, n);
}

enum rs_status
checkpoint_rejected(const char *directory, uint64_t **version, size_t *n)
{
	return list_names(directory, CHECKPOINT_REJECTED, version, n);
}

/* The number of "v000012" and of "v000012.rejected". */
static uint64_t
number_of_name(const char *name)
{
	char plain[CHECKPOINT_VERSION_NAME];
	const size_t n = strcspn(name, ".");

	if (n >= sizeof plain)
		return 0;
	memcpy(plain, name, n);
	plain[n] = '\0';
	return checkpoint_version_of_name(plain, "");
}

enum rs_status
checkpoint_next_version(const char *directory, uint64_t *out)
{
	DIR *const dir = opendir(directory);

	*out = 1;
	if (dir == NULL)
		return fail_list(directory, RS_EIO);
	for (const struct dirent *e; (e = readdir(dir)) != NULL; ) {
		const uint64_t version = number_of_name(e->d_name);

		if (version >= *out)
			*out = version + 1;
	}
	closedir(dir);
	return RS_OK;
}

enum rs_status
checkpoint_set_current(const char *directory, uint64_t version)
{
	char name[CHECKPOINT_VERSION_NAME + 1], *path;

	checkpoint_version_name(name, version);
	const size_t n = strlen(name);
	name[n] = '\n';
	RS_TRY(file_join(directory, CHECKPOINT_CURRENT, &path));
	failpoint("checkpoint.before_current");
	const enum rs_status status = file_replace(path, name, n + 1);
	free(path);
	failpoint("checkpoint.after_current");
	return status;
}

/* --- pruning ------------------------------------------------------------- */

static int
is_listed(uint64_t version, const uint64_t *list, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (list[i] == version)
			return 1;
	return 0;
}

/* Out of sight first, so that what is there of a version is all of it. */
enum rs_status
checkpoint_remove_tree(const char *directory, const char *path)
{
	const char *const slash = strrchr(path, '/');
	char *name, *hidden;

	if (asprintf(&name, ".tmp-%s-%ld", slash != NULL ? slash + 1 : path, (long)getpid()) < 0)
		return rs_fail(RS_ERESOURCE, "out of memory: a name is wanted");
	enum rs_status status = file_join(directory, name, &hidden);
	free(name);
	RS_TRY(status);
	if (rename(path, hidden) == 0)
		status = file_remove_tree(hidden);
	else if (errno != ENOENT)
		status = rs_fail(RS_EIO, "cannot remove '%s': %s", path, strerror(errno));
	free(hidden);
	return status;
}

enum rs_status
checkpoint_remove(const char *directory, uint64_t version)
{
	char *path;

	RS_TRY(checkpoint_version_path(directory, version, &path));
	const enum rs_status status = checkpoint_remove_tree(directory, path);
	free(path);
	return status;
}

/* Temporary files and directories; whoever holds the lock has none. */
static enum rs_status
remove_leftovers(const char *directory)
{
	DIR *const dir = opendir(directory);
	enum rs_status status = RS_OK;

	if (dir == NULL)
		return RS_OK;
	for (const struct dirent *e; status == RS_OK && (e = readdir(dir)) != NULL; ) {
		char *path;

		if (strncmp(e->d_name, ".tmp-", 5) != 0)
			continue;
		status = file_join(directory, e->d_name, &path);
		if (status == RS_OK) {
			status = file_remove_tree(path);
			free(path);
		}
	}
	closedir(dir);
	return status;
}

/* The newest first: a kill leaves no delta without what it is one of. */
static enum rs_status
remove_others(const char *directory, const uint64_t *list, size_t n, const unsigned char *stays)
{
	enum rs_status status = RS_OK;

	for (size_t i = n; status == RS_OK && i-- > 0; )
		if (!stays[i])
			status = checkpoint_remove(directory, list[i]);
	return status;
}

enum rs_status
checkpoint_prune(const char *directory, size_t keep, const uint64_t *also, size_t n_also)
{
	uint64_t *list;
	size_t n;
	uint64_t current;

	RS_TRY(checkpoint_read_current(directory, &current));
	RS_TRY(remove_leftovers(directory));
	RS_TRY(checkpoint_list(directory, &list, &n));
	unsigned char *stays = NULL;
	enum rs_status status = n > keep ? memory_alloc(n, 1, &stays) : RS_OK;
	if (stays != NULL) {
		for (size_t i = 0; i < n; i++)
			stays[i] = i >= n - keep || list[i] == current
				|| is_listed(list[i], also, n_also);
		status = checkpoint_chain_keep(directory, list, n, stays);
		if (status == RS_OK)
			status = remove_others(directory, list, n, stays);
	}
	free(stays);
	free(list);
	return status;
}

/* *known: the MANIFEST could be read. */
static int
is_final(const char *directory, uint64_t version, int *known)
{
	struct manifest m = { .n_files = 0 };
	char *path;

	*known = 0;
	if (checkpoint_version_path(directory, version, &path) != RS_OK)
		return 0;
	*known = manifest_read(&m, path) == RS_OK;
	free(path);
	if (!*known)
		return 0;
	const int final = m.progress.state == CHECKPOINT_FINAL;
	manifest_free(&m);
	return final;
}

int
checkpoint_is_final(const char *directory)
{
	uint64_t *list;
	size_t n;
	int final = 0, known = 0;

	if (checkpoint_list(directory, &list, &n) != RS_OK)
		return 0;
	while (n-- > 0 && !known)
		final = is_final(directory, list[n], &known);
	free(list);
	return final;
}
