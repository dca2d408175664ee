/* Members and rounds: who came, who is lost, when a round begins and ends. */
#include "place/roster.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define BROKEN_SECONDS   0.6        /* a node whose link broke is back by then, or dead */
#define RECENT_SECONDS   1.2        /* a link that breaks after a longer silence broke of it */
#define PROGRESS_SECONDS 60.0
#define PROGRESS_STEPS   20.0
#define BARREN_SECONDS   600.0

static const char *const phase_name[] = {
#define ROW(name, text) [ROSTER_##name] = text,
	ROSTER_PHASE_TABLE(ROW)
};
static const char *const state_name[] = {
	ROSTER_STATE_TABLE(ROW)
#undef ROW
};

const char *
roster_phase_name(enum roster_phase phase)
{
	return (unsigned)phase < ROSTER_N_PHASES ? phase_name[phase] : "?";
}

const char *
roster_state_name(enum roster_state state)
{
	return (unsigned)state < ROSTER_N_STATES ? state_name[state] : "?";
}

enum rs_status
roster_init(struct roster *r, const struct job *job, const struct cluster_settings *cluster,
	double now)
{
	*r = (struct roster){ .job = job, .cluster = cluster, .since = now };
	r->n = 1 + job->n_ps + job->n_workers;
	assert(r->n <= job->n_nodes);
	return memory_alloc(r->n, sizeof(*r->node), &r->node);
}

void
roster_free(struct roster *r)
{
	free(r->node);
	r->node = NULL;
}

static int
is_worker(const struct roster *r, size_t number)
{
	return r->job->node[number].role == KEY_WORKER;
}

static int
is_worker_0(const struct roster *r, size_t number)
{
	return is_worker(r, number) && r->job->node[number].index == 0;
}

/* Somebody whose silence would be noticed. */
static int
is_present(const struct roster_node *node)
{
	return node->state != ROSTER_ABSENT && node->state != ROSTER_GONE;
}

static void
set_state(struct roster *r, size_t number, enum roster_state state)
{
	struct roster_node *node = &r->node[number];

	if (node->state == state)
		return;
	node->state = state;
	node->dirty = r->dirty = 1;
}

static void
set_phase(struct roster *r, enum roster_phase phase, double now)
{
	r->phase = phase;
	r->since = now;
	r->dirty = 1;
	r->news++;
}

void
roster_end(struct roster *r, const struct rs_failure *failure, double now)
{
	if (r->phase == ROSTER_ENDED)
		return;
	r->failure = failure != NULL ? *failure : (struct rs_failure){ 0 };
	set_phase(r, ROSTER_ENDED, now);
}

__attribute__((format(printf, 3, 4))) static void
end_unreachable(struct roster *r, double now, const char *format, ...)
{
	struct rs_failure failure = { .status = RS_EPEER };
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(failure.text, sizeof(failure.text), format, arguments);
	va_end(arguments);
	roster_end(r, &failure, now);
}

/* Rounds that get nowhere must not follow each other for ever. */
static void
count_barren(struct roster *r, double now)
{
	if (r->progress_seen)
		r->barren = 0;
	else if (r->barren++ == 0 || now - r->barren_since > BARREN_SECONDS) {
		r->barren = 1;
		r->barren_since = now;
	}
	if (r->barren > (uint64_t)r->cluster->restarts)
		end_unreachable(r, now, "%" PRIu64 " rounds made no progress, the last because %s",
			r->barren, r->reason);
}

static void
end_round(struct roster *r, double now, const char *reason)
{
	if (r->phase != ROSTER_ROUND || r->finished)
		return;
	snprintf(r->reason, sizeof(r->reason), "%s", reason);
	if (r->later.status != RS_OK) {
		roster_end(r, &r->later, now);
		return;
	}
	set_phase(r, ROSTER_GATHERING, now);
	for (size_t i = 1; i < r->n; i++)
		if (r->node[i].state == ROSTER_IN || r->node[i].state == ROSTER_DONE)
			set_state(r, i, ROSTER_OUT);
	count_barren(r, now);
}

static void
begin_round(struct roster *r, double now)
{
	if (r->phase != ROSTER_GATHERING)
		return;
	for (size_t i = 1; i < r->n; i++)
		if (r->node[i].state != ROSTER_READY)
			return;
	r->epoch++;
	set_phase(r, ROSTER_ROUND, now);
	r->progress_seen = 0;
	r->progressed = now;
	for (size_t i = 1; i < r->n; i++) {
		set_state(r, i, ROSTER_IN);
		r->node[i].progressed = now;
	}
}

/* All workers but those that are lost are done, too. */
static void
finish(struct roster *r, double now)
{
	if (!r->finished)
		return;
	for (size_t i = 1; i < r->n; i++)
		if (is_worker(r, i) && r->node[i].state == ROSTER_IN &&
		    now - r->finished_at < r->cluster->drain)
			return;
	roster_end(r, NULL, now);
}

static void
lose(struct roster *r, size_t number, double now, const char *how)
{
	struct roster_node *node = &r->node[number];
	const int was_in = node->state == ROSTER_IN || node->state == ROSTER_DONE;
	char name[32], reason[768];

	if (!is_present(node))
		return;
	snprintf(node->trouble, sizeof(node->trouble), "%s", how);
	snprintf(reason, sizeof(reason), "%s %s", job_node_name(r->job, number, name), how);
	if (was_in)
		end_round(r, now, reason);
	set_state(r, number, ROSTER_ABSENT);
	finish(r, now);
}

static enum rs_status
fail_ended(const struct roster *r)
{
	if (r->failure.status != RS_OK)
		return rs_failure_put(&r->failure);
	return rs_fail(RS_EPEER, "the job has ended");
}

static enum rs_status
fail_fenced(const struct roster *r, size_t number)
{
	char name[32];

	return rs_fail(RS_EDENIED, "another process has the place of %s",
		job_node_name(r->job, number, name));
}

static void
note_progress(struct roster *r, size_t number, uint64_t progress, double now)
{
	struct roster_node *node = &r->node[number];

	if (progress == node->progress)
		return;
	const int is_more = progress > node->progress;
	node->progress = progress;
	node->progressed = now;
	if (!is_more || !is_worker(r, number) || node->state != ROSTER_IN)
		return;
	if (r->progress_seen && now > r->progressed)
		r->gap[r->n_gaps++ % ROSTER_GAPS] = now - r->progressed;
	r->progress_seen = 1;
	r->progressed = now;
}

/* A process that was not here before. */
static void
admit_new(struct roster *r, size_t number, const struct roster_hello *h, double now)
{
	struct roster_node *node = &r->node[number];

	lose(r, number, now, "was started again");
	node->incarnation = ++r->last_incarnation;
	node->nonce = h->nonce;
	node->progress = h->progress;
	node->dirty = r->dirty = 1;
}

/* After the coordinator lost its book, those who were in it are believed. */
static void
admit_stranger(struct roster *r, size_t number, const struct roster_hello *h)
{
	struct roster_node *node = &r->node[number];

	node->incarnation = h->incarnation;
	node->nonce = h->nonce;
	if (r->last_incarnation < h->incarnation)
		r->last_incarnation = h->incarnation;
	node->dirty = r->dirty = 1;
}

static void
describe(struct roster *r, size_t number, const struct roster_hello *h)
{
	struct roster_node *node = &r->node[number];

	snprintf(node->endpoint, sizeof(node->endpoint), "%s", h->endpoint);
	snprintf(node->public_key, sizeof(node->public_key), "%s", h->public_key);
	snprintf(node->host, sizeof(node->host), "%s", h->host);
	snprintf(node->name, sizeof(node->name), "%s", h->name);
	node->pid = h->pid;
	node->trouble[0] = '\0';
	node->dirty = r->dirty = 1;
}

/* It is in the round already: it gives it up, or repeats an old HELLO. */
static void
hello_again(struct roster *r, size_t number, const struct roster_hello *h, double now)
{
	char name[32], reason[768];

	if (h->last_epoch < r->epoch)
		return;
	note_progress(r, number, h->progress, now);
	snprintf(reason, sizeof(reason), "%s gave up%s%s", job_node_name(r->job, number, name),
		h->why[0] != '\0' ? ": " : "", h->why);
	end_round(r, now, reason);
}

enum rs_status
roster_hello(struct roster *r, size_t number, const struct roster_hello *h, double now)
{
	struct roster_node *node = &r->node[number];

	assert(number > 0 && number < r->n);
	if (r->phase == ROSTER_ENDED)
		return fail_ended(r);
	if (h->incarnation == 0 && (node->incarnation == 0 || node->nonce != h->nonce))
		admit_new(r, number, h, now);
	else if (node->incarnation == 0)
		admit_stranger(r, number, h);
	else if (h->incarnation != 0 && h->incarnation != node->incarnation)
		return fail_fenced(r, number);
	node->heard = now;
	node->broken = 0;
	if (node->state == ROSTER_IN || node->state == ROSTER_DONE)
		hello_again(r, number, h, now);
	if (r->phase == ROSTER_ENDED)
		return fail_ended(r);
	if (node->state == ROSTER_IN || node->state == ROSTER_DONE)
		return RS_OK;
	if (h->last_epoch > r->epoch) {
		end_round(r, now, "the coordinator did not know of it");
		r->epoch = h->last_epoch;
		r->dirty = 1;
	}
	describe(r, number, h);
	node->progress = h->progress;
	set_state(r, number, ROSTER_READY);
	begin_round(r, now);
	return RS_OK;
}

enum rs_status
roster_renew(struct roster *r, size_t number, uint64_t incarnation, uint64_t progress, double now)
{
	struct roster_node *node = &r->node[number];

	assert(number > 0 && number < r->n);
	/* One who is not in the book is told to come again, and is then believed. */
	if (node->incarnation != 0 && node->incarnation != incarnation)
		return fail_fenced(r, number);
	node->heard = now;
	node->broken = 0;
	note_progress(r, number, progress, now);
	if (node->incarnation != 0 && node->state == ROSTER_ABSENT)
		set_state(r, number, ROSTER_OUT);
	return RS_OK;
}

static int
is_done(enum rs_status status)
{
	return status == RS_OK || status == RS_EPARTIAL || status == RS_EUNMET;
}

/* It was to train, and goes as if it had: it has a signal. */
static void
end_early(struct roster *r, size_t number, double now)
{
	char name[32];

	set_state(r, number, ROSTER_GONE);
	end_unreachable(r, now, "%s left before the round began",
		job_node_name(r->job, number, name));
}

/* Worker 0 being done is what the job is for; the others wait for it. */
static void
bye_done(struct roster *r, size_t number, double now)
{
	if (!is_worker(r, number)) {
		lose(r, number, now, "left before the end");
		return;
	}
	if (r->node[number].state == ROSTER_READY)
		end_early(r, number, now);
	/* The last version is saved: that the round ended meanwhile changes nothing. */
	if (is_worker_0(r, number) && r->phase != ROSTER_ENDED)
		set_state(r, number, ROSTER_IN);
	if (r->node[number].state != ROSTER_IN)
		return;
	if (!is_worker_0(r, number)) {
		set_state(r, number, r->finished ? ROSTER_GONE : ROSTER_DONE);
		finish(r, now);
		return;
	}
	set_state(r, number, ROSTER_GONE);
	r->finished = r->dirty = 1;
	r->finished_at = now;
	r->news++;
	for (size_t i = 1; i < r->n; i++)
		if (r->node[i].state == ROSTER_DONE)
			set_state(r, i, ROSTER_GONE);
	finish(r, now);
}

/* All workers stop after the same step when one has a signal, and worker 0 then still has a
 * version to save: it gets the time for it. */
static void
bye_signal(struct roster *r, size_t number, const struct rs_failure *failure, double now)
{
	const int is_in = r->phase == ROSTER_ROUND && r->node[number].state == ROSTER_IN;

	set_state(r, number, ROSTER_GONE);
	if (is_worker_0(r, number) || !is_in) {
		roster_end(r, failure, now);
		return;
	}
	if (r->later.status != RS_OK)
		return;
	r->later = *failure;
	r->later_at = now;
}

enum rs_status
roster_bye(struct roster *r, size_t number, uint64_t incarnation, const struct rs_failure *failure,
	double now)
{
	struct roster_node *node = &r->node[number];
	char how[256];

	assert(number > 0 && number < r->n);
	if (node->incarnation != incarnation && (incarnation != 0 || is_present(node)))
		return fail_fenced(r, number);
	node->heard = now;
	if (r->phase == ROSTER_ENDED || node->state == ROSTER_GONE)
		set_state(r, number, ROSTER_GONE);
	else if (is_done(failure->status))
		bye_done(r, number, now);
	else if (failure->status == RS_ESIGNAL && is_worker(r, number))
		bye_signal(r, number, failure, now);
	else if (failure->status == RS_EPEER || failure->status == RS_ESIGNAL) {
		snprintf(how, sizeof(how), "left: %.240s", failure->text);
		lose(r, number, now, how);
	} else {
		set_state(r, number, ROSTER_GONE);
		roster_end(r, failure, now);
	}
	return RS_OK;
}

void
roster_refused(struct roster *r, size_t number, const char *why)
{
	if (number > 0 && number < r->n && !is_present(&r->node[number]))
		snprintf(r->node[number].trouble, sizeof(r->node[number].trouble),
			"was refused: %.240s", why);
}

void
roster_died(struct roster *r, size_t number, const char *how, double now)
{
	if (number > 0 && number < r->n)
		lose(r, number, now, how);
}

void
roster_broken(struct roster *r, size_t number, double now)
{
	struct roster_node *node = &r->node[number];

	if (is_present(node) && node->broken == 0 && now - node->heard < RECENT_SECONDS)
		node->broken = now;
}

static int
compare_gaps(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double
progress_limit(const struct roster *r)
{
	const size_t n = r->n_gaps < ROSTER_GAPS ? r->n_gaps : ROSTER_GAPS;
	double sorted[ROSTER_GAPS], limit = PROGRESS_SECONDS;

	memcpy(sorted, r->gap, n * sizeof(sorted[0]));
	qsort(sorted, n, sizeof(sorted[0]), compare_gaps);
	if (n > 0 && PROGRESS_STEPS * sorted[n / 2] > limit)
		limit = PROGRESS_STEPS * sorted[n / 2];
	/* Before the first step a worker reads data and tables. */
	if (!r->progress_seen && r->cluster->absence > limit)
		limit = r->cluster->absence;
	return limit;
}

/* Nobody gets on: all wait for the one who stopped first. */
static void
check_progress(struct roster *r, double now)
{
	const double limit = progress_limit(r);
	size_t first = 0;
	char name[32], reason[256];

	if (r->phase != ROSTER_ROUND || now - r->progressed < limit)
		return;
	for (size_t i = 1; i < r->n; i++)
		if (is_worker(r, i) && r->node[i].state == ROSTER_IN &&
		    (first == 0 || r->node[i].progressed < r->node[first].progressed))
			first = i;
	snprintf(reason, sizeof(reason), "no worker made progress for %.0f s, %s stopped first",
		limit, first != 0 ? job_node_name(r->job, first, name) : "nobody");
	end_round(r, now, reason);
}

static size_t
list_missing(const struct roster *r, char *out, size_t capacity)
{
	size_t n_missing = 0, used = 0, n_more = 0;

	out[0] = '\0';
	for (size_t i = 1; i < r->n; i++) {
		const struct roster_node *node = &r->node[i];
		char name[32], one[340];

		if (node->state == ROSTER_READY)
			continue;
		snprintf(one, sizeof(one), "%s%s%s%s%s", n_missing > 0 ? ", " : "",
			job_node_name(r->job, i, name), node->trouble[0] != '\0' ? " (" : "",
			node->trouble, node->trouble[0] != '\0' ? ")" : "");
		n_missing++;
		if (n_more > 0 || used + strlen(one) + 32 > capacity)
			n_more++;
		else
			used += (size_t)snprintf(out + used, capacity - used, "%s", one);
	}
	if (n_more > 0)
		snprintf(out + used, capacity - used, " and %zu more", n_more);
	return n_missing;
}

static void
check_missing(struct roster *r, double now)
{
	const double limit = r->epoch == 0 ? r->cluster->rendezvous : r->cluster->absence;
	char missing[800];

	if (r->phase != ROSTER_GATHERING || now - r->since < limit)
		return;
	list_missing(r, missing, sizeof(missing));
	end_unreachable(r, now, "%s did not come%s within %g s", missing,
		r->epoch == 0 ? "" : " back", limit);
}

static void
check_silence(struct roster *r, double now)
{
	char how[64];

	snprintf(how, sizeof(how), "was silent for %g s", r->cluster->lease);
	for (size_t i = 1; i < r->n; i++) {
		const struct roster_node *node = &r->node[i];

		if (!is_present(node))
			continue;
		if (now - node->heard >= r->cluster->lease)
			lose(r, i, now, how);
		else if (node->broken > 0 && now - node->broken >= BROKEN_SECONDS)
			lose(r, i, now, "is gone: its connection broke");
	}
}

void
roster_tick(struct roster *r, double now)
{
	check_silence(r, now);
	check_progress(r, now);
	check_missing(r, now);
	finish(r, now);
	if (r->later.status != RS_OK && now - r->later_at >= r->cluster->drain)
		roster_end(r, &r->later, now);
}

void
roster_forgive(struct roster *r, double seconds)
{
	r->since += seconds;
	r->progressed += seconds;
	r->finished_at += seconds;
	r->later_at += seconds;
	for (size_t i = 1; i < r->n; i++) {
		r->node[i].heard += seconds;
		r->node[i].progressed += seconds;
		r->node[i].broken = 0;
	}
}

enum roster_order
roster_order(const struct roster *r, size_t number)
{
	const enum roster_state state = r->node[number].state;

	if (r->phase == ROSTER_ENDED)
		return ROSTER_END;
	if (state == ROSTER_READY)
		return ROSTER_WAIT;
	if (state == ROSTER_IN || state == ROSTER_DONE)
		return ROSTER_GO;
	return ROSTER_OVER;
}

int
roster_is_empty(const struct roster *r)
{
	for (size_t i = 1; i < r->n; i++)
		if (is_present(&r->node[i]))
			return 0;
	return 1;
}
