/* The coordinator's loop: messages, the leash, the clock. */
#include "place/coordinator.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/log.h"
#include "base/number.h"
#include "place/coordinator_private.h"

#define LOOK_SECONDS    0.1
#define ASLEEP_SECONDS  1.0         /* a longer gap between looks: we were stopped     */
#define PUBLISH_SECONDS 1.0
#define LINGER_SECONDS  0.1         /* for the last answers to get out                 */
#define ORPHAN_SECONDS  0.2         /* for answers to nodes that are not the starter's */
#define LATE_SECONDS    2.0         /* for those who come when the job has just ended  */
#define MESSAGES_A_TURN 256

/* Leases count what the machine slept. */
static double
now_seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_BOOTTIME, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

void
coordinator_commit(struct coordinator *c)
{
	if (c->failure.status == RS_OK && job_db_save(c->db, &c->roster) != RS_OK)
		rs_failure_take(&c->failure);
}

/* Everybody hears what happened. */
static void
tell_news(struct coordinator *c)
{
	coordinator_commit(c);
	if (c->failure.status != RS_OK || c->news_told == c->roster.news)
		return;
	c->news_told = c->roster.news;
	if (c->roster.phase == ROSTER_ROUND)
		log_debug("round %u %s", c->roster.epoch,
			c->roster.finished ? "is done" : "begins");
	else if (c->roster.phase == ROSTER_GATHERING)
		log_info("round %u is over: %s", c->roster.epoch, c->roster.reason);
	for (size_t i = 1; i < c->roster.n; i++)
		if (c->link[i].has_peer)
			coordinator_tell(c, i, &c->link[i].peer, 0);
}

/* It will not come back.  Most have said why themselves, and are gone already. */
static void
take_exit(struct coordinator *c, size_t i, int code)
{
	struct roster *const r = &c->roster;
	struct rs_failure failure = { .status = rs_status_of_exit(code) };
	char name[32];

	if (r->node[i].state == ROSTER_GONE)
		return;
	const char *const said = r->node[i].trouble;
	snprintf(failure.text, sizeof(failure.text), "%s ended with exit code %d%s%s",
		job_node_name(c->o->job, i, name), code, said[0] != '\0' ? ": " : "", said);
	roster_bye(r, i, r->node[i].incarnation, &failure, c->now);
	if (failure.status == RS_EPEER || failure.status == RS_ESIGNAL)
		roster_end(r, &failure, c->now);
}

/* "died NUMBER HOW" or "ended NUMBER CODE" */
static void
take_line(struct coordinator *c, const char *line, size_t n)
{
	const size_t verb = n > 6 && memcmp(line, "ended ", 6) == 0 ? 6 :
		n > 5 && memcmp(line, "died ", 5) == 0 ? 5 : 0;
	const char *number = line + verb, *space = memchr(number, ' ', n - verb);
	char how[200], name[32];
	uint64_t i, code = 0;

	if (verb == 0 || space == NULL || !number_u64(number, (size_t)(space - number), &i) ||
	    i >= c->roster.n) {
		log_warn("a line of the leash makes no sense");
		return;
	}
	snprintf(how, sizeof(how), "%.*s", (int)(line + n - space - 1), space + 1);
	log_debug("%s %.*s: %s", job_node_name(c->o->job, (size_t)i, name), (int)verb - 1, line,
		how);
	if (verb == 5)
		roster_died(&c->roster, (size_t)i, how, c->now);
	else if (number_u64(how, strlen(how), &code))
		take_exit(c, (size_t)i, (int)code);
}

static void
take_lines(struct coordinator *c)
{
	char *end;

	while ((end = memchr(c->line, '\n', c->n_line)) != NULL) {
		const size_t n = (size_t)(end - c->line);

		take_line(c, c->line, n);
		c->n_line -= n + 1;
		memmove(c->line, end + 1, c->n_line);
	}
	if (c->n_line == sizeof(c->line))
		c->n_line = 0;              /* no such line is so long                */
}

static void
read_leash(struct coordinator *c)
{
	const struct rs_failure gone = { .status = RS_EPEER,
		.text = "who started the job is gone" };
	const ssize_t n = read(c->leash, c->line + c->n_line, sizeof(c->line) - c->n_line);

	if (n > 0) {
		c->n_line += (size_t)n;
		take_lines(c);
	} else if (n == 0 || (errno != EINTR && errno != EAGAIN)) {
		c->leash = -1;
		roster_end(&c->roster, &gone, c->now);
	}
}

/* What is sent to a link that broke fails: a process that was killed is noticed by it. */
static void
ping(struct coordinator *c)
{
	if (c->now - c->pinged < c->o->cluster->heartbeat / 4)
		return;
	c->pinged = c->now;
	for (size_t i = 1; i < c->roster.n; i++) {
		const enum roster_state state = c->roster.node[i].state;

		if (!c->link[i].has_peer || state == ROSTER_ABSENT || state == ROSTER_GONE)
			continue;
		if (coordinator_tell(c, i, &c->link[i].peer, 0) == RS_EPEER)
			roster_broken(&c->roster, i, c->now);
	}
}

static void
publish(struct coordinator *c)
{
	if (c->published > 0 && c->now - c->published < PUBLISH_SECONDS)
		return;
	c->published = c->now;
	coordinator_publish(c);
}

static void
look_at_clock(struct coordinator *c)
{
	const double now = now_seconds(), gap = now - c->now;

	c->now = now;
	if (gap > ASLEEP_SECONDS)
		roster_forgive(&c->roster, gap);
}

static void
check_signal(struct coordinator *c)
{
	struct rs_failure failure = { .status = RS_ESIGNAL };
	const volatile int *signal = c->o->stop_signal;

	if (signal == NULL || *signal == 0)
		return;
	if (c->signalled == 0)
		c->signalled = c->now;      /* the nodes have theirs, and time to save */
	if (c->now - c->signalled < c->o->cluster->drain)
		return;
	snprintf(failure.text, sizeof(failure.text), "stopped by signal %d", *signal);
	roster_end(&c->roster, &failure, c->now);
}

static enum rs_status
receive(struct coordinator *c)
{
	int got = 1;

	for (size_t i = 0; got && i < MESSAGES_A_TURN && c->failure.status == RS_OK; i++) {
		struct wire_message m;

		RS_TRY(wire_receive(c->o->wire, &m, &got));
		if (!got)
			return RS_OK;
		coordinator_take(c, &m);
		wire_message_free(&m);
		tell_news(c);
	}
	return RS_OK;
}

/* The starter is dead, and its nodes with it: nobody comes any more. */
static int
is_orphan(const struct coordinator *c)
{
	return c->o->leash >= 0 && c->leash < 0;
}

static int
is_over(const struct coordinator *c)
{
	size_t n_gone = 0;

	if (c->failure.status != RS_OK)
		return 1;
	if (c->roster.phase != ROSTER_ENDED)
		return 0;
	for (size_t i = 1; i < c->roster.n; i++)
		n_gone += c->roster.node[i].state == ROSTER_GONE;
	const double past = c->now - c->roster.since;
	return n_gone == c->roster.n - 1 || past >= c->o->cluster->drain ||
		(is_orphan(c) && past >= ORPHAN_SECONDS) ||
		(roster_is_empty(&c->roster) && past >= LATE_SECONDS);
}

static enum rs_status
serve(struct coordinator *c)
{
	while (!is_over(c)) {
		struct wire_poll poll[2] = { { .wire = c->o->wire }, { .fd = c->leash } };

		RS_TRY(wire_wait(poll, c->leash >= 0 ? 2 : 1, LOOK_SECONDS));
		look_at_clock(c);
		/* First the leash: who died is started again only after that. */
		if (c->leash >= 0 && poll[1].readable)
			read_leash(c);
		tell_news(c);
		RS_TRY(receive(c));
		check_signal(c);
		roster_tick(&c->roster, c->now);
		tell_news(c);
		ping(c);
		publish(c);
	}
	if (c->failure.status != RS_OK)
		return rs_failure_put(&c->failure);
	struct wire_poll poll = { .wire = c->o->wire };
	RS_TRY(wire_wait(&poll, 1, LINGER_SECONDS));
	return RS_OK;
}

static enum rs_status
open_parts(struct coordinator *c)
{
	RS_TRY(memory_alloc(c->roster.n, sizeof(*c->link), &c->link));
	for (size_t i = 0; i < c->roster.n; i++)
		buffer_init(&c->link[i].report, LINK_REPORT_MAX);
	return job_db_open(c->o->directory, &c->roster, c->now, &c->db);
}

static void
close_parts(struct coordinator *c)
{
	for (size_t i = 0; c->link != NULL && i < c->roster.n; i++)
		buffer_free(&c->link[i].report);
	free(c->link);
	job_db_close(c->db);
	roster_free(&c->roster);
}

enum rs_status
coordinator_serve(const struct coordinator_options *options)
{
	struct coordinator c = { .o = options, .leash = options->leash, .now = now_seconds() };

	RS_TRY(coordinator_check_metrics(options));
	RS_TRY(roster_init(&c.roster, options->job, options->cluster, c.now));
	enum rs_status status = open_parts(&c);
	if (status == RS_OK) {
		status = serve(&c);
		coordinator_publish(&c);
	}
	if (status == RS_OK && c.roster.failure.status != RS_OK) {
		status = rs_failure_put(&c.roster.failure);
		if (options->is_of_job != NULL)
			*options->is_of_job = 1;
	}
	close_parts(&c);
	return status;
}
