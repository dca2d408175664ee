/* The writer's lock of a model directory: flock on DIR/LOCK, which names its pid. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/number.h"
#include "base/thread.h"
#include "train/checkpoint.h"

#define LOCK_POLL_NS 50000000

static enum rs_status
fail_busy(const char *directory, int fd)
{
	char text[24];
	const ssize_t n = pread(fd, text, sizeof text - 1, 0);
	uint64_t pid;
	const char *const end = n > 0 ? memchr(text, '\n', (size_t)n) : NULL;

	if (end != NULL && number_u64(text, (size_t)(end - text), &pid))
		rs_fail(RS_EBUSY, "the model '%s' is locked by process %" PRIu64, directory, pid);
	else
		rs_fail(RS_EBUSY, "the model '%s' is locked by another process", directory);
	return rs_hint("try again later, or wait with --lock-wait SECONDS");
}

static enum rs_status
wait_for_lock(const char *directory, int fd, double wait)
{
	const double until = clock_seconds() + wait;

	while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
		if (errno == EINTR)
			continue;
		if (errno != EWOULDBLOCK)
			return rs_fail(RS_EIO, "cannot lock '%s/LOCK': %s", directory,
				strerror(errno));
		if (clock_seconds() >= until)
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

enum rs_status
checkpoint_lock(const char *directory, double wait, struct checkpoint_lock *out)
{
	char *path;

	out->fd = -1;
	RS_TRY(file_make_directories(directory));
	RS_TRY(file_join(directory, "LOCK", &path));
	const int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
	free(path);
	if (fd < 0)
		return rs_fail(RS_ECREATE, "cannot create '%s/LOCK': %s", directory,
			strerror(errno));
	enum rs_status status = wait_for_lock(directory, fd, wait);
	if (status == RS_OK)
		status = write_pid(directory, fd);
	if (status != RS_OK) {
		close(fd);
		return status;
	}
	out->fd = fd;
	return RS_OK;
}

void
checkpoint_unlock(struct checkpoint_lock *lock)
{
	if (lock->fd < 0)
		return;
	if (ftruncate(lock->fd, 0) == 0)
		flock(lock->fd, LOCK_UN);
	close(lock->fd);
	lock->fd = -1;
}
