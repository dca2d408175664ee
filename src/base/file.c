/* Files that are complete or absent, and the small change of paths. */
#include "base/file.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"

int
file_is_shortage(int error)
{
	return error == EMFILE || error == ENFILE || error == ENOMEM;
}

enum rs_status
file_status_of(int error, enum rs_status otherwise)
{
	return file_is_shortage(error) ? RS_ERESOURCE : otherwise;
}

static enum rs_status
fail_create(const char *path)
{
	return rs_fail(file_status_of(errno, RS_ECREATE), "cannot create '%s': %s", path,
		strerror(errno));
}

static enum rs_status
fail_write(const char *path)
{
	return rs_fail(RS_EIO, "cannot write '%s': %s", path, strerror(errno));
}

static enum rs_status
fail_open(const char *path)
{
	return rs_fail(errno == EACCES ? RS_EDENIED : file_status_of(errno, RS_ENOINPUT),
		"cannot open '%s': %s", path, strerror(errno));
}

static enum rs_status
directory_of(const char *path, char **out)
{
	const char *slash = strrchr(path, '/');

	if (slash == NULL)
		return memory_strdup(".", out);
	*out = strndup(path, slash == path ? 1 : (size_t)(slash - path));
	if (*out == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", strlen(path));
	return RS_OK;
}

/* "DIR/.tmp-<pid>-<n>-NAME": beside the target, so that rename works; the pid
 * lets a later run tell leftovers from files being written. */
static enum rs_status
temporary_name(const char *path, char **out)
{
	static atomic_uint counter;
	const char        *slash = strrchr(path, '/');
	const int          n_directory = slash != NULL ? (int)(slash - path) + 1 : 0;
	const unsigned     number = atomic_fetch_add(&counter, 1);

	if (asprintf(out, "%.*s.tmp-%ld-%u-%s", n_directory, path, (long)getpid(), number,
	    path + n_directory) < 0) {
		*out = NULL;
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted", strlen(path) + 32);
	}
	return RS_OK;
}

enum rs_status
file_may_replace(const char *path)
{
	static const char opened[] = "/proc/";  /* where /dev/stdout leads, to a file or not */
	char to[sizeof(opened) - 1];
	struct stat st;

	if (readlink(path, to, sizeof(to)) != sizeof(to) || memcmp(to, opened, sizeof(to)) != 0)
		if (stat(path, &st) != 0 || S_ISREG(st.st_mode) || S_ISDIR(st.st_mode))
			return RS_OK;   /* of a directory rename says what is wrong         */
	return rs_fail(RS_ECREATE, "cannot create '%s': a device, pipe or socket has this name",
		path);
}

enum rs_status
file_writer_open(struct file_writer *w, const char *path)
{
	enum rs_status status;

	*w = (struct file_writer){ .fd = -1 };
	if ((status = file_may_replace(path)) != RS_OK ||
	    (status = memory_strdup(path, &w->path)) != RS_OK ||
	    (status = temporary_name(path, &w->temporary)) != RS_OK ||
	    (status = memory_alloc(FILE_CRC_BLOCK, 1, &w->block)) != RS_OK)
		goto out;
	w->fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (w->fd < 0) {
		status = fail_create(path);
		free(w->temporary);
		w->temporary = NULL;
	}
out:
	if (status != RS_OK)
		file_writer_close(w);
	return status;
}

enum rs_status
file_writer_open_memory(struct file_writer *w)
{
	enum rs_status status = RS_OK;

	*w = (struct file_writer){ .fd = memfd_create("file", MFD_CLOEXEC) };
	if (w->fd < 0)
		return rs_fail(RS_ERESOURCE, "no file in memory: %s", strerror(errno));
	if (asprintf(&w->path, "/proc/self/fd/%d", w->fd) < 0) {
		w->path = NULL;
		status = rs_fail(RS_ERESOURCE, "out of memory: a name is wanted");
	}
	if (status == RS_OK)
		status = memory_alloc(FILE_CRC_BLOCK, 1, &w->block);
	if (status != RS_OK)
		file_writer_close(w);
	return status;
}

static enum rs_status
write_all(int fd, const char *bytes, size_t n, const char *path)
{
	while (n > 0) {
		const ssize_t done = write(fd, bytes, n);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0)
			return fail_write(path);
		bytes += done;
		n -= (size_t)done;
	}
	return RS_OK;
}

static enum rs_status
remember_crc(struct file_writer *w, uint32_t crc)
{
	if (w->n_crc == w->crc_capacity) {
		const size_t capacity = w->crc_capacity > 0 ? 2 * w->crc_capacity : 16;
		uint32_t    *grown = reallocarray(w->crc, capacity, sizeof(*grown));

		if (grown == NULL)
			return rs_fail(RS_ERESOURCE, "out of memory: %zu checksums wanted",
				capacity);
		w->crc = grown;
		w->crc_capacity = capacity;
	}
	w->crc[w->n_crc++] = crc;
	return RS_OK;
}

/* A block that is full, or the last. */
static enum rs_status
write_block(struct file_writer *w, const char *bytes, size_t n)
{
	RS_TRY(remember_crc(w, hash_crc32c(0, bytes, n)));
	return write_all(w->fd, bytes, n, w->path);
}

static enum rs_status
flush_block(struct file_writer *w)
{
	if (w->block_used == 0)
		return RS_OK;
	RS_TRY(write_block(w, w->block, w->block_used));
	w->block_used = 0;
	return RS_OK;
}

enum rs_status
file_writer_write(struct file_writer *w, const void *bytes, size_t n)
{
	const char *from = bytes;

	assert(w->fd >= 0);
	w->size += n;
	while (n > 0) {
		const size_t room = FILE_CRC_BLOCK - w->block_used;
		const size_t part = n < room ? n : room;

		if (part == FILE_CRC_BLOCK) {
			RS_TRY(write_block(w, from, part));
		} else {
			memcpy(w->block + w->block_used, from, part);
			w->block_used += part;
			if (w->block_used == FILE_CRC_BLOCK)
				RS_TRY(flush_block(w));
		}
		from += part;
		n -= part;
	}
	return RS_OK;
}

/* A rename that cannot be made durable is an error all the same: PATH is then
 * new or old, but complete. */
enum rs_status
file_writer_commit(struct file_writer *w)
{
	char          *directory;
	enum rs_status status;

	assert(w->fd >= 0);
	RS_TRY(flush_block(w));
	if (w->temporary == NULL)
		return RS_OK;
	free(w->block);
	w->block = NULL;
	/* Pipes and devices cannot be synchronised; they are not files either. */
	if (fsync(w->fd) != 0 && errno != EINVAL)
		return fail_write(w->path);
	if (close(w->fd) != 0) {
		w->fd = -1;
		return fail_write(w->path);
	}
	w->fd = -1;
	if (rename(w->temporary, w->path) != 0)
		return fail_create(w->path);
	free(w->temporary);
	w->temporary = NULL;
	if (w->one_of_many)
		return RS_OK;
	RS_TRY(directory_of(w->path, &directory));
	status = file_sync_directory(directory);
	free(directory);
	return status;
}

void
file_writer_close(struct file_writer *w)
{
	if (w->fd >= 0)
		close(w->fd);
	w->fd = -1;
	if (w->temporary != NULL)
		unlink(w->temporary);
	free(w->temporary);
	free(w->path);
	free(w->block);
	free(w->crc);
	*w = (struct file_writer){ .fd = -1 };
}

enum rs_status
file_map_open(struct file_map *m, const char *path)
{
	/* A pipe of this name is not waited for. */
	const int   fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	void       *data;

	*m = (struct file_map){ 0 };
	if (fd < 0)
		return fail_open(path);
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return rs_fail(RS_ENOINPUT, "cannot read '%s': not a regular file", path);
	}
	if (st.st_size == 0) {
		close(fd);
		m->data = "";
		return RS_OK;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return rs_fail(RS_ERESOURCE, "cannot map '%s': %s", path, strerror(errno));
	m->data = data;
	m->size = (size_t)st.st_size;
	return RS_OK;
}

void
file_map_close(struct file_map *m)
{
	if (m->size > 0)
		munmap((void *)(uintptr_t)m->data, m->size);
	*m = (struct file_map){ 0 };
}

static enum rs_status
read_all(int fd, const char *path, size_t limit, struct buffer *b)
{
	for (;;) {
		ssize_t got;

		RS_TRY(buffer_reserve(b, b->n < 4096 ? 4096 : b->n));
		got = read(fd, b->data + b->n, b->capacity - b->n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && errno == EISDIR)
			return rs_fail(RS_ENOINPUT, "cannot read '%s': %s", path, strerror(errno));
		if (got < 0)
			return rs_fail(RS_EIO, "cannot read '%s': %s", path, strerror(errno));
		if (got == 0)
			break;
		b->n += (size_t)got;
		if (b->n > limit)
			return rs_fail(RS_EDATA, "'%s' has more than %zu bytes", path, limit);
	}
	b->data[b->n] = '\0';
	return RS_OK;
}

enum rs_status
file_read(const char *path, size_t limit, char **text, size_t *n)
{
	const int      fd = open(path, O_RDONLY | O_CLOEXEC);
	struct buffer  b;
	enum rs_status status;

	*text = NULL;
	*n = 0;
	if (fd < 0)
		return fail_open(path);
	buffer_init(&b, limit < SIZE_MAX / 4 ? 2 * limit + 8192 : SIZE_MAX);
	status = read_all(fd, path, limit, &b);
	close(fd);
	if (status != RS_OK) {
		buffer_free(&b);
		return status;
	}
	*text = b.data;
	*n = b.n;
	return RS_OK;
}

enum rs_status
file_replace(const char *path, const void *bytes, size_t n)
{
	struct file_writer w;
	enum rs_status     status;

	RS_TRY(file_writer_open(&w, path));
	status = file_writer_write(&w, bytes, n);
	if (status == RS_OK)
		status = file_writer_commit(&w);
	file_writer_close(&w);
	return status;
}

static enum rs_status
make_one(const char *path)
{
	struct stat st;

	if (mkdir(path, 0777) == 0)
		return RS_OK;
	if (errno == EEXIST) {
		if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
			return RS_OK;
		errno = ENOTDIR;
	}
	return fail_create(path);
}

enum rs_status
file_make_directories(const char *path)
{
	enum rs_status status = RS_OK;
	char          *copy;

	RS_TRY(memory_strdup(path, &copy));
	for (char *at = copy; status == RS_OK && *at != '\0'; at++)
		if (*at == '/' && at > copy && at[-1] != '/') {
			*at = '\0';
			status = make_one(copy);
			*at = '/';
		}
	if (status == RS_OK && copy[0] != '\0')
		status = make_one(copy);
	free(copy);
	return status;
}

enum rs_status
file_sync_directory(const char *path)
{
	const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int       failed;

	if (fd < 0)
		return fail_open(path);
	/* Some file systems cannot synchronise a directory and say EINVAL. */
	failed = fsync(fd) != 0 && errno != EINVAL;
	if (failed) {
		const enum rs_status status = fail_write(path);

		close(fd);
		return status;
	}
	close(fd);
	return RS_OK;
}

static enum rs_status
fail_remove(const char *name)
{
	return rs_fail(file_status_of(errno, RS_EIO), "cannot remove '%s': %s", name,
		strerror(errno));
}

enum { TREE_DEPTH_MAX = 64 };

/* Removes NAME of the directory parent; symbolic links are not followed. */
static enum rs_status
remove_at(int parent, const char *name, unsigned depth)
{
	enum rs_status status = RS_OK;
	struct dirent *entry;
	DIR           *directory;
	int            fd;

	if (unlinkat(parent, name, 0) == 0 || errno == ENOENT)
		return RS_OK;
	if ((errno != EISDIR && errno != EPERM) || depth == 0)
		return fail_remove(name);
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return fail_remove(name);
	directory = fdopendir(fd);
	if (directory == NULL) {
		close(fd);
		return fail_remove(name);
	}
	while (status == RS_OK && (entry = readdir(directory)) != NULL)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			status = remove_at(dirfd(directory), entry->d_name, depth - 1);
	closedir(directory);
	if (status == RS_OK && unlinkat(parent, name, AT_REMOVEDIR) != 0 && errno != ENOENT)
		return fail_remove(name);
	return status;
}

enum rs_status
file_remove_tree(const char *path)
{
	return remove_at(AT_FDCWD, path, TREE_DEPTH_MAX);
}

enum rs_status
file_directory_bytes(const char *path, uint64_t *bytes)
{
	DIR *directory = opendir(path);
	struct dirent *entry;
	struct stat st;

	*bytes = 0;
	if (directory == NULL)
		return rs_fail(file_status_of(errno, RS_EIO), "cannot read '%s': %s", path,
			strerror(errno));
	while ((entry = readdir(directory)) != NULL)
		if (fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode))
			*bytes += (uint64_t)st.st_size;
	closedir(directory);
	return RS_OK;
}

enum rs_status
file_join(const char *directory, const char *name, char **out)
{
	const size_t n = strlen(directory);
	const char  *between = n > 0 && directory[n - 1] != '/' ? "/" : "";

	if (name[0] == '/' || n == 0)
		return memory_strdup(name, out);
	if (asprintf(out, "%s%s%s", directory, between, name) < 0) {
		*out = NULL;
		return rs_fail(RS_ERESOURCE, "out of memory: %zu bytes wanted",
			n + strlen(name) + 2);
	}
	return RS_OK;
}
