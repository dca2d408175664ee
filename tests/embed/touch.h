/*
 * Rows of a hashed table as if training had touched them: files of all rows, and of rows by id.
 */
#ifndef TESTS_EMBED_TOUCH_H
#define TESTS_EMBED_TOUCH_H

#include "embed/lookup.h"
#include "tests/test.h"

/* Every n-th row of a table of a lookup_local, its weights twice what they were. */
static inline void
touch_rows(struct lookup *l, size_t table, const struct lookup_table *t, uint64_t n)
{
	float *const weights = calloc(t->dim + 1, sizeof *weights);
	float *const slots = calloc(lookup_local_slots(l, table) + 1, sizeof *slots);
	uint8_t touched;

	for (uint64_t id = 0; id < t->rows; id += n) {
		const struct lookup_rows r = { .table = table, .begin = id, .n = 1,
			.weights = weights, .slots = slots, .touched = &touched };

		assert_int_equal(lookup_local_get(l, &r), RS_OK);
		touched = 1;
		for (size_t k = 0; k < t->dim; k++)
			weights[k] *= 2;
		assert_int_equal(lookup_local_put(l, &r), RS_OK);
	}
	free(weights);
	free(slots);
}

#endif
