/* Pointers to rows, or to copies of those that cannot be pointed at. */
#include "embed/pull.h"

#define AHEAD_PULL      16     /* ids between prefetch and use                   */

enum rs_status
pull_unknown_id(const struct table *t, uint64_t id)
{
	if (t->n_rows == t->settings.rows)
		return rs_fail(RS_EDATA, "table '%s' has %llu rows, got id %llu", t->settings.name,
			(unsigned long long)t->n_rows, (unsigned long long)id);
	return rs_fail(RS_EDATA, "of table '%s' rows %llu to %llu are here, got id %llu",
		t->settings.name, (unsigned long long)t->begin,
		(unsigned long long)(t->begin + t->n_rows), (unsigned long long)id);
}

/* For copies of all rows of a pull. */
static enum rs_status
room_for(struct stage *own, const struct lookup_pull *p, size_t D, float **out)
{
	return stage_take(p->stage != NULL ? p->stage : own, p->stage != NULL ? 0 : p->slot,
		p->input, p->n * D, out);
}

/* An exact table: rows that are not there yet are what they will begin with; those that nobody
 * is training are zero, and so are those that a filter may keep out. */
static enum rs_status
pull_exact(struct stage *own, const struct table *t, const struct lookup_pull *p)
{
	const int is_narrow = table_is_narrow(t);
	float *copy = NULL;

	for (size_t j = 0; j < p->n && j < AHEAD_PULL; j++)
		exact_prefetch(&t->exact, p->ids[j]);
	for (size_t j = 0; j < p->n; j++) {
		if (j + AHEAD_PULL < p->n)
			exact_prefetch(&t->exact, p->ids[j + AHEAD_PULL]);
		if (p->ids[j] - t->begin >= t->n_rows)
			return pull_unknown_id(t, p->ids[j]);
		p->row[j] = table_find(t, p->ids[j]);
		if (p->row[j] != NULL ? !is_narrow
			: !p->training || t->tenancy.admission != NULL) {
			p->row[j] = p->row[j] != NULL ? p->row[j] : t->zero;
			continue;
		}
		if (copy == NULL)
			RS_TRY(room_for(own, p, t->D, &copy));
		if (p->row[j] != NULL)
			table_get_weights(t, p->row[j], copy + j * t->D);
		else
			table_init_weights(t, p->ids[j], copy + j * t->D);
		p->row[j] = copy + j * t->D;
	}
	return RS_OK;
}

/* A hashed table of weights that are no floats. */
static enum rs_status
pull_narrow(struct stage *own, const struct table *t, const struct lookup_pull *p)
{
	float *copy;

	RS_TRY(room_for(own, p, t->D, &copy));
	for (size_t j = 0; j < p->n; j++, copy += t->D) {
		if (p->ids[j] - t->begin >= t->n_rows)
			return pull_unknown_id(t, p->ids[j]);
		if (j + AHEAD_PULL < p->n && p->ids[j + AHEAD_PULL] - t->begin < t->n_rows)
			__builtin_prefetch(table_row(t, p->ids[j + AHEAD_PULL] - t->begin), 0, 2);
		table_get_weights(t, table_row(t, p->ids[j] - t->begin), copy);
		p->row[j] = copy;
	}
	return RS_OK;
}

enum rs_status
pull_rows(const struct table *t, const struct lookup_pull *p, struct stage *own)
{
	const uint64_t begin = t->begin, n_rows = t->n_rows;

	if (table_is_exact(t))
		return pull_exact(own, t, p);
	if (table_is_narrow(t))
		return pull_narrow(own, t, p);
	for (size_t j = 0; j < p->n; j++) {
		const uint64_t i = p->ids[j] - begin;

		if (i >= n_rows)
			return pull_unknown_id(t, p->ids[j]);
		p->row[j] = table_row(t, i);
		__builtin_prefetch(p->row[j], 0, 2);
	}
	return RS_OK;
}
