/* Rows from a command's standard output; its failure is a failure of the data. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "data/source_private.h"

#define COMMAND_PATIENCE_MS 500

extern char **environ;

/* A process group of its own, so that a pipeline can be stopped as a whole. */
static int
command_spawn(pid_t *pid, const char *command, int out)
{
	char *const argv[] = { (char *)"sh", (char *)"-c", (char *)command, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none, all;
	int error;

	(void)sigemptyset(&none);
	(void)sigfillset(&all);
	(void)posix_spawn_file_actions_init(&actions);
	(void)posix_spawnattr_init(&attributes);
	(void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	(void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	(void)posix_spawnattr_setpgroup(&attributes, 0);
	(void)posix_spawnattr_setsigmask(&attributes, &none);
	(void)posix_spawnattr_setsigdefault(&attributes, &all);
	(void)posix_spawnattr_setflags(&attributes,
		POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	error = posix_spawn(pid, "/bin/sh", &actions, &attributes, argv, environ);
	(void)posix_spawnattr_destroy(&attributes);
	(void)posix_spawn_file_actions_destroy(&actions);
	return error;
}

enum rs_status
source_command_start(struct source *s, const char *command)
{
	int pipe_fd[2], error;

	if (pipe2(pipe_fd, O_CLOEXEC) != 0)
		return rs_fail(RS_ERESOURCE, "cannot make a pipe for '%s': %s", command,
			strerror(errno));
	error = command_spawn(&s->pid, command, pipe_fd[1]);
	(void)close(pipe_fd[1]);
	s->fd = pipe_fd[0];
	if (error != 0) {
		s->pid = 0;
		return rs_fail(RS_ERESOURCE, "cannot start '%s': %s", command, strerror(error));
	}
	return RS_OK;
}

enum rs_status
source_command_finish(struct source *s)
{
	int status = 0, pause_ms = 1;
	pid_t r;

	/* It may go on for as long as it likes after its last row. */
	while ((r = waitpid(s->pid, &status, WNOHANG)) == 0 || (r < 0 && errno == EINTR)) {
		RS_TRY(source_check_stop(s));
		(void)poll(NULL, 0, pause_ms);
		if (s->idle != NULL)
			s->idle(s->idle_context);
		pause_ms = 2 * pause_ms < SOURCE_POLL_MS ? 2 * pause_ms : SOURCE_POLL_MS;
	}
	s->pid = 0;
	if (r < 0)
		return rs_fail(RS_EDATA, "the end of command '%s' is not known: %s", s->name,
			strerror(errno));
	if (WIFSIGNALED(status))
		return rs_fail(RS_EDATA, "command '%s' was killed by signal %d", s->name,
			WTERMSIG(status));
	if (WEXITSTATUS(status) != 0)
		return rs_fail(RS_EDATA, "command '%s' ended with exit status %d, wanted 0",
			s->name, WEXITSTATUS(status));
	return RS_OK;
}

void
source_command_kill(struct source *s)
{
	const struct timespec pause = { .tv_nsec = 5000000 };
	siginfo_t info = { .si_pid = 0 };

	(void)kill(-s->pid, SIGTERM);
	for (int waited = 0; waited < COMMAND_PATIENCE_MS; waited += 5) {
		if (waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
			info.si_pid != 0)
			break;
		(void)nanosleep(&pause, NULL);
	}
	/* the group outlives its leader while the leader is not reaped */
	(void)kill(-s->pid, SIGKILL);
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	s->pid = 0;
}
