/* One process that a supervisor starts. */
#include "place/supervisor_child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"

#define KILL_SECONDS 10.0       /* for a process to go that got SIGKILL             */

/* Between fork and exec: nothing that takes a lock. */
static void
become(const struct supervisor_child_start *start, pid_t parent)
{
	static const char failed[] = "recsys-train: error: a node cannot be started\n";

	if (prctl(PR_SET_PDEATHSIG, start->death_signal) != 0 || getppid() != parent)
		_exit(127);
	(void)setpgid(0, 0);
	if (!start->keep_stdin) {
		const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

		if (none < 0 || dup2(none, STDIN_FILENO) < 0)
			_exit(127);
	}
	for (size_t i = 0; i < start->n_keep; i++)
		if (fcntl(start->keep[i], F_SETFD, 0) != 0)
			_exit(127);
	execv(start->program, start->argv);
	if (write(STDERR_FILENO, failed, sizeof failed - 1) < 0)
		_exit(126);
	_exit(127);
}

enum rs_status
supervisor_child_start(const struct supervisor_child_start *start, struct supervisor_child *out)
{
	const pid_t parent = getpid();
	sigset_t stops, before;

	sigemptyset(&stops);
	sigaddset(&stops, SIGINT);
	sigaddset(&stops, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &stops, &before);
	const pid_t pid = fork();
	const int error = errno;
	if (pid != 0)
		(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid < 0)
		return rs_fail(RS_ERESOURCE, "cannot start a process: %s", strerror(error));
	if (pid == 0)
		become(start, parent);
	out->pid = pid;
	out->pidfd = -1;
#ifdef SYS_pidfd_open
	out->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);       /* close-on-exec         */
#endif
	return RS_OK;
}

static int
reap(struct supervisor_child *c, int *status, int options)
{
	pid_t got;

	do
		got = waitpid(c->pid, status, options);
	while (got < 0 && errno == EINTR);
	if (got == 0)
		return 0;
	if (got < 0)            /* cannot be: nobody else waits for it               */
		*status = 0;
	if (c->pidfd >= 0)
		close(c->pidfd);
	c->pidfd = -1;
	c->pid = 0;
	return 1;
}

int
supervisor_child_ended(struct supervisor_child *c, int *status)
{
	return c->pid > 0 && reap(c, status, WNOHANG);
}

void
supervisor_child_kill(struct supervisor_child *c)
{
	const double until = clock_seconds() + KILL_SECONDS;
	int status;

	if (c->pid <= 0)
		return;
	(void)kill(c->pid, SIGKILL);
	while (!reap(c, &status, WNOHANG) && clock_seconds() < until)
		(void)poll(NULL, 0, 5);
}
