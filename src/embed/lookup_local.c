/* Rows, and all else, of the tables of a lookup_local, to be taken elsewhere and back. */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/entries.h"
#include "embed/local.h"
#include "embed/pull.h"
#include "embed/rows_delta.h"
#include "embed/rows_pieces.h"

static enum rs_status
check_rows(const struct table *t, const struct lookup_rows *r)
{
	const uint64_t first = r->begin - t->begin;

	if (table_is_exact(t) || table_is_spilled(t))
		return rs_fail(RS_EBUG, "rows of table '%s' are no range", t->settings.name);
	if (first > t->n_rows || r->n > t->n_rows - first)
		return pull_unknown_id(t, first > t->n_rows ? r->begin : t->begin + t->n_rows);
	return RS_OK;
}

uint64_t
lookup_local_ids(const struct lookup *base, size_t table, uint64_t *id)
{
	const struct table *t = local_table(base, table);
	const struct exact_entry *entry;
	uint64_t n = 0;

	if (!table_is_exact(t))
		return 0;
	if (id == NULL)
		return exact_count(&t->exact);
	for (unsigned i = t->exact.first; i < t->exact.last; i++)
		for (uint64_t place = 0; (entry = exact_step(&t->exact, i, &place)) != NULL; )
			id[n++] = entry->id;
	return n;
}

size_t
lookup_local_slots(const struct lookup *base, size_t table)
{
	return local_table(base, table)->n_slot;
}

static enum rs_status
get_rows(const struct table *t, const struct lookup_rows *r, float *scratch)
{
	for (size_t i = 0; i < r->n; i++) {
		const uint64_t row = r->begin - t->begin + i;
		const float *w;

		RS_TRY(table_read(t, row, scratch, &w));
		table_get_weights(t, w, r->weights + i * t->D);
		if (t->n_slot > 0)
			memcpy(r->slots + i * t->n_slot, w + t->slot_at, t->n_slot * sizeof(*w));
		r->touched[i] = (uint8_t)table_is_touched(t, row);
	}
	return RS_OK;
}

enum rs_status
lookup_local_get(const struct lookup *base, const struct lookup_rows *r)
{
	const struct table *t = local_table(base, r->table);
	float *scratch;

	RS_TRY(check_rows(t, r));
	RS_TRY(memory_alloc(t->stride, sizeof(*scratch), &scratch));
	const enum rs_status status = get_rows(t, r, scratch);
	free(scratch);
	return status;
}

/* Two rows of scratch [2, stride]. */
static enum rs_status
put_rows(struct table *t, const struct lookup_rows *r, float *scratch)
{
	for (size_t i = 0; i < r->n; i++) {
		table_set_weights(t, scratch, r->weights + i * t->D);
		table_set_slots(t, scratch, r->slots != NULL ? r->slots + i * t->n_slot : NULL);
		RS_TRY(table_put(t, r->begin - t->begin + i, scratch, r->touched[i] != 0,
			scratch + t->stride));
	}
	return RS_OK;
}

enum rs_status
lookup_local_put(struct lookup *base, const struct lookup_rows *r)
{
	struct table *t = local_table(base, r->table);
	float *scratch;

	RS_TRY(check_rows(t, r));
	t->changed_all = 1;
	RS_TRY(memory_alloc(2 * t->stride, sizeof(*scratch), &scratch));
	const enum rs_status status = put_rows(t, r, scratch);
	free(scratch);
	return status;
}

uint64_t
lookup_local_count_rows(const struct lookup *base, size_t table)
{
	return rows_file_count(local_table(base, table));
}

enum rs_status
lookup_local_open_pieces(const struct lookup *base, size_t table, struct rows_pieces *p)
{
	return rows_pieces_open(local_table(base, table), p);
}

size_t
lookup_local_entry_bytes(const struct lookup *base, size_t table)
{
	return local_table(base, table)->exact.entry_bytes;
}

enum rs_status
lookup_local_get_entries(const struct lookup *base, struct lookup_entries *e)
{
	return entries_get(local_table(base, e->table), e);
}

enum rs_status
lookup_local_put_entries(struct lookup *base, const struct lookup_entries *e)
{
	return entries_put(local_table(base, e->table), e);
}

void
lookup_local_sweep(struct lookup *base, size_t table)
{
	tenancy_sweep(&local_table(base, table)->tenancy);
}

size_t
lookup_local_item_bytes(const struct lookup *base, size_t table)
{
	return tenancy_item_bytes(&local_table(base, table)->tenancy);
}

enum rs_status
lookup_local_get_waiting(const struct lookup *base, struct lookup_waiting *w)
{
	return tenancy_get(&local_table(base, w->table)->tenancy, w);
}

enum rs_status
lookup_local_put_waiting(struct lookup *base, const struct lookup_waiting *w)
{
	return tenancy_put(&local_table(base, w->table)->tenancy, w);
}

enum rs_status
lookup_local_between(const struct lookup *from, const struct lookup *to, size_t table,
	const struct lookup_step *step, struct file_writer *w)
{
	return rows_delta_between(local_table(from, table),
		local_table(to, table), step, w);
}

void
lookup_local_forget(struct lookup *base, size_t table)
{
	table_forget_changes(local_table(base, table));
}
