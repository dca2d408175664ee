/* The copy for serving: PUBLISH/142, hard links where they can be made, and the link. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "train/manifest.h"
#include "train/publish_private.h"

#define MANIFEST_NAME  "MANIFEST"
#define MANIFEST_LIMIT ((size_t)256 << 20)
#define LINK_NAME      "current"
#define HIDDEN         ".tmp-publish-"      /* only the holder of the lock makes such     */

enum { NAME_SIZE = 64 };

static void
number_name(char out[NAME_SIZE], uint64_t version)
{
	snprintf(out, NAME_SIZE, "%" PRIu64, version);
}

static uint64_t
number_of_name(const char *name)
{
	char again[NAME_SIZE];
	uint64_t version;

	if (!number_u64(name, strlen(name), &version))
		return 0;
	number_name(again, version);
	return strcmp(again, name) == 0 ? version : 0;
}

static enum rs_status
number_path(const char *to, uint64_t version, char **out)
{
	char name[NAME_SIZE];

	number_name(name, version);
	return file_join(to, name, out);
}

/* "PUBLISH/.tmp-publish-WHAT"; caller frees. */
static enum rs_status
hidden_path(const char *to, const char *what, char **out)
{
	char name[2 * NAME_SIZE];

	snprintf(name, sizeof name, HIDDEN "%s", what);
	return file_join(to, name, out);
}

static enum rs_status
fail_rename(const char *path)
{
	return rs_fail(RS_EIO, "cannot rename '%s': %s", path, strerror(errno));
}

/* --- looking ------------------------------------------------------------------------ */

/* The version that the link names, 0 for none. */
static uint64_t
linked(const char *to)
{
	char target[NAME_SIZE], *path;

	if (file_join(to, LINK_NAME, &path) != RS_OK)
		return 0;
	const ssize_t n = readlink(path, target, sizeof target - 1);
	free(path);
	if (n < 0)
		return 0;
	target[n] = '\0';
	return number_of_name(target);
}

static int
same_text(const char *a, const char *b)
{
	char *text_a = NULL, *text_b = NULL;
	size_t n_a, n_b;
	const int same = file_read(a, MANIFEST_LIMIT, &text_a, &n_a) == RS_OK
		&& file_read(b, MANIFEST_LIMIT, &text_b, &n_b) == RS_OK
		&& n_a == n_b && memcmp(text_a, text_b, n_a) == 0;

	free(text_a);
	free(text_b);
	return same;
}

/* The same inode, or the same MANIFEST text. */
static int
same_manifest(const char *from, const char *copy)
{
	struct stat a, b;
	char *one = NULL, *two = NULL;
	int same = file_join(from, MANIFEST_NAME, &one) == RS_OK
		&& file_join(copy, MANIFEST_NAME, &two) == RS_OK
		&& stat(one, &a) == 0 && stat(two, &b) == 0 && a.st_size == b.st_size;

	if (same && (a.st_dev != b.st_dev || a.st_ino != b.st_ino))
		same = same_text(one, two);
	free(one);
	free(two);
	return same;
}

static int
has_file(const char *copy, const struct manifest_file *f)
{
	struct stat st;
	char *path;

	if (file_join(copy, f->name, &path) != RS_OK)
		return 0;
	const int has = stat(path, &st) == 0 && S_ISREG(st.st_mode)
		&& (uint64_t)st.st_size == f->size;
	free(path);
	return has;
}

/* Is the copy there, made of this version?  A model directory that was begun anew counts
 * from 1 again. */
static int
is_copied(const struct publish_copy *c)
{
	struct manifest manifest;
	char *copy;
	int same = 0;

	if (number_path(c->to, c->version, &copy) != RS_OK)
		return 0;
	if (same_manifest(c->from, copy) && manifest_read(&manifest, c->from) == RS_OK) {
		same = 1;
		for (size_t i = 0; same && i < manifest.n_files; i++)
			same = has_file(copy, &manifest.file[i]);
		manifest_free(&manifest);
	}
	free(copy);
	return same;
}

int
publish_copy_is_done(const struct publish_copy *c)
{
	return linked(c->to) == c->version && is_copied(c);
}

/* --- removing ----------------------------------------------------------------------- */

static enum rs_status
remove_copy(const char *to, const char *name)
{
	char *path, *hidden;

	RS_TRY(file_join(to, name, &path));
	enum rs_status status = hidden_path(to, name, &hidden);
	if (status == RS_OK) {
		status = rename(path, hidden) == 0 ? file_remove_tree(hidden) : fail_rename(path);
		free(hidden);
	}
	free(path);
	return status;
}

static int
descending(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x < y) - (x > y);
}

static int
is_version(const char *to, uint64_t version)
{
	char *path, *manifest;
	int is = 0;

	if (number_path(to, version, &path) != RS_OK)
		return 0;
	if (file_join(path, MANIFEST_NAME, &manifest) == RS_OK) {
		is = access(manifest, F_OK) == 0;
		free(manifest);
	}
	free(path);
	return is;
}

static int
is_hidden(const char *name)
{
	return strncmp(name, HIDDEN, strlen(HIDDEN)) == 0;
}

static enum rs_status
add_name(struct text_list *list, const char *name)
{
	char **const grown = realloc(list->item, (list->n + 1) * sizeof *grown);

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "no memory for a list of %zu names", list->n + 1);
	list->item = grown;
	RS_TRY(memory_strdup(name, &list->item[list->n]));
	list->n++;
	return RS_OK;
}

/* Published versions, newest first, and names that only a killed process leaves. */
struct found {
	uint64_t *version;             /* [n]                                         */
	size_t n, capacity;
	struct text_list hidden;
};

static void
free_found(struct found *f)
{
	publish_copy_free_names(&f->hidden);
	free(f->version);
}

static enum rs_status
note_name(const char *to, const char *name, struct found *f)
{
	const uint64_t version = number_of_name(name);

	if (is_hidden(name))
		return add_name(&f->hidden, name);
	if (version == 0 || !is_version(to, version))
		return RS_OK;
	if (f->n == f->capacity) {
		const size_t capacity = f->capacity > 0 ? 2 * f->capacity : 16;
		uint64_t *const grown = realloc(f->version, capacity * sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "no memory for a list of %zu versions",
				capacity);
		f->version = grown;
		f->capacity = capacity;
	}
	f->version[f->n++] = version;
	return RS_OK;
}

static enum rs_status
look(const char *to, struct found *f)
{
	DIR *const dir = opendir(to);
	enum rs_status status = RS_OK;

	*f = (struct found){ .n = 0 };
	if (dir == NULL)
		return rs_fail(file_status_of(errno, RS_EIO), "cannot read '%s': %s", to,
			strerror(errno));
	for (const struct dirent *e; status == RS_OK && (e = readdir(dir)) != NULL; )
		status = note_name(to, e->d_name, f);
	closedir(dir);
	if (f->n > 0)
		qsort(f->version, f->n, sizeof *f->version, descending);
	if (status != RS_OK)
		free_found(f);
	return status;
}

/* A server that takes the highest number finds the current one. */
static enum rs_status
add_old_copies(const struct publish_copy *c, const struct found *f, struct text_list *out)
{
	size_t kept = 0;

	for (size_t i = 0; i < f->n; i++) {
		char name[NAME_SIZE];

		if (f->version[i] == c->version || (f->version[i] < c->version
		    && (c->keep == 0 || kept < (size_t)c->keep))) {
			kept++;
			continue;
		}
		number_name(name, f->version[i]);
		RS_TRY(add_name(out, name));
	}
	return RS_OK;
}

void
publish_copy_free_names(struct text_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->item[i]);
	free(list->item);
	*list = (struct text_list){ .n = 0 };
}

enum rs_status
publish_copy_excess(const struct publish_copy *c, struct text_list *out)
{
	struct found found;

	*out = (struct text_list){ .n = 0 };
	RS_TRY(look(c->to, &found));
	enum rs_status status = RS_OK;
	for (size_t i = 0; status == RS_OK && i < found.hidden.n; i++)
		status = add_name(out, found.hidden.item[i]);
	if (status == RS_OK)
		status = add_old_copies(c, &found, out);
	free_found(&found);
	if (status != RS_OK)
		publish_copy_free_names(out);
	return status;
}

static enum rs_status
remove_name(const char *to, const char *name)
{
	char *path;

	if (!is_hidden(name))
		return remove_copy(to, name);
	RS_TRY(file_join(to, name, &path));
	const enum rs_status status = file_remove_tree(path);
	free(path);
	return status;
}

/* only_hidden: what could be in the way. */
static enum rs_status
tidy(const struct publish_copy *c, int only_hidden)
{
	struct text_list list;
	enum rs_status status = publish_copy_excess(c, &list);

	for (size_t i = 0; status == RS_OK && i < list.n; i++)
		if (!only_hidden || is_hidden(list.item[i]))
			status = remove_name(c->to, list.item[i]);
	publish_copy_free_names(&list);
	return status;
}

/* --- making ------------------------------------------------------------------------- */

static enum rs_status
check_copy(const struct file_writer *w, const struct manifest_file *f, const char *path)
{
	if (f == NULL || (w->size == f->size && w->n_crc == f->n_crc
	    && memcmp(w->crc, f->crc, f->n_crc * sizeof *f->crc) == 0))
		return RS_OK;
	return rs_fail_at(RS_EDATA, path, 0, 0, "damaged: not what MANIFEST says");
}

static enum rs_status
copy_bytes(const char *from, const char *to, const struct manifest_file *f)
{
	struct file_map map;
	struct file_writer w;

	RS_TRY(file_map_open(&map, from));
	enum rs_status status = file_writer_open(&w, to);
	if (status == RS_OK) {
		status = file_writer_write(&w, map.data, map.size);
		if (status == RS_OK)
			status = file_writer_commit(&w);
		if (status == RS_OK)
			status = check_copy(&w, f, from);
		file_writer_close(&w);
	}
	file_map_close(&map);
	return status;
}

/* f: what MANIFEST says of it; NULL: it is MANIFEST. */
static enum rs_status
take_file(const struct publish_copy *c, const char *hidden, const struct manifest_file *f)
{
	const char *const name = f != NULL ? f->name : MANIFEST_NAME;
	char *from, *to = NULL;

	RS_TRY(file_join(c->from, name, &from));
	enum rs_status status = file_join(hidden, name, &to);
	if (status == RS_OK && link(from, to) != 0)
		status = copy_bytes(from, to, f);
	free(to);
	free(from);
	return status;
}

static enum rs_status
fill(const struct publish_copy *c, const char *hidden)
{
	struct manifest manifest;

	if (mkdir(hidden, 0777) != 0)
		return rs_fail(RS_ECREATE, "cannot create '%s': %s", hidden, strerror(errno));
	RS_TRY(manifest_read(&manifest, c->from));
	enum rs_status status = RS_OK;
	for (size_t i = 0; status == RS_OK && i < manifest.n_files; i++)
		status = take_file(c, hidden, &manifest.file[i]);
	manifest_free(&manifest);
	RS_TRY(status);
	RS_TRY(take_file(c, hidden, NULL));
	return file_sync_directory(hidden);
}

/* Where two names cannot be exchanged: for a moment there is none. */
static enum rs_status
replace(const struct publish_copy *c, const char *hidden, const char *path)
{
	char name[NAME_SIZE], *away;

	snprintf(name, sizeof name, "old-%" PRIu64, c->version);
	RS_TRY(hidden_path(c->to, name, &away));
	enum rs_status status = RS_OK;
	if (rename(path, away) != 0 || rename(hidden, path) != 0)
		status = fail_rename(path);
	else
		status = file_remove_tree(away);
	free(away);
	return status;
}

/* Into its place; another model's copy that has the number goes. */
static enum rs_status
move_in(const struct publish_copy *c, const char *hidden)
{
	char *path;

	RS_TRY(number_path(c->to, c->version, &path));
	enum rs_status status = RS_OK;
	if (rename(hidden, path) != 0) {
		if (errno != ENOTEMPTY && errno != EEXIST)
			status = fail_rename(hidden);
		else if (renameat2(AT_FDCWD, hidden, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
			status = file_remove_tree(hidden);
		else
			status = replace(c, hidden, path);
	}
	free(path);
	return status;
}

static enum rs_status
copy(const struct publish_copy *c)
{
	char name[NAME_SIZE], *hidden;

	number_name(name, c->version);
	RS_TRY(hidden_path(c->to, name, &hidden));
	enum rs_status status = fill(c, hidden);
	if (status == RS_OK)
		status = move_in(c, hidden);
	if (status != RS_OK) {
		struct rs_failure failure;

		rs_failure_take(&failure);
		file_remove_tree(hidden);
		status = rs_failure_put(&failure);
	}
	free(hidden);
	RS_TRY(status);
	return file_sync_directory(c->to);
}

static enum rs_status
relink(const struct publish_copy *c)
{
	char name[NAME_SIZE], *hidden, *path = NULL;

	number_name(name, c->version);
	RS_TRY(hidden_path(c->to, LINK_NAME, &hidden));
	enum rs_status status = file_join(c->to, LINK_NAME, &path);
	if (status == RS_OK && symlink(name, hidden) != 0)
		status = rs_fail(RS_ECREATE, "cannot create the link '%s': %s", path,
			strerror(errno));
	if (status == RS_OK && rename(hidden, path) != 0) {
		status = fail_rename(hidden);
		unlink(hidden);
	}
	free(path);
	free(hidden);
	RS_TRY(status);
	return file_sync_directory(c->to);
}

enum rs_status
publish_copy_make(const struct publish_copy *c)
{
	RS_TRY(file_make_directories(c->to));
	RS_TRY(tidy(c, 1));
	if (!is_copied(c))
		RS_TRY(copy(c));
	failpoint("publish.copied");
	if (linked(c->to) != c->version)
		RS_TRY(relink(c));
	return tidy(c, 0);
}
