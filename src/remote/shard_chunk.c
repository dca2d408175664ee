/* One message of a push: looked at wholly, then its keys and gradients laid out. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "remote/shard_private.h"

/* A PUSH that was looked at. */
struct push {
	struct body_push head;
	const uint8_t *bytes;           /* sections, then keys and counts                 */
	size_t n_keys, n_ids, n_counts, n_floats, key_bytes, value_bytes;
	int has_borrowed;               /* gradients that stay in the message             */
	uint8_t flags;
	struct shard_reader values;
	struct buffer scratch;
};

static struct body_section
section_at(const struct push *p, size_t i)
{
	struct body_section section;

	memcpy(&section, p->bytes + i * sizeof(section), sizeof(section));
	return section;
}

static enum rs_status
check_sections(const struct shard *s, const struct wire_message *m, struct push *p)
{
	const uint8_t *keys = p->bytes + p->head.n_sections * sizeof(struct body_section);
	struct body_section before;

	for (size_t i = 0; i < p->head.n_sections; i++) {
		const struct body_section section = section_at(p, i);

		RS_TRY(shard_section_check(s, &section, i > 0 ? &before : NULL, keys));
		if (section.slot >= s->head.n_slots
		    || s->frontier_rank[section.slot] != m->frame.slot)
			return rs_fail(RS_EPROTOCOL, "slot %u begins no node of worker %u",
				section.slot, m->frame.slot);
		keys += section.key_bytes;
		RS_TRY(shard_section_check_counts(s, &section, keys));
		keys += section.count_bytes;
		p->n_keys += section.n;
		p->n_counts += section.count_bytes > 0 ? section.n : 0;
		p->n_ids += shard_section_is_twin(&section) ? 0 : section.n;
		p->n_floats += section.n * s->table[section.table].dim;
		p->value_bytes += body_value_bytes(p->flags, section.n,
			s->table[section.table].dim);
		if (p->n_keys > FRAME_KEYS_MAX || p->value_bytes > FRAME_BODY_MAX)
			return rs_fail(RS_EPROTOCOL, "more gradients than a message can have");
		before = section;
	}
	return RS_OK;
}

/* The bytes of all keys and counts, from the sections, which are the first of the rest. */
static enum rs_status
find_keys(struct push *p, const struct shard_reader *rest, size_t section_bytes)
{
	struct shard_reader r = *rest;

	for (size_t i = 0; i < p->head.n_sections; i++) {
		struct body_section section;

		RS_TRY(shard_reader_copy(&r, &section, sizeof(section)));
		p->key_bytes += (size_t)section.key_bytes + section.count_bytes;
	}
	if (p->key_bytes > rest->left - section_bytes)
		return rs_fail(RS_EPROTOCOL, "the keys are longer than the message");
	return RS_OK;
}

static enum rs_status
look_at(const struct shard *s, const struct wire_message *m, struct push *p)
{
	struct shard_reader r;
	size_t section_bytes;

	p->flags = m->frame.flags & (FRAME_INT8 | FRAME_FP16);
	if (p->flags == (FRAME_INT8 | FRAME_FP16))
		return rs_fail(RS_EPROTOCOL, "gradients that are both int8 and fp16");
	shard_reader_init(&r, m);
	RS_TRY(shard_reader_copy(&r, &p->head, sizeof(p->head)));
	section_bytes = p->head.n_sections * sizeof(struct body_section);
	if (!isfinite(p->head.rate_factor) || p->head.rate_factor < 0 ||
	    !(p->head.decay >= 0 && p->head.decay <= 1))
		return rs_fail(RS_EPROTOCOL, "a push with rate factor %g and decay %g",
			p->head.rate_factor, p->head.decay);
	if (p->head.n_sections > SHARD_SECTIONS_MAX || section_bytes > r.left
	    || (!p->head.finite && p->head.n_sections > 0))
		return rs_fail(RS_EPROTOCOL, "a push of %u sections", p->head.n_sections);
	RS_TRY(find_keys(p, &r, section_bytes));
	RS_TRY(shard_reader_block(&r, section_bytes + p->key_bytes, &p->scratch, &p->bytes));
	RS_TRY(check_sections(s, m, p));
	if (p->value_bytes != r.left)
		return rs_fail(RS_EPROTOCOL, "%zu bytes of gradients, %zu were to come", r.left,
			p->value_bytes);
	p->values = r;
	return RS_OK;
}

/* Floats in place when that can be, else unpacked to *room, which moves on. */
static enum rs_status
section_values(struct push *p, size_t n, size_t dim, float **room, const float **out)
{
	const size_t bytes = body_value_bytes(p->flags, n, dim);
	struct buffer scratch = { 0 };
	const uint8_t *at;

	RS_TRY(shard_reader_block(&p->values, bytes, &scratch, &at));
	if (bytes == n * dim * sizeof(float) && scratch.data == NULL
	    && (uintptr_t)at % _Alignof(float) == 0) {
		*out = (const float *)(const void *)at;
		p->has_borrowed |= n > 0;
		return RS_OK;
	}
	body_unpack(p->flags, at, n, dim, *room);
	*out = *room;
	*room += n * dim;
	buffer_free(&scratch);
	return RS_OK;
}

static size_t
round_up(size_t n)
{
	return (n + 63) / 64 * 64;
}

static enum rs_status
decode(const struct shard *s, struct push *p, struct shard_chunk *c)
{
	const uint8_t *keys = p->bytes + p->head.n_sections * sizeof(struct body_section);
	uint8_t *at = c->block->data;
	const float **grad;
	uint32_t *counts;
	uint64_t *ids;
	float *room;

	c->section = (struct shard_section *)(void *)at;
	at += round_up(p->head.n_sections * sizeof(*c->section));
	ids = (uint64_t *)(void *)at;
	at += round_up(p->n_ids * sizeof(*ids));
	grad = (const float **)(void *)at;
	at += round_up(p->n_keys * sizeof(*grad));
	counts = (uint32_t *)(void *)at;
	at += round_up(p->n_counts * sizeof(*counts));
	room = (float *)(void *)at;
	for (size_t i = 0; i < p->head.n_sections; i++) {
		const struct body_section section = section_at(p, i);
		const struct shard_table *table = &s->table[section.table];
		const int is_twin = shard_section_is_twin(&section);
		const float *values;

		RS_TRY(section_values(p, section.n, table->dim, &room, &values));
		c->section[i] = (struct shard_section){
			.table = table->local, .slot = section.slot, .n = section.n, .grad = grad,
			.ids = is_twin ? c->section[i - 1].ids : ids,
			.count = section.count_bytes > 0 ? counts : NULL,
		};
		for (size_t j = 0; j < section.n; j++)
			*grad++ = values + j * table->dim;
		if (!is_twin) {
			shard_section_keys(s, &section, keys, ids);
			ids += section.n;
			keys += section.key_bytes;
		}
		if (section.count_bytes == 0)
			continue;
		RS_TRY(body_get_counts(keys, section.count_bytes, section.n, counts));
		counts += section.n;
		keys += section.count_bytes;
	}
	return RS_OK;
}

static enum rs_status
chunk_make(struct shard *s, struct push *p, struct shard_chunk *c)
{
	c->n_sections = p->head.n_sections;
	c->n_keys = p->n_keys;
	RS_TRY(shard_pool_take(s->pool, round_up(p->head.n_sections * sizeof(*c->section))
		+ round_up(p->n_ids * sizeof(uint64_t)) + round_up(p->n_keys * sizeof(float *))
		+ round_up(p->n_counts * sizeof(uint32_t)) + p->n_floats * sizeof(float),
		&c->block));
	return decode(s, p, c);
}

enum rs_status
shard_chunk_read(struct shard *s, struct wire_message *m, struct body_push *head,
	struct shard_chunk **out)
{
	struct push p = { 0 };
	struct shard_chunk *c = NULL;
	enum rs_status status = look_at(s, m, &p);

	*head = p.head;
	if (status == RS_OK)
		status = memory_alloc(1, sizeof(*c), &c);
	if (status == RS_OK)
		status = chunk_make(s, &p, c);
	buffer_free(&p.scratch);
	if (status != RS_OK) {
		shard_chunk_free(c);
		return status;
	}
	if (p.has_borrowed)
		shard_keep(s, m, &c->message);
	*out = c;
	return RS_OK;
}

void
shard_chunk_free(struct shard_chunk *c)
{
	if (c == NULL)
		return;
	shard_pool_put(c->block);
	wire_message_free(&c->message);
	free(c);
}

int
shard_chunk_is_finite(const struct shard *s, const struct shard_chunk *c)
{
	int bad = 0;

	for (size_t i = 0; i < c->n_sections; i++) {
		const struct shard_section *section = &c->section[i];
		const size_t dim = s->table[s->local_table[section->table]].dim;

		if (section->n > 0)
			s->o->kernel->finite(section->n * dim, section->grad[0], &bad);
	}
	return !bad;
}
