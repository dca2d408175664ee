/* Messages and sums of many pieces at once, with a deadline. */
#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "reduce/mpi_private.h"

#define SWEEPS_AWAKE 2000              /* without progress, before it sleeps          */
#define SLEEP_NS     50000

static enum rs_status
broke(const struct mpi_run *r, int error, int process)
{
	char text[256], who[64];

	r->who(r->context, process, who, sizeof(who));
	r->mpi->plugin->error_text(r->mpi->self, error, text, sizeof(text));
	return rs_fail(RS_EPEER, "%s: MPI (%s): %s", who, r->mpi->plugin->library, text);
}

static enum rs_status
start_messages(const struct mpi_run *r, struct mpi_program *p, int tag)
{
	const struct mpi_op *op = &p->op[p->at];
	const struct mpi_plugin *plugin = r->mpi->plugin;
	int error = 0;

	p->started = 1;
	if (op->from >= 0)
		error = plugin->receive(r->mpi->self, op->target, op->n_target, op->from, tag,
			&p->received);
	if (error != 0)
		return broke(r, error, op->from);
	if (op->to >= 0)
		error = plugin->send(r->mpi->self, op->source, op->n_source, op->to, tag,
			&p->sent);
	return error != 0 ? broke(r, error, op->to) : RS_OK;
}

/* The ranks did not ask for the same. */
static enum rs_status
other_size(const struct mpi_run *r, const struct mpi_op *op, size_t n)
{
	char who[64], sent[32] = "more";

	r->who(r->context, op->from, who, sizeof(who));
	if (n <= op->n_target)
		snprintf(sent, sizeof(sent), "%zu", n);
	return rs_fail(RS_EPROTOCOL, "%s sent %s bytes where %zu were wanted", who, sent,
		op->n_target);
}

static enum rs_status
test_messages(const struct mpi_run *r, struct mpi_program *p)
{
	const struct mpi_op *op = &p->op[p->at];
	const struct mpi_plugin *plugin = r->mpi->plugin;
	size_t n = op->n_target;
	int done = 0, error;

	if (p->received.active) {
		error = plugin->test(r->mpi->self, &p->received, &done, &n);
		if (error != 0)
			return broke(r, error, op->from);
		if (done && n != op->n_target)
			return other_size(r, op, n);
	}
	if (p->sent.active) {
		error = plugin->test(r->mpi->self, &p->sent, &done, NULL);
		if (error != 0)
			return broke(r, error, op->to);
	}
	return RS_OK;
}

/* A right child with a value that the kernel's guard refuses leaves a NaN, which the guard
 * of the sum sees; left ones are not looked at, as in one process. */
static void
add_floats(const struct kernel_set *kernel, const struct mpi_op *op)
{
	const size_t n = op->n_target / sizeof(float);
	float *y = op->target;
	int bad = 0, ignored = 0;

	if (op->guard_target)
		kernel->finite(n, y, &bad);
	kernel->sum_into(n, y, op->source, op->guard_target ? &ignored : &bad);
	if (bad)
		y[0] = NAN;
}

static void
add_doubles(const struct mpi_op *op)
{
	const double *x = op->source;
	double *y = op->target;

	for (size_t i = 0; i < op->n_target / sizeof(*y); i++)
		y[i] += x[i];
}

/* *done: op[at] is over. */
static enum rs_status
step(const struct mpi_run *r, struct mpi_program *p, int tag, int *done)
{
	const struct mpi_op *op = &p->op[p->at];

	*done = 1;
	switch (op->kind) {
	case MPI_OP_COPY:
		memcpy(op->target, op->source, op->n_target);
		return RS_OK;
	case MPI_OP_ADD_FLOATS:
		add_floats(r->kernel, op);
		return RS_OK;
	case MPI_OP_ADD_DOUBLES:
		add_doubles(op);
		return RS_OK;
	case MPI_OP_MESSAGE:
		break;
	}
	if (!p->started)
		RS_TRY(start_messages(r, p, tag));
	RS_TRY(test_messages(r, p));
	*done = !p->sent.active && !p->received.active;
	return RS_OK;
}

static enum rs_status
fill(const struct mpi_run *r, struct mpi_program *p, size_t piece)
{
	p->n = p->at = 0;
	p->started = 0;
	p->piece = piece;
	return piece < r->n_pieces ? r->fill(r->context, piece, p) : RS_OK;
}

/* As far as it goes now. */
static enum rs_status
advance(const struct mpi_run *r, struct mpi_program *p, int tag, int *moved)
{
	while (p->piece < r->n_pieces) {
		int done;

		if (p->at == p->n) {
			RS_TRY(fill(r, p, p->piece + MPI_WINDOW));
			*moved = 1;
			continue;
		}
		RS_TRY(step(r, p, tag, &done));
		if (!done)
			return RS_OK;
		p->at++;
		p->started = 0;
		*moved = 1;
	}
	return RS_OK;
}

/* Those whose messages are waited for, each once: some of them may themselves wait for
 * the one who is missing. */
static void
list_missing(const struct mpi_run *r, char *out, size_t capacity)
{
	int seen[MPI_WINDOW];
	size_t n = 0, n_seen = 0;

	out[0] = '\0';
	for (size_t i = 0; i < MPI_WINDOW; i++) {
		const struct mpi_program *p = &r->program[i];
		size_t k = 0;
		char who[64];

		if (p->piece >= r->n_pieces || p->at == p->n)
			continue;
		seen[n_seen] = p->received.active ? p->op[p->at].from : p->op[p->at].to;
		while (seen[k] != seen[n_seen])
			k++;
		if (k < n_seen)
			continue;
		r->who(r->context, seen[n_seen++], who, sizeof(who));
		n += (size_t)snprintf(out + n, capacity - n, "%s%s", n > 0 ? ", " : "", who);
		if (n + sizeof(who) + 3 > capacity)
			break;
	}
}

static enum rs_status
check_time(const struct mpi_run *r, double since)
{
	char who[MPI_WINDOW * 32];

	if (r->stop != NULL && atomic_load(r->stop) != 0)
		return rs_fail(RS_EPEER, "the round is over");
	if (clock_seconds() - since < r->timeout)
		return RS_OK;
	list_missing(r, who, sizeof(who));
	return rs_fail(RS_EPEER, "no word in %g s of a collective call over MPI (%s) from %s",
		r->timeout, r->mpi->plugin->library, who);
}

static void
pause_a_little(const struct mpi_run *r, size_t idle)
{
	const struct timespec nap = { .tv_nsec = SLEEP_NS };

	if (idle < SWEEPS_AWAKE && !r->in_background)
		sched_yield();
	else
		nanosleep(&nap, NULL);
}

static enum rs_status
sweep(const struct mpi_run *r, int *moved, int *left)
{
	*moved = *left = 0;
	for (size_t i = 0; i < MPI_WINDOW; i++) {
		RS_TRY(advance(r, &r->program[i], r->tag + (int)i, moved));
		*left += r->program[i].piece < r->n_pieces;
	}
	return RS_OK;
}

static void
give_up(const struct mpi_run *r)
{
	r->mpi->broken = r->stop == NULL || atomic_load(r->stop) == 0;
	for (size_t i = 0; i < MPI_WINDOW; i++) {
		if (r->program[i].received.active)
			r->mpi->plugin->cancel(r->mpi->self, &r->program[i].received);
		if (r->program[i].sent.active)
			r->mpi->plugin->cancel(r->mpi->self, &r->program[i].sent);
	}
}

enum rs_status
mpi_run(const struct mpi_run *r)
{
	double since = clock_seconds();
	enum rs_status status = RS_OK;
	size_t idle = 0;
	int moved, left = 1;

	for (size_t i = 0; i < MPI_WINDOW && status == RS_OK; i++)
		status = fill(r, &r->program[i], i);
	while (status == RS_OK && left > 0) {
		status = sweep(r, &moved, &left);
		if (status != RS_OK || left == 0)
			break;
		if (moved) {
			idle = 0;
			since = clock_seconds();
			continue;
		}
		status = check_time(r, since);
		pause_a_little(r, idle++);
	}
	if (status != RS_OK)
		give_up(r);
	return status;
}
