/* The writer's lock of a model directory: flock on DIR/LOCK, which names its pid. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/thread.h"
#include "train/checkpoint.h"

#define LOCK_POLL_NS 50000000
/* Seconds for which a killed process may seem to hold it: one that it was about to start has
 * the lock until exec(2). */
#define LOCK_GRACE   2.0
/* Times that LOCK or its directory may go before it is had, each with another run that ends. */
#define LOCK_TRIES   100

/* The process that the open file names; 0 none. */
static int64_t
read_pid(int fd)
{
	char text[24];
	const ssize_t n = pread(fd, text, sizeof text - 1, 0);
	int64_t pid = 0;
	const char *const end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	return end != NULL && number_i64(text, (size_t)(end - text), &pid) ? pid : 0;
}

/* The line of /proc about a process, "" when there is none. */
static void
process_line(int64_t pid, char *text, size_t size)
{
	char path[40];

	text[0] = '\0';
	snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	const ssize_t n = read(fd, text, size - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
}

/* 1: it was killed, also when nobody has asked yet how it ended. */
static int
is_gone(int64_t pid)
{
	char text[1024];

	if (pid <= 0 || pid > INT32_MAX)
		return 0;
	if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
		return 1;
	process_line(pid, text, sizeof text);
	const char *const name_end = strrchr(text, ')');
	return name_end != NULL && (strncmp(name_end, ") Z", 3) == 0
		|| strncmp(name_end, ") X", 3) == 0);
}

static enum rs_status
fail_busy(const char *directory, int fd)
{
	const int64_t pid = read_pid(fd);

	if (pid > 0)
		rs_fail(RS_EBUSY, "the model '%s' is locked by process %" PRId64, directory, pid);
	else
		rs_fail(RS_EBUSY, "the model '%s' is locked by another process", directory);
	return rs_hint("try again later, or wait with --lock-wait SECONDS");
}

static enum rs_status
wait_for_lock(const char *directory, int fd, double wait)
{
	const double now = clock_seconds(), until = now + wait;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return rs_fail(RS_EIO, "cannot lock '%s/LOCK': %s", directory,
				strerror(errno));
		const double at = clock_seconds();
		if (at >= until && (at >= now + LOCK_GRACE || !is_gone(read_pid(fd))))
			return fail_busy(directory, fd);
		const struct timespec pause = { .tv_nsec = LOCK_POLL_NS };
		nanosleep(&pause, NULL);
	}
	return RS_OK;
}

static enum rs_status
write_pid(const char *directory, int fd)
{
	char text[24];
	const int n = snprintf(text, sizeof text, "%ld\n", (long)getpid());

	if (ftruncate(fd, 0) != 0 || pwrite(fd, text, (size_t)n, 0) != n)
		return rs_fail(RS_EIO, "cannot write '%s/LOCK': %s", directory, strerror(errno));
	return RS_OK;
}

/* Without slashes at its end. */
static void
trim(char *path)
{
	for (size_t n = strlen(path); n > 0 && path[n - 1] == '/'; )
		path[--n] = '\0';
}

/* Without its last name; "": it has one only. */
static void
to_parent(char *path)
{
	trim(path);
	char *const slash = strrchr(path, '/');
	*(slash != NULL ? slash : path) = '\0';
	trim(path);
}

/* Directories that have to be made. */
static enum rs_status
count_missing(const char *directory, size_t *n)
{
	char *path;

	*n = 0;
	RS_TRY(memory_strdup(directory, &path));
	trim(path);
	for (; path[0] != '\0' && access(path, F_OK) != 0 && errno == ENOENT; to_parent(path))
		++*n;
	free(path);
	return RS_OK;
}

/* Opens PATH; *made: it was not there. */
static int
open_lock(const char *path, int *made)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	*made = fd >= 0;
	return fd >= 0 ? fd : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
}

/* Who had the lock may have removed the file meanwhile. */
static int
is_named(int fd, const char *path)
{
	struct stat open_file, named;

	return fstat(fd, &open_file) == 0 && stat(path, &named) == 0
	    && open_file.st_ino == named.st_ino && open_file.st_dev == named.st_dev;
}

static enum rs_status
fail_unnamed(const char *path)
{
	(void)rs_fail(RS_EIO, "cannot lock '%s': each of %d times another file had its name then",
		path, LOCK_TRIES);
	return rs_hint("a model has to be on a file system that keeps the inode numbers of files");
}

/* The n-th time; out->fd stays -1 when the file went while it was waited for. */
static enum rs_status
try_lock(const char *directory, const char *path, double wait, size_t n,
	struct checkpoint_lock *out)
{
	size_t n_missing;
	int made;

	RS_TRY(count_missing(directory, &n_missing));
	RS_TRY(file_make_directories(directory));
	const int fd = open_lock(path, &made);
	if (fd < 0 && errno == ENOENT && n < LOCK_TRIES)
		return RS_OK;
	if (fd < 0)
		return rs_fail(file_status_of(errno, RS_ECREATE),
			"cannot create '%s': %s", path, strerror(errno));
	enum rs_status status = wait_for_lock(directory, fd, wait);
	const int has = status == RS_OK && is_named(fd, path);
	if (status == RS_OK && !has && n >= LOCK_TRIES)
		status = fail_unnamed(path);
	if (has) {
		status = write_pid(directory, fd);
		if (status == RS_OK && made)
			status = memory_strdup(directory, &out->made);
		if (status == RS_OK) {
			out->n_made = n_missing;
			out->fd = fd;
			return RS_OK;
		}
	}
	close(fd);
	return status;
}

enum rs_status
checkpoint_lock(const char *directory, double wait, struct checkpoint_lock *out)
{
	const double until = clock_seconds() + wait;
	enum rs_status status = RS_OK;
	char *path;

	*out = (struct checkpoint_lock){ .fd = -1 };
	RS_TRY(file_join(directory, "LOCK", &path));
	for (size_t n = 1; status == RS_OK && out->fd < 0; n++)
		status = try_lock(directory, path, fmax(0, until - clock_seconds()), n, out);
	free(path);
	return status;
}

/* Seconds since the process started, by a clock that nobody sets; below 0: unknown. */
static double
process_age(int64_t pid)
{
	char text[1024];
	struct timespec now;
	unsigned long long ticks = 0;

	process_line(pid, text, sizeof text);
	/* The name in parentheses may hold anything; field 22 is the 20th after it. */
	const char *const name_end = strrchr(text, ')');
	if (name_end == NULL || sscanf(name_end + 1, " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		"%*s %*s %*s %*s %*s %*s %*s %*s %*s %llu", &ticks) != 1)
		return -1;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return fmax(0, (double)now.tv_sec + (double)now.tv_nsec * 1e-9
		- (double)ticks / (double)sysconf(_SC_CLK_TCK));
}

void
checkpoint_holder(const char *directory, int64_t *pid, double *seconds)
{
	struct stat st;
	char *path;

	*pid = 0;
	*seconds = 0;
	if (file_join(directory, "LOCK", &path) != RS_OK)
		return;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	free(path);
	if (fd < 0)
		return;
	*pid = read_pid(fd);
	const double age = *pid > 0 ? process_age(*pid) : -1;
	/* Its number was written when it was locked. */
	if (fstat(fd, &st) == 0)
		*seconds = (double)(clock_wall_ms() / 1000) - (double)st.st_mtime;
	close(fd);
	if (age >= 0 && (age < *seconds || *seconds < 0))
		*seconds = age;
	if (*seconds < 0)
		*seconds = 0;
}

static int
has_versions(const char *directory)
{
	uint64_t *list;
	size_t n = 0, n_rejected = 0;

	if (checkpoint_list(directory, &list, &n) != RS_OK)
		return 1;
	free(list);
	if (checkpoint_rejected(directory, &list, &n_rejected) != RS_OK)
		return 1;
	free(list);
	return n + n_rejected > 0;
}

/* While it is locked: what was made for a run that left nothing. */
static void
remove_made(const struct checkpoint_lock *lock)
{
	char *path;

	if (has_versions(lock->made) || file_join(lock->made, "LOCK", &path) != RS_OK)
		return;
	int gone = unlink(path) == 0;
	to_parent(path);
	for (size_t i = 0; gone && i < lock->n_made; i++, to_parent(path))
		gone = rmdir(path) == 0;
	free(path);
}

void
checkpoint_unlock(struct checkpoint_lock *lock)
{
	if (lock->fd < 0)
		return;
	if (lock->made != NULL)
		remove_made(lock);
	free(lock->made);
	lock->made = NULL;
	if (ftruncate(lock->fd, 0) == 0)
		flock(lock->fd, LOCK_UN);
	close(lock->fd);
	lock->fd = -1;
}
