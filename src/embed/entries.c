/* Walking an exact table by ranges of ids. */
#include "embed/entries.h"

#include <string.h>

static enum rs_status
check_range(const struct table *t, const struct lookup_entries *e)
{
	if (e->begin >= t->begin && e->begin <= e->end && e->end - t->begin <= t->n_rows)
		return RS_OK;
	return rs_fail(RS_EDATA, "of table '%s' ids %llx to %llx are not all here",
		t->settings.name, (unsigned long long)e->begin, (unsigned long long)e->end);
}

enum rs_status
entries_get(const struct table *t, struct lookup_entries *e)
{
	const size_t bytes = t->exact.entry_bytes, most = e->n;
	const struct exact_entry *entry = NULL;
	uint64_t id = e->begin;

	RS_TRY(check_range(t, e));
	e->n_segment = 0;
	e->n_table = exact_count(&t->exact);
	for (e->n = 0; e->n < most; e->n++) {
		uint64_t next = id;

		entry = exact_next(&t->exact, &next);
		if (entry == NULL || entry->id >= e->end)
			return RS_OK;
		memcpy((char *)e->entry + e->n * bytes, entry, bytes);
		e->n_segment = t->exact.segment[exact_segment_of(entry->id)].n;
		id = next;
	}
	e->end = id;
	return RS_OK;
}

static const struct exact_entry *
entry_at(const struct table *t, const struct lookup_entries *e, size_t i)
{
	return (const struct exact_entry *)(const void *)((const char *)e->entry +
		i * t->exact.entry_bytes);
}

static enum rs_status
check_order(const struct table *t, const struct lookup_entries *e)
{
	uint64_t least = e->begin;

	for (size_t i = 0; i < e->n; i++) {
		const uint64_t id = entry_at(t, e, i)->id;

		if (id < least || id >= e->end)
			return rs_fail(RS_EDATA, "entries of table '%s' are out of order",
				t->settings.name);
		least = id + 1;
	}
	return RS_OK;
}

/* What comes in order would move again and again as its segment grows. */
static enum rs_status
reserve(struct table *t, const struct lookup_entries *e)
{
	for (size_t i = 0, j; i < e->n; i = j) {
		const unsigned at = exact_segment_of(entry_at(t, e, i)->id);
		uint64_t n = t->exact.segment[at].n;

		for (j = i; j < e->n && exact_segment_of(entry_at(t, e, j)->id) == at; j++)
			n++;
		if (j == e->n && n < e->n_segment)
			n = e->n_segment;
		RS_TRY(exact_reserve(&t->exact, at, n));
	}
	return RS_OK;
}

enum rs_status
entries_put(struct table *t, const struct lookup_entries *e)
{
	RS_TRY(check_range(t, e));
	RS_TRY(check_order(t, e));
	t->changed_all = 1;
	exact_remove(&t->exact, e->begin, e->end);
	RS_TRY(reserve(t, e));
	for (size_t i = 0; i < e->n; i++) {
		const struct exact_entry *const from = entry_at(t, e, i);
		struct exact_entry *to;
		int is_new;

		RS_TRY(exact_insert(&t->exact, from->id, &to, &is_new));
		memcpy(to, from, t->exact.entry_bytes);
	}
	return RS_OK;
}
