/* What stays from round to round: OFFER, and INIT_TABLE that says keep. */
#include <inttypes.h>
#include <string.h>

#include "base/log.h"
#include "remote/shard_private.h"

static int
is_held(const struct shard *s)
{
	return s->lookup != NULL && s->is_settled;
}

static struct body_offer
offer_of(const struct shard *s)
{
	const struct journal_range *const found = &s->found;
	struct body_offer offer = { .lowest = 1 };

	if (is_held(s)) {
		offer = (struct body_offer){
			.tables = body_init_hash(s->init.data, s->init.n),
			.lowest = s->applied, .applied = s->applied,
		};
		if (shard_journal_is_on(s) && journal_lowest(s->journal) < s->applied)
			offer.lowest = journal_lowest(s->journal);
		else if (shard_undo_is_possible(s))
			offer.lowest = s->applied - 1;
	} else if (s->lookup == NULL && shard_journal_is_on(s) && found->n_starts > 0) {
		offer = (struct body_offer){ .tables = found->tables,
			.lowest = found->start[0].step, .applied = found->applied };
	}
	return offer;
}

enum rs_status
shard_hold_offer(struct shard *s, struct wire_message *m)
{
	struct body_offer offer;
	const struct wire_part part = { .data = &offer, .n = sizeof(offer) };

	if (shard_fetch_park(s, m))
		return RS_OK;
	offer = offer_of(s);
	shard_answer(s, m, FRAME_OFFER_R, &part, 1);
	return RS_OK;
}

enum rs_status
shard_hold_check(const struct shard *s, const uint8_t *init, size_t n,
	enum shard_hold *where)
{
	const struct body_offer offer = offer_of(s);
	struct body_init head;

	memcpy(&head, init, sizeof(head));

	const uint64_t step = head.first_step - 1;

	if (offer.lowest > offer.applied)
		return rs_fail(RS_EUNMET, "ps %zu has no rows of step %" PRIu64, s->o->index,
			step);
	if (offer.tables != body_init_hash(init, n))
		return rs_fail(RS_EUNMET, "ps %zu has the rows of other tables", s->o->index);
	if (step < offer.lowest || step > offer.applied)
		return rs_fail(RS_EUNMET, "ps %zu has the rows of steps %" PRIu64 " to %" PRIu64
			", not of %" PRIu64, s->o->index, offer.lowest, offer.applied, step);
	*where = SHARD_HOLD_JOURNAL;
	if (is_held(s) && s->applied == step)
		*where = SHARD_HOLD_MEMORY;
	else if (is_held(s) && shard_undo_is_possible(s) && s->applied == step + 1)
		*where = SHARD_HOLD_UNDO;
	return RS_OK;
}
