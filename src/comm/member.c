/* Membership: what the node asks for, and the thread that talks to the coordinator. */
#include "comm/member.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/rng.h"
#include "base/thread.h"
#include "comm/control.h"
#include "comm/fields.h"

#define AGAIN_SECONDS  0.05         /* between one HELLO and the next, when asked for it */
#define REDIAL_SECONDS 1.0          /* of silence, then the link is made anew,         */
#define REDIAL_MOST    3.0          /* and again after a little longer each time       */
#define ENDED_SECONDS  2.0          /* to say good-bye when the job has ended          */
#define LOOK_NS        50000000L    /* signals are looked at so often                  */

enum member_phase {
	MEMBER_IDLE,                /* before the first round, or when one is over    */
	MEMBER_JOINING,             /* member_wait()                                  */
	MEMBER_IN,
	MEMBER_LEAVING,             /* member_leave()                                 */
	MEMBER_LEFT,
	MEMBER_REFUSED,             /* failure says why                               */
};

struct member {
	struct member_options o;
	char coordinator[320];      /* "coordinator (ENDPOINT)"                       */
	struct control_self self;
	pthread_t thread;
	int has_thread;
	pthread_mutex_t lock;       /* of all below but the wire                      */
	pthread_cond_t changed;
	int wake;                   /* eventfd: there is something to do              */
	int quit;
	struct wire *wire;          /* the thread's                                   */
	double dialled, patience;   /* the last time, and until the next              */
	enum member_phase phase;
	int welcomed;               /* the last HELLO was answered                    */
	double due;                 /* when the next sign of life is sent             */
	double heard;               /* of the coordinator                             */
	uint64_t incarnation;
	struct member_view view;
	char reason[768];
	char report[4096];
	struct rs_failure leaving;  /* what member_leave() was called with            */
	struct rs_failure failure;  /* MEMBER_REFUSED, or what ended the job          */
	atomic_int stop, ended;     /* ended: 2 with a failure                        */
	atomic_uint_fast64_t progress;
};

/* Leases count what the machine slept. */
static double
now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
wake_thread(struct member *m)
{
	const uint64_t one = 1;

	m->due = 0;
	if (write(m->wake, &one, sizeof(one)) < 0)
		return;                     /* it is awake                            */
}

/* The round is over for this node. */
static void
stop_round(struct member *m, const char *reason)
{
	snprintf(m->reason, sizeof(m->reason), "%.*s", (int)sizeof(m->reason) - 1, reason);
	atomic_store(&m->stop, 1);
	if (m->phase == MEMBER_IN)
		m->phase = MEMBER_IDLE;
	pthread_cond_broadcast(&m->changed);
}

static void
refuse(struct member *m)
{
	rs_failure_take(&m->failure);
	m->phase = MEMBER_REFUSED;
	stop_round(m, m->failure.text);
}

static void
take_welcome(struct member *m, const struct fields *f)
{
	uint64_t incarnation;

	if (fields_u64(f, "incarnation", &incarnation) != RS_OK)
		return;
	m->incarnation = incarnation;
	m->welcomed = 1;
}

static void
take_view(struct member *m, const struct fields *f)
{
	struct member_view view;

	if (m->phase != MEMBER_JOINING)
		return;
	if (control_read_view(f, 1 + m->o.job->n_ps + m->o.job->n_workers, &view) != RS_OK) {
		refuse(m);
		return;
	}
	if (view.epoch <= m->view.epoch) {
		member_view_free(&view);
		return;
	}
	member_view_free(&m->view);
	m->view = view;
	m->phase = MEMBER_IN;
	m->reason[0] = '\0';
	atomic_store(&m->stop, 0);
	m->due = 0;                         /* tell that it arrived                   */
	pthread_cond_broadcast(&m->changed);
}

/* The round is over, or the coordinator wants a HELLO. */
static void
take_over(struct member *m, uint32_t epoch, const char *reason)
{
	if (m->phase == MEMBER_JOINING) {
		m->welcomed = 0;
		m->due = now_seconds() + AGAIN_SECONDS;
	} else if (m->phase == MEMBER_IN && epoch >= m->view.epoch)
		stop_round(m, reason);
	else if (m->phase == MEMBER_LEAVING && control_is_done(m->leaving.status) &&
	    epoch >= m->view.epoch) {
		m->phase = MEMBER_IDLE;
		stop_round(m, reason);
	}
}

static void
take_end(struct member *m, const struct fields *f)
{
	const char *value;
	size_t n;

	if (atomic_load(&m->ended))
		return;
	m->failure = (struct rs_failure){ .status = RS_EPEER, .text = "the job has ended" };
	const int failed = fields_find(f, "status", 0, &value, &n);
	if (failed) {
		fields_failure(f, "coordinator");
		rs_failure_take(&m->failure);
	}
	atomic_store(&m->ended, 1 + failed);
	stop_round(m, m->failure.text);
}

static void
take_order(struct member *m, const struct frame *frame, const struct fields *f)
{
	char order[16], reason[768];

	if (fields_text(f, "order", order, sizeof(order)) != RS_OK)
		return;
	if (fields_text(f, "reason", reason, sizeof(reason)) != RS_OK)
		snprintf(reason, sizeof(reason), "the coordinator ended it");
	if (strcmp(order, "over") == 0)
		take_over(m, frame->epoch, reason);
	else if (strcmp(order, "end") == 0)
		take_end(m, f);
}

static void
take_error(struct member *m, const struct fields *f)
{
	fields_failure(f, "coordinator");
	if (m->phase == MEMBER_LEAVING) {   /* whoever it is that has our place       */
		m->phase = MEMBER_LEFT;
		pthread_cond_broadcast(&m->changed);
	} else if (m->phase != MEMBER_LEFT)
		refuse(m);
}

static void
take(struct member *m, const struct wire_message *message)
{
	const struct fields f = control_fields(message);

	if (message->frame.job != m->o.job->id)
		return;
	m->heard = now_seconds();
	m->patience = REDIAL_SECONDS;
	switch (message->frame.type) {
	case FRAME_WELCOME:
		take_welcome(m, &f);
		break;
	case FRAME_VIEW:
		take_view(m, &f);
		break;
	case FRAME_RENEW_ACK:
		take_order(m, &message->frame, &f);
		break;
	case FRAME_ERROR:
		take_error(m, &f);
		break;
	case FRAME_ACK:
		if (m->phase == MEMBER_LEAVING)
			m->phase = MEMBER_LEFT;
		pthread_cond_broadcast(&m->changed);
		break;
	}
}

static enum rs_status
receive(struct member *m)
{
	for (int got = 1; got;) {
		struct wire_message message;

		RS_TRY(wire_receive(m->wire, &message, &got));
		if (got) {
			pthread_mutex_lock(&m->lock);
			take(m, &message);
			pthread_mutex_unlock(&m->lock);
			wire_message_free(&message);
		}
	}
	return RS_OK;
}

/* What is to be said now: 0 nothing, and when it is due is set anew. */
static enum frame_type
next_message(struct member *m, double now)
{
	if (now < m->due || m->phase == MEMBER_LEFT || m->phase == MEMBER_REFUSED)
		return 0;
	m->due = now + m->o.heartbeat;
	if (m->phase == MEMBER_LEAVING)
		return FRAME_BYE;
	if (m->phase == MEMBER_JOINING && !m->welcomed)
		return FRAME_HELLO;
	return m->incarnation != 0 ? FRAME_RENEW : 0;
}

static enum rs_status
build(struct member *m, enum frame_type type, struct buffer *body)
{
	const struct control_life life = { .incarnation = m->incarnation,
		.last_epoch = m->view.epoch, .progress = atomic_load(&m->progress),
		.report = m->report };

	if (type == FRAME_HELLO)
		return control_put_hello(body, &m->self, &life, m->reason);
	if (type == FRAME_RENEW)
		return control_put_renew(body, &life);
	return control_put_bye(body, &m->self, &life, &m->leaving);
}

static enum rs_status
speak(struct member *m)
{
	struct frame frame = { .job = m->o.job->id, .source = (uint32_t)m->o.job->self };
	struct buffer body;

	buffer_init(&body, FIELDS_MAX);
	pthread_mutex_lock(&m->lock);
	frame.type = next_message(m, now_seconds());
	frame.epoch = m->view.epoch;
	enum rs_status status = frame.type != 0 ? build(m, frame.type, &body) : RS_OK;
	pthread_mutex_unlock(&m->lock);
	if (status == RS_OK && frame.type != 0) {
		const struct wire_part part = { .data = body.data, .n = body.n };

		status = wire_send(m->wire, NULL, &frame, &part, 1);
		if (status == RS_EPEER)
			status = RS_OK;     /* the next one will get through, or silence tells */
	}
	buffer_free(&body);
	return status;
}

static enum rs_status
dial(struct member *m)
{
	const struct job_node *to = &m->o.job->node[0];

	return wire_connect(m->o.context, to->endpoint, to->public_key, &m->wire);
}

/* A coordinator that was started again is dialled at once, not when the library likes to;
 * one that stays silent for the lease has given this node up. */
static enum rs_status
check_silence(struct member *m)
{
	const double now = now_seconds();
	char reason[400];

	pthread_mutex_lock(&m->lock);
	const double silent = now - m->heard;
	if (m->phase == MEMBER_IN && silent >= m->o.lease) {
		snprintf(reason, sizeof(reason), "%s is silent for %.1f s", m->coordinator, silent);
		stop_round(m, reason);
	}
	const double since = m->heard > m->dialled ? m->heard : m->dialled;
	const int redial = m->welcomed && now - since >= m->patience + m->o.heartbeat;
	if (redial) {
		m->dialled = now;
		m->patience = 1.5 * m->patience < REDIAL_MOST ? 1.5 * m->patience : REDIAL_MOST;
		m->due = 0;
	}
	pthread_mutex_unlock(&m->lock);
	if (!redial)
		return RS_OK;
	wire_close(m->wire);
	m->wire = NULL;
	return dial(m);
}

static double
seconds_to_wait(struct member *m)
{
	pthread_mutex_lock(&m->lock);
	const double seconds = m->due - now_seconds();
	pthread_mutex_unlock(&m->lock);
	return seconds < 0 ? 0 : seconds < m->o.heartbeat ? seconds : m->o.heartbeat;
}

static enum rs_status
turn(struct member *m)
{
	uint64_t n;

	RS_TRY(check_silence(m));
	RS_TRY(speak(m));
	struct wire_poll poll[2] = { { .wire = m->wire }, { .fd = m->wake } };
	RS_TRY(wire_wait(poll, 2, seconds_to_wait(m)));
	if (poll[1].readable && read(m->wake, &n, sizeof(n)) < 0)
		return RS_OK;
	return receive(m);
}

static void *
run(void *argument)
{
	struct member *m = argument;

	for (;;) {
		pthread_mutex_lock(&m->lock);
		const int quit = m->quit || m->phase == MEMBER_REFUSED;
		pthread_mutex_unlock(&m->lock);
		if (quit)
			return NULL;
		if (turn(m) == RS_OK)
			continue;
		pthread_mutex_lock(&m->lock);
		refuse(m);
		pthread_mutex_unlock(&m->lock);
	}
}

static enum rs_status
start(struct member *m)
{
	snprintf(m->coordinator, sizeof(m->coordinator), "coordinator (%s)",
		m->o.job->node[0].endpoint);
	m->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (m->wake < 0)
		return rs_fail(RS_ERESOURCE, "cannot make an eventfd");
	m->dialled = now_seconds();
	m->patience = REDIAL_SECONDS;
	RS_TRY(dial(m));
	RS_TRY(thread_start(&m->thread, "member", run, m));
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
		stop_round(m, last->status == RS_EPEER ? last->text : "");
	m->phase = MEMBER_JOINING;
	m->welcomed = 0;
	wake_thread(m);
}

static enum rs_status
check_waiting(struct member *m, double began)
{
	const double limit = m->view.epoch == 0 ? m->o.rendezvous : m->o.absence;
	const double since = m->heard > began ? m->heard : began;

	if (m->o.stop_signal != NULL && *m->o.stop_signal != 0)
		return rs_fail(RS_ESIGNAL, "stopped by signal %d", *m->o.stop_signal);
	if (now_seconds() - since >= limit)
		return rs_fail(RS_EPEER, "%s does not answer for %g s", m->coordinator, limit);
	return RS_OK;
}

static enum rs_status
wait_locked(struct member *m, struct member_view *out)
{
	const double began = now_seconds();
	enum rs_status status = RS_OK;

	if (m->phase != MEMBER_REFUSED && !atomic_load(&m->ended))
		ask(m);
	while (status == RS_OK && m->phase == MEMBER_JOINING && !atomic_load(&m->ended)) {
		wait_a_little(m);
		status = check_waiting(m, began);
	}
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
	const double began = now_seconds();

	if (m->phase == MEMBER_REFUSED || m->phase == MEMBER_LEFT)
		return RS_OK;
	if (m->incarnation == 0 && control_is_done(m->leaving.status))
		return RS_OK;               /* it never was in                        */
	m->phase = MEMBER_LEAVING;
	wake_thread(m);
	while (m->phase == MEMBER_LEAVING) {
		const double since = m->heard > began ? m->heard : began;

		wait_a_little(m);
		if (now_seconds() - since < leave_limit(m))
			continue;
		m->phase = MEMBER_LEFT;
		if (!atomic_load(&m->ended) && control_is_done(m->leaving.status))
			return rs_fail(RS_EPEER, "%s does not answer for %g s", m->coordinator,
				leave_limit(m));
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
