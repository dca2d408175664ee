/* recsys-train node: one process of a run of many. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd/command_spec.h"
#include "cmd/node.h"
#include "cmd/node_exchange.h"
#include "cmd/node_status.h"
#include "cmd/session.h"

/* --- what the roles share ---------------------------------------------------------------- */

enum rs_status
node_bind(struct node *n, struct wire **out)
{
	RS_TRY(wire_bind(n->context, n->job.node[n->job.self].endpoint, out));
	if (n->job.keys.secret_key[0] == '\0')
		return RS_OK;
	const enum rs_status status = wire_self_test(n->context, *out);
	if (status != RS_OK)
		wire_close(*out);
	return status;
}

/* Killed rather than left in order: whatever it hangs in may be anywhere, and who started it
 * then starts another one. */
static void
on_hang(void *context, const char *reason)
{
	const struct node *const n = context;

	log_error("%s hangs: it did not notice that %s; it is ended", n->name, reason);
	raise(SIGKILL);
}

enum rs_status
node_join(struct node *n, const char *endpoint)
{
	const struct cluster_settings *const c = &n->settings->cluster;
	const struct member_options options = {
		.context = n->context, .job = &n->job, .endpoint = endpoint,
		.heartbeat = c->heartbeat, .lease = c->lease, .absence = c->absence,
		.rendezvous = c->rendezvous, .stop_signal = &command_stop_signal,
		.hung = on_hang, .context_of_hung = n, .hang = c->absence / 2,
	};

	return member_open(&options, &n->member);
}

enum rs_status
node_wait(struct node *n, struct member_view *view, int *over)
{
	const enum rs_status status = member_wait(n->member, view);

	const int ended = member_job_ended(n->member);

	*over = status != RS_OK && ended == 1;
	n->is_told |= ended == 2;
	return *over ? RS_OK : status;
}

enum rs_status
node_leave(struct node *n, enum rs_status status)
{
	struct rs_failure failure = { .status = RS_OK };

	if (status == RS_OK)
		return member_leave(n->member, NULL);
	rs_failure_take(&failure);
	if (member_leave(n->member, &failure) == RS_OK)
		n->is_told = 1;
	return rs_failure_put(&failure);
}

/* --- set-up ---------------------------------------------------------------------------------- */

/* The role that the ticket says is the one that was asked for. */
static enum rs_status
check_role(const struct node *n)
{
	const char *role = argument(n->a, "--role");
	const struct job_node *const self = &n->job.node[n->job.self];
	int64_t index = 0;

	if (role == NULL)
		return RS_OK;
	RS_TRY(argument_int(n->a, "--index", 0, JOB_NODES_MAX, &index));
	if (key_role_parse(role, strlen(role)) == self->role && (size_t)index == self->index)
		return RS_OK;
	return rs_fail(RS_EUSAGE, "node: the ticket is for %s", n->name);
}

/* The workers agree on when to stop, and the others end after them, even when a signal went
 * to every process of a job, as that of Slurm or systemd does. */
static void
ignore_signals(const struct node *n)
{
	if (n->job.node[n->job.self].role == KEY_WORKER)
		return;
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
}

static enum rs_status
read_ticket(struct node *n)
{
	int64_t fd = -1;

	n->has_ticket = argument_given(n->a, "--ticket");
	if (!n->has_ticket)
		return RS_OK;
	RS_TRY(argument_int(n->a, "--ticket", 0, 1 << 20, &fd));
	RS_TRY(job_read((int)fd, &n->job));
	close((int)fd);
	job_node_name(&n->job, n->job.self, n->name);
	ignore_signals(n);
	return check_role(n);
}

/* Nodes may share a key, which then may be whatever they are. */
static enum rs_status
allow_node(struct node *n, const struct job_node *node)
{
	char name[64];

	for (size_t i = 0; i < n->allowed.n; i++) {
		struct key_entry *const entry = &n->allowed.entry[i];

		if (strcmp(entry->public_key, node->public_key) != 0)
			continue;
		entry->roles |= node->role;
		return RS_OK;
	}
	snprintf(name, sizeof name, "%s%zu", key_role_name(node->role), node->index);
	return key_list_add(&n->allowed, name, node->role, node->public_key);
}

static enum rs_status
allow_nodes(struct node *n)
{
	for (size_t i = 0; i < n->job.n_nodes; i++)
		if (n->job.node[i].public_key[0] != '\0')
			RS_TRY(allow_node(n, &n->job.node[i]));
	return RS_OK;
}

static enum rs_status
open_context(struct node *n)
{
	const int with_keys = n->job.keys.secret_key[0] != '\0';
	const struct wire_options options = {
		.self = with_keys ? &n->job.keys : NULL,
		.allowed = with_keys ? &n->allowed : NULL,
	};

	if (n->allowed.n == 0)
		RS_TRY(allow_nodes(n));
	return wire_context_open(&options, &n->context);
}

/* With a ticket, whoever made the spec has told what is odd about it. */
static enum rs_status
read_spec(struct node *n)
{
	const int level = (int)log_level();

	if (n->has_ticket)
		log_set_level(LOG_ERROR);
	const enum rs_status status = session_spec(n->a, &n->spec);
	log_set_level((enum log_level)level);
	RS_TRY(status);
	n->settings = spec_settings(n->spec);
	node_exchange_name(n->settings);
	return RS_OK;
}

static enum rs_status
run_role(struct node *n)
{
	switch (n->job.node[n->job.self].role) {
	case KEY_COORDINATOR:
		return node_coordinator(n);
	case KEY_PS:
		return node_ps(n);
	default:
		return node_worker(n);
	}
}

/* Who listens, with a list that is a file of the user's. */
static int
has_list(const struct node *n)
{
	return !n->has_ticket && n->allowed.n > 0 && n->job.node[n->job.self].role != KEY_WORKER;
}

enum rs_status
node_run(struct node *n)
{
	if (n->job.self != job_number(&n->job, KEY_WORKER, 0))
		log_set_name(n->name);
	RS_TRY(open_context(n));
	if (has_list(n))
		RS_TRY(node_keys_open(n));
	return run_role(n);
}

static enum rs_status
run_node(struct node *n)
{
	RS_TRY(read_ticket(n));
	RS_TRY(read_spec(n));
	if (!n->has_ticket)
		RS_TRY(node_hosts(n));
	return node_run(n);
}

void
node_end(struct node *n, enum rs_status status)
{
	const int is_zero = n->job.node != NULL
		&& n->job.self == job_number(&n->job, KEY_WORKER, 0);

	/* On a host of its own a node speaks for itself. */
	if (status != RS_OK && n->is_told && n->has_ticket && !is_zero)
		command_exit_code = status == RS_ESIGNAL ? 128 + command_stop_signal
			: rs_exit_code(status);
	if (n->member != NULL)
		member_close(n->member);
	node_keys_close(n);
	if (n->context != NULL)
		wire_context_close(n->context);
	key_list_free(&n->allowed);
	placement_free(&n->placement);
	if (n->spec != NULL)
		spec_free(n->spec);
	job_free(&n->job);
}

static enum rs_status
node_command(const struct arguments *a)
{
	static struct node n;           /* its name is the log's, to the end           */

	if (a->n_positional > 0 && strcmp(a->positional[0], "status") == 0)
		return node_status(a);
	signal(SIGXFSZ, SIG_IGN);
	command_catch_signals();
	n = (struct node){ .a = a, .job = { .shared_fd = -1, .leash_fd = -1 } };
	const enum rs_status status = run_node(&n);
	node_end(&n, status);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--role",
		.argument = "coordinator|ps|worker",
		.text = "What this process is." },
	{ .name = "--index", .argument = "I", .dflt = "0", .text = "Which of its role, from 0." },
	{ .name = "--ticket",
		.argument = "FD",
		.text = "Read who the others are, and the keys, from this descriptor." },
	{ .name = "--period",
		.argument = "FILE",
		.text = "Train the period that this file of train --incremental tells of." },
	{ .name = "--join",
		.argument = "ADDRESS",
		.text = "Where the coordinator is: tcp://HOST:PORT." },
	{ .name = "--listen",
		.argument = "ADDRESS",
		.text = "Address of this node for the others instead of cluster.listen." },
	{ .name = "--key",
		.argument = "FILE",
		.text = "Key file of this node instead of cluster.secret." },
	{ .name = "--keys",
		.argument = "FILE",
		.text = "List of who may join instead of cluster.keys." },
	SESSION_OPTIONS
	{ .name = NULL },
};

const struct command command_node = {
	.name = "node",
	.synopsis = "--role ROLE [--index I] [--join ADDRESS] [--listen ADDRESS] SPEC | status "
		"[--join ADDRESS] [--key FILE] [--keys FILE] [SPEC]",
	.text = "Be one process of a run of many.",
	.option = option,
	.run = node_command,
};
