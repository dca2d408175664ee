/* What a shard writes to its journal, and when; acknowledgements that wait for it. */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "embed/exact.h"
#include "remote/shard_private.h"

#define SLICE_BYTES   ((size_t)1 << 20)     /* of rows in a record, and in a turn           */
#define TURN_BYTES    ((uint64_t)16 << 20)  /* the same when pushes are many                */
#define SCAN_ROWS     ((uint64_t)1 << 17)   /* looked at for rows to write, in a turn       */
#define GAP_BYTES     ((size_t)4096)        /* so few are written rather than a new record  */
#define STEPS_BACK    16                    /* that others may want to go, at least         */
#define GROWTH_MIN    ((uint64_t)64 << 20)

int
shard_journal_is_on(const struct shard *s)
{
	return s->journal != NULL && journal_is_on(s->journal);
}

/* --- all rows, some at a time ---------------------------------------------------------------- */

struct slice { const struct shard_table *table; size_t number, n; uint64_t begin, scanned; };

static int
is_wanted(const struct shard *s, const struct slice *f, uint64_t id)
{
	return !s->is_pristine || s->lookup->ops->touched(s->lookup, f->table->local, id);
}

/* The next rows of the table at hand; n == 0: none was found. */
static void
find_rows(struct shard *s, struct slice *f)
{
	const struct shard_table *const t = f->table;
	const size_t row_bytes = (t->dim + t->n_slot) * sizeof(float) + 1;
	const uint64_t most = SLICE_BYTES / row_bytes > 0 ? SLICE_BYTES / row_bytes : 1;
	const uint64_t gap = GAP_BYTES / row_bytes, from = s->capture_row;
	uint64_t at = from, last;

	while (at < t->end && at - from < SCAN_ROWS && !is_wanted(s, f, at))
		at++;
	f->begin = last = at;
	if (at < t->end && at - from < SCAN_ROWS) {
		for (; at < t->end && at - f->begin < most && at - last <= gap; at++)
			if (is_wanted(s, f, at))
				last = at;
		f->n = (size_t)(last - f->begin) + 1;
		at = last + 1;
	}
	f->scanned = at - from;
	s->capture_row = at;
}

static enum rs_status
write_rows(struct shard *s, const struct slice *f)
{
	const struct shard_table *const t = f->table;
	const size_t weights = f->n * t->dim * sizeof(float);
	const size_t slots = f->n * t->n_slot * sizeof(float);
	const struct body_rows head = { .table = (uint32_t)f->number, .n = (uint32_t)f->n,
		.begin = f->begin, .dim = (uint32_t)t->dim, .n_slot = (uint32_t)t->n_slot };
	const struct journal_record r = { .type = JOURNAL_ROWS, .step = s->applied };
	struct shard_block *block;

	RS_TRY(shard_pool_take(s->pool, weights + slots + f->n, &block));

	const struct lookup_rows rows = { .table = t->local, .begin = f->begin, .n = f->n,
		.weights = (float *)(void *)block->data,
		.slots = (float *)(void *)(block->data + weights),
		.touched = block->data + weights + slots };
	const struct frame_part part[] = {
		{ &head, sizeof(head) }, { block->data, weights + slots + f->n },
	};
	const enum rs_status status = lookup_local_get(s->lookup, &rows);

	if (status == RS_OK)
		journal_append(s->journal, &r, part, 2);
	shard_pool_put(block);
	return status;
}

/* The next entries of an exact table up to an id, and that there are no others between. */
static enum rs_status
write_entries(struct shard *s, const struct slice *f, uint64_t end)
{
	const struct shard_table *const t = f->table;
	const size_t most = SLICE_BYTES / t->entry_bytes > 0 ? SLICE_BYTES / t->entry_bytes : 1;
	const struct journal_record r = { .type = JOURNAL_ROWS, .step = s->applied };
	struct lookup_entries e = { .table = t->local, .begin = s->capture_row, .end = end,
		.n = most };
	struct shard_block *block;
	enum rs_status status;

	RS_TRY(shard_pool_take(s->pool, most * t->entry_bytes, &block));
	e.entry = block->data;
	status = lookup_local_get_entries(s->lookup, &e);
	if (status == RS_OK) {
		const struct body_rows head = { .table = (uint32_t)f->number, .n = (uint32_t)e.n,
			.begin = e.begin, .dim = (uint32_t)t->dim, .n_slot = (uint32_t)t->n_slot,
			.end = e.end, .n_segment = e.n_segment };
		const struct frame_part part[] = {
			{ &head, sizeof(head) }, { block->data, e.n * t->entry_bytes },
		};

		journal_append(s->journal, &r, part, 2);
		s->capture_row = e.end;
	}
	shard_pool_put(block);
	return status;
}

/* All that there is to the segment at hand: which rows go, and who waits, depends on all. */
static enum rs_status
write_segment(struct shard *s, const struct slice *f)
{
	const unsigned segment = exact_segment_of(s->capture_row);
	const uint64_t end = exact_segment_begin(segment + 1);

	while (s->capture_row < end)
		RS_TRY(write_entries(s, f, end));
	return shard_waiting_write(s, f->table, segment);
}

/* Of a table in which nothing depends on what came and went, when all its rows are written. */
static enum rs_status
write_tally(struct shard *s, const struct shard_table *t)
{
	for (unsigned i = exact_segment_of(t->begin); exact_segment_begin(i) < t->end; i++)
		RS_TRY(shard_waiting_write(s, t, i));
	return RS_OK;
}

/* One slice, or the end of them; *scanned grows by the rows looked at. */
static enum rs_status
capture(struct shard *s, uint64_t *scanned)
{
	struct slice f = { .n = 0 };

	if (s->capture_table == s->n_local) {
		s->is_capturing = 0;
		journal_end(s->journal, s->applied);
		return RS_OK;
	}
	f.number = s->local_table[s->capture_table];
	f.table = &s->table[f.number];
	if (s->capture_row < f.table->begin)
		s->capture_row = f.table->begin;
	if (f.table->kind == TABLE_EXACT) {
		RS_TRY(f.table->has_rules ? write_segment(s, &f)
					  : write_entries(s, &f, f.table->end));
		++*scanned;
		if (s->capture_row == f.table->end && !f.table->has_rules)
			RS_TRY(write_tally(s, f.table));
	} else {
		find_rows(s, &f);
		*scanned += f.scanned;
	}
	if (s->capture_row == f.table->end) {
		s->capture_table++;
		s->capture_row = 0;
	}
	return f.n > 0 ? write_rows(s, &f) : RS_OK;
}

static int
may_capture(const struct shard *s)
{
	return s->is_capturing && s->applied >= s->capture_from && journal_has_segment(s->journal);
}

/* Not less than what pushes wrote meanwhile, within bounds. */
static enum rs_status
capture_some(struct shard *s)
{
	const uint64_t before = journal_growth(s->journal);
	const uint64_t pushed = before > s->growth_seen ? before - s->growth_seen : 0;
	const uint64_t wanted = pushed > TURN_BYTES ? TURN_BYTES
		: pushed > SLICE_BYTES ? pushed : SLICE_BYTES;
	uint64_t scanned = 0;

	while (may_capture(s) && scanned < SCAN_ROWS
	    && journal_growth(s->journal) - before < wanted)
		RS_TRY(capture(s, &scanned));
	s->growth_seen = s->is_capturing ? journal_growth(s->journal) : 0;
	return RS_OK;
}

/* --- segments -------------------------------------------------------------------------------- */

/* The pushes that are staged are not in it, so rows are worth nothing before those are
 * applied. */
void
shard_journal_begin(struct shard *s)
{
	uint64_t from = s->applied;

	if (!shard_journal_is_on(s))
		return;
	for (size_t r = 0; r < s->head.n_ranks; r++)
		from = s->rank[r].latest > from ? s->rank[r].latest : from;
	s->found.n_starts = 0;
	journal_begin(s->journal, from, s->is_pristine, s->init.data, s->init.n);
	s->is_capturing = journal_has_segment(s->journal);
	s->capture_from = from;
	s->capture_table = 0;
	s->capture_row = 0;
	s->growth_seen = 0;
	s->wants_segment = 0;
}

void
shard_journal_reset(struct shard *s)
{
	s->is_capturing = 0;
	s->found.n_starts = 0;
	shard_fetch_end(s);
	if (!shard_journal_is_on(s))
		return;
	journal_reset(s->journal);
	shard_copy_reset(s);
}

void
shard_journal_cut(struct shard *s)
{
	const struct journal_record r = { .type = JOURNAL_CUT, .step = s->applied };

	if (shard_journal_is_on(s))
		journal_append(s->journal, &r, NULL, 0);
}

void
shard_journal_push(struct shard *s, const struct frame *f, const struct frame_part *part,
	size_t n_parts)
{
	const struct journal_record r = { .type = JOURNAL_PUSH, .flags = f->flags,
		.slot = f->slot, .chunk = f->chunk, .step = f->step };

	if (!shard_journal_is_on(s) || s->is_replaying)
		return;
	if (!journal_has_segment(s->journal))
		shard_journal_begin(s);
	journal_append(s->journal, &r, part, n_parts);
}

void
shard_journal_commit(struct shard *s)
{
	const struct journal_record r = { .type = JOURNAL_COMMIT, .step = s->applied };

	s->rows_got = 0;
	if (!shard_journal_is_on(s) || s->is_replaying)
		return;
	journal_append(s->journal, &r, NULL, 0);
	if (s->applied > STEPS_BACK)
		journal_forget(s->journal, s->applied - STEPS_BACK);
}

static uint64_t
count_rows(const struct shard *s, const struct shard_table *t)
{
	struct lookup_entries e = { .table = t->local, .begin = t->begin, .end = t->begin };

	if (t->kind != TABLE_EXACT)
		return t->end - t->begin;
	return lookup_local_get_entries(s->lookup, &e) == RS_OK ? e.n_table : 0;
}

/* A version that has all rows is a good time to begin anew. */
void
shard_journal_got(struct shard *s, size_t n)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < s->n_local; i++)
		rows += count_rows(s, &s->table[s->local_table[i]]);
	s->rows_got += n;
	if (s->rows_got >= rows) {
		s->wants_segment = 1;
		s->rows_got = 0;
	}
}

static int
is_long(const struct shard *s)
{
	const uint64_t given = s->o->journal->growth;
	const uint64_t limit = given > 0 ? given
		: s->counts.bytes > GROWTH_MIN ? s->counts.bytes : GROWTH_MIN;
	const uint64_t growth = journal_growth(s->journal);

	return !journal_has_two(s->journal)
		&& (growth > limit || (s->wants_segment && growth > limit / 4));
}

int
shard_journal_turn(struct shard *s)
{
	if (!shard_journal_is_on(s) || !s->has_init || !journal_has_segment(s->journal))
		return 0;
	if (!s->is_capturing && is_long(s))
		shard_journal_begin(s);
	s->wants_segment = 0;
	if (!may_capture(s))
		return 0;
	if (capture_some(s) == RS_OK)
		return may_capture(s);
	log_warn("ps %zu: %s; the journal begins anew", s->o->index, rs_failure()->text);
	shard_journal_reset(s);
	return 0;
}

/* --- acknowledgements ------------------------------------------------------------------------ */

/* It is answered when the journal is on the disk and with the peer, up to there. */
struct shard_ack { struct wire_peer to; struct frame frame; struct journal_place place; };

enum rs_status
shard_journal_defer(struct shard *s, const struct wire_message *m)
{
	const struct shard_ack ack = { m->from, m->frame, journal_at(s->journal) };

	if (s->acks.limit == 0)
		buffer_init(&s->acks, (size_t)1 << 30);
	s->acks_synced = 0;
	return buffer_append(&s->acks, &ack, sizeof(ack));
}

int
shard_journal_defers(const struct shard *s)
{
	return shard_journal_is_on(s) && (s->o->journal->durable || shard_copy_is_live(s));
}

void
shard_journal_answer(struct shard *s)
{
	struct shard_ack *const ack = (struct shard_ack *)(void *)s->acks.data;
	const size_t n = s->acks.n / sizeof(*ack);
	size_t done = 0;

	if (n == 0)
		return;
	if (s->o->journal->durable && !s->acks_synced)
		journal_sync(s->journal);
	s->acks_synced = 1;
	for (; done < n && shard_copy_has(s, &ack[done].place); done++) {
		struct wire_message m = { .n_parts = 0 };

		m.from = ack[done].to;
		m.frame = ack[done].frame;
		shard_push_answer(s, &m);
	}
	if (done > 0)
		memmove(ack, ack + done, (n - done) * sizeof(*ack));
	s->acks.n = (n - done) * sizeof(*ack);
}

/* --- as long as the process lives ------------------------------------------------------- */

enum rs_status
shard_journal_open(struct shard *s)
{
	if (s->o->journal == NULL)
		return RS_OK;
	enum rs_status status = journal_read_range(s->o->journal, &s->found);

	if (status == RS_OK)
		status = journal_open(s->o->journal, &s->journal);
	if (status == RS_ERESOURCE)
		return status;
	if (status != RS_OK)
		log_warn("ps %zu: no journal: %s", s->o->index, rs_failure()->text);
	else if (s->found.n_starts > 0)
		log_info("the journal has steps %llu to %llu",
			(unsigned long long)s->found.start[0].step,
			(unsigned long long)s->found.applied);
	return RS_OK;
}

void
shard_journal_close(struct shard *s)
{
	journal_close(s->journal);
	buffer_free(&s->acks);
	s->journal = NULL;
}
