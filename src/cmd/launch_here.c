/* launch on one of its hosts: what to do comes on standard input, which says so when to end. */
#include "cmd/launch_private.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "cmd/launched_private.h"
#include "cmd/session.h"
#include "comm/fields.h"
#include "config.h"

#define TEXT_LIMIT    ((size_t)64 << 20)
#define HEAR_SECONDS  60.0

/* --- what comes on standard input ----------------------------------------------------- */

static enum rs_status
read_some(int fd, double until, char *out, size_t n)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (size_t at = 0; at < n; ) {
		if (clock_seconds() > until)
			return rs_fail(RS_EPEER, "launch: nothing came on standard input");
		if (poll(&p, 1, 100) <= 0)
			continue;
		const ssize_t got = read(fd, out + at, n - at);

		if (got == 0 || (got < 0 && errno != EINTR))
			return rs_fail(RS_EPEER, "launch: standard input ended too early");
		at += got > 0 ? (size_t)got : 0;
	}
	return RS_OK;
}

/* A line with its length, then so many bytes. */
static enum rs_status
read_order(int fd, struct buffer *out)
{
	const double until = clock_seconds() + HEAR_SECONDS;
	char head[LAUNCH_HEAD + 1] = "";
	size_t n;

	RS_TRY(read_some(fd, until, head, LAUNCH_HEAD));
	if (sscanf(head, LAUNCH_MARK " %zu\n", &n) != 1 || n > TEXT_LIMIT)
		return rs_fail(RS_EPROTOCOL, "launch: standard input is not from launch of version "
			PACKAGE_VERSION);
	RS_TRY(buffer_reserve(out, n + 1));
	RS_TRY(read_some(fd, until, out->data, n));
	out->n = n;
	out->data[n] = '\0';
	return RS_OK;
}

static enum rs_status
take_counts(struct environment *e, const struct fields *f)
{
	const struct { const char *key; size_t *out; } number[] = {
		{ "host", &e->host_index }, { "hosts", &e->n_hosts }, { "workers", &e->size },
		{ "first", &e->rank }, { "here", &e->local_size },
	};

	for (size_t i = 0; i < sizeof number / sizeof *number; i++) {
		uint64_t x;

		RS_TRY(fields_u64(f, number[i].key, &x));
		if (x > JOB_NODES_MAX)
			return rs_fail(RS_EPROTOCOL, "launch: %s is too large", number[i].key);
		*number[i].out = (size_t)x;
	}
	if (e->rank + e->local_size > e->size || e->local_size == 0
	    || e->host_index >= e->n_hosts)
		return rs_fail(RS_EPROTOCOL, "launch: such a host makes no sense");
	return RS_OK;
}

static enum rs_status
take_order(struct launched *l, const char *text, size_t n)
{
	const char *const spec = memmem(text, n, "\n\n", 2);
	const struct fields f = { .text = text, .n = spec != NULL ? (size_t)(spec - text) : n };
	struct environment *const e = &l->e;
	struct key_pair *const keys = &l->node.job.keys;

	if (spec == NULL)
		return rs_fail(RS_EPROTOCOL, "launch: there is no spec");
	RS_TRY(take_counts(e, &f));
	RS_TRY(fields_u64(&f, "job", &e->job));
	RS_TRY(fields_text(&f, "address", e->self, sizeof e->self));
	RS_TRY(fields_text(&f, "coordinator", e->coordinator, sizeof e->coordinator));
	if (e->n_hosts > 1) {
		RS_TRY(fields_text(&f, "public", keys->public_key, KEY_TEXT));
		RS_TRY(fields_text(&f, "secret", keys->secret_key, KEY_TEXT));
	}
	RS_TRY(spec_load_text(spec + 2, "spec of launch", &l->node.spec));
	l->node.settings = spec_settings(l->node.spec);
	return RS_OK;
}

static enum rs_status
hear(struct launched *l)
{
	struct buffer text;

	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = read_order(STDIN_FILENO, &text);
	if (status == RS_OK)
		status = take_order(l, text.data, text.n);
	if (text.data != NULL)
		explicit_bzero(text.data, text.n);
	buffer_free(&text);
	return status;
}

/* --- until the end ---------------------------------------------------------------------- */

/* The launcher, or the way to it, is gone.  With worker 0 the run goes, so it saves; the others
 * go as if the host were dead: somebody may start them again. */
static void
take_loss(struct launched *l)
{
	if (!l->is_first)
		atomic_store(&l->over, 2);
	else if (command_stop_signal == 0)
		command_stop_signal = SIGTERM;
}

/* "signal 15"; the end of the input. */
static void *
listen_to(void *argument)
{
	struct launched *const l = argument;
	const int fd = l->input;
	char line[64];
	size_t n = 0;

	for (;;) {
		const ssize_t got = read(fd, line + n, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		if (line[n] != '\n') {
			n += n + 2 < sizeof line;
			continue;
		}
		line[n] = '\0';
		n = 0;
		if (strncmp(line, "signal ", 7) == 0)
			command_stop_signal = strcmp(line + 7, "2") == 0 ? SIGINT : SIGTERM;
	}
	take_loss(l);
	return NULL;
}

/* Of the launcher for this process alone; nodes have nothing to read. */
static enum rs_status
move_input(int *out)
{
	const int none = open("/dev/null", O_RDONLY | O_CLOEXEC);

	*out = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	if (none < 0 || *out < 0 || dup2(none, STDIN_FILENO) < 0)
		return rs_fail(RS_ERESOURCE, "launch: %s", strerror(errno));
	close(none);
	return RS_OK;
}

static void
spread_key(struct job *job)
{
	for (size_t i = 0; i < job->n_nodes; i++)
		memcpy(job->node[i].public_key, job->keys.public_key, KEY_TEXT);
}

static enum rs_status
start(struct launched *l)
{
	snprintf(l->no_mpi, sizeof l->no_mpi, "not started by mpirun or srun");
	l->is_first = l->e.host_index == 0;
	l->is_alone = l->e.n_hosts == 1;
	RS_TRY(launched_plan(l));
	RS_TRY(launched_prepare(l));
	spread_key(&l->node.job);
	if (!l->is_first)
		return launched_children_open(l);
	RS_TRY(output_printf(LAUNCH_READY " %s\n", l->node.job.node[0].endpoint));
	return output_flush();
}

static enum rs_status
run(struct launched *l)
{
	int code = -1;

	RS_TRY(hear(l));
	RS_TRY(move_input(&l->input));
	RS_TRY(start(l));
	RS_TRY(thread_start(&l->thread, "input", listen_to, l));
	RS_TRY(supervisor_run(l->supervisor, l->argument, l->n_arguments, &code));
	command_exit_code = code;
	return RS_OK;
}

enum rs_status
launch_here(const struct arguments *a)
{
	static struct launched l;

	command_catch_signals();
	l = (struct launched){ .shared_fd = -1, .e = { .launcher = LAUNCHER_SSH,
		.name = "launch" }, .node = { .a = a,
		.job = { .shared_fd = -1, .leash_fd = -1 }, .asks_to_resume = 1 } };
	const enum rs_status status = launched_children_end(&l, run(&l));
	node_end(&l.node, RS_OK);
	free(l.own);
	return status;
}
