/* The environment of the process; nothing else reads it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cmd/command.h"

volatile int command_stop_signal;
int command_exit_code = -1;

const char *
command_variable(const char *name)
{
	return getenv(name);
}

static const char *
not_empty(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && *value != '\0' ? value : NULL;
}

struct command_environment
command_environment(void)
{
	return (struct command_environment){
		.spec = not_empty("RECSYS_TRAIN_SPEC"),
		.database = not_empty("RECSYS_TRAIN_DB"),
		.temporary = not_empty("TMPDIR"),
		.mpi_plugin = not_empty("RECSYS_TRAIN_MPI_PLUGIN"),
		.no_color = not_empty("NO_COLOR") != NULL,
		.failpoint = not_empty("RECSYS_TRAIN_FAILPOINT"),
		.now = not_empty("RECSYS_TRAIN_NOW"),
		.kernels = not_empty("RECSYS_TRAIN_KERNELS"),
	};
}

int
command_color(const struct arguments *a, int fd)
{
	const char *when = argument(a, "--color");

	if (when != NULL && strcmp(when, "auto") != 0)
		return strcmp(when, "always") == 0;
	return !command_environment().no_color && isatty(fd);
}

/* timeout(1) and others send a signal to the process and at once to its group: that is one. */
#define SIGNAL_APART_MS 300

static int64_t
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static void
note_signal(int number)
{
	static volatile int64_t noted;  /* 0: it may be known from another process     */

	if (noted != 0 && command_stop_signal == number && now_ms() - noted > SIGNAL_APART_MS) {
		signal(number, SIG_DFL);
		raise(number);          /* delivered when this handler returns        */
		return;
	}
	command_stop_signal = number;
	noted = now_ms();
}

void
command_catch_signals(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = note_signal;
	action.sa_flags = SA_RESTART;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	/* Whoever started a node blocked them, so that none kills it before this. */
	sigset_t caught;
	sigemptyset(&caught);
	sigaddset(&caught, SIGINT);
	sigaddset(&caught, SIGTERM);
	(void)pthread_sigmask(SIG_UNBLOCK, &caught, NULL);
}
