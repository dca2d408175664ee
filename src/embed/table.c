/* Memory and initial values of a table. */
#include "embed/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "base/rng.h"

enum rs_status
table_open(struct table *t, const struct lookup_table *settings, const struct kernel_set *kernel,
	int for_training)
{
	size_t floats;

	memset(t, 0, sizeof(*t));
	t->settings = *settings;
	t->optimizer = row_optimizer_get(settings->optimizer.kind);
	t->update = row_optimizer_kernel(t->optimizer, kernel);
	t->D = settings->dim;
	t->n_slot = for_training ? row_optimizer_slots(t->optimizer, t->D) : 0;
	t->stride = t->D + t->n_slot;
	t->begin = settings->begin;
	t->n_rows = (settings->end > 0 ? settings->end : settings->rows) - settings->begin;
	RS_TRY(size_mul((size_t)t->n_rows, t->stride, &floats));
	RS_TRY(size_mul(floats, sizeof(float), &t->block_bytes));
	return memory_alloc((size_t)(t->n_rows + TABLE_TOUCHED_BITS - 1) / TABLE_TOUCHED_BITS,
	    sizeof(*t->touched), &t->touched);
}

void
table_close(struct table *t)
{
	free(t->touched);
	memset(t, 0, sizeof(*t));
}

void
table_init_rows(struct table *t, uint64_t begin, uint64_t end)
{
	const struct lookup_table *s = &t->settings;
	const uint64_t key = rng_key(rng_key(s->seed, RNG_INIT_ROW),
	    hash_fingerprint64(s->name, strlen(s->name)));

	for (uint64_t i = begin; i < end; i++) {
		float *w = table_row(t, i);

		if (s->init_stddev > 0)
			rng_normal_fill(
				w, t->D, rng_key(key, t->begin + i), 0, (float)s->init_stddev);
		else
			memset(w, 0, t->D * sizeof(*w));
		if (t->n_slot > 0)
			row_optimizer_init(t->optimizer, &s->optimizer, t->D, w + t->D);
	}
}

void
table_decay(struct table *t, double decay)
{
	if (!t->optimizer->decays || t->n_slot == 0)
		return;
	for (uint64_t i = 0; i < t->n_rows; i++)
		if (t->touched[i / TABLE_TOUCHED_BITS] == 0)
			i |= TABLE_TOUCHED_BITS - 1;
		else if (table_is_touched(t, i))
			row_optimizer_decay(t->optimizer, &t->settings.optimizer, t->D, decay,
				table_row(t, i) + t->D);
}

uint64_t
table_bytes(const struct table *t)
{
	return t->block_bytes +
		(t->n_rows + TABLE_TOUCHED_BITS - 1) / TABLE_TOUCHED_BITS *
		sizeof(*t->touched);
}
