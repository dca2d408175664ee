/* The private directory of a job. */
#include "place/private_directory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/thread.h"

enum { JOB_DIGITS = 16, PATH_ROOM = 4096, LOOK_MS = 5 };

double private_directory_patience = 30;

static enum rs_status
make_path(char out[PATH_ROOM], const char *directory, const char *name)
{
	if (snprintf(out, PATH_ROOM, "%s/%s", directory, name) >= PATH_ROOM)
		return rs_fail(RS_ECREATE, "the path of '%s' is too long", name);
	return RS_OK;
}

/* --- ours alone ------------------------------------------------------------------ */

/* lstat: a link that somebody else put there is not followed. */
static enum rs_status
check_private(const char *path)
{
	struct stat st;

	if (lstat(path, &st) != 0)
		return rs_fail(RS_ECREATE, "cannot look at '%s': %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return rs_fail(RS_EDENIED, "'%s' is not a directory", path);
	if (st.st_uid != geteuid())
		return rs_fail(RS_EDENIED, "'%s' belongs to user %u, not to user %u", path,
			(unsigned)st.st_uid, (unsigned)geteuid());
	if ((st.st_mode & 077) == 0)
		return RS_OK;
	rs_fail(RS_EDENIED, "'%s' is open to others (mode %04o)", path,
		(unsigned)st.st_mode & 07777);
	return rs_hint("chmod 700 %s", path);
}

/* Somebody who goes may take it away between the two calls. */
static enum rs_status
make_private(const char *path)
{
	struct stat st;

	for (int i = 0; i < 100; i++) {
		if (mkdir(path, 0700) != 0 && errno != EEXIST)
			return rs_fail(RS_ECREATE, "cannot make the directory '%s': %s", path,
				strerror(errno));
		if (lstat(path, &st) == 0 || errno != ENOENT)
			break;
	}
	return check_private(path);
}

/* A runtime directory that can hold the sockets of a job. */
static int
is_usable(const char *runtime)
{
	const size_t room = strlen("/recsys-train/") + JOB_DIGITS + 1 + PRIVATE_DIRECTORY_NAME_MAX;
	struct stat st;

	return runtime != NULL && runtime[0] == '/'
		&& strlen(runtime) + room <= PRIVATE_DIRECTORY_SOCKET_MAX
		&& stat(runtime, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid()
		&& access(runtime, W_OK | X_OK) == 0;
}

void
private_directory_base(const char *runtime, char out[PATH_ROOM])
{
	if (is_usable(runtime))
		snprintf(out, PATH_ROOM, "%s/recsys-train", runtime);
	else
		snprintf(out, PATH_ROOM, "/tmp/recsys-train-%u", (unsigned)geteuid());
}

/* --- locks --------------------------------------------------------------------------- */

/* 1: *fd has the lock of the file, which is still the one of that name. */
static int
try_lock(const char *path, int how, int *fd)
{
	struct stat now, ours;

	*fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (*fd < 0)
		return 0;
	if (flock(*fd, how) == 0 && stat(path, &now) == 0 && fstat(*fd, &ours) == 0
	    && now.st_ino == ours.st_ino && now.st_dev == ours.st_dev)
		return 1;
	const int error = errno;
	close(*fd);
	*fd = -1;
	errno = error;
	return 0;
}

static enum rs_status
fail_lock(const char *path, int error)
{
	if (error != EWOULDBLOCK)
		return rs_fail(file_status_of(error, RS_ECREATE), "cannot lock '%s': %s", path,
			strerror(error));
	rs_fail(RS_EBUSY, "'%s' is locked by another process for %g s", path,
		private_directory_patience);
	return rs_hint("a recsys-train of this user that begins or ends a job stands still");
}

/* The lock of all jobs of this user: held for moments, by who comes and who goes.  Who
 * goes last takes file and directory away, so both may have to be made again. */
static enum rs_status
lock_base(const char *base, int *fd)
{
	const double until = clock_seconds() + private_directory_patience;
	char path[PATH_ROOM];

	RS_TRY(make_path(path, base, "lock"));
	for (;;) {
		RS_TRY(make_private(base));
		errno = 0;
		if (try_lock(path, LOCK_EX | LOCK_NB, fd))
			return RS_OK;
		const int error = errno;
		if ((error != EWOULDBLOCK && error != ENOENT && error != 0 && error != EINTR)
		    || clock_seconds() > until)
			return fail_lock(path, error);
		if (error == EWOULDBLOCK)
			(void)poll(NULL, 0, LOOK_MS);
	}
}

static void
unlock_base(const char *base, int fd)
{
	char path[PATH_ROOM];

	DIR *const d = opendir(base);
	size_t others = 0;
	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL; )
		others += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0
			&& strcmp(e->d_name, "lock") != 0;
	if (d != NULL)
		closedir(d);
	if (d != NULL && others == 0 && make_path(path, base, "lock") == RS_OK) {
		(void)unlink(path);
		(void)rmdir(base);
	}
	close(fd);
}

static int
is_job_name(const char *name)
{
	return strlen(name) == JOB_DIGITS && strspn(name, "0123456789abcdef") == JOB_DIGITS;
}

/* Nobody holds its lock: whoever made it is dead. */
static void
remove_if_dead(const char *base, const char *name)
{
	char path[PATH_ROOM], lock[PATH_ROOM];
	int fd;

	if (make_path(path, base, name) != RS_OK || make_path(lock, path, "lock") != RS_OK
	    || check_private(path) != RS_OK || !try_lock(lock, LOCK_EX | LOCK_NB, &fd))
		return;
	(void)file_remove_tree(path);
	close(fd);
}

static void
remove_dead(const char *base, const char *but)
{
	DIR *const d = opendir(base);

	for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL; )
		if (is_job_name(e->d_name) && strcmp(e->d_name, but) != 0)
			remove_if_dead(base, e->d_name);
	if (d != NULL)
		closedir(d);
}

/* --- one job's --------------------------------------------------------------------------- */

/* Somebody wrote there not long ago. */
static int
is_young(const char *path, double seconds)
{
	struct timespec now;
	struct stat st;

	clock_gettime(CLOCK_REALTIME, &now);
	return lstat(path, &st) == 0 && difftime(now.tv_sec, st.st_mtim.tv_sec) < seconds;
}

static enum rs_status
make_own(struct private_directory *d, int may_exist)
{
	char lock[PATH_ROOM];

	RS_TRY(make_path(lock, d->path, "lock"));
	if (mkdir(d->path, 0700) != 0 && (errno != EEXIST || !may_exist))
		return rs_fail(RS_ECREATE, "cannot make the directory '%s': %s", d->path,
			strerror(errno));
	RS_TRY(check_private(d->path));
	if (try_lock(lock, LOCK_EX | LOCK_NB, &d->lock))
		return RS_OK;
	const int error = errno;
	if (!may_exist)
		(void)rmdir(d->path);
	return rs_fail(file_status_of(error, RS_ECREATE), "cannot lock '%s': %s", lock,
		strerror(error));
}

enum rs_status
private_directory_reopen(const char *runtime, uint64_t job, double seconds,
	struct private_directory *out)
{
	char name[JOB_DIGITS + 1];
	int fd;

	*out = (struct private_directory){ .lock = -1 };
	snprintf(name, sizeof name, "%016" PRIx64, job);
	private_directory_base(runtime, out->base);
	RS_TRY(make_path(out->path, out->base, name));
	RS_TRY(lock_base(out->base, &fd));
	const int is_kept = seconds > 0 && is_young(out->path, seconds);
	remove_dead(out->base, is_kept ? name : "");
	const enum rs_status status = make_own(out, is_kept);
	unlock_base(out->base, fd);
	return status;
}

enum rs_status
private_directory_open(const char *runtime, uint64_t job, struct private_directory *out)
{
	return private_directory_reopen(runtime, job, 0, out);
}

void
private_directory_remove(const char *path)
{
	char base[PATH_ROOM];
	const char *const slash = strrchr(path, '/');
	int fd;

	if (slash == NULL || !is_job_name(slash + 1))
		return;
	snprintf(base, sizeof base, "%.*s", (int)(slash - path), path);
	if (access(base, F_OK) != 0 || lock_base(base, &fd) != RS_OK)
		return;
	(void)file_remove_tree(path);
	unlock_base(base, fd);
}

void
private_directory_close(struct private_directory *d)
{
	if (d->lock < 0)
		return;
	private_directory_remove(d->path);
	close(d->lock);
	d->lock = -1;
}
