/* The thread of a member: what is said to the coordinator, and what it answers. */
#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "comm/fields.h"
#include "comm/member_private.h"

#define AGAIN_SECONDS  0.05         /* between one HELLO and the next, when asked for it */
#define REDIAL_SECONDS 1.0          /* of silence, then the link is made anew,         */
#define REDIAL_MOST    3.0          /* and again after a little longer each time       */

double
member_thread_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void
member_thread_stop(struct member *m, const char *reason)
{
	snprintf(m->reason, sizeof(m->reason), "%.*s", (int)sizeof(m->reason) - 1, reason);
	atomic_store(&m->stop, 1);
	if (m->phase == MEMBER_IN) {
		m->phase = MEMBER_IDLE;
		m->over_at = member_thread_now();
	}
	pthread_cond_broadcast(&m->changed);
}

static void
refuse(struct member *m)
{
	rs_failure_take(&m->failure);
	m->phase = MEMBER_REFUSED;
	member_thread_stop(m, m->failure.text);
}

static void
take_welcome(struct member *m, uint64_t request, const struct fields *f)
{
	uint64_t incarnation;

	if (fields_u64(f, "incarnation", &incarnation) != RS_OK)
		return;
	m->incarnation = incarnation;
	/* That of a HELLO of the round before may come late. */
	m->welcomed = request == m->asked;
}

/* The last HELLO did not do what it was for. */
static void
ask_again(struct member *m)
{
	const double soon = member_thread_now() + AGAIN_SECONDS;

	m->welcomed = 0;
	if (m->due > soon)
		m->due = soon;
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
	if (view.epoch <= m->view.epoch) {      /* it does not know that we left it       */
		member_view_free(&view);
		ask_again(m);
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

static int
is_worker_0(const struct job *job)
{
	return job->node[job->self].role == KEY_WORKER && job->node[job->self].index == 0;
}

/* The round is over, or the coordinator wants a HELLO.  Worker 0 that is done is so whatever
 * becomes of the round. */
static void
take_over(struct member *m, uint32_t epoch, const char *reason)
{
	if (m->phase == MEMBER_JOINING)
		ask_again(m);
	else if (m->phase == MEMBER_IN && epoch >= m->view.epoch)
		member_thread_stop(m, reason);
	else if (m->phase == MEMBER_LEAVING && control_is_done(m->leaving.status) &&
	    epoch >= m->view.epoch && !is_worker_0(m->o.job)) {
		m->phase = MEMBER_IDLE;
		member_thread_stop(m, reason);
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
	member_thread_stop(m, m->failure.text);
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
	else if (strcmp(order, "go") == 0 && m->phase == MEMBER_JOINING)
		ask_again(m);
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
	m->heard = member_thread_now();
	m->patience = REDIAL_SECONDS;
	switch (message->frame.type) {
	case FRAME_WELCOME:
		take_welcome(m, message->frame.request, &f);
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
	pthread_mutex_lock(&m->lock);
	snprintf(m->trouble, sizeof(m->trouble), "%s", wire_trouble_text(m->wire));
	pthread_mutex_unlock(&m->lock);
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
	frame.type = next_message(m, member_thread_now());
	frame.epoch = m->view.epoch;
	frame.request = m->asked;
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

enum rs_status
member_thread_dial(struct member *m)
{
	const struct job_node *to = &m->o.job->node[0];

	return wire_connect(m->o.context, to->endpoint, to->public_key, &m->wire);
}

/* A coordinator that was started again is dialled at once, not when the library likes to;
 * one that stays silent for the lease has given this node up. */
static enum rs_status
check_silence(struct member *m)
{
	const double now = member_thread_now();
	char reason[400];

	pthread_mutex_lock(&m->lock);
	const double silent = now - m->heard;
	if (m->phase == MEMBER_IN && silent >= m->o.lease) {
		snprintf(reason, sizeof(reason), "%s is silent for %.1f s", m->coordinator, silent);
		member_thread_stop(m, reason);
	}
	const double since = m->heard > m->dialled ? m->heard : m->dialled;
	const int redial = m->incarnation != 0 && now - since >= m->patience + m->o.heartbeat;
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
	return member_thread_dial(m);
}

/* Whoever works here does not notice that the round is over. */
static void
check_hang(struct member *m)
{
	pthread_mutex_lock(&m->lock);
	const int hangs = m->o.hung != NULL && m->phase == MEMBER_IDLE && m->over_at > 0 &&
		!atomic_load(&m->ended) && member_thread_now() - m->over_at >= m->o.hang;
	if (hangs)
		m->over_at = 0;
	pthread_mutex_unlock(&m->lock);
	if (hangs)
		m->o.hung(m->o.context_of_hung, m->reason);
}

static double
seconds_to_wait(struct member *m)
{
	pthread_mutex_lock(&m->lock);
	const double seconds = m->due - member_thread_now();
	pthread_mutex_unlock(&m->lock);
	return seconds < 0 ? 0 : seconds < m->o.heartbeat ? seconds : m->o.heartbeat;
}

static enum rs_status
turn(struct member *m)
{
	uint64_t n;

	check_hang(m);
	RS_TRY(check_silence(m));
	RS_TRY(speak(m));
	struct wire_poll poll[2] = { { .wire = m->wire }, { .fd = m->wake } };
	RS_TRY(wire_wait(poll, 2, seconds_to_wait(m)));
	if (poll[1].readable && read(m->wake, &n, sizeof(n)) < 0)
		return RS_OK;
	return receive(m);
}

void *
member_thread_run(void *argument)
{
	struct member *m = argument;

	m->dialled = member_thread_now();
	m->patience = REDIAL_SECONDS;
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
