/* The processes of one host: started, watched, started again, ended. */
#include "place/supervisor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/memory.h"
#include "base/thread.h"
#include "place/private_directory.h"
#include "place/supervisor_child.h"

#define RESTART_WINDOW   600.0  /* seconds within which restarts are counted         */
#define RESTART_INTERVAL 0.5    /* at least so long from start to start of one node  */
#define RESTARTS_KEPT    1024   /* more within the window: that is never            */
#define LATE_SECONDS     1.0    /* for the others when worker 0 and the coordinator are done */
#define UNTOLD_SECONDS   5.0    /* for the others when the coordinator alone ended    */
#define LOOK_MS          100    /* at stop signal and deadlines                      */
#define N_OPTIONS        8      /* node --role R --index I --ticket FD, NULL         */

struct node {
	size_t number;              /* in job->node                                   */
	struct supervisor_child child;
	struct key_pair keys;
	int    started, ended;      /* ended: for good, with status                   */
	int    status;              /* of waitpid()                                   */
	double restart_at;          /* 0: not waiting to be started                   */
	double started_at;
	double *restart;            /* [n_kept] times of the latest, a ring           */
	size_t n_kept, n_restarts;
};

struct supervisor {
	const struct supervisor_options *options;
	struct private_directory directory;
	struct node *node;          /* [n_nodes]                                      */
	size_t n_nodes;
	int    leash[2];            /* the coordinator reads, here nothing is closed  */
	char *const *arguments;
	size_t n_arguments;
	int    signal_sent;
	double deadline;            /* 0: none; then who is left is killed            */
	int    is_over;             /* the coordinator said so by how it ended        */
	const struct node *failed;  /* the first that ended by itself and not with 0  */
};

/* --- names -------------------------------------------------------------------------- */

static const char *
name_of(const struct supervisor *s, const struct node *n, char out[32])
{
	return job_node_name(s->options->job, n->number, out);
}

static void
describe_end(int status, char out[64])
{
	if (WIFSIGNALED(status))
		snprintf(out, 64, "was killed by signal %d (%s)", WTERMSIG(status),
			strsignal(WTERMSIG(status)));
	else
		snprintf(out, 64, "ended with exit code %d", WEXITSTATUS(status));
}

/* NULL: it is not ours. */
static struct node *
worker_zero(const struct supervisor *s)
{
	const size_t number = job_number(s->options->job, KEY_WORKER, 0);

	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->node[i].number == number)
			return &s->node[i];
	return NULL;
}

/* --- the ticket --------------------------------------------------------------------- */

static enum rs_status
make_memory(const char *name, uint64_t bytes, int *out)
{
	*out = memfd_create(name, MFD_CLOEXEC);
	if (*out < 0)
		return rs_fail(RS_ERESOURCE, "cannot make shared memory: %s", strerror(errno));
	if (bytes == 0 || ftruncate(*out, (off_t)bytes) == 0)
		return RS_OK;
	const int error = errno;
	close(*out);
	*out = -1;
	return rs_fail(RS_ERESOURCE, "cannot make %" PRIu64 " bytes of shared memory: %s", bytes,
		strerror(error));
}

/* Workers of this host have numbers there. */
static void
count_workers(const struct supervisor *s, struct job *ticket)
{
	ticket->local = ticket->n_local = 0;
	for (size_t i = 0; i < s->n_nodes; i++) {
		const int is_worker = ticket->node[s->node[i].number].role == KEY_WORKER;

		ticket->n_local += (size_t)is_worker;
		ticket->local += is_worker && s->node[i].number < ticket->self;
	}
}

static enum rs_status
write_ticket(const struct supervisor *s, const struct node *n, int *out)
{
	struct job ticket = *s->options->job;

	ticket.self = n->number;
	ticket.keys = n->keys;
	count_workers(s, &ticket);
	if (ticket.node[n->number].role == KEY_COORDINATOR)
		ticket.leash_fd = s->leash[0];
	if (ticket.node[n->number].role != KEY_WORKER)
		ticket.shared_fd = -1;
	RS_TRY(make_memory("recsys-train-ticket", 0, out));
	enum rs_status status = job_write(&ticket, *out);
	if (status == RS_OK && lseek(*out, 0, SEEK_SET) != 0)
		status = rs_fail(RS_EIO, "cannot rewind a ticket: %s", strerror(errno));
	if (status != RS_OK)
		close(*out);
	key_pair_wipe(&ticket.keys);
	return status;
}

/* --- starting ----------------------------------------------------------------------- */

static enum rs_status
start_with(struct supervisor *s, struct node *n, int ticket, char **argv)
{
	const struct job *const job = s->options->job;
	const struct job_node *const j = &job->node[n->number];
	const int coordinates = j->role == KEY_COORDINATOR;
	char role[32], index[32], descriptor[32];
	const int is_silent = s->options->comes_again;
	int keep[4] = { ticket };
	size_t n_keep = 1, at = 0;

	snprintf(role, sizeof role, "%s", key_role_name(j->role));
	snprintf(index, sizeof index, "%zu", j->index);
	snprintf(descriptor, sizeof descriptor, "%d", ticket);
	char *const option[] = { "recsys-train", "node", "--role", role, "--index", index,
		"--ticket", descriptor };
	_Static_assert(sizeof option / sizeof *option == N_OPTIONS, "room in argv");
	for (size_t i = 0; i < N_OPTIONS; i++)
		argv[at++] = option[i];
	for (size_t i = 0; i < s->n_arguments; i++)
		argv[at++] = s->arguments[i];
	argv[at] = NULL;
	if (coordinates)
		keep[n_keep++] = s->leash[0];
	/* So that it has no end that would be news. */
	if (coordinates && is_silent)
		keep[n_keep++] = s->leash[1];
	if (j->role == KEY_WORKER && job->shared_fd >= 0)
		keep[n_keep++] = job->shared_fd;
	/* The coordinator learns of our death from the leash and cleans up. */
	const struct supervisor_child_start start = {
		.program = s->options->program, .argv = argv, .keep = keep, .n_keep = n_keep,
		.keep_stdin = j->role == KEY_WORKER && j->index == 0,
		.death_signal = coordinates && !is_silent ? SIGTERM : SIGKILL,
	};
	return supervisor_child_start(&start, &n->child);
}

static enum rs_status
start(struct supervisor *s, struct node *n)
{
	char **argv, name[32];
	int ticket;

	RS_TRY(memory_alloc(N_OPTIONS + s->n_arguments + 1, sizeof *argv, &argv));
	enum rs_status status = write_ticket(s, n, &ticket);
	if (status == RS_OK) {
		status = start_with(s, n, ticket, argv);
		close(ticket);
	}
	free(argv);
	RS_TRY(status);
	n->restart_at = 0;
	n->started_at = clock_seconds();
	log_info("%s is process %d", name_of(s, n, name), (int)n->child.pid);
	return RS_OK;
}

/* --- deaths ------------------------------------------------------------------------- */

/* Restarts within the window, this one among them; 0: there were too many already. */
static size_t
count_restart(struct node *n, double now)
{
	size_t recent = 0;

	if (n->n_kept == 0)
		return 0;
	for (size_t i = 0; i < n->n_restarts && i < n->n_kept; i++)
		recent += now - n->restart[i] < RESTART_WINDOW;
	if (recent == n->n_kept && n->n_kept < RESTARTS_KEPT)
		return 0;
	n->restart[n->n_restarts++ % n->n_kept] = now;
	return recent + 1;
}

/* One line on the leash; the coordinator ends the round, or the job with who ended by itself,
 * unless it has said why.  If the pipe is full it finds out when the node says HELLO again. */
static void
tell_coordinator(const struct supervisor *s, const struct node *n)
{
	char line[128], how[64];

	if (s->options->job->node[n->number].role == KEY_COORDINATOR)
		return;
	describe_end(n->status, how);
	const int length = WIFSIGNALED(n->status)
		? snprintf(line, sizeof line, "died %zu %s\n", n->number, how)
		: snprintf(line, sizeof line, "ended %zu %d\n", n->number,
			WEXITSTATUS(n->status));

	if (write(s->leash[1], line, (size_t)length) < 0)
		log_debug("the coordinator cannot be told: %s", strerror(errno));
}

/* Who is left then was started again so late that nobody is there who could tell it. */
static void
hurry(struct supervisor *s, double now)
{
	const struct node *const zero = worker_zero(s), *const first = &s->node[0];

	if (s->deadline > now + LATE_SECONDS && (zero == NULL || zero->ended) && first->ended
	    && s->options->job->node[first->number].role == KEY_COORDINATOR)
		s->deadline = now + LATE_SECONDS;
}

/* The coordinator leaves well when worker 0 has said that all is done.  One that was killed
 * behind these words and started again finds nobody, and has nothing to do. */
static void
take_last_word(struct supervisor *s, double now)
{
	s->is_over = 1;
	if (s->deadline == 0 || s->deadline > now + UNTOLD_SECONDS)
		s->deadline = now + UNTOLD_SECONDS;
}

static enum rs_status
take_death(struct supervisor *s, struct node *n, int status)
{
	const double now = clock_seconds();
	char name[32], how[64];

	describe_end(status, how);
	n->status = status;
	n->ended = 1;
	const int failed = WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
	if (failed)
		tell_coordinator(s, n);
	if (WIFSIGNALED(status) && s->deadline == 0) {
		const size_t nth = count_restart(n, now);
		if (nth == 0) {
			rs_fail(RS_EPEER, "%s %s, %zu times within ten minutes",
				name_of(s, n, name), how, n->n_kept + 1);
			return rs_hint("go on with --resume; cluster.restarts allows more");
		}
		log_warn("%s %s and is started again (%zu of %" PRId64 ")", name_of(s, n, name),
			how, nth, s->options->cluster->restarts);
		n->ended = 0;
		n->restart_at = n->started_at + RESTART_INTERVAL;
		return RS_OK;
	}
	log_debug("%s %s", name_of(s, n, name), how);
	if (failed && s->failed == NULL)
		s->failed = n;
	if ((failed || n == worker_zero(s)) && s->deadline == 0)
		s->deadline = now + s->options->cluster->drain;
	/* Nobody is left to tell the others that it is over. */
	if (failed && s->options->job->node[n->number].role == KEY_COORDINATOR
	    && s->deadline > now + UNTOLD_SECONDS)
		s->deadline = now + UNTOLD_SECONDS;
	if (!failed && s->options->job->node[n->number].role == KEY_COORDINATOR)
		take_last_word(s, now);
	hurry(s, now);
	return RS_OK;
}

/* --- watching ----------------------------------------------------------------------- */

static void
wait_for_change(const struct supervisor *s, struct pollfd *p)
{
	const size_t n = s->n_nodes;
	int ms = LOOK_MS;

	for (size_t i = 0; i < n; i++) {
		const struct node *const node = &s->node[i];

		p[i] = (struct pollfd){ .fd = node->child.pidfd, .events = POLLIN };
		if (node->child.pid > 0 && node->child.pidfd < 0)
			ms = 10;                /* a kernel without pidfd                 */
		if (node->restart_at > 0 && ms > 20)
			ms = 20;
	}
	(void)poll(p, n, ms);
}

static void
forward_signal(struct supervisor *s)
{
	const int number = *s->options->stop_signal;

	if (number == 0 || s->signal_sent == number)
		return;
	s->signal_sent = number;
	if (s->deadline == 0)
		s->deadline = clock_seconds() + s->options->cluster->drain;
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->options->job->node[s->node[i].number].role == KEY_WORKER
		    && s->node[i].child.pid > 0)
			(void)kill(s->node[i].child.pid, number);
}

static size_t
count_running(const struct supervisor *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n_nodes; i++)
		n += s->node[i].child.pid > 0 || (s->node[i].restart_at > 0 && s->deadline == 0);
	return n;
}

/* The worker beside us has ended. */
static void
take_over(struct supervisor *s)
{
	const atomic_int *const over = s->options->over;

	if (over != NULL && s->deadline == 0 && atomic_load(over) != 0)
		s->deadline = clock_seconds() + (atomic_load(over) == 1 ?
			s->options->cluster->drain : 0);
}

static enum rs_status
look(struct supervisor *s)
{
	int status;

	forward_signal(s);
	take_over(s);
	for (size_t i = 0; i < s->n_nodes; i++) {
		struct node *const n = &s->node[i];

		if (supervisor_child_ended(&n->child, &status))
			RS_TRY(take_death(s, n, status));
		if (n->restart_at > 0 && s->deadline == 0 && clock_seconds() >= n->restart_at)
			RS_TRY(start(s, n));
	}
	return RS_OK;
}

static enum rs_status
watch(struct supervisor *s)
{
	struct pollfd *p;

	RS_TRY(memory_alloc(s->n_nodes, sizeof *p, &p));
	enum rs_status status = RS_OK;
	while (status == RS_OK && count_running(s) > 0
	       && (s->deadline == 0 || clock_seconds() < s->deadline)) {
		wait_for_change(s, p);
		status = look(s);
	}
	free(p);
	return status;
}

/* Everybody has ended, or had the time to. */
static enum rs_status
take_end(const struct supervisor *s, int *exit_code)
{
	const struct node *const zero = worker_zero(s);
	const struct node *const why = s->failed != NULL ? s->failed : zero;
	char name[32], how[64];

	if (why == NULL || (zero != NULL && zero->ended && WIFEXITED(zero->status))) {
		*exit_code = why == NULL ? 0 : WEXITSTATUS(zero->status);
		return RS_OK;
	}
	if (s->is_over && s->failed == NULL) {
		*exit_code = 0;
		return RS_OK;
	}
	if (!why->ended)
		return rs_fail(RS_EPEER, "%s did not end within %g s", name_of(s, why, name),
			s->options->cluster->drain);
	describe_end(why->status, how);
	return rs_fail(WIFEXITED(why->status) ? rs_status_of_exit(WEXITSTATUS(why->status))
		: RS_EPEER, "%s %s", name_of(s, why, name), how);
}

static void
kill_all(struct supervisor *s)
{
	for (size_t i = 0; i < s->n_nodes; i++)
		if (s->node[i].child.pid > 0)
			(void)kill(s->node[i].child.pid, SIGKILL);
	for (size_t i = 0; i < s->n_nodes; i++)
		supervisor_child_kill(&s->node[i].child);
}

enum rs_status
supervisor_run(struct supervisor *s, char *const *arguments, size_t n, int *exit_code)
{
	enum rs_status status = RS_OK;

	*exit_code = -1;
	s->arguments = arguments;
	s->n_arguments = n;
	for (size_t i = 0; status == RS_OK && i < s->n_nodes; i++)
		status = start(s, &s->node[i]);
	if (status == RS_OK)
		status = watch(s);
	kill_all(s);
	return status == RS_OK ? take_end(s, exit_code) : status;
}

/* --- set-up ------------------------------------------------------------------------- */

/* Workers listen nowhere, the coordinator always here. */
static enum rs_status
set_endpoint(struct supervisor *s, struct job_node *j)
{
	const char *const listen = s->options->cluster->listen;
	int n = 0;

	if (j->endpoint[0] != '\0')
		return RS_OK;
	if (j->role == KEY_PS && listen[0] != '\0')
		n = snprintf(j->endpoint, sizeof j->endpoint, "%s", listen);
	else if (j->role != KEY_WORKER)
		n = snprintf(j->endpoint, sizeof j->endpoint, "ipc://%s/%c%zu", s->directory.path,
			j->role == KEY_PS ? 'p' : 'c', j->index);
	if (n < 0 || (size_t)n >= sizeof j->endpoint)
		return rs_fail(RS_ECREATE, "an address is too long: '%s'", listen);
	return RS_OK;
}

static enum rs_status
set_node(struct supervisor *s, struct node *n)
{
	struct job_node *const j = &s->options->job->node[n->number];
	const int64_t restarts = s->options->cluster->restarts;

	RS_TRY(set_endpoint(s, j));
	if (s->options->keys != NULL) {
		n->keys = *s->options->keys;
	} else if (s->options->cluster->listen[0] != '\0') {
		RS_TRY(key_pair_make(&n->keys));
		memcpy(j->public_key, n->keys.public_key, sizeof j->public_key);
	}
	n->n_kept = restarts < RESTARTS_KEPT ? (size_t)restarts : RESTARTS_KEPT;
	return n->n_kept > 0 ? memory_alloc(n->n_kept, sizeof *n->restart, &n->restart) : RS_OK;
}

static enum rs_status
set_nodes(struct supervisor *s)
{
	struct job *const job = s->options->job;
	const size_t *const own = s->options->own;

	if (own == NULL)
		RS_TRY(job_make_nodes(job, 0));
	s->n_nodes = own != NULL ? s->options->n_own : job->n_nodes;
	RS_TRY(memory_alloc(s->n_nodes, sizeof *s->node, &s->node));
	for (size_t i = 0; i < s->n_nodes; i++) {
		s->node[i].number = own != NULL ? own[i] : i;
		s->node[i].child.pidfd = -1;
	}
	for (size_t i = 0; i < s->n_nodes; i++)
		RS_TRY(set_node(s, &s->node[i]));
	return RS_OK;
}

static enum rs_status
set_up(struct supervisor *s)
{
	struct job *const job = s->options->job;
	uint64_t id;

	if (getrandom(&id, sizeof id, 0) != (ssize_t)sizeof id)
		return rs_fail(RS_ERESOURCE, "no random numbers: %s", strerror(errno));
	if (s->options->own == NULL)
		job->id = id;
	RS_TRY(private_directory_open(s->options->runtime, id, &s->directory));
	snprintf(job->directory, sizeof job->directory, "%s", s->directory.path);
	job->shared_fd = job->leash_fd = -1;
	job->shared_bytes = s->options->shared_bytes;
	job->began_ms = (uint64_t)(clock_seconds() * 1e3);
	if (job->shared_bytes > 0)
		RS_TRY(make_memory("recsys-train-shared", job->shared_bytes, &job->shared_fd));
	if (pipe2(s->leash, O_CLOEXEC | O_NONBLOCK) != 0)
		return rs_fail(RS_ERESOURCE, "cannot make a pipe: %s", strerror(errno));
	return set_nodes(s);
}

enum rs_status
supervisor_open(const struct supervisor_options *options, struct supervisor **out)
{
	RS_TRY(memory_alloc(1, sizeof **out, out));
	struct supervisor *const s = *out;

	s->options = options;
	s->directory.lock = s->leash[0] = s->leash[1] = options->job->shared_fd = -1;
	const enum rs_status status = set_up(s);
	if (status != RS_OK) {
		supervisor_close(s);
		*out = NULL;
	}
	return status;
}

void
supervisor_close(struct supervisor *s)
{
	struct job *const job = s->options->job;

	if (s->node != NULL)
		kill_all(s);
	for (size_t i = 0; s->node != NULL && i < s->n_nodes; i++) {
		key_pair_wipe(&s->node[i].keys);
		free(s->node[i].restart);
	}
	free(s->node);
	for (size_t i = 0; i < 2; i++)
		if (s->leash[i] >= 0)
			close(s->leash[i]);
	if (job->shared_fd >= 0)
		close(job->shared_fd);
	job->shared_fd = -1;
	private_directory_close(&s->directory);
	free(s);
}
