/* The program, ssh as a rule, that carries out a command on another host. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/number.h"
#include "base/thread.h"
#include "cmd/launch_private.h"

#define LINE_LIMIT   ((size_t)1 << 20)
#define WORDS_MAX    32
#define TELL_SECONDS 30.0
#define HOSTS_MAX    256

/* --- the list ------------------------------------------------------------------------- */

static enum rs_status
parse_one(const char *text, size_t n, struct launch_host *h)
{
	const char *const colon = memrchr(text, ':', n);
	const size_t length = colon != NULL ? (size_t)(colon - text) : n;
	uint64_t workers = 1;
	char shown[72];

	if (colon != NULL && (!number_u64(colon + 1, n - length - 1, &workers) || workers == 0
	    || workers > 1024))
		return rs_fail(RS_EUSAGE, "launch: '%s': wanted HOST:WORKERS",
			rs_escape(shown, text, n));
	/* A name that begins with '-' would be an option of ssh. */
	if (length == 0 || length >= sizeof h->name || text[0] == '-')
		return rs_fail(RS_EUSAGE, "launch: '%s' is no host", rs_escape(shown, text, n));
	memcpy(h->name, text, length);
	h->name[length] = '\0';
	h->n_workers = (size_t)workers;
	h->in = h->out = h->err = -1;
	buffer_init(&h->text[0], LINE_LIMIT);
	buffer_init(&h->text[1], LINE_LIMIT);
	return RS_OK;
}

enum rs_status
launch_host_parse(const char *text, struct launch_host **out, size_t *n)
{
	size_t first = 0;

	*n = 0;
	RS_TRY(memory_alloc(HOSTS_MAX, sizeof **out, out));
	for (const char *at = text; ; ) {
		const size_t length = strcspn(at, ",");

		if (*n == HOSTS_MAX)
			return rs_fail(RS_EUSAGE, "launch: more than %d hosts", HOSTS_MAX);
		RS_TRY(parse_one(at, length, &(*out)[*n]));
		(*out)[*n].first = first;
		first += (*out)[(*n)++].n_workers;
		if (at[length] == '\0')
			return RS_OK;
		at += length + 1;
	}
}

/* --- starting -------------------------------------------------------------------------- */

static void
become(char *const *argv, const int fd[3], pid_t parent)
{
	static const char failed[] = "recsys-train: error: launch: cannot run the program of "
		"--ssh\n";

	if (prctl(PR_SET_PDEATHSIG, SIGTERM) != 0 || getppid() != parent)
		_exit(127);
	(void)setpgid(0, 0);
	for (int i = 0; i < 3; i++)
		if (dup2(fd[i], i) < 0)
			_exit(127);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], argv);
	if (write(STDERR_FILENO, failed, sizeof failed - 1) < 0)
		_exit(126);
	_exit(127);
}

static enum rs_status
start_with(struct launch_host *h, char *const *argv)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 }, err[2] = { -1, -1 };
	const pid_t parent = getpid();

	if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0
	    && pipe2(err, O_CLOEXEC) == 0) {
		h->pid = fork();
		if (h->pid == 0)
			become(argv, (const int [3]){ in[0], out[1], err[1] }, parent);
	} else {
		h->pid = -1;
	}
	const int error = errno;
	if (in[0] >= 0)
		close(in[0]);
	if (out[1] >= 0)
		close(out[1]);
	if (err[1] >= 0)
		close(err[1]);
	h->in = in[1];
	h->out = out[0];
	h->err = err[0];
	if (h->pid > 0)
		return RS_OK;
	h->pid = 0;
	return rs_fail(RS_ERESOURCE, "launch: cannot start a process: %s", strerror(error));
}

enum rs_status
launch_host_start(struct launch_host *h, const char *words, const char *command)
{
	char *argv[WORDS_MAX + 3], *copy, *rest;
	size_t n = 0;

	launch_host_close(h);
	RS_TRY(memory_strdup(words, &copy));
	rest = copy;
	for (char *word; (word = strsep(&rest, " ")) != NULL && n < WORDS_MAX; )
		if (*word != '\0')
			argv[n++] = word;
	if (n == 0) {
		free(copy);
		return rs_fail(RS_EUSAGE, "launch: --ssh names no program");
	}
	argv[n] = h->name;
	argv[n + 1] = (char *)(uintptr_t)command;
	argv[n + 2] = NULL;
	h->has_ended = h->is_ready = 0;
	const enum rs_status status = start_with(h, argv);
	free(copy);
	return status;
}

enum rs_status
launch_host_tell(struct launch_host *h, const char *text, size_t n)
{
	const double until = clock_seconds() + TELL_SECONDS;
	struct pollfd p = { .fd = h->in, .events = POLLOUT };

	(void)fcntl(h->in, F_SETFL, O_NONBLOCK);
	for (size_t at = 0; at < n; ) {
		if (clock_seconds() > until)
			return rs_fail(RS_EPEER, "%s takes nothing", h->name);
		if (poll(&p, 1, 100) <= 0)
			continue;
		const ssize_t wrote = write(h->in, text + at, n - at);

		if (wrote < 0 && errno == EPIPE)
			return RS_OK;           /* how it ended says more than this  */
		if (wrote < 0 && errno != EINTR && errno != EAGAIN)
			return rs_fail(RS_EPEER, "%s cannot be reached: %s", h->name,
				strerror(errno));
		at += wrote > 0 ? (size_t)wrote : 0;
	}
	return RS_OK;
}

/* --- hearing ----------------------------------------------------------------------------- */

static int
read_ready(int fd, char *out, size_t n, ssize_t *got)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	if (fd < 0 || poll(&p, 1, 0) <= 0)
		return 0;
	*got = read(fd, out, n);
	return *got >= 0 || errno != EINTR;
}

static void
give_lines(struct launch_host *h, int is_error, void (*take)(void *, struct launch_host *, int,
	const char *), void *context)
{
	struct buffer *const b = &h->text[is_error];
	size_t begin = 0;

	for (size_t i = 0; i < b->n; i++) {
		if (b->data[i] != '\n' && b->data[i] != '\r')
			continue;
		b->data[i] = '\0';
		if (i > begin)
			take(context, h, is_error, b->data + begin);
		begin = i + 1;
	}
	memmove(b->data, b->data + begin, b->n - begin);
	b->n -= begin;
}

void
launch_host_hear(struct launch_host *h, void (*take)(void *context, struct launch_host *h,
	int is_error, const char *line), void *context)
{
	int *const fd[] = { &h->out, &h->err };
	char piece[8192];
	ssize_t n = 0;

	for (int i = 0; i < 2; i++) {
		while (read_ready(*fd[i], piece, sizeof piece, &n)) {
			if (n <= 0) {
				close(*fd[i]);
				*fd[i] = -1;
				n = 1;
				piece[0] = '\n';        /* what is left is a line         */
			}
			if (buffer_append(&h->text[i], piece, (size_t)n) != RS_OK)
				h->text[i].n = 0;       /* no line is so long             */
			else
				give_lines(h, i, take, context);
		}
	}
}

int
launch_host_ended(struct launch_host *h)
{
	if (h->pid > 0 && waitpid(h->pid, &h->status, WNOHANG) == h->pid) {
		h->pid = 0;
		h->has_ended = 1;
	}
	return h->has_ended;
}

void
launch_host_close(struct launch_host *h)
{
	int *const fd[] = { &h->in, &h->out, &h->err };

	if (h->pid > 0) {
		(void)kill(h->pid, SIGKILL);
		(void)waitpid(h->pid, &h->status, 0);
	}
	h->pid = 0;
	for (size_t i = 0; i < 3; i++) {
		if (*fd[i] >= 0)
			close(*fd[i]);
		*fd[i] = -1;
	}
	h->text[0].n = h->text[1].n = 0;
}

void
launch_host_free(struct launch_host *h, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		launch_host_close(&h[i]);
		buffer_free(&h[i].text[0]);
		buffer_free(&h[i].text[1]);
	}
	free(h);
}
