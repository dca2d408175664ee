/* A shard's rows from its journal. */
#include <inttypes.h>
#include <string.h>

#include "base/thread.h"
#include "remote/shard_private.h"

#define TELL_SECONDS 2.0

static void
forget_staged(struct shard *s)
{
	shard_push_free(s);
	for (size_t r = 0; r < s->head.n_ranks; r++)
		s->rank[r].complete = s->rank[r].latest = s->applied;
}

static enum rs_status
take_head(struct shard *s, const struct journal_record *r, const uint8_t *body)
{
	struct journal_head head;

	memcpy(&head, body, sizeof(head));
	s->is_pristine = head.is_pristine != 0;
	s->head.first_step = r->step + 1;
	s->applied = r->step;
	forget_staged(s);
	return RS_OK;
}

static enum rs_status
take_push(struct shard *s, const struct journal_record *r, const uint8_t *body)
{
	struct wire_message m = { .n_parts = 1 };

	if (r->slot >= s->head.n_ranks || r->chunk > UINT16_MAX || r->bytes > FRAME_BODY_MAX)
		return rs_fail(RS_EDATA, "the journal has a push of worker %u", r->slot);
	m.frame = (struct frame){ .type = FRAME_PUSH, .flags = r->flags, .slot = r->slot,
		.chunk = (uint16_t)r->chunk, .step = r->step, .body_bytes = (uint32_t)r->bytes };
	m.part[0] = (struct frame_part){ body, r->bytes };
	return shard_push_replay(s, &m);
}

/* Who asks meanwhile hears that it takes time, and asks again; copies have their own. */
static void
answer_meanwhile(struct shard *s)
{
	struct wire_message asked, m;
	int got = 1;

	asked.from = s->asked.from;
	asked.frame = s->asked.frame;
	shard_answer_wait(s, &asked);
	while (wire_receive(s->o->wire, &m, &got) == RS_OK && got) {
		if (m.frame.type == FRAME_COPY || m.frame.type == FRAME_COPY_GET) {
			shard_handle(s, &m);
			continue;
		}
		shard_answer_wait(s, &m);
		wire_message_free(&m);
	}
	s->asked.from = asked.from;
	s->asked.frame = asked.frame;
	s->kept = 0;
}

static enum rs_status
tell_to_wait(struct shard *s)
{
	const double now = clock_seconds();

	if (s->o->progress != NULL)
		atomic_fetch_add(s->o->progress, 1);
	if (atomic_load(s->o->stop) != 0)
		return rs_fail(RS_EPEER, "the round is over");
	if (now - s->told_to_wait < TELL_SECONDS)
		return RS_OK;
	s->told_to_wait = now;
	answer_meanwhile(s);
	return RS_OK;
}

static enum rs_status
take(void *context, const struct journal_record *r, const uint8_t *body)
{
	struct shard *const s = context;

	RS_TRY(tell_to_wait(s));
	switch (r->type) {
	case JOURNAL_HEAD:
		return take_head(s, r, body);
	case JOURNAL_PUSH:
		return take_push(s, r, body);
	case JOURNAL_COMMIT:
		return shard_push_commit(s, r->step);
	case JOURNAL_ROWS:
		return shard_rows_replay(s, body, (size_t)r->bytes);
	case JOURNAL_WAITING:
		return shard_waiting_replay(s, body, (size_t)r->bytes);
	default:
		forget_staged(s);
		return RS_OK;
	}
}

enum rs_status
shard_replay(struct shard *s, uint64_t step)
{
	const struct journal_visitor visitor = { take, s };
	const struct shard_counts counts = s->counts;
	struct journal_range range = { .n_starts = 0 };
	struct journal_place end;
	enum rs_status status;

	s->is_replaying = 1;
	s->told_to_wait = clock_seconds();
	status = journal_read_range(s->o->journal, &range);
	/* What a round that ends meanwhile leaves to the next one. */
	s->found = range;
	if (status == RS_OK)
		status = journal_read_replay(s->o->journal, &range, step, &visitor, &end);
	s->is_replaying = 0;
	s->kept = 0;                    /* pushes were, not the INIT_TABLE at hand        */
	shard_push_free(s);
	s->counts = counts;
	RS_TRY(status);
	if (s->applied != step)
		return rs_fail(RS_EDATA, "the journal leads to step %" PRIu64 ", not %" PRIu64,
			s->applied, step);
	journal_resume(s->journal, &range, step, &end);
	shard_copy_cut(s, &end);
	return RS_OK;
}
