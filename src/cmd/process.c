/* Start and end of the program. */
#include "cmd/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/failpoint.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/thread.h"
#include "cmd/cron.h"
#include "cmd/help.h"
#include "kernel/kernel.h"

static void
no_action(int number)
{
	(void)number;
}

/* The lowest number that is free is the one that is missing.  Not close-on-exec: those that
 * we start need it as well. */
void
process_keep_standard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

/* A handler, not SIG_IGN: programs we start get the default back. */
void
process_keep_write_errors(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = no_action;
	action.sa_flags = SA_RESTART;
	sigaction(SIGPIPE, &action, NULL);
	sigaction(SIGXFSZ, &action, NULL);
}

/* The value of an option is one of the words of its argument, "a|b|c". */
static enum rs_status
check_word(const struct arguments *a, const char *name)
{
	const char *value = argument(a, name);
	char escaped[72];

	for (const struct command_option *o = command_global; value != NULL &&
		o->name != NULL; o++) {
		if (strcmp(o->name, name) != 0)
			continue;
		for (const char *word = o->argument; word != NULL; word = strchr(word, '|')) {
			word += *word == '|';
			if (strcspn(word, "|") == strlen(value) && strncmp(word, value,
				strlen(value)) == 0)
				return RS_OK;
		}
		return rs_fail(RS_EUSAGE, "%s '%s': one of %s is wanted", name,
			rs_escape(escaped, value, strlen(value)), o->argument);
	}
	return RS_OK;
}

static void
set_level(const struct arguments *a)
{
	if (argument_given(a, "--quiet"))
		log_set_level(LOG_ERROR);
	else if (argument_nth(a, "--verbose", 1) != NULL)
		log_set_level(LOG_DEBUG);
	else if (argument_given(a, "--verbose"))
		log_set_level(LOG_INFO);
}

static enum rs_status
open_log(const struct arguments *a)
{
	const char *path = argument(a, "--log-file"), *format = argument(a, "--log-format");
	int fd;

	if (path == NULL)
		return RS_OK;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (fd < 0)
		return rs_fail(file_status_of(errno, RS_ECREATE),
			"cannot open the log file '%s': %s", path, strerror(errno));
	log_set_file(fd, format != NULL && strcmp(format, "json") == 0);
	return RS_OK;
}

/* What tests and replays want. */
static enum rs_status
obey_environment(void)
{
	const struct command_environment e = command_environment();
	char escaped[72];
	int64_t now;

	RS_TRY(failpoint_arm(e.failpoint));
	if (e.kernels != NULL)
		RS_TRY(kernel_force(e.kernels));
	if (e.now == NULL)
		return RS_OK;
	if (!number_i64(e.now, strlen(e.now), &now) || now < 0 || now > INT64_C(253402300799))
		return rs_fail(RS_EUSAGE, "RECSYS_TRAIN_NOW '%s': seconds since 1970 are wanted",
			rs_escape(escaped, e.now, strlen(e.now)));
	clock_set_wall(now);
	return RS_OK;
}

enum rs_status
process_start(const struct arguments *a)
{
	const char *directory = argument(a, "--directory");
	int64_t number = 0;
	double  seconds = 0;

	memory_init();
	set_level(a);
	cron_start(a);
	RS_TRY(obey_environment());
	RS_TRY(check_word(a, "--color"));
	RS_TRY(check_word(a, "--log-format"));
	RS_TRY(argument_int(a, "--threads", 0, 4096, &number));
	RS_TRY(argument_int(a, "--progress-fd", 1, 1 << 20, &number));
	RS_TRY(argument_seconds(a, "--lock-wait", &seconds));
	if (directory != NULL && chdir(directory) != 0)
		return rs_fail(RS_ENOINPUT, "cannot enter '%s': %s", directory, strerror(errno));
	return open_log(a);
}

enum rs_status
process_run(const struct arguments *a)
{
	if (argument_given(a, "--version"))
		return help_version();
	if (argument_given(a, "--help"))
		return help_print(a, a->command);
	if (a->command != NULL)
		return a->command->run(a);
	rs_fail(RS_EUSAGE, "a command is needed");
	return rs_hint("'recsys-train --help' lists the commands");
}

static void
print_exit_error(const struct rs_failure *f, int code)
{
	struct json j;
	ssize_t done;

	json_init(&j);
	json_open(&j, NULL, '{');
	json_string(&j, "message_type", "exit_error");
	json_int(&j, "code", code);
	json_string(&j, "status", rs_status_name(f->status));
	json_string(&j, "where", f->where[0] != '\0' ? f->where : NULL);
	json_string(&j, "message", f->text);
	json_string(&j, "hint", f->hint[0] != '\0' ? f->hint : NULL);
	json_close(&j);
	if (buffer_append(&j.text, "\n", 1) == RS_OK) {
		done = write(STDERR_FILENO, j.text.data, j.text.n);
		(void)done;
	}
	json_free(&j);
}

static int
json_wanted(const struct arguments *a)
{
	/* Also when parsing stopped early. */
	for (int i = 1; i < a->argc && strcmp(a->argv[i], "--") != 0; i++)
		if (strcmp(a->argv[i], "--json") == 0)
			return 1;
	return 0;
}

static void
print_failure(const struct arguments *a, enum rs_status status, int code)
{
	const struct rs_failure *const f = rs_failure();

	if (status == RS_EPARTIAL)
		log_warn("%s", f->text);
	else
		log_failure();
	if (json_wanted(a))
		print_exit_error(f, code);
}

int
process_end(const struct arguments *a, enum rs_status status)
{
	const int signal_number = command_stop_signal;
	int code = status == RS_ESIGNAL ? 128 + signal_number : rs_exit_code(status);
	const int silent = command_exit_code >= 0 || status == RS_OK
		|| (status == RS_ESIGNAL && signal_number == SIGPIPE);

	if (command_exit_code >= 0)
		code = command_exit_code;
	if (!silent && rs_failure()->status != status)
		rs_fail(status, "%s", rs_status_text(status));
	if (!silent)
		print_failure(a, status, code);
	cron_end(a, code);
	return code;
}

_Noreturn void
process_leave(int code)
{
	(void)fflush(NULL);
	_exit(code);
}
