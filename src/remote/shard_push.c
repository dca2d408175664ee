/* PUSH: messages of a rank for a step, staged until they are all there, then applied. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "embed/expiry.h"
#include "remote/shard_private.h"

/* The messages are no longer needed; what is known of the push stays. */
static void
drop_chunks(struct shard_push *p)
{
	for (size_t i = 0; i < p->capacity; i++)
		shard_chunk_free(p->chunk[i]);
	free(p->chunk);
	p->chunk = NULL;
	p->capacity = 0;
}

void
shard_push_free(struct shard *s)
{
	for (size_t r = 0; s->rank != NULL && r < s->head.n_ranks; r++) {
		for (uint64_t i = 0; s->rank[r].push != NULL && i < s->window; i++)
			drop_chunks(&s->rank[r].push[i]);
		free(s->rank[r].push);
		s->rank[r].push = NULL;
	}
}

static struct shard_push *
push_of(const struct shard *s, size_t rank, uint64_t step)
{
	return &s->rank[rank].push[step % s->window];
}

static int
is_complete(const struct shard_push *p, uint64_t step)
{
	if (p->step != step)
		return 0;
	if (p->state == SHARD_PUSH_STAGED)
		return p->n_chunks > 0 && p->n_had == p->n_chunks;
	return p->state == SHARD_PUSH_APPLIED || p->state == SHARD_PUSH_REFUSED;
}

void
shard_push_answer(struct shard *s, const struct wire_message *m)
{
	const struct body_clock clock = { .step = s->counts.step };
	const struct wire_part part = { .data = &clock, .n = sizeof(clock) };

	shard_answer(s, m, FRAME_PUSH_R, &part, 1);
}

/* When what was pushed is safe. */
static void
answer_clock(struct shard *s, const struct wire_message *m)
{
	if (!shard_journal_defers(s) || shard_journal_defer(s, m) != RS_OK)
		shard_push_answer(s, m);
}

static void
answer_repeated(struct shard *s, const struct wire_message *m)
{
	s->counts.repeated++;
	answer_clock(s, m);
}

/* --- applying --- */

/* All ranks took the same decisions for the step, or the run is broken. */
static enum rs_status
check_agreement(const struct shard *s, uint64_t step)
{
	const struct shard_push *first = push_of(s, 0, step);

	for (size_t r = 1; r < s->head.n_ranks; r++) {
		const struct shard_push *p = push_of(s, r, step);

		if (p->finite != first->finite)
			return rs_fail(RS_EPROTOCOL, "step %" PRIu64 ": worker %d has finite "
				"gradients, worker %zu has not", step, p->finite ? (int)r : 0,
				p->finite ? (size_t)0 : r);
		if (memcmp(&p->rate_factor, &first->rate_factor, sizeof(p->rate_factor)) != 0)
			return rs_fail(RS_EPROTOCOL, "step %" PRIu64 ": the learning rate factor "
				"of worker %zu is %.17g, that of worker 0 %.17g", step, r,
				p->rate_factor, first->rate_factor);
		if (p->newest != first->newest)
			return rs_fail(RS_EPROTOCOL, "step %" PRIu64 ": the newest row of worker "
				"%zu is of minute %u, that of worker 0 of %u", step, r, p->newest,
				first->newest);
		if (memcmp(&p->decay, &first->decay, sizeof(p->decay)) != 0)
			return rs_fail(RS_EPROTOCOL, "step %" PRIu64 ": the decay of worker %zu is "
				"%.17g, that of worker 0 %.17g", step, r, p->decay, first->decay);
	}
	return RS_OK;
}

/* The pushes of all ranks for a step, in the order of ranks. */
static enum rs_status
apply_step(struct shard *s, uint64_t step)
{
	const struct shard_push *first = push_of(s, 0, step);
	const struct lookup_commit commit = {
		.step = first->commit_step, .finite = first->finite != 0,
		.newest = (int64_t)first->newest * EXPIRY_MINUTE,
		.rate_factor = first->rate_factor, .decay = first->decay,
	};
	struct shard_chunk **list;
	enum rs_status status;
	size_t n = 0;

	for (size_t r = 0; r < s->head.n_ranks; r++)
		n += push_of(s, r, step)->n_chunks;
	RS_TRY(memory_alloc(n, sizeof(struct shard_chunk *), &list));
	n = 0;
	for (size_t r = 0; r < s->head.n_ranks; r++) {
		const struct shard_push *p = push_of(s, r, step);

		for (size_t i = 0; i < p->n_chunks; i++)
			list[n++] = p->chunk[i];
	}
	shard_undo_take(s, list, n, &commit);
	status = shard_apply(s, list, n, &commit);
	free(list);
	for (size_t r = 0; r < s->head.n_ranks; r++) {
		drop_chunks(push_of(s, r, step));
		push_of(s, r, step)->state = SHARD_PUSH_APPLIED;
	}
	return status;
}

static enum rs_status
apply_next(struct shard *s)
{
	RS_TRY(check_agreement(s, s->applied + 1));
	RS_TRY(apply_step(s, s->applied + 1));
	s->applied++;
	s->counts.step = s->applied;
	s->counts.bytes = s->lookup->ops->bytes(s->lookup);
	shard_journal_commit(s);
	return RS_OK;
}

/* The steps that all ranks have pushed. */
static enum rs_status
apply_common(struct shard *s)
{
	while (s->applied < shard_park_pushed(s))
		RS_TRY(apply_next(s));
	return RS_OK;
}

enum rs_status
shard_push_commit(struct shard *s, uint64_t step)
{
	if (s->applied + 1 != step || shard_park_pushed(s) < step)
		return rs_fail(RS_EDATA, "the journal applies step %" PRIu64
			", which is not complete after step %" PRIu64, step, s->applied);
	return apply_next(s);
}

/* Async: a push that would do harm counts as an empty one. */
static void
refuse_harm(struct shard *s, struct shard_push *p)
{
	for (size_t i = 0; i < p->n_chunks; i++)
		if (!shard_chunk_is_finite(s, p->chunk[i])) {
			s->counts.refused++;
			drop_chunks(p);
			p->n_chunks = 0;
			p->state = SHARD_PUSH_REFUSED;
			return;
		}
}

/* A push has all its messages. */
static void
note_complete(struct shard *s, size_t rank, struct shard_push *p)
{
	struct shard_rank *k = &s->rank[rank];

	if (s->head.consistency == CONSISTENCY_ASYNC)
		refuse_harm(s, p);
	while (is_complete(push_of(s, rank, k->complete + 1), k->complete + 1))
		k->complete++;
}

static enum rs_status
complete(struct shard *s, size_t rank, struct shard_push *p)
{
	note_complete(s, rank, p);
	const enum rs_status status = apply_common(s);
	/* Other shards may have applied the step: nobody can go on. */
	if (status != RS_OK)
		s->broken = *rs_failure();
	return status;
}

/* --- staging --- */

/* *is_old: the step was applied already, as far as can be told. */
static enum rs_status
find_push(struct shard *s, const struct wire_message *m, struct shard_push **out, int *is_old)
{
	const uint64_t step = m->frame.step;
	struct shard_rank *k = &s->rank[m->frame.slot];
	struct shard_push *p;

	if (step < s->head.first_step)
		return rs_fail(RS_EPROTOCOL, "worker %u pushes step %" PRIu64 ", the round began "
			"with %" PRIu64, m->frame.slot, step, s->head.first_step);
	*is_old = step <= s->applied;
	if (*is_old)
		return RS_OK;
	if (step - s->applied > s->window)
		return rs_fail(RS_EPROTOCOL, "worker %u pushes step %" PRIu64 " while step %" PRIu64
			" is not complete", m->frame.slot, step, s->counts.step + 1);
	if (k->push == NULL)
		RS_TRY(memory_alloc(s->window, sizeof(*k->push), &k->push));
	p = push_of(s, m->frame.slot, step);
	if (p->step != step)
		*p = (struct shard_push){ .step = step };
	*is_old = p->state == SHARD_PUSH_APPLIED || p->state == SHARD_PUSH_REFUSED;
	*out = p;
	return RS_OK;
}

static int
is_had(const struct shard_push *p, size_t chunk)
{
	return chunk < p->capacity && p->chunk[chunk] != NULL;
}

/* The number of the message makes sense beside those that are there. */
static enum rs_status
check_number(const struct shard_push *p, const struct wire_message *m)
{
	const size_t chunk = m->frame.chunk;
	const int is_last = !(m->frame.flags & FRAME_MORE);
	size_t highest = 0;

	for (size_t i = 0; i < p->capacity; i++)
		highest = p->chunk[i] != NULL ? i : highest;
	if ((p->n_chunks > 0 && (is_last || chunk >= p->n_chunks))
	    || (is_last && p->n_had > 0 && chunk < highest))
		return rs_fail(RS_EPROTOCOL, "worker %u, step %" PRIu64
			": message %zu of a push that has an end elsewhere", m->frame.slot,
			m->frame.step, chunk);
	return RS_OK;
}

static enum rs_status
reserve_chunk(struct shard_push *p, size_t chunk)
{
	size_t capacity = p->capacity > 0 ? p->capacity : 1;
	struct shard_chunk **grown;

	if (chunk < p->capacity)
		return RS_OK;
	while (capacity <= chunk)
		capacity *= 2;
	RS_TRY(memory_alloc(capacity, sizeof(struct shard_chunk *), &grown));
	if (p->capacity > 0)
		memcpy(grown, p->chunk, p->capacity * sizeof(struct shard_chunk *));
	free(p->chunk);
	p->chunk = grown;
	p->capacity = capacity;
	return RS_OK;
}

static enum rs_status
check_head(const struct shard_push *p, const struct wire_message *m,
	const struct body_push *head, size_t n_keys)
{
	if (p->n_had > 0 && (p->finite != head->finite || p->commit_step != head->step
	    || p->newest != head->newest
	    || memcmp(&p->rate_factor, &head->rate_factor, sizeof(head->rate_factor)) != 0
	    || memcmp(&p->decay, &head->decay, sizeof(head->decay)) != 0))
		return rs_fail(RS_EPROTOCOL, "worker %u, step %" PRIu64
			": messages of a push do not agree", m->frame.slot, m->frame.step);
	if (p->n_keys + n_keys > FRAME_KEYS_MAX)
		return rs_fail(RS_EPROTOCOL, "worker %u, step %" PRIu64 ": more than %zu keys",
			m->frame.slot, m->frame.step, FRAME_KEYS_MAX);
	return RS_OK;
}

/* frame: of the message, which may be kept by the chunk. */
static enum rs_status
stage(struct shard *s, struct shard_push *p, struct wire_message *m)
{
	struct body_push head;
	struct shard_chunk *c;
	const struct frame frame = m->frame;
	const uint64_t bytes = frame.body_bytes;
	enum rs_status status;

	RS_TRY(check_number(p, m));
	RS_TRY(shard_chunk_read(s, m, &head, &c));
	status = check_head(p, m, &head, c->n_keys);
	if (status == RS_OK)
		status = reserve_chunk(p, frame.chunk);
	if (status != RS_OK) {
		shard_chunk_free(c);
		return status;
	}
	p->chunk[frame.chunk] = c;
	p->n_had++;
	p->n_keys += c->n_keys;
	p->rate_factor = head.rate_factor;
	p->decay = head.decay;
	p->finite = head.finite;
	p->commit_step = head.step;
	p->newest = head.newest;
	p->state = SHARD_PUSH_STAGED;
	if (!(frame.flags & FRAME_MORE))
		p->n_chunks = (size_t)frame.chunk + 1;
	s->counts.pushes++;
	s->counts.pushed_rows += c->n_keys;
	s->counts.pushed_bytes += bytes;
	return RS_OK;
}

enum rs_status
shard_push_take(struct shard *s, struct wire_message *m)
{
	struct shard_push *p = NULL;
	const size_t rank = m->frame.slot;
	const uint64_t step = m->frame.step;
	/* To answer when the message itself was kept, and freed with its gradients. */
	struct wire_message asked;
	int is_old;

	RS_TRY(shard_check_rank(s, m));
	RS_TRY(find_push(s, m, &p, &is_old));
	/* Workers push when all have their start. */
	s->is_settled = 1;
	if (is_old || is_had(p, m->frame.chunk)) {
		answer_repeated(s, m);
		return RS_OK;
	}
	asked.from = m->from;
	asked.frame = m->frame;
	RS_TRY(stage(s, p, m));
	shard_journal_push(s, &asked.frame, m->part, m->n_parts);
	if (step > s->rank[rank].latest)
		s->rank[rank].latest = step;
	if (is_complete(p, step))
		RS_TRY(complete(s, rank, p));
	answer_clock(s, &asked);
	return RS_OK;
}

enum rs_status
shard_push_replay(struct shard *s, struct wire_message *m)
{
	const size_t rank = m->frame.slot;
	const uint64_t step = m->frame.step;
	struct shard_push *p = NULL;
	int is_old;

	RS_TRY(find_push(s, m, &p, &is_old));
	if (is_old || is_had(p, m->frame.chunk))
		return RS_OK;
	RS_TRY(stage(s, p, m));
	if (is_complete(p, step))
		note_complete(s, rank, p);
	return RS_OK;
}
