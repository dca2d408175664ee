/* What stays from round to round: OFFER, and INIT_TABLE that says keep. */
#include <inttypes.h>
#include <string.h>

#include "remote/shard_private.h"

enum rs_status
shard_hold_offer(struct shard *s, struct wire_message *m)
{
	struct body_offer offer = { .lowest = 1 };
	const struct wire_part part = { .data = &offer, .n = sizeof(offer) };

	if (s->lookup != NULL && s->is_settled)
		offer = (struct body_offer){
			.tables = body_init_hash(s->init.data, s->init.n),
			.lowest = s->applied, .applied = s->applied,
		};
	shard_answer(s, m, FRAME_OFFER_R, &part, 1);
	return RS_OK;
}

enum rs_status
shard_hold_keep(struct shard *s, const uint8_t *init, size_t n)
{
	struct body_init head;

	memcpy(&head, init, sizeof(head));

	const uint64_t step = head.first_step - 1;

	if (s->lookup == NULL || !s->is_settled)
		return rs_fail(RS_EUNMET, "ps %zu has no rows of step %" PRIu64, s->o->index,
			step);
	if (body_init_hash(s->init.data, s->init.n) != body_init_hash(init, n))
		return rs_fail(RS_EUNMET, "ps %zu has the rows of other tables", s->o->index);
	if (s->applied != step)
		return rs_fail(RS_EUNMET, "ps %zu has the rows of step %" PRIu64 ", not of %"
			PRIu64, s->o->index, s->applied, step);
	return RS_OK;
}
