/* recsys-train launch: a run over several hosts, started from one place. */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "cmd/launch_private.h"
#include "cmd/session.h"
#include "comm/fields.h"

#define TEXT_LIMIT     ((size_t)64 << 20)
#define RESTART_WINDOW 600.0    /* seconds within which restarts are counted          */
#define LOOK_MS        50
#define SSH_FAILED     255      /* what ssh ends with when it is not the command's    */

struct launch {
	const struct arguments *a;
	struct spec *spec;
	const struct settings *settings;
	struct launch_host *host;   /* [n]                                            */
	size_t n, n_workers;
	struct key_pair keys;       /* of the job; "" on one host                     */
	uint64_t id;
	const char *ssh;
	struct buffer command;      /* for every host                                 */
	char   coordinator[256];    /* "" until the first host has told               */
	int    signal_sent;
	const struct launch_host *failed;   /* the run ends as it did; NULL: none     */
	double deadline;            /* 0: none; then who is left is ended             */
};

/* --- what the hosts are told ------------------------------------------------------------ */

static int
is_ours(const char *name)
{
	static const char *const ours[] = {
		"--hosts", "--ssh", "--program", "--here", "--set", "--layer", "--threads",
		"--directory", "--dry-run", "--log-file",
	};

	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (strcmp(name, ours[i]) == 0)
			return 1;
	return session_is_key_option(name);
}

/* As one word of a shell. */
static enum rs_status
put_word(struct buffer *out, const char *text)
{
	RS_TRY(buffer_printf(out, "%s'", out->n > 0 ? " " : ""));
	for (; *text != '\0'; text++)
		RS_TRY(*text == '\'' ? buffer_printf(out, "'\\''")
			: buffer_append(out, text, 1));
	return buffer_printf(out, "'");
}

static enum rs_status
put_option(struct buffer *out, const struct option_value *given)
{
	struct buffer word;

	buffer_init(&word, TEXT_LIMIT);
	enum rs_status status = buffer_printf(&word, "%s", given->option->name);
	if (status == RS_OK && given->option->argument != NULL && given->value[0] != '\0')
		status = buffer_printf(&word, "=%s", given->value);
	if (status == RS_OK)
		status = put_word(out, word.data);
	buffer_free(&word);
	return status;
}

/* Relative paths are those of the folder of the same name over there. */
static enum rs_status
make_command(struct launch *l)
{
	const char *const program = argument(l->a, "--program");
	char *const folder = getcwd(NULL, 0);

	if (folder == NULL)
		return rs_fail(RS_EIO, "launch: there is no working directory: %s",
			strerror(errno));
	enum rs_status status = put_word(&l->command, program != NULL ? program : "recsys-train");
	if (status == RS_OK)
		status = buffer_printf(&l->command, " launch --here -C");
	if (status == RS_OK)
		status = put_word(&l->command, folder);
	free(folder);
	for (size_t i = 0; status == RS_OK && i < l->a->n_given; i++)
		if (!is_ours(l->a->given[i].option->name))
			status = put_option(&l->command, &l->a->given[i]);
	return status;
}

/* The host without the user. */
static const char *
address_of(const struct launch_host *h)
{
	const char *const at = strrchr(h->name, '@');

	return at != NULL ? at + 1 : h->name;
}

static enum rs_status
put_order(const struct launch *l, const struct launch_host *h, struct buffer *out)
{
	RS_TRY(fields_put(out, "host", "%zu", (size_t)(h - l->host)));
	RS_TRY(fields_put(out, "hosts", "%zu", l->n));
	RS_TRY(fields_put(out, "workers", "%zu", l->n_workers));
	RS_TRY(fields_put(out, "first", "%zu", h->first));
	RS_TRY(fields_put(out, "here", "%zu", h->n_workers));
	RS_TRY(fields_put(out, "job", "%" PRIu64, l->id));
	RS_TRY(fields_put(out, "address", "tcp://%s:0", address_of(h)));
	RS_TRY(h == l->host ? fields_put(out, "coordinator", "tcp://%s:0", address_of(h))
		: fields_put(out, "coordinator", "%s", l->coordinator));
	if (l->n > 1) {
		RS_TRY(fields_put(out, "public", "%s", l->keys.public_key));
		RS_TRY(fields_put(out, "secret", "%s", l->keys.secret_key));
	}
	RS_TRY(buffer_printf(out, "\n"));
	return spec_print(l->spec, 0, out);
}

static enum rs_status
start(struct launch *l, struct launch_host *h)
{
	struct buffer order;
	char head[LAUNCH_HEAD + 1];

	RS_TRY(launch_host_start(h, l->ssh, l->command.data));
	buffer_init(&order, TEXT_LIMIT);
	enum rs_status status = put_order(l, h, &order);
	snprintf(head, sizeof head, LAUNCH_MARK " %-17zu\n", order.n);
	if (status == RS_OK)
		status = launch_host_tell(h, head, strlen(head));
	if (status == RS_OK)
		status = launch_host_tell(h, order.data, order.n);
	if (order.data != NULL)
		explicit_bzero(order.data, order.n);
	buffer_free(&order);
	return status;
}

/* --- what they say ------------------------------------------------------------------------ */

/* Results are those of worker 0; all else is the log. */
static void
take_line(void *context, struct launch_host *h, int is_error, const char *line)
{
	struct launch *const l = context;
	const size_t n = strlen(LAUNCH_READY);

	if (!is_error && h == l->host && !h->is_ready) {
		if (strncmp(line, LAUNCH_READY " ", n + 1) == 0) {
			snprintf(l->coordinator, sizeof l->coordinator, "%s", line + n + 1);
			h->is_ready = 1;
			return;
		}
	} else if (!is_error && h == l->host) {
		if (output_printf("%s\n", line) != RS_OK || output_flush() != RS_OK)
			command_stop_signal = SIGTERM;
		return;
	}
	fprintf(stderr, "%s: %s\n", address_of(h), line);
}

static void
hear_all(struct launch *l)
{
	struct pollfd p[2 * 256];
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++) {
		p[n++] = (struct pollfd){ .fd = l->host[i].out, .events = POLLIN };
		p[n++] = (struct pollfd){ .fd = l->host[i].err, .events = POLLIN };
	}
	(void)poll(p, n, LOOK_MS);
	for (size_t i = 0; i < l->n; i++)
		launch_host_hear(&l->host[i], take_line, l);
}

/* --- watching ------------------------------------------------------------------------------- */

static void
forward_signal(struct launch *l)
{
	char line[32];
	const int number = command_stop_signal;

	if (number == 0 || l->signal_sent == number)
		return;
	l->signal_sent = number;
	snprintf(line, sizeof line, "signal %d\n", number);
	for (size_t i = 0; i < l->n; i++)
		if (l->host[i].pid > 0)
			(void)launch_host_tell(&l->host[i], line, strlen(line));
	if (l->deadline == 0)
		l->deadline = clock_seconds() + l->settings->cluster.drain;
}

/* The way to it broke; what it did there ends with that. */
static int
is_lost(const struct launch_host *h)
{
	return WIFSIGNALED(h->status) || WEXITSTATUS(h->status) == SSH_FAILED;
}

static int
may_restart(struct launch *l, struct launch_host *h)
{
	const size_t kept = sizeof h->restarts / sizeof *h->restarts;
	const double now = clock_seconds();
	size_t recent = 0;

	for (size_t i = 0; i < h->n_restarts && i < kept; i++)
		recent += now - h->restarts[i] < RESTART_WINDOW;
	if (recent >= (size_t)l->settings->cluster.restarts || recent == kept)
		return 0;
	h->restarts[h->n_restarts++ % kept] = now;
	return 1;
}

/* The status is one of a shell or of the program of --ssh: ours did not begin there. */
static int
is_without_program(const struct launch *l, const struct launch_host *h)
{
	const int code = WEXITSTATUS(h->status);

	return !is_lost(h) && (code == 126 || code == 127
		|| (h == l->host && !h->is_ready && code > 0 && code < 64));
}

/* Worker 0 is on the first host, and with it the run goes. */
static enum rs_status
take_end(struct launch *l, struct launch_host *h)
{
	if (l->deadline == 0 && is_lost(h) && h != l->host) {
		if (may_restart(l, h)) {
			log_warn("%s is lost and is started again", address_of(h));
			return start(l, h);
		}
		rs_fail(RS_EPEER, "%s is lost, %" PRId64 " times within ten minutes",
			address_of(h), l->settings->cluster.restarts + 1);
		return rs_hint("go on with --resume; cluster.restarts allows more");
	}
	if (l->deadline == 0 && is_without_program(l, h)) {
		rs_fail(RS_EPEER, "%s ended with status %d before the program was there",
			address_of(h), WEXITSTATUS(h->status));
		return rs_hint("--program says where it is on the hosts, --ssh how to get there");
	}
	if (l->deadline == 0 && h != l->host && WEXITSTATUS(h->status) != 0)
		l->failed = h;
	if (l->deadline == 0 && (h == l->host || WEXITSTATUS(h->status) != 0))
		l->deadline = clock_seconds() + l->settings->cluster.drain;
	return RS_OK;
}

static enum rs_status
look(struct launch *l, size_t *n_running)
{
	*n_running = 0;
	hear_all(l);
	forward_signal(l);
	for (size_t i = 0; i < l->n; i++) {
		struct launch_host *const h = &l->host[i];
		const int was_running = h->pid > 0;

		if (launch_host_ended(h) && was_running) {
			launch_host_hear(h, take_line, l);
			RS_TRY(take_end(l, h));
		}
		*n_running += h->pid > 0;
	}
	return RS_OK;
}

static enum rs_status
await_ready(struct launch *l)
{
	const double until = clock_seconds() + l->settings->cluster.rendezvous;
	size_t n = 1;

	while (!l->host->is_ready && n > 0) {
		RS_TRY(look(l, &n));
		if (clock_seconds() > until)
			return rs_fail(RS_EPEER, "%s did not start within %g s",
				address_of(l->host), l->settings->cluster.rendezvous);
	}
	return RS_OK;
}

static enum rs_status
watch(struct launch *l)
{
	size_t n = 1;

	while (n > 0 && (l->deadline == 0 || clock_seconds() < l->deadline))
		RS_TRY(look(l, &n));
	return RS_OK;
}

/* Without input they end what they started. */
static void
end_all(struct launch *l)
{
	const double until = clock_seconds() + l->settings->cluster.drain;
	size_t n = 1;

	for (size_t i = 0; i < l->n; i++) {
		if (l->host[i].in >= 0)
			close(l->host[i].in);
		l->host[i].in = -1;
	}
	if (l->deadline == 0)
		l->deadline = until;
	while (n > 0 && clock_seconds() < until)
		(void)look(l, &n);
}

static enum rs_status
run(struct launch *l)
{
	RS_TRY(start(l, l->host));
	RS_TRY(await_ready(l));
	for (size_t i = 1; l->host->is_ready && i < l->n; i++)
		RS_TRY(start(l, &l->host[i]));
	return watch(l);
}

/* The code of worker 0, whose host has said what there is to say. */
static enum rs_status
take_code(const struct launch *l)
{
	const struct launch_host *const first = l->host;

	if (l->failed != NULL && l->signal_sent == 0 && (!first->has_ended
	    || WEXITSTATUS(first->status) == 128 + SIGTERM)) {
		log_error("%s ended with status %d, and the run with it", address_of(l->failed),
			WEXITSTATUS(l->failed->status));
		command_exit_code = WEXITSTATUS(l->failed->status);
		return RS_OK;
	}
	if (first->has_ended && !is_lost(first)) {
		command_exit_code = WEXITSTATUS(first->status);
		return RS_OK;
	}
	rs_fail(RS_EPEER, first->has_ended ? "%s is lost" : "%s did not end", address_of(first));
	return rs_hint("go on with --resume");
}

/* --- set-up ---------------------------------------------------------------------------------- */

static enum rs_status
settle(struct launch *l)
{
	const struct cluster_settings *const c = &l->settings->cluster;
	char workers[32];

	for (size_t i = 0; i < l->n; i++)
		l->n_workers += l->host[i].n_workers;
	if (c->workers != 0 && (size_t)c->workers != l->n_workers)
		return rs_fail(RS_EUSAGE, "launch: the hosts have %zu workers, cluster.workers is %"
			PRId64, l->n_workers, c->workers);
	snprintf(workers, sizeof workers, "%zu", l->n_workers);
	RS_TRY(spec_set(l->spec, "cluster", "workers", workers));
	if (getrandom(&l->id, sizeof l->id, 0) != (ssize_t)sizeof l->id)
		return rs_fail(RS_ERESOURCE, "no random numbers: %s", strerror(errno));
	if (l->n > 1)
		RS_TRY(key_pair_make(&l->keys));
	RS_TRY(spec_set(l->spec, "cluster", "secret", ""));
	RS_TRY(spec_set(l->spec, "cluster", "keys", ""));
	return make_command(l);
}

static enum rs_status
show(const struct launch *l)
{
	for (size_t i = 0; i < l->n; i++)
		RS_TRY(output_printf("%s %s %s\n", l->ssh, l->host[i].name, l->command.data));
	return output_flush();
}

static enum rs_status
launch_hosts(struct launch *l)
{
	struct rs_failure failure = { .status = RS_OK };

	RS_TRY(settle(l));
	if (argument_given(l->a, "--dry-run"))
		return show(l);
	command_catch_signals();
	signal(SIGPIPE, SIG_IGN);
	const enum rs_status status = run(l);
	if (status != RS_OK)
		rs_failure_take(&failure);
	end_all(l);
	return status != RS_OK ? rs_failure_put(&failure) : take_code(l);
}

static enum rs_status
launch_command(const struct arguments *a)
{
	struct launch l = { .a = a, .ssh = argument(a, "--ssh") };

	if (argument_given(a, "--here"))
		return launch_here(a);
	if (argument(a, "--hosts") == NULL) {
		rs_fail(RS_EUSAGE, "launch: which hosts?");
		return rs_hint("give -H HOST:WORKERS,...");
	}
	l.ssh = l.ssh != NULL ? l.ssh : "ssh -T";
	buffer_init(&l.command, TEXT_LIMIT);
	enum rs_status status = launch_host_parse(argument(a, "--hosts"), &l.host, &l.n);
	if (status == RS_OK)
		status = session_spec(a, &l.spec);
	if (status == RS_OK) {
		l.settings = spec_settings(l.spec);
		status = launch_hosts(&l);
	}
	launch_host_free(l.host, l.n);
	if (l.spec != NULL)
		spec_free(l.spec);
	buffer_free(&l.command);
	key_pair_wipe(&l.keys);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--hosts",
		.letter = 'H',
		.argument = "LIST",
		.text = "HOST:WORKERS,...: hosts, with the number of workers on each." },
	{ .name = "--ssh",
		.argument = "COMMAND",
		.dflt = "ssh -T",
		.text = "Program, with its options, that runs a command on a host." },
	{ .name = "--program",
		.argument = "PATH",
		.dflt = "recsys-train",
		.text = "This program as the hosts find it." },
	{ .name = "--here",
		.text = "Be one of the hosts: what to do comes on standard input, from launch." },
	SESSION_OPTIONS
	{ .name = NULL },
};

const struct command command_launch = {
	.name = "launch",
	.synopsis = "-H HOST:WORKERS,... SPEC [-f MODEL] [--ps N] [OPTIONS of train]",
	.text = "Train over several hosts, started by ssh.",
	.option = option,
	.run = launch_command,
};
