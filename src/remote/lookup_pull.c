/* Pull: unique ids to a PULL to every shard, and where every row then is. */
#include <stdlib.h>
#include <string.h>

#include "remote/lookup_private.h"

static void
drop_replies(struct remote_lookup *l)
{
	for (size_t i = 0; i < l->n_pulls; i++)
		if (client_is_done(&l->pull[i]->call))
			wire_message_free(&l->pull[i]->call.reply);
	l->n_pulls = 0;
}

/* --- asking for the rows --------------------------------------------------------------- */

/* Appends keys [from, from + n) of a part. */
static enum rs_status
put_keys(const struct remote_lookup *l, const struct pull_piece *piece, struct buffer *out)
{
	const struct segment *s = &l->segment[l->part[piece->part].first_segment];
	const size_t end = piece->from + piece->n;
	uint64_t base = l->parts.part[piece->part].begin;

	for (size_t at = piece->from; at < end; s++) {
		const size_t skip = at - s->first, left = s->n > skip ? s->n - skip : 0;
		const size_t n = left < end - at ? left : end - at;

		if (at < s->first || n == 0)
			continue;
		RS_TRY(body_put_keys(out, s->id + skip, n, base));
		base = s->id[skip + n - 1];
		at += n;
	}
	return RS_OK;
}

/* The same rows of a twin as in the piece before. */
static int
repeats(const struct remote_lookup *l, const struct pull_piece *a, const struct pull_piece *b)
{
	return l->part[a->part].first_segment == l->part[b->part].first_segment
	    && a->from == b->from && a->n == b->n;
}

static enum rs_status
add_piece(struct remote_lookup *l, struct pull_message *m, const struct pull_piece *piece)
{
	const size_t before = m->keys.n;
	struct body_section section = {
		.table = (uint32_t)l->parts.part[piece->part].table, .n = (uint32_t)piece->n,
	};

	RS_TRY(remote_lookup_grow(&l->piece, &l->piece_capacity, l->n_pieces + 1,
		sizeof(*l->piece)));
	if (m->n_pieces == 0 || !repeats(l, &l->piece[l->n_pieces - 1], piece))
		RS_TRY(put_keys(l, piece, &m->keys));
	section.key_bytes = (uint32_t)(m->keys.n - before);
	l->piece[l->n_pieces++] = *piece;
	m->n_pieces++;
	m->floats += piece->n * lookup_part_dim(l, piece->part);
	m->n_keys += piece->n;
	return buffer_append(&m->head, &section, sizeof(section));
}

static enum rs_status
begin_message(struct remote_lookup *l, struct pull_message **out)
{
	struct pull_message *m;

	RS_TRY(remote_lookup_grow(&l->pull, &l->pull_capacity, l->n_pulls + 1, sizeof(*l->pull)));
	if (l->pull[l->n_pulls] == NULL) {
		RS_TRY(memory_alloc(1, sizeof(*m), &m));
		buffer_init(&m->head, FRAME_BODY_MAX);
		buffer_init(&m->keys, FRAME_BODY_MAX);
		l->pull[l->n_pulls] = m;
	}
	m = l->pull[l->n_pulls];
	m->head.n = m->keys.n = 0;
	m->first_piece = l->n_pieces;
	m->n_pieces = m->floats = m->n_keys = 0;
	*out = m;
	return RS_OK;
}

static enum rs_status
send_message(struct remote_lookup *l, struct pull_message *m, size_t shard, const struct frame *f)
{
	memset(&m->call, 0, sizeof(m->call));
	m->call.server = shard;
	m->call.frame = *f;
	m->call.part[0] = (struct frame_part){ m->head.data, m->head.n };
	m->call.part[1] = (struct frame_part){ m->keys.data, m->keys.n };
	m->call.n_parts = 2;
	RS_TRY(client_send(l->o.client, &m->call));
	l->n_pulls++;
	return RS_OK;
}

static enum rs_status
ask_shard(struct remote_lookup *l, size_t shard, const struct frame *f)
{
	struct pull_message *m;

	RS_TRY(begin_message(l, &m));
	for (size_t i = l->shard_first[shard]; i < l->shard_first[shard + 1]; i++) {
		const size_t p = l->part_order[i], dim = lookup_part_dim(l, p);
		const size_t most = lookup_piece_rows(l, dim);

		for (size_t from = 0; from < l->part[p].n; from += most) {
			const size_t left = l->part[p].n - from;
			const struct pull_piece piece = { p, from, left < most ? left : most };

			if (m->floats * sizeof(float) + m->keys.n > l->message_bytes) {
				RS_TRY(send_message(l, m, shard, f));
				RS_TRY(begin_message(l, &m));
			}
			RS_TRY(add_piece(l, m, &piece));
		}
	}
	return m->n_pieces > 0 ? send_message(l, m, shard, f) : RS_OK;
}

/* --- taking the rows ------------------------------------------------------------------- */

/* Reads a body that came in parts. */
struct reader { const struct wire_message *m; size_t part, at; };

/* n bytes where they lie in the message; NULL: not in one piece, or not aligned. */
static const void *
peek(struct reader *r, size_t n, size_t alignment)
{
	const char *from;

	while (r->part < r->m->n_parts && r->at == r->m->part[r->part].n) {
		r->part++;
		r->at = 0;
	}
	if (r->part == r->m->n_parts || n > r->m->part[r->part].n - r->at)
		return NULL;
	from = (const char *)r->m->part[r->part].data + r->at;
	return (uintptr_t)from % alignment == 0 ? from : NULL;
}

/* Copies n bytes to `to`, or passes over them when it is NULL.  There are so many. */
static void
advance(struct reader *r, size_t n, void *to)
{
	for (char *at = to; n > 0; r->part++, r->at = 0) {
		const struct frame_part *part = &r->m->part[r->part];
		const size_t step = part->n - r->at < n ? part->n - r->at : n;

		if (at != NULL) {
			memcpy(at, (const char *)part->data + r->at, step);
			at += step;
		}
		n -= step;
		r->at += step;
		if (n == 0)
			return;
	}
}

static enum rs_status
reserve_copy(struct part_rows *r, size_t dim)
{
	RS_TRY(remote_lookup_grow(&r->copy, &r->copy_capacity, r->n * dim, sizeof(*r->copy)));
	return remote_lookup_grow(&r->bits, &r->bits_capacity, (r->n + 7) / 8, 1);
}

/* Bits of a part that came in several pieces. */
static void
copy_bits(struct part_rows *r, const struct pull_piece *piece, const uint8_t *bits, size_t first)
{
	if (piece->from == 0)
		memset(r->bits, 0, (r->n + 7) / 8);
	for (size_t i = 0; i < piece->n; i++)
		if (bits[(first + i) / 8] >> ((first + i) % 8) & 1)
			r->bits[(piece->from + i) / 8] |=
				(uint8_t)(1 << (piece->from + i) % 8);
	r->touched = r->bits;
	r->touched_bit = 0;
}

static enum rs_status
take_piece(struct remote_lookup *l, struct reader *reader, const struct pull_piece *piece,
	const uint8_t *bits, size_t first_bit)
{
	struct part_rows *r = &l->part[piece->part];
	const size_t dim = lookup_part_dim(l, piece->part), bytes = piece->n * dim * sizeof(float);

	r->row = piece->n == r->n ? peek(reader, bytes, sizeof(float)) : NULL;
	r->touched = bits;
	r->touched_bit = first_bit;
	if (r->row != NULL) {
		advance(reader, bytes, NULL);
		return RS_OK;
	}
	RS_TRY(reserve_copy(r, dim));
	advance(reader, bytes, r->copy + piece->from * dim);
	r->row = r->copy;
	if (piece->n < r->n)
		copy_bits(r, piece, bits, first_bit);
	return RS_OK;
}

static enum rs_status
take_message(struct remote_lookup *l, struct pull_message *m)
{
	struct reader reader = { &m->call.reply, 0, 0 };
	const size_t row_bytes = m->floats * sizeof(float), bit_bytes = (m->n_keys + 7) / 8;
	const size_t body = m->call.reply.frame.body_bytes;
	const uint8_t *bits = peek(&reader, bit_bytes, 1);
	size_t bit = 0;

	RS_TRY(lookup_wire_want(&m->call, FRAME_PULL_R));
	if (body != row_bytes + bit_bytes)
		return rs_fail(RS_EPROTOCOL, "ps %zu answers a pull with %zu bytes, wanted are %zu",
			m->call.server, body, row_bytes + bit_bytes);
	if (bits == NULL) {
		m->keys.n = 0;              /* they were sent: room for the bits      */
		RS_TRY(buffer_reserve(&m->keys, bit_bytes));
		bits = (const uint8_t *)m->keys.data;
		advance(&reader, bit_bytes, m->keys.data);
	} else {
		advance(&reader, bit_bytes, NULL);
	}
	for (size_t i = 0; i < m->n_pieces; i++) {
		const struct pull_piece *piece = &l->piece[m->first_piece + i];

		RS_TRY(take_piece(l, &reader, piece, bits, bit));
		bit += piece->n;
	}
	return RS_OK;
}

/* Where the rows of every segment begin. */
static void
place_rows(struct remote_lookup *l)
{
	for (size_t t = 0; t < l->n_tables; t++) {
		const float **row = l->row + l->first_row[t];

		if (l->group_of[t] == SIZE_MAX)
			continue;
		for (size_t p = l->parts.first[t]; p < l->parts.first[t + 1]; p++)
			for (size_t c = 0; c < l->group[l->group_of[t]].n_cuts; c++) {
				const struct part_rows *r = &l->part[p];
				const size_t first = l->segment[r->first_segment + c].first;

				*row++ = r->row != NULL ? r->row + first * l->table[t].dim : NULL;
			}
	}
}

static void
count_pull(struct remote_lookup *l, const struct pull_message *m)
{
	l->counts.pulled_rows += m->n_keys;
	l->counts.pull_bytes += m->call.part[0].n + m->call.part[1].n +
		m->call.reply.frame.body_bytes;
}

static enum rs_status
finish(struct remote_lookup *l, const struct lookup_fetch *f)
{
	const struct frame frame = {
		.type = FRAME_PULL, .flags = f->training ? FRAME_TRAINING : 0,
		.slot = (uint32_t)l->o.rank, .step = f->training ? l->clock : 0,
	};

	lookup_ids_number(l);
	l->n_pieces = 0;
	for (size_t s = 0; s < l->n_shards; s++)
		RS_TRY(ask_shard(l, s, &frame));
	RS_TRY(lookup_wire_wait(l, l->n_pulls));
	for (size_t i = 0; i < l->n_pulls; i++) {
		RS_TRY(take_message(l, l->pull[i]));
		if (f->training)
			count_pull(l, l->pull[i]);
	}
	place_rows(l);
	return RS_OK;
}

enum rs_status
lookup_pull_fetch(struct lookup *base, const struct lookup_fetch *f)
{
	struct remote_lookup *l = lookup_of(base);
	enum rs_status status = RS_OK;

	pthread_mutex_lock(&l->lock);
	if (!l->fetch_planned) {
		l->fetch_planned = 1;
		drop_replies(l);
		status = l->late.status != RS_OK ? rs_failure_put(&l->late)
						 : lookup_ids_plan(l, f);
		if (status != RS_OK)
			atomic_store(&l->failed, 1);
	}
	pthread_mutex_unlock(&l->lock);
	if (!atomic_load(&l->failed))
		status = lookup_ids_sort(l, f->worker);
	if (status != RS_OK)
		atomic_store(&l->failed, 1);
	if (atomic_fetch_add_explicit(&l->n_done, 1, memory_order_acq_rel) + 1 < f->n_workers)
		return status;
	atomic_store_explicit(&l->next_item, 0, memory_order_relaxed);
	atomic_store_explicit(&l->n_done, 0, memory_order_relaxed);
	l->fetch_planned = 0;
	return atomic_exchange(&l->failed, 0) ? status : finish(l, f);
}

/* --- what the fetch knows -------------------------------------------------------------- */

enum rs_status
lookup_pull_rows(struct lookup *base, const struct lookup_pull *p)
{
	const struct remote_lookup *l = lookup_of(base);
	const struct lookup_use_state *u = &l->use[p->input];
	const size_t at = ((uintptr_t)p->ids - (uintptr_t)u->ids) / sizeof(*p->ids);
	const size_t D = l->table[p->table].dim;

	if (p->n == 0)
		return RS_OK;
	if (u->table != p->table || at > u->n || p->n > u->n - at)
		return rs_fail(RS_EBUG, "rows of table '%s' that were not fetched are pulled",
			l->table[p->table].name);
	const uint32_t *place = l->place + u->first_place + at;
	const float *const *row = l->row + l->first_row[p->table];
	const uint32_t mask = (uint32_t)(((uint64_t)1 << l->index_bits) - 1);

	for (size_t j = 0; j < p->n; j++) {
		const uint64_t x = place[j];

		p->row[j] = row[x >> l->index_bits] + (x & mask) * D;
		__builtin_prefetch(p->row[j], 0, 2);
	}
	return RS_OK;
}

int
lookup_pull_touched(const struct lookup *base, size_t table, uint64_t id)
{
	const struct remote_lookup *l = (const struct remote_lookup *)base;
	const struct group *g = l->group_of[table] == SIZE_MAX ? NULL
							       : &l->group[l->group_of[table]];

	for (size_t i = 0; g != NULL && i < g->n_segments; i++) {
		const struct segment *s = &l->segment[g->first_segment + i];
		const struct part_rows *r = &l->part[l->parts.first[table] + i / g->n_cuts];
		size_t from = 0, n = s->n;

		if (id < s->begin || id >= s->end || s->n == 0)
			continue;
		while (n > 1) {
			const size_t half = n / 2;

			from += s->id[from + half] <= id ? half : 0;
			n -= half;
		}
		if (s->id[from] != id)
			return 0;
		from += s->first + r->touched_bit;
		return r->touched[from / 8] >> (from % 8) & 1;
	}
	return 0;
}

void
lookup_pull_free(struct remote_lookup *l)
{
	drop_replies(l);
	for (size_t i = 0; i < l->pull_capacity; i++)
		if (l->pull[i] != NULL) {
			buffer_free(&l->pull[i]->head);
			buffer_free(&l->pull[i]->keys);
			free(l->pull[i]);
		}
	for (size_t i = 0; l->part != NULL && i < l->parts.n; i++) {
		free(l->part[i].copy);
		free(l->part[i].bits);
	}
	free(l->pull);
	free(l->part);
	free(l->piece);
}
