/* PULL: rows and whether training ever touched them. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "remote/shard_private.h"

#define ROWS_A_TIME  1024               /* one item of work; whole bytes of bits      */
#define ROWS_A_GLANCE 64                /* pointers fetched before they are used      */
#define SHARE_BYTES  ((size_t)128 << 10)    /* less is not worth a second thread      */
#define COPY_BYTES   ((size_t)32 << 10)     /* less is copied into the message        */

/* One section of the answer. */
struct wanted {
	const struct shard_table *table;
	const uint64_t *ids;            /* [n]                                            */
	size_t n, first;                /* first: of its rows among all of the answer     */
	float *out;                     /* [n,dim]                                        */
};

struct gather {
	struct shard *s;
	const struct wanted *wanted;
	size_t n_wanted, n_keys;
	int training;
	uint8_t *bits;                  /* [(n_keys + 7) / 8]                             */
	atomic_size_t next;             /* item                                           */
	atomic_size_t n_touched;
	atomic_int failed;              /* there was no memory for rows to be copied from */
};

/* A PULL that was looked at: where its sections and keys are. */
struct pull {
	const uint8_t *bytes;           /* sections, then keys                            */
	size_t n_sections, n_keys, n_ids, n_floats;
	struct buffer scratch;
};

static struct body_section
section_at(const struct pull *p, size_t i)
{
	struct body_section section;

	memcpy(&section, p->bytes + i * sizeof(section), sizeof(section));
	return section;
}

static enum rs_status
check_sections(const struct shard *s, struct pull *p)
{
	const uint8_t *keys = p->bytes + p->n_sections * sizeof(struct body_section);
	struct body_section before;

	for (size_t i = 0; i < p->n_sections; i++) {
		const struct body_section section = section_at(p, i);

		RS_TRY(shard_section_check(s, &section, i > 0 ? &before : NULL, keys));
		keys += section.key_bytes;
		p->n_keys += section.n;
		p->n_ids += shard_section_is_twin(&section) ? 0 : section.n;
		p->n_floats += section.n * s->table[section.table].dim;
		if (p->n_keys > FRAME_KEYS_MAX
		    || p->n_floats > (FRAME_BODY_MAX - (p->n_keys + 7) / 8) / sizeof(float))
			return rs_fail(RS_EPROTOCOL, "the answer to %zu keys would be too large",
				p->n_keys);
		before = section;
	}
	return RS_OK;
}

static enum rs_status
look_at(const struct shard *s, const struct wire_message *m, struct pull *p)
{
	struct shard_reader r;

	shard_reader_init(&r, m);

	const size_t n = r.left;

	RS_TRY(shard_reader_block(&r, n, &p->scratch, &p->bytes));
	RS_TRY(body_count_sections(p->bytes, n, &p->n_sections));
	if (p->n_sections > SHARD_SECTIONS_MAX)
		return rs_fail(RS_EPROTOCOL, "%zu sections in one message", p->n_sections);
	return check_sections(s, p);
}

/* Keys into ids, and where the rows of every section go. */
static void
decode(const struct shard *s, const struct pull *p, struct wanted *wanted, uint64_t *ids,
	float *out)
{
	const uint8_t *keys = p->bytes + p->n_sections * sizeof(struct body_section);
	size_t first = 0;

	for (size_t i = 0; i < p->n_sections; i++) {
		const struct body_section section = section_at(p, i);
		const struct shard_table *table = &s->table[section.table];
		const int is_twin = shard_section_is_twin(&section);

		wanted[i] = (struct wanted){ .table = table, .n = section.n, .first = first,
			.ids = is_twin ? wanted[i - 1].ids : ids, .out = out };
		first += section.n;
		out += section.n * table->dim;
		if (is_twin)
			continue;
		shard_section_keys(s, &section, keys, ids);
		ids += section.n;
		keys += section.key_bytes;
	}
}

/* Rows [from,to) of a section; returns how many were touched. */
static size_t
gather_rows(struct gather *g, size_t worker, const struct wanted *w, size_t from, size_t to)
{
	struct lookup *l = g->s->lookup;
	const size_t dim = w->table->dim, local = w->table->local;
	const float *row[ROWS_A_GLANCE];
	size_t n_touched = 0;

	for (size_t i = from; i < to;) {
		const size_t n = to - i < ROWS_A_GLANCE ? to - i : ROWS_A_GLANCE;
		const struct lookup_pull pull = {
			.table = local, .input = worker, .ids = w->ids + i, .n = n, .row = row,
			.training = g->training,
		};

		if (l->ops->pull(l, &pull) != RS_OK) {
			atomic_store(&g->failed, 1);
			return n_touched;
		}
		for (size_t j = 0; j < n; j++, i++) {
			const size_t bit = w->first + i;
			const int touched = l->ops->touched(l, local, w->ids[i]);

			memcpy(w->out + i * dim, row[j], dim * sizeof(float));
			g->bits[bit / 8] |= (uint8_t)(touched << bit % 8);
			n_touched += (size_t)touched;
		}
	}
	return n_touched;
}

static void
gather_run(void *argument, size_t worker, size_t n_workers)
{
	struct gather *g = argument;
	size_t n_touched = 0, item;

	(void)n_workers;
	while ((item = atomic_fetch_add(&g->next, 1)) * ROWS_A_TIME < g->n_keys) {
		const size_t begin = item * ROWS_A_TIME, end = begin + ROWS_A_TIME;

		for (size_t i = 0; i < g->n_wanted; i++) {
			const struct wanted *w = &g->wanted[i];
			const size_t from = w->first < begin ? begin - w->first : 0;
			const size_t to = w->first + w->n > end ? end - w->first : w->n;

			if (w->first < end && w->first + w->n > begin)
				n_touched += gather_rows(g, worker, w, from, to);
		}
	}
	atomic_fetch_add(&g->n_touched, n_touched);
}

static size_t
round_up(size_t n)
{
	return (n + 63) / 64 * 64;
}

/* Rows and bits of the answer are in out, ids and sections in work. */
static enum rs_status
gather(struct shard *s, const struct pull *p, int training, uint8_t *out, uint8_t *work)
{
	struct wanted *wanted = (struct wanted *)(void *)work;
	uint64_t *ids = (uint64_t *)(void *)(work + round_up(p->n_sections * sizeof(*wanted)));
	const size_t bytes = p->n_floats * sizeof(float);
	struct gather g = {
		.s = s, .wanted = wanted, .n_wanted = p->n_sections, .n_keys = p->n_keys,
		.bits = out + bytes, .training = training,
	};

	decode(s, p, wanted, ids, (float *)(void *)out);
	memset(g.bits, 0, (p->n_keys + 7) / 8);
	shard_crew_run(&s->crew, bytes / SHARE_BYTES + 1, gather_run, &g);
	if (atomic_load(&g.failed))
		return rs_fail(RS_ERESOURCE, "ps %zu: no memory for the rows of a pull",
			s->o->index);
	s->counts.misses += p->n_keys - atomic_load(&g.n_touched);
	return RS_OK;
}

static enum rs_status
send_rows(struct shard *s, const struct wire_message *m, const struct pull *p)
{
	const size_t bytes = p->n_floats * sizeof(float), n_bits = (p->n_keys + 7) / 8;
	const size_t work_bytes = round_up(p->n_sections * sizeof(struct wanted)) +
		p->n_ids * sizeof(uint64_t);
	struct shard_block *out, *work;

	RS_TRY(shard_pool_take(s->pool, bytes + n_bits, &out));
	enum rs_status status = shard_pool_take(s->pool, work_bytes, &work);
	if (status == RS_OK) {
		status = gather(s, p, (m->frame.flags & FRAME_TRAINING) != 0, out->data,
			work->data);
		shard_pool_put(work);
	}
	if (status != RS_OK) {
		shard_pool_put(out);
		return status;
	}

	const int is_large = bytes > COPY_BYTES;
	const struct wire_part part[] = {
		{ .data = out->data + bytes, .n = n_bits },
		{ .data = out->data, .n = bytes, .hint = out,
		  .release = is_large ? shard_pool_release : NULL },
	};

	shard_answer(s, m, FRAME_PULL_R, part, 2);
	if (!is_large)
		shard_pool_put(out);
	s->counts.pulls++;
	s->counts.pulled_rows += p->n_keys;
	s->counts.pulled_bytes += bytes + n_bits;
	return RS_OK;
}

enum rs_status
shard_pull_answer(struct shard *s, const struct wire_message *m)
{
	struct pull p = { 0 };
	enum rs_status status = look_at(s, m, &p);

	if (status == RS_OK)
		status = send_rows(s, m, &p);
	buffer_free(&p.scratch);
	return status;
}

enum rs_status
shard_pull_take(struct shard *s, struct wire_message *m)
{
	struct pull p = { 0 };
	enum rs_status status;

	RS_TRY(shard_check_rank(s, m));
	status = look_at(s, m, &p);
	buffer_free(&p.scratch);
	RS_TRY(status);
	if (s->head.consistency != CONSISTENCY_ASYNC && (m->frame.flags & FRAME_TRAINING)
	    && m->frame.step > 0 && m->frame.step <= s->applied)
		return rs_fail(RS_EPROTOCOL, "worker %u pulls for step %" PRIu64 ", which was "
			"applied already", m->frame.slot, m->frame.step);
	return shard_park_take(s, m);
}
