/* A shard's rows from its journal. */
#include <inttypes.h>
#include <string.h>

#include "remote/shard_private.h"

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

static enum rs_status
take(void *context, const struct journal_record *r, const uint8_t *body)
{
	struct shard *const s = context;

	if (s->o->progress != NULL)
		atomic_fetch_add(s->o->progress, 1);
	switch (r->type) {
	case JOURNAL_HEAD:
		return take_head(s, r, body);
	case JOURNAL_PUSH:
		return take_push(s, r, body);
	case JOURNAL_COMMIT:
		return shard_push_commit(s, r->step);
	case JOURNAL_ROWS:
		return shard_rows_replay(s, body, (size_t)r->bytes);
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
	struct journal_range range;
	struct journal_place end;
	enum rs_status status;

	s->is_replaying = 1;
	status = journal_read_range(s->o->journal, &range);
	if (status == RS_OK)
		status = journal_read_replay(s->o->journal, &range, step, &visitor, &end);
	s->is_replaying = 0;
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
