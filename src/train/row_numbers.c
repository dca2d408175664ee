/* Sorted ids of exact tables. */
#include "train/row_numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/hash_stack.h"
#include "embed/exact.h"

static int
compare_ids(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* The ids of one table of the graph, behind those that are there. */
static enum rs_status
add_ids(const struct model *m, size_t table, struct model_numbers *to)
{
	const uint64_t n = lookup_local_ids(m->lookup, table, NULL);
	uint64_t *const grown = reallocarray(to->id, to->n + n + 1, sizeof(*grown));

	if (grown == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for the ids of table '%s'",
			m->table[table].name);
	to->id = grown;
	to->n += lookup_local_ids(m->lookup, table, grown + to->n);
	return RS_OK;
}

static void
sort_unique(struct model_numbers *a)
{
	uint64_t n = 0;

	qsort(a->id, a->n, sizeof(*a->id), compare_ids);
	for (uint64_t i = 0; i < a->n; i++)
		if (n == 0 || a->id[n - 1] != a->id[i])
			a->id[n++] = a->id[i];
	a->n = n;
}

enum rs_status
row_numbers_make(struct model *m)
{
	model_forget_numbers(m);
	RS_TRY(memory_alloc(m->schema.n_tables + 1, sizeof(*m->numbers), &m->numbers));
	for (size_t t = 0; t < m->n_tables; t++) {
		const size_t s = graph_table(m->graph, t)->schema_table;

		if (m->table[t].kind == TABLE_EXACT)
			RS_TRY(add_ids(m, t, &m->numbers[s]));
	}
	for (size_t s = 0; s < m->schema.n_tables; s++)
		if (m->numbers[s].id != NULL)
			sort_unique(&m->numbers[s]);
	return RS_OK;
}

const uint64_t *
row_numbers_known(const struct model *m, size_t schema_table, uint64_t *n)
{
	if (m->numbers == NULL || m->numbers[schema_table].id == NULL)
		return NULL;
	*n = m->numbers[schema_table].n;
	return m->numbers[schema_table].id;
}

static const uint64_t *
known_of(const struct model *m, size_t table, uint64_t *n)
{
	return row_numbers_known(m, graph_table(m->graph, table)->schema_table, n);
}

uint64_t
row_numbers_count(const struct model *m, size_t table)
{
	uint64_t n;

	return known_of(m, table, &n) != NULL ? n + 1 : m->table[table].rows;
}

uint64_t
row_numbers_id(const struct model *m, size_t table, uint64_t r)
{
	uint64_t n, id = EXACT_MISSING;
	const uint64_t *const known = known_of(m, table, &n);

	if (known == NULL)
		return r;
	if (r < n)
		return known[r];
	/* The largest that is not known. */
	for (uint64_t i = n; i > 0 && known[i - 1] == id; i--)
		id--;
	return id;
}

uint64_t
row_numbers_of(const struct model *m, size_t schema_table, uint64_t id)
{
	uint64_t n, low = 0, high;
	const uint64_t *const known = row_numbers_known(m, schema_table, &n);

	if (known == NULL)
		return id;
	for (high = n; low < high; ) {
		const uint64_t middle = low + (high - low) / 2;

		if (known[middle] < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && known[low] == id ? low : n;
}

int64_t
row_numbers_round(const struct model *m, size_t schema_table, uint64_t id, size_t round)
{
	const struct schema_table *const t = &m->schema.table[schema_table];

	if (round >= hash_stack_rows(t, id))
		return -1;
	return (int64_t)row_numbers_of(m, schema_table, hash_stack_row(t, id, round));
}
