/* INIT_TABLE: all tables and parts of the model, looked at wholly, then opened. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/tree.h"
#include "embed/exact.h"
#include "remote/parts.h"
#include "remote/shard_private.h"

#define TABLES_MAX      65536
#define SHARDS_MAX      65536
#define STALENESS_MAX   1024
#define PUSHES_MAX      ((uint64_t)1 << 26)  /* slots * tables: what a commit lists    */
#define WINDOW_SYNC     16                   /* steps beyond the one to be applied     */
#define WINDOW_ASYNC    256

/* The body of an INIT_TABLE, where the three of it begin. */
struct init_body {
	struct body_init head;
	const struct body_table *table;
	const struct body_part *part;
};

/* A member of one of its structs, for messages. */
struct member { const char *name; size_t offset; enum { U32, U64, REAL, TEXT } kind; };

#define MEMBER(type, member, kind) { #member, offsetof(struct type, member), kind }

static const struct member head_member[] = {
	MEMBER(body_init, n_tables, U32), MEMBER(body_init, n_parts, U32),
	MEMBER(body_init, n_slots, U32), MEMBER(body_init, n_ranks, U32),
	MEMBER(body_init, n_shards, U32), MEMBER(body_init, consistency, U32),
	MEMBER(body_init, staleness, U64), MEMBER(body_init, first_step, U64),
	MEMBER(body_init, keep, U32), MEMBER(body_init, origin, U32),
	MEMBER(body_init, keeps_changes, U32), MEMBER(body_init, reserved, U32),
};

static const struct member table_member[] = {
	MEMBER(body_table, name, TEXT), MEMBER(body_table, rows, U64),
	MEMBER(body_table, seed, U64), MEMBER(body_table, init_stddev, REAL),
	MEMBER(body_table, dim, U32), MEMBER(body_table, optimizer, U32),
	MEMBER(body_table, learning_rate, REAL), MEMBER(body_table, l1, REAL),
	MEMBER(body_table, l2, REAL), MEMBER(body_table, initial_accumulator, REAL),
	MEMBER(body_table, beta1, REAL), MEMBER(body_table, beta2, REAL),
	MEMBER(body_table, epsilon, REAL), MEMBER(body_table, ftrl_beta, REAL),
	MEMBER(body_table, ftrl_l1, REAL), MEMBER(body_table, ftrl_l2, REAL),
	MEMBER(body_table, ftrl_power, REAL), MEMBER(body_table, scheduled, U32),
	MEMBER(body_table, kind, U32),
	MEMBER(body_table, expected, U64),
	MEMBER(body_table, storage, U32), MEMBER(body_table, evict, U32),
	MEMBER(body_table, admit, U32), MEMBER(body_table, admit_count, U32),
	MEMBER(body_table, admit_probability, REAL), MEMBER(body_table, admit_cells, U64),
	MEMBER(body_table, key, U64), MEMBER(body_table, expire_after, U64),
	MEMBER(body_table, expire_steps, U64), MEMBER(body_table, segment_rows, U64),
};

static const struct member part_member[] = {
	MEMBER(body_part, table, U32), MEMBER(body_part, shard, U32),
	MEMBER(body_part, begin, U64), MEMBER(body_part, end, U64),
};

#define N_MEMBERS(list) (sizeof(list) / sizeof((list)[0]))

static size_t
member_bytes(const struct member *m)
{
	return m->kind == U32 ? 4 : m->kind == TEXT ? sizeof(((struct body_table *)0)->name) : 8;
}

static void
member_text(const struct member *m, const void *of, char out[72])
{
	const char *at = (const char *)of + m->offset;
	uint32_t small;
	uint64_t large;
	double real;

	memcpy(&small, at, sizeof(small));
	if (m->kind == U32) {
		snprintf(out, 72, "%" PRIu32, small);
	} else if (m->kind == TEXT) {
		rs_escape(out, at, strnlen(at, member_bytes(m)));
	} else if (m->kind == U64) {
		memcpy(&large, at, sizeof(large));
		snprintf(out, 72, "%" PRIu64, large);
	} else {
		memcpy(&real, at, sizeof(real));
		snprintf(out, 72, "%.17g", real);
	}
}

/* Fails with the first member that differs, if one does. */
static enum rs_status
compare(const struct member *list, size_t n, const void *theirs, const void *ours,
	const char *what)
{
	for (size_t i = 0; i < n; i++) {
		const size_t at = list[i].offset;
		char a[72], b[72];

		if (memcmp((const char *)theirs + at, (const char *)ours + at,
		    member_bytes(&list[i])) == 0)
			continue;
		member_text(&list[i], theirs, a);
		member_text(&list[i], ours, b);
		return rs_fail(RS_EPROTOCOL, "%s: %s is %s, not %s", what, list[i].name, a, b);
	}
	return RS_OK;
}

/* Where everything is in the body, which is exactly as long as it says. */
static enum rs_status
lay_out(const uint8_t *bytes, size_t n, struct init_body *out)
{
	const struct body_init *h = &out->head;

	if (n < sizeof(*h))
		return rs_fail(RS_EPROTOCOL, "INIT_TABLE of %zu bytes", n);
	memcpy(&out->head, bytes, sizeof(*h));
	if (h->n_tables > TABLES_MAX || h->n_shards == 0 || h->n_shards > SHARDS_MAX
	    || n != sizeof(*h) + h->n_tables * sizeof(struct body_table)
	    + h->n_parts * sizeof(struct body_part))
		return rs_fail(RS_EPROTOCOL, "INIT_TABLE of %zu bytes for %u tables in %u parts", n,
			h->n_tables, h->n_parts);
	bytes += sizeof(*h);
	out->table = (const struct body_table *)(const void *)bytes;
	bytes += h->n_tables * sizeof(struct body_table);
	out->part = (const struct body_part *)(const void *)bytes;
	return RS_OK;
}

static enum rs_status
check_head(const struct shard *s, const struct body_init *h)
{
	if (h->n_ranks == 0 || h->n_ranks > SHARD_RANKS_MAX || h->n_slots < h->n_ranks
	    || h->n_slots > SHARD_SLOTS_MAX)
		return rs_fail(RS_EPROTOCOL, "%u slots cannot be dealt to %u workers", h->n_slots,
			h->n_ranks);
	if (h->consistency > CONSISTENCY_ASYNC || h->staleness > STALENESS_MAX
	    || h->first_step == 0 || h->first_step > UINT64_MAX / 2)
		return rs_fail(RS_EPROTOCOL, "consistency %u, staleness %" PRIu64
			", first step %" PRIu64, h->consistency, h->staleness, h->first_step);
	if (h->keep > 1)
		return rs_fail(RS_EPROTOCOL, "INIT_TABLE with keep = %u", h->keep);
	if ((uint64_t)h->n_tables * h->n_slots > PUSHES_MAX)
		return rs_fail(RS_EPROTOCOL, "%u tables with %u slots", h->n_tables, h->n_slots);
	if (s->o->index >= h->n_shards)
		return rs_fail(RS_EPROTOCOL, "%u parameter servers, this is number %zu",
			h->n_shards, s->o->index);
	return RS_OK;
}

/* Parts of an exact table are whole segments. */
static int
can_begin(const struct body_table *t, uint64_t id)
{
	return t->kind != TABLE_EXACT || id == exact_segment_begin(exact_segment_of(id));
}

/* The parts of a table, from *i on: all rows once, one part a shard. */
static enum rs_status
check_parts(const struct init_body *b, uint32_t table, uint32_t *i, uint32_t *seen)
{
	uint64_t next = 0;

	for (; *i < b->head.n_parts && b->part[*i].table == table; ++*i) {
		const struct body_part *p = &b->part[*i];

		if (p->shard >= b->head.n_shards || seen[p->shard] == table + 1
		    || p->begin != next || p->end <= next
		    || !can_begin(&b->table[table], p->begin))
			return rs_fail(RS_EPROTOCOL, "table %u: rows %" PRIu64 " to %" PRIu64
				" cannot be a part of their own on ps %u", table, p->begin, p->end,
				p->shard);
		seen[p->shard] = table + 1;
		next = p->end;
	}
	if (next != b->table[table].rows)
		return rs_fail(RS_EPROTOCOL, "table %u: rows %" PRIu64 " to %" PRIu64
			" are in no part", table, next, b->table[table].rows);
	return RS_OK;
}

static enum rs_status
check_tables(const struct init_body *b)
{
	struct lookup_table table;
	uint32_t *seen, i = 0;
	enum rs_status status = RS_OK;

	RS_TRY(memory_alloc(b->head.n_shards, sizeof(*seen), &seen));
	for (uint32_t t = 0; t < b->head.n_tables && status == RS_OK; t++) {
		status = body_table_get(&b->table[t], &table);
		if (status == RS_OK)
			status = check_parts(b, t, &i, seen);
	}
	free(seen);
	if (status == RS_OK && i != b->head.n_parts)
		return rs_fail(RS_EPROTOCOL, "part %u is of no table, or out of order", i);
	return status;
}

/* The sections of a push begin where nodes of the rank's frontier do. */
static void
mark_frontiers(struct shard *s)
{
	const size_t n = s->head.n_slots, R = s->head.n_ranks;

	for (size_t i = 0; i < n; i++)
		s->frontier_rank[i] = UINT32_MAX;
	for (size_t r = 0; r < R; r++) {
		struct tree_node node[2 * TREE_MAX_DEPTH];
		const size_t n_nodes = tree_frontier(n, tree_rank_begin(n, R, r),
			tree_rank_begin(n, R, r + 1), node);

		for (size_t i = 0; i < n_nodes; i++)
			s->frontier_rank[node[i].begin] = (uint32_t)r;
	}
}

static enum rs_status
open_ranks(struct shard *s)
{
	free(s->frontier_rank);
	free(s->rank);
	s->frontier_rank = NULL;
	s->rank = NULL;
	s->window = s->head.consistency == CONSISTENCY_ASYNC ? WINDOW_ASYNC :
							       WINDOW_SYNC + s->head.staleness;
	s->applied = s->head.first_step - 1;
	RS_TRY(memory_alloc(s->head.n_slots, sizeof(*s->frontier_rank), &s->frontier_rank));
	RS_TRY(memory_alloc(s->head.n_ranks, sizeof(*s->rank), &s->rank));
	mark_frontiers(s);
	for (size_t r = 0; r < s->head.n_ranks; r++)
		s->rank[r].complete = s->rank[r].latest = s->applied;
	return RS_OK;
}

/* The tables with rows here, in the order of the model. */
static enum rs_status
find_tables(struct shard *s, const struct init_body *b, struct lookup_table *here)
{
	for (uint32_t t = 0; t < b->head.n_tables; t++) {
		struct shard_table *table = &s->table[t];

		*table = (struct shard_table){ .local = SHARD_NONE, .dim = b->table[t].dim,
			.kind = (enum table_kind)b->table[t].kind };
		rs_escape(table->name, b->table[t].name, strlen(b->table[t].name));
	}
	for (uint32_t i = 0; i < b->head.n_parts; i++) {
		const struct body_part *p = &b->part[i];
		struct shard_table *table = &s->table[p->table];

		if (p->shard != s->o->index)
			continue;
		RS_TRY(body_table_get(&b->table[p->table], &here[s->n_local]));
		here[s->n_local].begin = table->begin = p->begin;
		here[s->n_local].end = table->end = p->end;
		s->local_table[s->n_local] = p->table;
		table->has_rules = lookup_has_rules(&here[s->n_local]);
		s->has_rules |= table->has_rules;
		table->local = s->n_local++;
	}
	return RS_OK;
}

uint64_t
shard_memory_bytes(const struct shard *s)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const uint64_t host = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;

	return s->o->memory_bytes > 0 ? s->o->memory_bytes : host;
}

/* Large blocks are promised by the system, whatever they are; rows then fill them. */
static enum rs_status
check_memory(const struct shard *s, const struct lookup_table *here)
{
	const uint64_t limit = shard_memory_bytes(s);
	uint64_t bytes = 0;

	for (size_t i = 0; i < s->n_local; i++) {
		bytes += parts_bytes(&here[i], here[i].begin, here[i].end);
		if (bytes > limit)
			return rs_fail(RS_ERESOURCE, "ps %zu: the tables up to '%s' have %" PRIu64
				" bytes here, there are %" PRIu64, s->o->index, here[i].name,
				bytes, limit);
	}
	return RS_OK;
}

static enum rs_status
open_lookup(struct shard *s, const struct init_body *b)
{
	struct lookup_table *here;
	enum rs_status status;

	RS_TRY(memory_alloc(b->head.n_tables + 1, sizeof(*s->table), &s->table));
	RS_TRY(memory_alloc(b->head.n_tables + 1, sizeof(*s->local_table), &s->local_table));
	RS_TRY(memory_alloc(b->head.n_tables + 1, sizeof(*here), &here));
	status = find_tables(s, b, here);
	if (status == RS_OK)
		status = check_memory(s, here);
	if (status == RS_OK) {
		const struct lookup_local_options o = {
			.kernel = s->o->kernel, .table = here, .n_tables = s->n_local,
			.n_slots = b->head.n_slots, .n_threads = s->crew.n_threads,
			/* One a table for pushes, one a thread for pulls. */
			.n_inputs = s->n_local > s->crew.n_threads ? s->n_local
			                                           : s->crew.n_threads,
			.for_training = 1, .keeps_changes = b->head.keeps_changes != 0,
		};

		status = lookup_local_open(&o, &s->lookup);
	}
	free(here);
	for (size_t i = 0; i < s->n_local && status == RS_OK; i++) {
		struct shard_table *table = &s->table[s->local_table[i]];

		table->n_slot = lookup_local_slots(s->lookup, i);
		table->entry_bytes = lookup_local_entry_bytes(s->lookup, i);
		table->item_bytes = lookup_local_item_bytes(s->lookup, i);
	}
	return status;
}

void
shard_init_free(struct shard *s)
{
	if (s->lookup != NULL)
		s->lookup->ops->close(s->lookup);
	free(s->table);
	free(s->local_table);
	free(s->frontier_rank);
	free(s->rank);
	buffer_free(&s->init);
	s->lookup = NULL;
	s->table = NULL;
	s->local_table = NULL;
	s->frontier_rank = NULL;
	s->rank = NULL;
	shard_changes_free(s);
	s->n_local = 0;
	s->has_rules = 0;
	s->is_settled = 0;
	shard_undo_forget(s);
	s->counts.bytes = 0;
}

/* From empty tables. */
static enum rs_status
open_all(struct shard *s, const uint8_t *bytes, size_t n, const struct init_body *b)
{
	shard_init_free(s);
	s->is_pristine = 1;
	s->head = b->head;
	buffer_init(&s->init, FRAME_BODY_MAX + 1);
	RS_TRY(buffer_append(&s->init, bytes, n));
	RS_TRY(open_ranks(s));
	RS_TRY(open_lookup(s, b));
	s->counts.bytes = s->lookup->ops->bytes(s->lookup);
	return RS_OK;
}

static enum rs_status
open_anew(struct shard *s, const uint8_t *bytes, size_t n, const struct init_body *b)
{
	shard_journal_reset(s);
	return open_all(s, bytes, n, b);
}

/* Rows as the journal has them; then nothing is here that is not of that step. */
static enum rs_status
replay_all(struct shard *s, const uint8_t *bytes, size_t n, const struct init_body *b)
{
	const enum rs_status status = open_all(s, bytes, n, b) == RS_OK
		? shard_replay(s, b->head.first_step - 1) : rs_failure()->status;

	if (status == RS_OK)
		return RS_OK;
	const struct rs_failure why = *rs_failure();

	shard_init_free(s);
	if (why.status == RS_EPEER)
		return rs_failure_put(&why);
	shard_journal_reset(s);
	return rs_fail(RS_EUNMET, "ps %zu: %s", s->o->index, why.text);
}

static int
has_rows(const struct shard *s, const struct init_body *b)
{
	for (uint32_t i = 0; i < b->head.n_parts; i++)
		if (b->part[i].shard == s->o->index)
			return 1;
	return 0;
}

/* With the rows that are here; ranks begin anew. */
static enum rs_status
keep_all(struct shard *s, const uint8_t *bytes, size_t n, const struct init_body *b)
{
	enum shard_hold where;

	RS_TRY(shard_hold_check(s, bytes, n, &where));
	if (where == SHARD_HOLD_JOURNAL)
		RS_TRY(replay_all(s, bytes, n, b));
	else if (where == SHARD_HOLD_UNDO)
		RS_TRY(shard_undo_apply(s));
	s->head = b->head;
	memcpy(s->init.data, bytes, n);
	RS_TRY(open_ranks(s));
	s->is_settled = 1;
	if (where == SHARD_HOLD_JOURNAL)
		shard_journal_begin(s);
	else
		shard_journal_cut(s);
	return RS_OK;
}

/* What came first holds; the others must say the same. */
static enum rs_status
compare_all(const struct shard *s, const struct init_body *b)
{
	struct init_body ours;
	char what[128];

	RS_TRY(lay_out((const uint8_t *)s->init.data, s->init.n, &ours));
	snprintf(what, sizeof(what), "other tables than worker %zu's", s->init_rank);
	RS_TRY(compare(head_member, N_MEMBERS(head_member), &b->head, &ours.head, what));
	for (size_t t = 0; t < b->head.n_tables; t++) {
		snprintf(what, sizeof(what), "another table '%.60s' than worker %zu's",
			s->table[t].name, s->init_rank);
		RS_TRY(compare(table_member, N_MEMBERS(table_member), &b->table[t],
			&ours.table[t], what));
	}
	for (size_t i = 0; i < b->head.n_parts; i++) {
		snprintf(what, sizeof(what), "another part %zu than worker %zu's", i,
			s->init_rank);
		RS_TRY(compare(part_member, N_MEMBERS(part_member), &b->part[i], &ours.part[i],
			what));
	}
	return RS_OK;
}

/* Who says INIT_TABLE for a rank first is that rank for the round. */
static enum rs_status
know_rank(struct shard *s, const struct wire_message *m)
{
	struct shard_rank *k = &s->rank[m->frame.slot];

	if (!k->has_init)
		memcpy(k->name, m->from.name, sizeof(k->name));
	k->has_init = 1;
	return shard_check_rank(s, m);
}

static enum rs_status
take_body(struct shard *s, const struct wire_message *m, const uint8_t *bytes, size_t n)
{
	struct init_body b;
	enum rs_status status = RS_OK;

	RS_TRY(lay_out(bytes, n, &b));
	RS_TRY(check_head(s, &b.head));
	if (m->frame.slot >= b.head.n_ranks)
		return rs_fail(RS_EPROTOCOL, "worker %u of %u", m->frame.slot, b.head.n_ranks);
	if (s->has_init) {
		RS_TRY(compare_all(s, &b));
		return know_rank(s, m);
	}
	RS_TRY(check_tables(&b));
	if (b.head.keep && has_rows(s, &b))
		RS_TRY(keep_all(s, bytes, n, &b));
	else
		status = open_anew(s, bytes, n, &b);
	if (status != RS_OK) {
		const struct rs_failure why = *rs_failure();

		shard_init_free(s);
		return rs_failure_put(&why);
	}
	s->has_init = 1;
	s->init_rank = m->frame.slot;
	s->counts.step = s->applied;
	return know_rank(s, m);
}

enum rs_status
shard_init_take(struct shard *s, struct wire_message *m)
{
	struct shard_reader r;
	struct buffer body;
	enum rs_status status;

	shard_reader_init(&r, m);
	buffer_init(&body, FRAME_BODY_MAX + 1);
	const size_t n = r.left;

	/* A copy, aligned as the structs want it. */
	status = buffer_reserve(&body, n + 1);
	if (status == RS_OK)
		status = shard_reader_copy(&r, body.data, n);
	if (status == RS_OK)
		status = take_body(s, m, (const uint8_t *)body.data, n);
	buffer_free(&body);
	RS_TRY(status);
	shard_answer(s, m, FRAME_ACK, NULL, 0);
	return RS_OK;
}
