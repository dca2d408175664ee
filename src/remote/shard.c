/* The serving thread of a shard: messages in, each to who answers it, answers out. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "comm/fields.h"
#include "remote/shard_private.h"

#define WAIT_SECONDS   0.1
#define REPORT_SECONDS 1.0
#define MESSAGES_A_TURN 64              /* then the clock is looked at                */
#define THREADS_MAX    64
#define THREADS_AUTO   8

/* What a shard counts, for STATS_R. */
#define COUNT(member) { #member, offsetof(struct shard_counts, member) }
static const struct { const char *name; size_t offset; } count_list[] = {
	COUNT(pulls), COUNT(pulled_rows), COUNT(pulled_bytes), COUNT(pushes), COUNT(pushed_rows),
	COUNT(pushed_bytes), COUNT(repeated), COUNT(misses), COUNT(refused), COUNT(waiting),
	COUNT(staleness_max), COUNT(step), COUNT(malformed), COUNT(bytes),
};

void
shard_keep(struct shard *s, struct wire_message *m, struct wire_message *to)
{
	*to = *m;
	s->kept = 1;
}

void
shard_answer(struct shard *s, const struct wire_message *to, uint16_t type,
	const struct wire_part *part, size_t n_parts)
{
	struct frame f = to->frame;

	f.type = type;
	f.flags = 0;
	(void)wire_send(s->o->wire, &to->from, &f, part, n_parts);
}

void
shard_answer_wait(struct shard *s, const struct wire_message *to)
{
	struct frame f = to->frame;

	f.type = FRAME_ACK;
	f.flags = FRAME_MORE;
	(void)wire_send(s->o->wire, &to->from, &f, NULL, 0);
}

void
shard_answer_failure(struct shard *s, const struct wire_message *to)
{
	const struct rs_failure failure = *rs_failure();
	struct buffer body;

	buffer_init(&body, FIELDS_MAX);
	if (fields_put_failure(&body, &failure) == RS_OK) {
		const struct wire_part part = { .data = body.data, .n = body.n };

		shard_answer(s, to, FRAME_ERROR, &part, 1);
	}
	buffer_free(&body);
}

enum rs_status
shard_check_rank(const struct shard *s, const struct wire_message *m)
{
	if (!s->has_init)
		return rs_fail(RS_EPROTOCOL, "%s before INIT_TABLE",
			frame_type_name(m->frame.type));
	if (m->frame.slot >= s->head.n_ranks)
		return rs_fail(RS_EPROTOCOL, "worker %u of %u", m->frame.slot, s->head.n_ranks);
	if (!s->rank[m->frame.slot].has_init)
		return rs_fail(RS_EPROTOCOL, "%s of worker %u before its INIT_TABLE",
			frame_type_name(m->frame.type), m->frame.slot);
	if (strcmp(s->rank[m->frame.slot].name, m->from.name) != 0)
		return rs_fail(RS_EDENIED, "the key of '%s' is not that of worker %u",
			m->from.name, m->frame.slot);
	return s->broken.status == RS_OK ? RS_OK : rs_failure_put(&s->broken);
}

enum rs_status
shard_find_table(const struct shard *s, uint32_t table, const struct shard_table **out)
{
	if (table >= s->head.n_tables)
		return rs_fail(RS_EPROTOCOL, "table %u of %u", table, s->head.n_tables);
	if (s->table[table].local == SHARD_NONE)
		return rs_fail(RS_EPROTOCOL, "table '%s' has no rows on ps %zu",
			s->table[table].name, s->o->index);
	*out = &s->table[table];
	return RS_OK;
}

static enum rs_status
answer_stats(struct shard *s, struct wire_message *m)
{
	struct buffer body;
	enum rs_status status = RS_OK;

	buffer_init(&body, FIELDS_MAX);
	for (size_t i = 0; i < sizeof(count_list) / sizeof(count_list[0]); i++) {
		uint64_t count;

		memcpy(&count, (const char *)&s->counts + count_list[i].offset, sizeof(count));
		if (status == RS_OK)
			status = fields_put(&body, count_list[i].name, "%" PRIu64, count);
	}
	if (status == RS_OK)
		status = fields_put(&body, "busy", "%.6f", s->counts.busy);
	if (status == RS_OK) {
		const struct wire_part part = { .data = body.data, .n = body.n };

		shard_answer(s, m, FRAME_STATS_R, &part, 1);
	}
	buffer_free(&body);
	return status;
}

static enum rs_status
answer_collective(struct shard *s, struct wire_message *m)
{
	return collect_take(s->collect, s->o->wire, m);
}

static enum rs_status
answer_bye(struct shard *s, struct wire_message *m)
{
	shard_answer(s, m, FRAME_ACK, NULL, 0);
	return RS_OK;
}

/* Who answers what, and which keys may ask. */
static const struct {
	uint16_t type;
	uint32_t roles;
	enum rs_status (*take)(struct shard *s, struct wire_message *m);
} handler[] = {
	{ FRAME_PULL,       KEY_WORKER,    shard_pull_take },
	{ FRAME_PUSH,       KEY_WORKER,    shard_push_take },
	{ FRAME_SUM,        KEY_WORKER,    answer_collective },
	{ FRAME_GATHER,     KEY_WORKER,    answer_collective },
	{ FRAME_OFFER,      KEY_WORKER,    shard_hold_offer },
	{ FRAME_INIT_TABLE, KEY_WORKER,    shard_init_take },
	{ FRAME_SNAP_GET,   KEY_WORKER,    shard_rows_get },
	{ FRAME_SNAP_PUT,   KEY_WORKER,    shard_rows_put },
	{ FRAME_CHANGES,    KEY_WORKER,    shard_changes_take },
	{ FRAME_WAITING_GET, KEY_WORKER,   shard_waiting_get },
	{ FRAME_WAITING_PUT, KEY_WORKER,   shard_waiting_put },
	{ FRAME_COPY,       KEY_PS,        shard_keeper_take },
	{ FRAME_COPY_GET,   KEY_PS,        shard_keeper_give },
	{ FRAME_STATS,      KEY_ALL_ROLES, answer_stats },
	{ FRAME_BYE,        KEY_ALL_ROLES, answer_bye },
};

static enum rs_status
dispatch(struct shard *s, struct wire_message *m)
{
	const struct frame *f = &m->frame;
	const char *who = m->from.name[0] != '\0' ? m->from.name : "a peer";

	if (f->job != s->o->job)
		return rs_fail(RS_EPROTOCOL, "%s from another job", frame_type_name(f->type));
	if (f->epoch != s->epoch)
		return rs_fail(RS_EPROTOCOL, "%s of round %u, this is round %u",
			frame_type_name(f->type), f->epoch, s->epoch);
	for (size_t i = 0; i < sizeof(handler) / sizeof(handler[0]); i++) {
		if (handler[i].type != f->type)
			continue;
		if ((m->from.roles & handler[i].roles) == 0)
			return rs_fail(RS_EDENIED, "the key of '%s' may not send %s", who,
				frame_type_name(f->type));
		return handler[i].take(s, m);
	}
	return rs_fail(RS_EPROTOCOL, "a parameter server is not sent %s",
		frame_type_name(f->type));
}

void
shard_handle(struct shard *s, struct wire_message *m)
{
	/* A message that was kept may be gone with what it had when its answer is due. */
	const uint64_t before = s->counts.step;
	const int was_broken = s->broken.status != RS_OK;
	struct wire_message *const asked = &s->asked;

	asked->from = m->from;
	asked->frame = m->frame;
	s->kept = 0;
	if (dispatch(s, m) != RS_OK)
		shard_answer_failure(s, asked);
	if (!s->kept)
		wire_message_free(m);
	if (s->counts.step != before || (s->broken.status != RS_OK) != was_broken)
		shard_park_answer(s);
}

/* Handles what is there; *n: how many messages that was. */
static enum rs_status
take_turn(struct shard *s, size_t *n)
{
	struct wire_message m;
	int got = 1;

	for (*n = 0; *n < MESSAGES_A_TURN; ++*n) {
		RS_TRY(wire_receive(s->o->wire, &m, &got));
		if (!got)
			break;
		shard_handle(s, &m);
		if (atomic_load(s->o->stop) != 0)
			break;
	}
	return RS_OK;
}

static void
report(struct shard *s, double now, double *reported)
{
	if (s->o->report == NULL || now - *reported < REPORT_SECONDS)
		return;
	*reported = now;
	s->counts.malformed = wire_malformed(s->o->wire);
	s->o->report(s->o->context, &s->counts);
}

static enum rs_status
serve(struct shard *s)
{
	double reported = clock_seconds();

	while (atomic_load(s->o->stop) == 0) {
		struct wire_poll poll[] = { { .wire = s->o->wire },
			{ .wire = s->copy.link } };
		const double begin = clock_seconds();
		size_t n;

		RS_TRY(take_turn(s, &n));
		const int has_more = shard_journal_turn(s);

		shard_copy_turn(s);
		if (s->ending.status != RS_OK)
			return s->ending.status;
		shard_journal_answer(s);

		const double end = clock_seconds();

		s->counts.busy += n > 0 ? end - begin : 0;
		if (s->o->progress != NULL)
			atomic_fetch_add(s->o->progress, 1);
		report(s, end, &reported);
		if (n == 0 && !has_more)
			RS_TRY(wire_wait(poll, s->copy.link != NULL ? 2 : 1, WAIT_SECONDS));
	}
	return RS_OK;
}

static size_t
thread_count(const struct shard_options *o)
{
	const char *why;
	size_t n = o->n_threads;

	if (n == 0) {
		n = thread_auto_count(&why);
		n = n < THREADS_AUTO ? n : THREADS_AUTO;
	}
	return n < THREADS_MAX ? n : THREADS_MAX;
}

enum rs_status
shard_open(const struct shard_options *options, struct shard **out)
{
	struct shard *s;
	enum rs_status status;

	RS_TRY(memory_alloc(1, sizeof(*s), &s));
	s->o = options;
	status = shard_crew_open(&s->crew, thread_count(options));
	if (status == RS_OK)
		status = shard_pool_open(&s->pool);
	if (status == RS_OK)
		status = shard_journal_open(s);
	if (status != RS_OK) {
		shard_close(s);
		return status;
	}
	*out = s;
	return RS_OK;
}

/* What is of one round only. */
static void
end_round(struct shard *s)
{
	shard_park_free(s);
	shard_push_free(s);
	collect_close(s->collect);
	s->collect = NULL;
	s->has_init = 0;
	s->broken.status = RS_OK;
	s->acks.n = 0;
	shard_copy_end(s);
}

enum rs_status
shard_serve(struct shard *s, const struct shard_round *round)
{
	enum rs_status status;

	s->epoch = round->epoch;
	s->counts = (struct shard_counts){ .bytes = s->counts.bytes, .step = s->applied };
	shard_copy_begin(s, round);
	status = collect_open(s->o->kernel, &s->collect);
	if (status == RS_OK)
		status = serve(s);
	end_round(s);
	if (s->ending.status != RS_OK)
		status = rs_failure_put(&s->ending);
	s->ending.status = RS_OK;
	return status;
}

void
shard_close(struct shard *s)
{
	if (s == NULL)
		return;
	shard_keeper_free(s);
	shard_journal_close(s);
	shard_init_free(s);
	shard_pool_close(s->pool);
	shard_crew_close(&s->crew);
	free(s);
}
