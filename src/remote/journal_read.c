/* Reads a journal: what it is good for, and what leads to a step. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/hash.h"
#include "base/memory.h"
#include "remote/body.h"
#include "remote/journal_private.h"

/* A segment being read. */
struct segment {
	struct file_map map;
	uint64_t number;
	size_t   at;                /* where the next record begins                         */
	struct journal_record record;
	const uint8_t *body;
};

/* 0: no good record follows. */
static int
next_record(struct segment *g)
{
	const size_t left = g->map.size - g->at;
	const char *at = g->map.data + g->at;
	struct journal_bytes h;

	if (left < sizeof(h))
		return 0;
	memcpy(&h, at, sizeof(h));
	if (h.magic != JOURNAL_MAGIC || h.type < JOURNAL_HEAD || h.type > JOURNAL_WAITING
	    || h.segment != g->number || h.bytes > JOURNAL_BODY_MAX
	    || journal_round_up(h.bytes) > left - sizeof(h)
	    || hash_crc32c(hash_crc32c(0, at, offsetof(struct journal_bytes, crc)),
		at + sizeof(h), h.bytes) != h.crc)
		return 0;
	g->record = (struct journal_record){ .type = h.type, .flags = h.flags, .slot = h.slot,
		.chunk = h.chunk, .step = h.step, .bytes = h.bytes };
	g->body = (const uint8_t *)at + sizeof(h);
	g->at += sizeof(h) + journal_round_up(h.bytes);
	return 1;
}

/* *ours: its first record is the HEAD of this shard's segment; else nothing is open. */
static enum rs_status
segment_open(const struct journal_options *o, uint64_t number, struct segment *g, int *ours)
{
	struct journal_head head;
	char path[PATH_MAX];

	*ours = 0;
	*g = (struct segment){ .number = number };
	journal_file_name(o->directory, number, path);
	const enum rs_status status = file_map_open(&g->map, path);
	if (status != RS_OK)
		return status == RS_ERESOURCE ? status : RS_OK;
	if (next_record(g) && g->record.type == JOURNAL_HEAD
	    && g->record.bytes >= sizeof(head) + sizeof(struct body_init)) {
		memcpy(&head, g->body, sizeof(head));
		*ours = head.job == o->job && head.shard == o->shard;
	}
	if (!*ours)
		file_map_close(&g->map);
	return RS_OK;
}

static uint64_t
tables_of(const struct segment *g)
{
	return body_init_hash(g->body + sizeof(struct journal_head),
		g->record.bytes - sizeof(struct journal_head));
}

/* --- the order of steps ------------------------------------------------------------------ */

/* What the records of a chain of segments say so far. */
struct chain { uint64_t first_step, applied; };

/* Follows a record; 0: it cannot come here. */
static int
follow(struct chain *c, const struct journal_record *r)
{
	/* Before the first rows nothing is known of what was applied. */
	const int is_before = c->applied == c->first_step && r->step <= c->first_step;

	switch (r->type) {
	case JOURNAL_COMMIT:
		if (is_before)
			return 1;
		return r->step == ++c->applied;
	case JOURNAL_CUT:
		return is_before || r->step == c->applied;
	case JOURNAL_END:
	case JOURNAL_ROWS:
	case JOURNAL_WAITING:
		return r->step == c->applied;
	default:
		return 1;
	}
}

/* --- what there is ------------------------------------------------------------------------ */

struct scan {
	struct journal_range range;
	struct chain chain;
	uint64_t last;              /* segment of the chain; 0: none                        */
};

static void
add_start(struct journal_range *range, uint64_t segment, uint64_t step)
{
	/* The first tells what is the lowest step. */
	if (range->n_starts == JOURNAL_STARTS_MAX) {
		memmove(range->start + 1, range->start + 2, sizeof(range->start)
			- 2 * sizeof(range->start[0]));
		range->n_starts--;
	}
	range->start[range->n_starts].segment = segment;
	range->start[range->n_starts++].step = step;
}

static void
begin_chain(struct scan *s, uint64_t tables, uint64_t step)
{
	s->range = (struct journal_range){ .tables = tables, .applied = step };
	s->chain = (struct chain){ .first_step = step, .applied = step };
}

static void
scan_segment(struct scan *s, struct segment *g, int is_last)
{
	const uint64_t tables = tables_of(g);
	int has_end = 0;

	if (s->last + 1 != g->number || s->last == 0 || tables != s->range.tables)
		begin_chain(s, tables, g->record.step);
	s->last = g->number;
	while (next_record(g)) {
		if (g->record.type == JOURNAL_HEAD || !follow(&s->chain, &g->record))
			break;
		s->range.applied = s->chain.applied;
		if (g->record.type != JOURNAL_END)
			continue;
		if (!has_end)
			add_start(&s->range, g->number, g->record.step);
		has_end = 1;
	}
	/* A torn tail ends the journal; what follows damage is good only by itself. */
	if (g->at < g->map.size && !is_last)
		s->last = s->range.n_starts = 0;
}

enum rs_status
journal_read_range(const struct journal_options *o, struct journal_range *out)
{
	struct scan s = { .last = 0 };
	enum rs_status status = RS_OK;
	uint64_t *list;
	size_t n;

	RS_TRY(journal_file_list(o->directory, &list, &n));
	for (size_t i = 0; i < n; i++) {
		struct segment g;
		int ours;

		status = segment_open(o, list[i], &g, &ours);
		if (status != RS_OK)
			break;
		if (!ours) {
			s.last = 0;
			if (i + 1 < n)
				s.range.n_starts = 0;
			continue;
		}
		scan_segment(&s, &g, i + 1 == n);
		file_map_close(&g.map);
	}
	free(list);
	if (status == RS_OK)
		*out = s.range;
	return status;
}

/* --- what leads to a step ------------------------------------------------------------------- */

struct replay {
	const struct journal_visitor *visitor;
	struct chain chain;
	uint64_t step, start;       /* the segment that has the rows                        */
	int      has_head, has_end;
	struct buffer maps;         /* struct file_map of what was read                     */
};

static int
is_there(const struct replay *p)
{
	return p->has_end && p->chain.applied == p->step;
}

/* What it means for the rows, if anything. */
static enum rs_status
visit(struct replay *p, const struct segment *g)
{
	const struct journal_record *const r = &g->record;
	const uint64_t before = p->chain.applied;

	if (r->type == JOURNAL_HEAD || !follow(&p->chain, r))
		return rs_fail(RS_EDATA, "the journal has step %" PRIu64 " where %" PRIu64
			" was to come", r->step, before + 1);
	if (r->type == JOURNAL_END) {
		p->has_end |= g->number == p->start;
		return RS_OK;
	}
	if (((r->type == JOURNAL_ROWS || r->type == JOURNAL_WAITING) && p->has_end)
	    || (r->type == JOURNAL_PUSH && r->step <= before)
	    || (r->type == JOURNAL_COMMIT && p->chain.applied == before)
	    || (r->type == JOURNAL_CUT && r->step != before))
		return RS_OK;
	return p->visitor->visit(p->visitor->context, r, g->body);
}

static enum rs_status
replay_segment(struct replay *p, struct segment *g, struct journal_place *end)
{
	if (!p->has_head) {
		p->has_head = 1;
		p->start = g->number;
		p->chain = (struct chain){ g->record.step, g->record.step };
		RS_TRY(p->visitor->visit(p->visitor->context, &g->record, g->body));
	}
	while (!is_there(p)) {
		if (!next_record(g))
			return RS_OK;
		RS_TRY(visit(p, g));
	}
	*end = (struct journal_place){ g->number, g->at };
	return RS_OK;
}

/* The newest that is not behind the step. */
static uint64_t
find_start(const struct journal_range *range, uint64_t step)
{
	uint64_t segment = 0;

	for (size_t i = 0; i < range->n_starts; i++)
		if (range->start[i].step <= step)
			segment = range->start[i].segment;
	return segment;
}

static enum rs_status
replay_from(struct replay *p, const struct journal_options *o, uint64_t number,
	struct journal_place *end)
{
	for (; !is_there(p); number++) {
		struct segment g;
		int ours;

		RS_TRY(buffer_reserve(&p->maps, sizeof(g.map)));
		RS_TRY(segment_open(o, number, &g, &ours));
		if (!ours)
			return rs_fail(RS_EDATA, "the journal ends before step %" PRIu64, p->step);
		RS_TRY(buffer_append(&p->maps, &g.map, sizeof(g.map)));
		RS_TRY(replay_segment(p, &g, end));
	}
	return RS_OK;
}

enum rs_status
journal_read_replay(const struct journal_options *o, const struct journal_range *range,
	uint64_t step, const struct journal_visitor *visitor, struct journal_place *end)
{
	struct replay p = { .visitor = visitor, .step = step };
	const uint64_t first = find_start(range, step);
	enum rs_status status;

	if (first == 0 || step > range->applied)
		return rs_fail(RS_EDATA, "the journal has no step %" PRIu64, step);
	buffer_init(&p.maps, (size_t)1 << 30);
	status = replay_from(&p, o, first, end);
	for (size_t i = 0; i < p.maps.n / sizeof(struct file_map); i++)
		file_map_close((struct file_map *)(void *)p.maps.data + i);
	buffer_free(&p.maps);
	return status;
}
