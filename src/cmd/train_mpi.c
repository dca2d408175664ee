/* Training under mpirun: the process beside rank 0, and what the ranks are told. */
#include "cmd/train_mpi.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/thread.h"
#include "cmd/node.h"
#include "reduce/mpi.h"

#define TEXT_LIMIT ((size_t)64 << 20)

/* NULL: whoever started this process did not do it for MPI. */
static const char *
library_of(const struct environment *e)
{
	switch (e->launcher) {
	case LAUNCHER_OPENMPI:
		return "openmpi";
	case LAUNCHER_PMI:
		return "mpich";
	case LAUNCHER_SLURM:            /* srun --mpi=pmix                                */
		return command_variable("PMIX_RANK") != NULL ? "openmpi" : NULL;
	default:
		return NULL;
	}
}

enum rs_status
train_mpi_init(struct train_mpi *m)
{
	memset(m, 0, sizeof *m);
	buffer_init(&m->text, TEXT_LIMIT);
	RS_TRY(environment_read(command_variable, &m->environment));
	const struct environment *const e = &m->environment;
	m->library = library_of(e);
	m->is_wanted = e->size > 1 && m->library != NULL;
	if (m->is_wanted && e->rank > 0)
		log_set_level(LOG_ERROR);       /* rank 0 says what is odd about the spec */
	return RS_OK;
}

void
train_mpi_free(struct train_mpi *m)
{
	buffer_free(&m->text);
	environment_free(&m->environment);
}

enum rs_status
train_mpi_settle(struct train_mpi *m, struct spec *spec)
{
	const struct settings *const s = spec_settings(spec);
	const struct environment *const e = &m->environment;
	char workers[32];

	if (s->cluster.workers > 0 && (size_t)s->cluster.workers != e->size) {
		rs_fail(RS_EUSAGE, "train: %s started %zu processes, cluster.workers is %" PRId64,
			e->name, e->size, s->cluster.workers);
		return rs_hint("leave the number of workers to mpirun");
	}
	if (e->n_hosts > 1) {
		rs_fail(RS_EUSAGE, "train: %s started processes on %zu hosts, and their messages "
			"over MPI are open to all between them", e->name, e->n_hosts);
		return rs_hint("start one node on each host, with keys");
	}
	snprintf(workers, sizeof workers, "%zu", e->size);
	m->rendezvous = s->cluster.rendezvous;
	m->drain = s->cluster.drain;
	m->is_settled = 1;
	return spec_set(spec, "cluster", "workers", workers);
}

/* --- rank 0 and the process beside it ------------------------------------------------- */

static enum rs_status
write_all(int fd, const void *bytes, size_t n)
{
	for (const char *at = bytes; n > 0;) {
		const ssize_t wrote = write(fd, at, n);

		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote < 0)
			return rs_fail(RS_EIO, "cannot tell rank 0: %s", strerror(errno));
		at += wrote;
		n -= (size_t)wrote;
	}
	return RS_OK;
}

/* A length, then so many bytes. */
static enum rs_status
write_block(int fd, const void *bytes, size_t n)
{
	RS_TRY(write_all(fd, &(uint64_t){ n }, sizeof(uint64_t)));
	return write_all(fd, bytes, n);
}

static enum rs_status
write_ticket(struct supervisor *s, size_t worker, int tell)
{
	struct buffer ticket;
	char piece[4096];
	ssize_t n = 0;
	int fd;

	RS_TRY(supervisor_ticket(s, worker, &fd));
	buffer_init(&ticket, TEXT_LIMIT);
	enum rs_status status = RS_OK;
	while (status == RS_OK && (n = read(fd, piece, sizeof piece)) > 0)
		status = buffer_append(&ticket, piece, (size_t)n);
	if (status == RS_OK && n < 0)
		status = rs_fail(RS_EIO, "cannot read a ticket: %s", strerror(errno));
	if (status == RS_OK)
		status = write_block(tell, ticket.data, ticket.n);
	explicit_bzero(piece, sizeof piece);
	if (ticket.data != NULL)
		explicit_bzero(ticket.data, ticket.n);
	buffer_free(&ticket);
	close(fd);
	return status;
}

enum rs_status
train_mpi_tell(const struct train_mpi *m, struct supervisor *s, const struct spec *spec, int tell)
{
	struct buffer text;

	buffer_init(&text, TEXT_LIMIT);
	enum rs_status status = spec_print(spec, 0, &text);
	if (status == RS_OK)
		status = write_block(tell, text.data, text.n);
	buffer_free(&text);
	for (size_t i = 0; status == RS_OK && i < m->environment.size; i++)
		status = write_ticket(s, i, tell);
	close(tell);
	return status;
}

static enum rs_status
read_all(int fd, struct buffer *out)
{
	char piece[4096];
	ssize_t n;

	while ((n = read(fd, piece, sizeof piece)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return rs_fail(RS_EIO, "cannot hear of the shards: %s", strerror(errno));
		RS_TRY(buffer_append(out, piece, (size_t)n));
	}
	if (out->n == 0)
		return rs_fail(RS_EPEER, "coordinator and shards could not be started");
	return RS_OK;
}

enum rs_status
train_mpi_start(struct train_mpi *m, int (*run)(void *context, struct train_mpi *m, int tell),
	void *context)
{
	const pid_t self = getpid();
	int tell[2];

	if (pipe2(tell, O_CLOEXEC) != 0)
		return rs_fail(RS_ERESOURCE, "cannot make a pipe: %s", strerror(errno));
	m->starter = fork();
	if (m->starter == 0) {
		close(tell[0]);
		/* Its children then die, and the coordinator cleans up. */
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(getppid() == self ? run(context, m, tell[1]) : 1);
	}
	close(tell[1]);
	enum rs_status status = RS_OK;
	if (m->starter < 0)
		status = rs_fail(RS_ERESOURCE, "cannot start a process: %s", strerror(errno));
	else
		status = read_all(tell[0], &m->text);
	close(tell[0]);
	return status;
}

/* The job is over, so coordinator and shards end by themselves. */
static void
end_starter(const struct train_mpi *m)
{
	const double deadline = clock_seconds() + m->drain;
	const struct timespec nap = { .tv_nsec = 10000000 };

	if (m->starter <= 0)
		return;
	while (waitpid(m->starter, NULL, WNOHANG) == 0) {
		if (clock_seconds() > deadline)
			(void)kill(m->starter, SIGKILL);
		nanosleep(&nap, NULL);
	}
}

/* --- every rank --------------------------------------------------------------------------- */

/* A text that begins with an empty spec has an exit code. */
static enum rs_status
put_failure(struct train_mpi *m, enum rs_status status)
{
	const uint64_t block[] = { 0, sizeof(uint64_t), (uint64_t)rs_exit_code(status) };

	m->text.n = 0;
	return buffer_append(&m->text, block, sizeof block);
}

/* The i-th block of what rank 0 told. */
static enum rs_status
find_block(const char *text, size_t n, size_t i, const char **out, uint64_t *n_out)
{
	size_t at = 0;

	for (;; at += (size_t)*n_out) {
		if (n - at < sizeof *n_out)
			return rs_fail(RS_EPROTOCOL, "rank 0 told too little");
		memcpy(n_out, text + at, sizeof *n_out);
		at += sizeof *n_out;
		if (*n_out > n - at)
			return rs_fail(RS_EPROTOCOL, "rank 0 told too little");
		*out = text + at;
		if (i-- == 0)
			return RS_OK;
	}
}

static enum rs_status
take_spec(struct node *n, const char *text, size_t bytes)
{
	char *copy;

	RS_TRY(memory_alloc(bytes + 1, 1, &copy));
	memcpy(copy, text, bytes);
	const enum rs_status status = spec_load_text(copy, "resolved spec", &n->spec);
	free(copy);
	RS_TRY(status);
	n->settings = spec_settings(n->spec);
	return RS_OK;
}

static enum rs_status
take_ticket(struct node *n, const char *text, size_t bytes)
{
	const int fd = memfd_create("recsys-train-ticket", MFD_CLOEXEC);

	if (fd < 0)
		return rs_fail(RS_ERESOURCE, "cannot make shared memory: %s", strerror(errno));
	enum rs_status status = write_all(fd, text, bytes);
	if (status == RS_OK)
		status = job_read(fd, &n->job);
	close(fd);
	return status;
}

static enum rs_status
take_told(struct train_mpi *m, struct node *n, const char *text, size_t bytes)
{
	const char *block = NULL;
	uint64_t length = 0, code;

	RS_TRY(find_block(text, bytes, 0, &block, &length));
	if (length > 0) {
		RS_TRY(take_spec(n, block, (size_t)length));
		RS_TRY(find_block(text, bytes, 1 + m->environment.rank, &block, &length));
		return take_ticket(n, block, (size_t)length);
	}
	RS_TRY(find_block(text, bytes, 1, &block, &length));
	if (length != sizeof code)
		return rs_fail(RS_EPROTOCOL, "rank 0 told too little");
	memcpy(&code, block, sizeof code);
	if (m->environment.rank > 0)
		command_exit_code = (int)code;
	return rs_fail(RS_EPEER, "rank 0 failed");
}

static enum rs_status
hear(struct train_mpi *m, struct node *n)
{
	struct buffer all;
	size_t *begin;

	buffer_init(&all, 2 * TEXT_LIMIT);
	RS_TRY(memory_alloc(m->environment.size + 1, sizeof *begin, &begin));
	enum rs_status status = mpi_rendezvous(n->mpi, m->text.data, m->text.n, &all, begin);
	if (status == RS_OK)
		status = take_told(m, n, all.data, begin[1]);
	if (all.data != NULL)
		explicit_bzero(all.data, all.n);
	buffer_free(&all);
	free(begin);
	return status;
}

static enum rs_status
work(struct train_mpi *m, struct node *n)
{
	const struct environment *const e = &m->environment;
	int *world;

	RS_TRY(hear(m, n));
	RS_TRY(memory_alloc(e->size, sizeof *world, &world));
	for (size_t i = 0; i < e->size; i++)
		world[i] = (int)i;
	n->world = world;
	job_node_name(&n->job, n->job.self, n->name);
	const enum rs_status status = node_run(n);
	free(world);
	return status;
}

static enum rs_status
join_and_work(struct train_mpi *m, struct node *n)
{
	const struct mpi_options options = {
		.plugin = command_environment().mpi_plugin, .library = m->library,
		.size = m->environment.size, .timeout = m->rendezvous,
	};

	RS_TRY(mpi_open(&options, &n->mpi));
	const enum rs_status status = work(m, n);
	node_end(n, status);
	return status;
}

/* What is to be told of rank 0 before its failure is put back. */
static enum rs_status
tell_failure(struct train_mpi *m, struct node *n, enum rs_status status)
{
	struct rs_failure failure;

	rs_failure_take(&failure);
	if (m->is_settled && m->environment.rank == 0 && put_failure(m, status) == RS_OK)
		(void)join_and_work(m, n);
	return rs_failure_put(&failure);
}

enum rs_status
train_mpi_work(struct train_mpi *m, const struct arguments *a, enum rs_status status)
{
	static struct node n;           /* its name is the log's, to the end           */

	command_catch_signals();
	n = (struct node){ .a = a, .has_ticket = 1, .job = { .shared_fd = -1, .leash_fd = -1 } };
	status = status == RS_OK ? join_and_work(m, &n) : tell_failure(m, &n, status);
	if (status == RS_OK || status == RS_EPARTIAL || status == RS_ESIGNAL)
		end_starter(m);
	mpi_close(n.mpi);
	return status;
}
