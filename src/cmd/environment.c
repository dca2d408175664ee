/* The environment of the process; nothing else reads it. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
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
		.no_color = not_empty("NO_COLOR") != NULL,
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

static void
note_signal(int number)
{
	command_stop_signal = number;
}

void
command_catch_signals(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = note_signal;
	action.sa_flags = SA_RESTART | SA_RESETHAND;
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
}
