/* Outcomes, bytes and hashes that ranks exchange; a sign of life meanwhile. */
#include "train/ranks.h"

#include <string.h>
#include <time.h>

#include "base/thread.h"

int
ranks_wanted(const struct settings *settings)
{
	return settings->cluster.workers > 1 || settings->cluster.ps > 0
	    || settings->placement.mode == PLACE_PS || settings->placement.mode == PLACE_HYBRID;
}

void
ranks_share(const struct train_place *p, size_t n, size_t *begin, size_t *end)
{
	*begin = ranks_several(p) ? tree_rank_begin(n, p->n_ranks, p->rank) : 0;
	*end = ranks_several(p) ? tree_rank_begin(n, p->n_ranks, p->rank + 1) : n;
}

void
ranks_progress(const struct train_place *p)
{
	if (p != NULL && p->progress != NULL)
		atomic_fetch_add_explicit(p->progress, 1, memory_order_relaxed);
}

static double
be_patient(struct exchange *e)
{
	const double usual = e->timeout;

	if (usual < RANKS_PATIENCE)
		e->timeout = RANKS_PATIENCE;
	return usual;
}

enum rs_status
ranks_broadcast(const struct train_place *p, void *bytes, size_t n)
{
	if (!ranks_several(p) || n == 0)
		return RS_OK;
	const double usual = be_patient(p->exchange);
	const enum rs_status status = p->exchange->ops->broadcast(p->exchange, bytes, n);
	p->exchange->timeout = usual;
	ranks_progress(p);
	return status;
}

enum rs_status
ranks_broadcast_of(const struct train_place *p, size_t rank, void *bytes, size_t n)
{
	size_t begin[RANKS_MAX + 1];

	if (rank == 0 || !ranks_several(p) || n == 0)
		return ranks_broadcast(p, bytes, n);
	for (size_t r = 0; r <= p->n_ranks; r++)
		begin[r] = r > rank ? n : 0;
	return ranks_gather_parts(p, bytes, begin);
}

/* What came from another process has its ends. */
static void
close_texts(struct rs_failure *f)
{
	f->where[sizeof f->where - 1] = f->text[sizeof f->text - 1] = '\0';
	f->hint[sizeof f->hint - 1] = '\0';
	if (f->file_bytes > strlen(f->where))
		f->file_bytes = strlen(f->where);
	if ((unsigned)f->status >= RS_N_STATUS)
		f->status = RS_EPROTOCOL;
}

enum rs_status
ranks_outcome_of(const struct train_place *p, size_t rank, enum rs_status status)
{
	struct rs_failure failure = { .status = RS_OK };

	if (!ranks_several(p))
		return status;
	if (status != RS_OK)
		rs_failure_take(&failure);
	const enum rs_status told = ranks_broadcast_of(p, rank, &failure, sizeof failure);
	if (p->rank != rank && told != RS_OK)
		return told;
	close_texts(&failure);
	return failure.status != RS_OK ? rs_failure_put(&failure) : told;
}

enum rs_status
ranks_outcome(const struct train_place *p, enum rs_status status)
{
	return ranks_outcome_of(p, 0, status);
}

enum rs_status
ranks_gather_parts(const struct train_place *p, void *block, const size_t *begin)
{
	const double usual = be_patient(p->exchange);
	const enum rs_status status = p->exchange->ops->gather(p->exchange, block, begin);
	p->exchange->timeout = usual;
	ranks_progress(p);
	return status;
}

enum rs_status
ranks_gather(const struct train_place *p, void *things, size_t n, size_t bytes)
{
	size_t begin[RANKS_MAX + 1];

	if (!ranks_several(p) || n == 0 || bytes == 0)
		return RS_OK;
	for (size_t r = 0; r <= p->n_ranks; r++)
		begin[r] = tree_rank_begin(n, p->n_ranks, r) * bytes;
	return ranks_gather_parts(p, things, begin);
}

enum rs_status
ranks_compare(
	const struct train_place *p, uint64_t value, enum rs_status status, const char *what)
{
	uint64_t of[RANKS_MAX];

	if (!ranks_several(p))
		return RS_OK;
	of[p->rank] = value;
	RS_TRY(ranks_gather(p, of, p->n_ranks, sizeof *of));
	for (size_t r = 1; r < p->n_ranks; r++)
		if (of[r] != of[0])
			return rs_fail(status, "worker %zu %s worker 0", r, what);
	return RS_OK;
}

/* --- a sign of life -------------------------------------------------------- */

static void *
pulse_main(void *argument)
{
	struct ranks_pulse *const pulse = argument;
	struct timespec at;

	pthread_mutex_lock(&pulse->lock);
	clock_gettime(CLOCK_MONOTONIC, &at);
	while (!pulse->ended) {
		ranks_progress(pulse->place);
		at.tv_sec++;
		while (!pulse->ended && pthread_cond_timedwait(&pulse->changed, &pulse->lock, &at)
		    == 0)
			;
	}
	pthread_mutex_unlock(&pulse->lock);
	return NULL;
}

void
ranks_pulse_begin(struct ranks_pulse *pulse, const struct train_place *p)
{
	pthread_condattr_t monotonic;

	*pulse = (struct ranks_pulse){ .place = p };
	if (p == NULL || p->progress == NULL)
		return;
	pthread_mutex_init(&pulse->lock, NULL);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&pulse->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	pulse->beats = thread_start(&pulse->thread, "pulse", pulse_main, pulse) == RS_OK;
}

void
ranks_pulse_end(struct ranks_pulse *pulse)
{
	if (!pulse->beats)
		return;
	pthread_mutex_lock(&pulse->lock);
	pulse->ended = 1;
	pthread_cond_signal(&pulse->changed);
	pthread_mutex_unlock(&pulse->lock);
	thread_join(pulse->thread);
	pthread_cond_destroy(&pulse->changed);
	pthread_mutex_destroy(&pulse->lock);
	pulse->beats = 0;
}
