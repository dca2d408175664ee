/* What removing files frees: a file goes with its last name. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "cmd/gc.h"
#include "train/publish.h"

static enum rs_status
add_file(struct gc_files *f, const struct stat *st)
{
	if (f->n == f->capacity) {
		const size_t capacity = f->capacity > 0 ? 2 * f->capacity : 64;
		struct gc_file *const grown = reallocarray(f->item, capacity, sizeof *grown);

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "no memory for a list of %zu files", capacity);
		f->item = grown;
		f->capacity = capacity;
	}
	f->item[f->n++] = (struct gc_file){ .device = st->st_dev, .inode = st->st_ino,
		.links = st->st_nlink, .bytes = (uint64_t)st->st_size };
	return RS_OK;
}

static int
is_left(const char *name, int stripped)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0
		|| (stripped && publish_stays_stripped(name));
}

enum rs_status
gc_files_add(struct gc_files *f, const char *path, int stripped)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return errno == ENOENT ? RS_OK
			: rs_fail(file_status_of(errno, RS_EIO), "cannot look at '%s': %s", path,
				strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return add_file(f, &st);
	DIR *const dir = opendir(path);
	if (dir == NULL)
		return rs_fail(file_status_of(errno, RS_EIO), "cannot read '%s': %s", path,
			strerror(errno));
	enum rs_status status = RS_OK;
	for (const struct dirent *e; status == RS_OK && (e = readdir(dir)) != NULL; ) {
		char *inner;

		if (is_left(e->d_name, stripped))
			continue;
		status = file_join(path, e->d_name, &inner);
		if (status == RS_OK) {
			status = gc_files_add(f, inner, 0);
			free(inner);
		}
	}
	closedir(dir);
	return status;
}

static int
by_inode(const void *a, const void *b)
{
	const struct gc_file *const x = a, *const y = b;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->inode > y->inode) - (x->inode < y->inode);
}

uint64_t
gc_files_freed(struct gc_files *f)
{
	uint64_t bytes = 0;

	if (f->n > 0)
		qsort(f->item, f->n, sizeof *f->item, by_inode);
	for (size_t i = 0, next; i < f->n; i = next) {
		for (next = i + 1; next < f->n && by_inode(&f->item[i], &f->item[next]) == 0; )
			next++;
		if (next - i >= f->item[i].links)
			bytes += f->item[i].bytes;
	}
	return bytes;
}

void
gc_files_free(struct gc_files *f)
{
	free(f->item);
	*f = (struct gc_files){ .n = 0 };
}
