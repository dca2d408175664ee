/* The rows of the last step as they were before it, for a round that goes on from there. */
#include <string.h>

#include "embed/exact.h"
#include "remote/shard_private.h"

/* Where the arrays of n rows are in the block. */
struct arrays {
	uint64_t *id;                   /* [n]                                            */
	uint32_t *table;                /* [n] local                                      */
	uint8_t  *touched;              /* [n]; of an exact table: there was the row      */
	float    *values;               /* weights and slots of a row, or its entry, row by row */
};

static size_t
round_up(size_t n)
{
	return (n + 63) / 64 * 64;
}

static size_t
bytes_of(size_t n, size_t n_floats)
{
	return round_up(n * sizeof(uint64_t)) + round_up(n * sizeof(uint32_t)) + round_up(n)
		+ n_floats * sizeof(float);
}

static struct arrays
arrays_in(const struct shard_undo *u)
{
	uint8_t *at = u->block->data;
	struct arrays a;

	a.id = (uint64_t *)(void *)at;
	at += round_up(u->n * sizeof(*a.id));
	a.table = (uint32_t *)(void *)at;
	at += round_up(u->n * sizeof(*a.table));
	a.touched = at;
	at += round_up(u->n);
	a.values = (float *)(void *)at;
	return a;
}

static const struct shard_table *
table_of(const struct shard *s, size_t local)
{
	return &s->table[s->local_table[local]];
}

static struct lookup_rows
row_at(const struct shard *s, const struct arrays *a, size_t i, float *values)
{
	return (struct lookup_rows){ .table = a->table[i], .begin = a->id[i], .n = 1,
		.weights = values, .slots = values + table_of(s, a->table[i])->dim,
		.touched = a->touched + i };
}

/* Even, so that entries are at multiples of 8 bytes. */
static size_t
row_floats(const struct shard *s, size_t local)
{
	const struct shard_table *const t = table_of(s, local);
	const size_t n = t->kind == TABLE_EXACT ? t->entry_bytes / sizeof(float) :
		t->dim + t->n_slot;

	return (n + 1) / 2 * 2;
}

/* A row of an exact table is all that there is with its id, or nothing. */
static struct lookup_entries
entry_at(const struct arrays *a, size_t i, float *values)
{
	return (struct lookup_entries){ .table = a->table[i], .begin = a->id[i],
		.end = a->id[i] + 1, .n = a->touched[i], .entry = values };
}

static enum rs_status
get_row(const struct shard *s, const struct arrays *a, size_t i, float *values)
{
	const struct lookup_rows row = row_at(s, a, i, values);
	struct lookup_entries entry;

	if (table_of(s, a->table[i])->kind != TABLE_EXACT)
		return lookup_local_get(s->lookup, &row);
	a->touched[i] = 1;
	entry = entry_at(a, i, values);
	RS_TRY(lookup_local_get_entries(s->lookup, &entry));
	a->touched[i] = (uint8_t)entry.n;
	return RS_OK;
}

/* The row came in the step, so it was counted there. */
static enum rs_status
uncount(struct shard *s, const struct lookup_entries *e)
{
	struct lookup_entries there = { .table = e->table, .begin = e->begin, .end = e->end };
	struct lookup_waiting w = { .table = e->table, .segment = exact_segment_of(e->begin) };
	uint64_t before;

	RS_TRY(lookup_local_get_entries(s->lookup, &there));
	before = there.n_table;
	RS_TRY(lookup_local_put_entries(s->lookup, e));
	there.end = e->end;
	RS_TRY(lookup_local_get_entries(s->lookup, &there));
	RS_TRY(lookup_local_get_waiting(s->lookup, &w));
	w.tally.admitted -= before - there.n_table;
	w.has_tally = 1;
	return lookup_local_put_waiting(s->lookup, &w);
}

static enum rs_status
put_row(struct shard *s, const struct arrays *a, size_t i, float *values)
{
	const struct lookup_rows row = row_at(s, a, i, values);
	const struct lookup_entries entry = entry_at(a, i, values);

	if (table_of(s, a->table[i])->kind != TABLE_EXACT)
		return lookup_local_put(s->lookup, &row);
	return entry.n > 0 ? lookup_local_put_entries(s->lookup, &entry) : uncount(s, &entry);
}

/* A row of several sections is there several times, with the same values. */
static enum rs_status
take_rows(struct shard *s, struct shard_chunk *const *chunk, size_t n)
{
	const struct arrays a = arrays_in(&s->undo);
	float *values = a.values;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < chunk[i]->n_sections; j++) {
			const struct shard_section *const f = &chunk[i]->section[j];

			for (size_t r = 0; r < f->n; r++, k++) {
				a.id[k] = f->ids[r];
				a.table[k] = (uint32_t)f->table;
				RS_TRY(get_row(s, &a, k, values));
				values += row_floats(s, f->table);
			}
		}
	return RS_OK;
}

void
shard_undo_take(struct shard *s, struct shard_chunk *const *chunk, size_t n,
	const struct lookup_commit *commit)
{
	struct shard_undo *const u = &s->undo;
	size_t n_floats = 0;

	u->step = 0;
	u->n = 0;
	/* What decays is every row, and rules let others go than those of the step; with a journal
	 * more than one step can be taken back. */
	if (s->is_replaying || shard_journal_is_on(s) || s->has_rules
	    || (commit->finite && commit->decay > 0))
		return;
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < chunk[i]->n_sections; j++) {
			const struct shard_section *const f = &chunk[i]->section[j];

			u->n += f->n;
			n_floats += f->n * row_floats(s, f->table);
		}

	const size_t bytes = bytes_of(u->n, n_floats);

	if (u->block != NULL && u->block->capacity < bytes) {
		shard_pool_put(u->block);
		u->block = NULL;
	}
	if (u->block == NULL && shard_pool_take(s->pool, bytes, &u->block) != RS_OK)
		return;
	if (take_rows(s, chunk, n) == RS_OK)
		u->step = s->applied + 1;
}

int
shard_undo_is_possible(const struct shard *s)
{
	return s->undo.step != 0 && s->undo.step == s->applied;
}

enum rs_status
shard_undo_apply(struct shard *s)
{
	const struct arrays a = arrays_in(&s->undo);
	float *values = a.values;

	s->undo.step = 0;
	for (size_t i = 0; i < s->undo.n; i++) {
		RS_TRY(put_row(s, &a, i, values));
		values += row_floats(s, a.table[i]);
	}
	s->applied--;
	return RS_OK;
}

void
shard_undo_forget(struct shard *s)
{
	shard_pool_put(s->undo.block);
	s->undo = (struct shard_undo){ .block = NULL };
}
