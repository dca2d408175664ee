/*
 * Rows of a hashed table as if training had touched them: files of all rows, and of rows by id.
 */
#ifndef TESTS_EMBED_TOUCH_H
#define TESTS_EMBED_TOUCH_H

#include <stdlib.h>

#include "base/memory.h"
#include "base/rng.h"
#include "embed/lookup.h"

/* weights [dim], slots [n_slot] of the table. */
static inline enum rs_status
touch_row(struct lookup *l, struct lookup_rows *r, size_t dim)
{
	uint8_t touched;

	r->n = 1;
	r->touched = &touched;
	RS_TRY(lookup_local_get(l, r));
	touched = 1;
	for (size_t k = 0; k < dim; k++)
		r->weights[k] *= 2;
	return lookup_local_put(l, r);
}

/* About one of n rows of a table of a lookup_local, its weights twice what they were. */
static inline enum rs_status
touch_rows(struct lookup *l, size_t table, const struct lookup_table *t, uint64_t n)
{
	struct lookup_rows r = { .table = table };
	enum rs_status status = memory_alloc(t->dim, sizeof(*r.weights), &r.weights);

	if (status == RS_OK)
		status = memory_alloc(lookup_local_slots(l, table), sizeof(*r.slots), &r.slots);
	for (; status == RS_OK && r.begin < t->rows; r.begin++)
		if (rng_below(table, r.begin, n) == 0)
			status = touch_row(l, &r, t->dim);
	free(r.weights);
	free(r.slots);
	return status;
}

#endif
