/* Sums over GPUs, with a deadline and a watch on what fails in the background. */
#include "reduce/nccl.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/memory.h"
#include "base/thread.h"
#include "reduce/nccl_private.h"

#define NAP_NS    50000L                /* between looks at the queue                  */
#define LATE_NAPS 20                    /* of the first; then ten times as long        */

static const char *
text_of(const struct nccl *n, int failure)
{
	return n->o.calls->text(failure);
}

static const char *
kind_of(const struct nccl *n)
{
	return n->o.kind != NULL ? n->o.kind : "worker";
}

enum rs_status
nccl_make_id(const struct nccl_calls *calls, struct nccl_id *out)
{
	const int result = calls->make_id(out);

	return result == 0 ? RS_OK : rs_fail(RS_EPEER, "NCCL: no id: %s", calls->text(result));
}

/* --- waiting ------------------------------------------------------------------------- */

void
nccl_give_up(struct nccl *n)
{
	if (n->comm != NULL)
		(void)n->o.calls->abort(n->comm);
	n->comm = NULL;
}

struct nccl_watch
nccl_watch_begin(const char *what, double timeout)
{
	const double now = clock_seconds();

	return (struct nccl_watch){ .until = now + timeout, .timeout = timeout, .next = now,
		.what = what };
}

void
nccl_nap(struct nccl_watch *w)
{
	const long ns = w->n_naps++ < LATE_NAPS ? NAP_NS : 10 * NAP_NS;

	nanosleep(&(struct timespec){ .tv_nsec = ns }, NULL);
}

static enum rs_status
end_with(struct nccl *n, const struct nccl_watch *w, enum rs_status status, const char *why)
{
	nccl_give_up(n);
	return rs_fail(status, "NCCL: %s %zu of %zu: %s: %s", kind_of(n), n->o.rank,
		n->o.n_ranks, w->what, why);
}

enum rs_status
nccl_fail(struct nccl *n, const struct nccl_watch *w, const char *why)
{
	return end_with(n, w, RS_EPEER, why);
}

enum rs_status
nccl_fail_gpu(struct nccl *n, const struct nccl_watch *w)
{
	return end_with(n, w, RS_EDEVICE, "the GPU failed");
}

enum rs_status
nccl_look(struct nccl *n, struct nccl_watch *w, int *state)
{
	const double now = clock_seconds();
	char why[96];

	if (n->o.stop != NULL && atomic_load(n->o.stop) != 0)
		return nccl_fail(n, w, "the run goes back");
	if (now >= w->next) {
		const int result = n->o.calls->watch(n->comm, state);
		if (result != 0 || (*state != 0 && *state != NCCL_IN_PROGRESS))
			return nccl_fail(n, w, text_of(n, result != 0 ? result : *state));
		w->next = now + NCCL_WATCH_SECONDS;
	}
	if (now < w->until)
		return RS_OK;
	snprintf(why, sizeof why, "not over after %g s; another %s is missing",
		w->timeout, kind_of(n));
	return nccl_fail(n, w, why);
}

/* What a call began that did not end at once. */
static enum rs_status
settle(struct nccl *n, int result, const char *what, double timeout)
{
	struct nccl_watch w = nccl_watch_begin(what, timeout);

	if (result != 0 && result != NCCL_IN_PROGRESS)
		return nccl_fail(n, &w, text_of(n, result));
	while (result == NCCL_IN_PROGRESS) {
		w.next = 0;
		RS_TRY(nccl_look(n, &w, &result));
		if (result == NCCL_IN_PROGRESS)
			nccl_nap(&w);
	}
	return RS_OK;
}

/* --- what callers see -------------------------------------------------------------------- */

enum rs_status
nccl_open(const struct nccl_options *options, struct nccl **out)
{
	struct nccl *n;

	RS_TRY(memory_alloc(1, sizeof(*n), &n));
	n->o = *options;
	const enum rs_status status = settle(n, n->o.calls->start(&n->comm, n->o.n_ranks,
		&n->o.id, n->o.rank), "start",
		options->start_timeout > 0 ? options->start_timeout : options->timeout);
	if (status != RS_OK) {
		nccl_close(n);
		return status;
	}
	*out = n;
	return RS_OK;
}

static enum rs_status
is_of_no_use(const struct nccl *n)
{
	return rs_fail(RS_EPEER, "NCCL: worker %zu of %zu: its group was given up", n->o.rank,
		n->o.n_ranks);
}

/* What NCCL refuses for a failure of the GPU is that one. */
static enum rs_status
sum_bucket(struct nccl *n, const struct nccl_queue *q, float *x, size_t n_floats)
{
	static const char *const what = "sum";
	const int result = n->o.calls->sum(x, n_floats, n->comm, q->stream);

	if (result != 0 && result != NCCL_IN_PROGRESS && q->is_over(q->context) < 0) {
		const struct nccl_watch w = nccl_watch_begin(what, n->o.timeout);
		return nccl_fail_gpu(n, &w);
	}
	return settle(n, result, what, n->o.timeout);
}

enum rs_status
nccl_sum(struct nccl *n, const struct nccl_queue *q, float *x,
	const struct reducer_bucket *bucket, size_t n_buckets)
{
	if (n->comm == NULL)
		return is_of_no_use(n);
	for (size_t i = 0; i < n_buckets; i++) {
		assert(bucket[i].begin <= bucket[i].end);
		if (bucket[i].begin < bucket[i].end)
			RS_TRY(sum_bucket(n, q, x + bucket[i].begin,
				bucket[i].end - bucket[i].begin));
	}
	return RS_OK;
}

enum rs_status
nccl_wait(struct nccl *n, const struct nccl_queue *q, uint64_t step)
{
	char what[48] = "";
	struct nccl_watch w = nccl_watch_begin(what, n->o.timeout);
	int over, state = 0;

	if (n->comm == NULL)
		return is_of_no_use(n);
	snprintf(what, sizeof what, "sum of step %" PRIu64, step);
	while ((over = q->is_over(q->context)) != 1) {
		if (over < 0)
			return nccl_fail_gpu(n, &w);
		RS_TRY(nccl_look(n, &w, &state));
		nccl_nap(&w);
	}
	return RS_OK;
}

void
nccl_close(struct nccl *n)
{
	if (n == NULL)
		return;
	const double timeout = n->o.timeout < NCCL_END_SECONDS ? n->o.timeout : NCCL_END_SECONDS;
	if (n->comm != NULL && settle(n, n->o.calls->end(n->comm), "end", timeout) == RS_OK)
		(void)n->o.calls->destroy(n->comm);
	free(n);
}
