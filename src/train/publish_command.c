/* The command after publishing: a shell in a process group of its own, with a time limit. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/number.h"
#include "base/thread.h"
#include "train/publish_private.h"

#define SHELL     "/bin/sh"
#define GRACE     2.0              /* seconds at most between SIGTERM and SIGKILL     */
#define POLL_NS   1000000
#define POLL_MAX  50000000

enum { N_VARIABLES = 3 };

struct surroundings {
	char  *variable[N_VARIABLES];
	char **list;               /* for execve(2)                                   */
};

static void
free_surroundings(struct surroundings *s)
{
	for (size_t i = 0; i < N_VARIABLES; i++)
		free(s->variable[i]);
	free(s->list);
}

/* "NAME=" and the absolute path of a directory, "" for none, with "/TAIL" behind. */
static enum rs_status
path_variable(const char *name, const char *directory, const char *tail, char **out)
{
	char *const real = directory[0] != '\0' ? realpath(directory, NULL) : NULL;
	const char *const path = real != NULL ? real : directory;
	const int n = asprintf(out, "%s=%s%s%s", name, path, path[0] != '\0' && tail[0] != '\0'
		? "/" : "", path[0] != '\0' ? tail : "");

	free(real);
	if (n >= 0)
		return RS_OK;
	*out = NULL;
	return rs_fail(RS_ERESOURCE, "out of memory: an environment is wanted");
}

static int
is_replaced(const char *entry, const struct surroundings *s)
{
	for (size_t i = 0; i < N_VARIABLES; i++) {
		const size_t n = strcspn(s->variable[i], "=") + 1;
		if (strncmp(entry, s->variable[i], n) == 0)
			return 1;
	}
	return 0;
}

static enum rs_status
make_surroundings(const struct publish_command *c, struct surroundings *s)
{
	char number[24];
	size_t n = 0, used = 0;

	snprintf(number, sizeof number, "%" PRIu64, c->version);
	RS_TRY(path_variable("RECSYS_MODEL", c->directory, "", &s->variable[0]));
	RS_TRY(path_variable("RECSYS_PUBLISHED", c->published, number, &s->variable[1]));
	if (asprintf(&s->variable[2], "RECSYS_VERSION=%s", number) < 0) {
		s->variable[2] = NULL;
		return rs_fail(RS_ERESOURCE, "out of memory: an environment is wanted");
	}
	while (environ[n] != NULL)
		n++;
	RS_TRY(memory_alloc(n + N_VARIABLES + 1, sizeof *s->list, &s->list));
	for (size_t i = 0; i < n; i++)
		if (!is_replaced(environ[i], s))
			s->list[used++] = environ[i];
	for (size_t i = 0; i < N_VARIABLES; i++)
		s->list[used++] = s->variable[i];
	return RS_OK;
}

/* Own group, no blocked and no ignored signals, nothing on stdin, nowhere for stdout. */
static int
spawn(const struct publish_command *c, char **list, pid_t *pid)
{
	char *const argv[] = { (char *)(uintptr_t)"sh", (char *)(uintptr_t)"-c",
		(char *)(uintptr_t)c->command, NULL };
	posix_spawnattr_t attributes;
	posix_spawn_file_actions_t files;
	sigset_t none, all;

	sigemptyset(&none);
	sigfillset(&all);
	int error = posix_spawnattr_init(&attributes);
	if (error != 0)
		return error;
	error = posix_spawn_file_actions_init(&files);
	if (error == 0) {
		posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP
			| POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
		posix_spawnattr_setpgroup(&attributes, 0);
		posix_spawnattr_setsigmask(&attributes, &none);
		posix_spawnattr_setsigdefault(&attributes, &all);
		error = posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null",
			O_RDONLY, 0);
		if (error == 0)
			error = posix_spawn_file_actions_addopen(&files, STDOUT_FILENO,
				"/dev/null", O_WRONLY, 0);
		if (error == 0)
			error = posix_spawn(pid, SHELL, &files, &attributes, argv, list);
		posix_spawn_file_actions_destroy(&files);
	}
	posix_spawnattr_destroy(&attributes);
	return error;
}

/* 1: it ended before `until`. */
static int
wait_until(pid_t pid, double until, int *how)
{
	long pause_ns = POLL_NS;

	for (;;) {
		const pid_t got = waitpid(pid, how, WNOHANG);

		if (got == pid)
			return 1;
		if (got < 0 && errno != EINTR) {
			*how = 0;
			return 1;
		}
		if (clock_seconds() >= until)
			return 0;
		const struct timespec pause = { .tv_nsec = pause_ns };
		nanosleep(&pause, NULL);
		pause_ns = 2 * pause_ns < POLL_MAX ? 2 * pause_ns : POLL_MAX;
	}
}

static enum rs_status
wait_for(const struct publish_command *c, pid_t pid)
{
	char limit[32];
	int how = 0;

	if (!wait_until(pid, clock_seconds() + c->limit, &how)) {
		kill(-pid, SIGTERM);
		const int ended = wait_until(pid, clock_seconds() + fmin(GRACE, c->limit), &how);
		kill(-pid, SIGKILL);
		if (!ended)
			waitpid(pid, &how, 0);
		number_print_double(limit, c->limit);
		return rs_fail(RS_EUNMET, "incremental.command was ended: it ran for longer than "
			"%s s, which is incremental.command_timeout", limit);
	}
	if (WIFSIGNALED(how))
		return rs_fail(RS_EUNMET, "incremental.command was ended by signal %d",
			WTERMSIG(how));
	if (WEXITSTATUS(how) != 0)
		return rs_fail(RS_EUNMET, "incremental.command ended with status %d",
			WEXITSTATUS(how));
	return RS_OK;
}

enum rs_status
publish_command_run(const struct publish_command *c)
{
	struct surroundings s = { 0 };
	pid_t pid = 0;
	enum rs_status status = make_surroundings(c, &s);

	if (status == RS_OK) {
		const int error = spawn(c, s.list, &pid);
		if (error != 0)
			status = rs_fail(RS_ERESOURCE, "cannot start incremental.command: %s",
				strerror(error));
	}
	free_surroundings(&s);
	return status == RS_OK ? wait_for(c, pid) : status;
}
