/* Requests that wait until the steps that they want to see are applied. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "remote/shard_private.h"

uint64_t
shard_park_pushed(const struct shard *s)
{
	uint64_t least = s->rank[0].complete;

	for (size_t r = 1; r < s->head.n_ranks; r++)
		least = s->rank[r].complete < least ? s->rank[r].complete : least;
	return least;
}

/* The step that must be applied before the answer. */
static uint64_t
wanted_step(const struct shard *s, const struct wire_message *m)
{
	const uint64_t step = m->frame.step;
	const uint64_t may_lag = s->head.consistency == CONSISTENCY_SSP ? s->head.staleness : 0;

	if (step == 0)
		return s->rank[m->frame.slot].latest;
	if (m->frame.type != FRAME_PULL)
		return step - 1;
	if (s->head.consistency == CONSISTENCY_ASYNC)
		return 0;
	return step - 1 > may_lag ? step - 1 - may_lag : 0;
}

static int
is_ready(const struct shard *s, const struct wire_message *m)
{
	const uint64_t want = wanted_step(s, m);

	return want == 0 || s->applied >= want;
}

static enum rs_status
answer(struct shard *s, const struct wire_message *m)
{
	const uint64_t applied = s->applied, step = m->frame.step;

	if (m->frame.type == FRAME_CHANGES)
		return shard_changes_answer(s, m);
	if (m->frame.type == FRAME_WAITING_GET)
		return shard_waiting_answer(s, m);
	if (m->frame.type != FRAME_PULL)
		return shard_rows_answer(s, m);
	if (step > applied + 1 && step - 1 - applied > s->counts.staleness_max)
		s->counts.staleness_max = step - 1 - applied;
	return shard_pull_answer(s, m);
}

static int
is_same(const struct wire_message *a, const struct wire_message *b)
{
	return a->frame.request == b->frame.request && a->frame.source == b->frame.source
	    && a->frame.slot == b->frame.slot && a->frame.type == b->frame.type
	    && a->frame.step == b->frame.step;
}

/* "I have it, wait", and for whom. */
static void
tell_to_wait(struct shard *s, const struct wire_message *m)
{
	const uint64_t next = s->applied + 1;
	char text[64];
	struct wire_part part = { .data = text };

	for (size_t r = 0; r < s->head.n_ranks && part.n == 0; r++)
		if (s->rank[r].complete < next)
			part.n = (size_t)snprintf(
				text, sizeof(text), "waits_for = worker %zu\n", r);
	shard_answer(s, m, FRAME_ACK, &part, part.n > 0);
}

static enum rs_status
park(struct shard *s, struct wire_message *m)
{
	struct shard_parked **at = &s->parked, *p;

	for (; *at != NULL; at = &(*at)->next)
		if (is_same(&(*at)->message, m)) {
			/* Its link may be another one by now. */
			(*at)->message.from = m->from;
			tell_to_wait(s, m);
			return RS_OK;
		}
	if (s->rank[m->frame.slot].n_parked == SHARD_PARKED_MAX)
		return rs_fail(RS_EPROTOCOL, "worker %u: more than %d requests that wait",
			m->frame.slot, SHARD_PARKED_MAX);
	RS_TRY(memory_alloc(1, sizeof(*p), &p));
	if (m->frame.flags & FRAME_RETRY)
		tell_to_wait(s, m);
	shard_keep(s, m, &p->message);
	s->rank[p->message.frame.slot].n_parked++;
	s->counts.waiting++;
	*at = p;
	return RS_OK;
}

enum rs_status
shard_park_take(struct shard *s, struct wire_message *m)
{
	if (is_ready(s, m))
		return answer(s, m);
	return park(s, m);
}

void
shard_park_answer(struct shard *s)
{
	struct shard_parked **at = &s->parked;

	while (*at != NULL) {
		struct shard_parked *p = *at;
		enum rs_status status = RS_OK;

		if (s->broken.status == RS_OK && !is_ready(s, &p->message)) {
			at = &p->next;
			continue;
		}
		if (s->broken.status != RS_OK)
			status = rs_failure_put(&s->broken);
		else
			status = answer(s, &p->message);
		if (status != RS_OK)
			shard_answer_failure(s, &p->message);
		*at = p->next;
		s->rank[p->message.frame.slot].n_parked--;
		s->counts.waiting--;
		wire_message_free(&p->message);
		free(p);
	}
}

void
shard_park_free(struct shard *s)
{
	while (s->parked != NULL) {
		struct shard_parked *p = s->parked;

		s->parked = p->next;
		wire_message_free(&p->message);
		free(p);
	}
}
