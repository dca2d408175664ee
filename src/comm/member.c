/* Membership, the node's side: coming, waiting, leaving. */
#include "comm/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/thread.h"
#include "comm/member_private.h"

#define ENDED_SECONDS  2.0          /* to say good-bye when the job has ended          */
#define LOOK_NS        50000000L    /* signals are looked at so often                  */

static void
wake_thread(struct member *m)
{
	const uint64_t one = 1;

	m->due = 0;
	if (write(m->wake, &one, sizeof(one)) < 0)
		return;                     /* it is awake                            */
}

static enum rs_status
start(struct member *m)
{
	snprintf(m->coordinator, sizeof(m->coordinator), "coordinator (%s)",
		m->o.job->node[0].endpoint);
	m->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->wake < 0)
		return rs_fail(RS_ERESOURCE, "cannot make an eventfd");
	RS_TRY(member_thread_dial(m));
	RS_TRY(thread_start(&m->thread, "member", member_thread_run, m));
	m->has_thread = 1;
	return RS_OK;
}

enum rs_status
member_open(const struct member_options *options, struct member **out)
{
	pthread_condattr_t attributes;
	struct member *m;

	RS_TRY(memory_alloc(1, sizeof(*m), &m));
	m->o = *options;
	m->wake = -1;
	atomic_init(&m->stop, 1);
	control_describe_self(options->job, options->endpoint, &m->self);
	pthread_mutex_init(&m->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&m->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	m->o.endpoint = NULL;               /* copied; borrowed for the call only     */
	const enum rs_status status = start(m);
	if (status != RS_OK) {
		member_close(m);
		return status;
	}
	*out = m;
	return RS_OK;
}

void
member_close(struct member *m)
{
	if (m == NULL)
		return;
	if (m->has_thread) {
		pthread_mutex_lock(&m->lock);
		m->quit = 1;
		wake_thread(m);
		pthread_mutex_unlock(&m->lock);
		thread_join(m->thread);
	}
	wire_close(m->wire);
	if (m->wake >= 0)
		close(m->wake);
	pthread_cond_destroy(&m->changed);
	pthread_mutex_destroy(&m->lock);
	member_view_free(&m->view);
	free(m);
}

/* Waits for news, not long. */
static void
wait_a_little(struct member *m)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	t.tv_nsec += LOOK_NS;
	t.tv_sec += t.tv_nsec / 1000000000L;
	t.tv_nsec %= 1000000000L;
	pthread_cond_timedwait(&m->changed, &m->lock, &t);
}

/* Asks for the next round; whoever comes while one goes on gives it up, and says why. */
static void
ask(struct member *m)
{
	const struct rs_failure *last = rs_failure();

	if (m->phase == MEMBER_IN)
		member_thread_stop(m, last->status == RS_EPEER ? last->text : "");
	m->phase = MEMBER_JOINING;
	m->asked++;
	m->welcomed = 0;
	m->over_at = 0;
	wake_thread(m);
}

static int
has_signal(const struct member *m)
{
	return m->o.stop_signal != NULL && *m->o.stop_signal != 0;
}

static enum rs_status
fail_silent(const struct member *m, double seconds)
{
	return rs_fail(RS_EPEER, "%s does not answer for %g s%s%s", m->coordinator, seconds,
		m->trouble[0] != '\0' ? ": it " : "", m->trouble);
}

static enum rs_status
check_waiting(struct member *m, double began)
{
	const double limit = m->view.epoch == 0 ? m->o.rendezvous : m->o.absence;
	const double since = m->heard > began ? m->heard : began;

	if (has_signal(m))
		return rs_fail(RS_ESIGNAL, "stopped by signal %d", *m->o.stop_signal);
	if (member_thread_now() - since >= limit)
		return fail_silent(m, limit);
	return RS_OK;
}

static enum rs_status
wait_locked(struct member *m, struct member_view *out)
{
	const double began = member_thread_now();
	enum rs_status status = RS_OK;

	if (m->phase != MEMBER_REFUSED && !atomic_load(&m->ended))
		ask(m);
	while (status == RS_OK && m->phase == MEMBER_JOINING && !atomic_load(&m->ended)) {
		wait_a_little(m);
		status = check_waiting(m, began);
		if (m->phase == MEMBER_IDLE)    /* a round that was over when we looked   */
			ask(m);
	}
	/* When all are told to stop, who stops first ends the job for the others. */
	if (atomic_load(&m->ended) == 2 && m->failure.status == RS_EPEER && has_signal(m))
		return rs_fail(RS_ESIGNAL, "stopped by signal %d", *m->o.stop_signal);
	if (m->phase == MEMBER_REFUSED || atomic_load(&m->ended))
		return rs_failure_put(&m->failure);
	if (m->phase == MEMBER_IN)
		return control_copy_view(&m->view, out);
	m->phase = MEMBER_IDLE;
	return status;
}

enum rs_status
member_wait(struct member *m, struct member_view *out)
{
	pthread_mutex_lock(&m->lock);
	const enum rs_status status = wait_locked(m, out);
	pthread_mutex_unlock(&m->lock);
	return status;
}

/* How long a coordinator that says nothing is asked again. */
static double
leave_limit(const struct member *m)
{
	if (atomic_load(&m->ended))
		return ENDED_SECONDS;
	return control_is_done(m->leaving.status) ? m->o.absence : 2 * m->o.lease;
}

static enum rs_status
leave_locked(struct member *m)
{
	const double began = member_thread_now();

	if (m->phase == MEMBER_REFUSED || m->phase == MEMBER_LEFT)
		return RS_OK;
	if (m->incarnation == 0 && control_is_done(m->leaving.status))
		return RS_OK;               /* it never was in                        */
	m->phase = MEMBER_LEAVING;
	wake_thread(m);
	while (m->phase == MEMBER_LEAVING) {
		const double since = m->heard > began ? m->heard : began;

		wait_a_little(m);
		if (member_thread_now() - since < leave_limit(m))
			continue;
		m->phase = MEMBER_LEFT;
		if (!atomic_load(&m->ended) && control_is_done(m->leaving.status))
			return fail_silent(m, leave_limit(m));
	}
	if (m->phase == MEMBER_IDLE)
		return rs_fail(RS_EPEER, "the round ended before the job was done: %s", m->reason);
	return RS_OK;
}

enum rs_status
member_leave(struct member *m, const struct rs_failure *failure)
{
	struct rs_failure kept = { 0 };

	if (failure != NULL)
		kept = *failure;            /* it may be the thread's own             */
	pthread_mutex_lock(&m->lock);
	m->leaving = kept;
	const enum rs_status status = leave_locked(m);
	pthread_mutex_unlock(&m->lock);
	return status;
}

void
member_report(struct member *m, const char *text)
{
	pthread_mutex_lock(&m->lock);
	snprintf(m->report, sizeof(m->report), "%s", text);
	pthread_mutex_unlock(&m->lock);
}

const atomic_int *
member_stop(const struct member *m)
{
	return &m->stop;
}

atomic_uint_fast64_t *
member_progress(struct member *m)
{
	return &m->progress;
}

void
member_reason(const struct member *m, char *out, size_t capacity)
{
	struct member *mine = (struct member *)(uintptr_t)m;    /* the lock is not const   */

	pthread_mutex_lock(&mine->lock);
	snprintf(out, capacity, "%s", m->reason);
	pthread_mutex_unlock(&mine->lock);
}

int
member_job_ended(const struct member *m)
{
	return atomic_load(&m->ended);
}

void
member_view_free(struct member_view *v)
{
	free(v->endpoint);
	free(v->public_key);
	v->endpoint = NULL;
	v->public_key = NULL;
}
