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
	struct exact_entry *found[EXACT_MANY];
	float *copy = NULL;

	for (size_t j = 0; j < p->n; j++) {
		if (j % EXACT_MANY == 0)
			exact_find_many(&t->exact, p->ids + j,
				p->n - j < EXACT_MANY ? p->n - j : EXACT_MANY, found);
		if (p->ids[j] - t->begin >= t->n_rows)
			return pull_unknown_id(t, p->ids[j]);
		p->row[j] = table_entry_row(t, found[j % EXACT_MANY]);
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
			__builtin_prefetch(table_place(t, p->ids[j + AHEAD_PULL] - t->begin), 0, 2);
		table_get_weights(t, table_row(t, p->ids[j] - t->begin), copy);
		p->row[j] = copy;
	}
	return RS_OK;
}

/* A row of a spilled table.  One that was never trained is computed, and stays in memory when
 * this step is going to train it. */
static enum rs_status
copy_spilled(const struct table *t, uint64_t i, unsigned how, float *copy, int *is_late)
{
	struct spill_row got;

	RS_TRY(spill_take(t->spill, i, how, &got));
	*is_late = got.is_late;
	if (got.row != NULL) {
		table_get_weights(t, got.row, copy);
		spill_give(t->spill, i, 0);
	} else if (!got.is_late) {
		table_init_weights(t, t->begin + i, copy);
	}
	return RS_OK;
}

/* Rows that the disk has to be waited for are asked for first, so that it has many at once. */
static enum rs_status
pull_spilled(struct stage *own, const struct table *t, const struct lookup_pull *p)
{
	const unsigned how = p->training ? 0 : SPILL_KNOWN;
	size_t n_late = 0;
	float *copy;
	int is_late;

	RS_TRY(room_for(own, p, t->D, &copy));
	for (size_t j = 0; j < p->n; j++) {
		if (p->ids[j] - t->begin >= t->n_rows)
			return pull_unknown_id(t, p->ids[j]);
		if (j + AHEAD_PULL < p->n && p->ids[j + AHEAD_PULL] - t->begin < t->n_rows)
			spill_prefetch(t->spill, p->ids[j + AHEAD_PULL] - t->begin);
		RS_TRY(copy_spilled(t, p->ids[j] - t->begin, how | SPILL_SOON, copy + j * t->D,
			&is_late));
		p->row[j] = is_late ? NULL : copy + j * t->D;
		n_late += (size_t)is_late;
	}
	for (size_t j = 0; n_late > 0; j++) {
		if (p->row[j] != NULL)
			continue;
		RS_TRY(copy_spilled(t, p->ids[j] - t->begin, how, copy + j * t->D, &is_late));
		p->row[j] = copy + j * t->D;
		n_late--;
	}
	return RS_OK;
}

/* A hashed table of floats in memory. */
static enum rs_status
pull_pointers(const struct table *t, const struct lookup_pull *p)
{
	/* Of its own, so that they stay in registers. */
	const struct drawn drawn = t->drawn;
	const uint64_t begin = t->begin, n_rows = t->n_rows;
	const size_t stride = t->stride;
	const float *const block = t->block;

	for (size_t j = 0; j < p->n; j++) {
		const uint64_t i = p->ids[j] - begin;

		if (i >= n_rows)
			return pull_unknown_id(t, p->ids[j]);
		if (__builtin_expect(!drawn_has(&drawn, i), 0))
			table_draw(t, i);
		p->row[j] = block + (size_t)i * stride;
		__builtin_prefetch(p->row[j], 0, 2);
	}
	return RS_OK;
}

enum rs_status
pull_rows(const struct table *t, const struct lookup_pull *p, struct stage *own)
{
	if (table_is_exact(t))
		return pull_exact(own, t, p);
	if (table_is_spilled(t))
		return pull_spilled(own, t, p);
	return table_is_narrow(t) ? pull_narrow(own, t, p) : pull_pointers(t, p);
}
