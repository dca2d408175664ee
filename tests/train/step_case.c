/* The model and batches of the tests of the step. */
#include "step_case.h"

#include <stdarg.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"
#include "embed/table.h"

static const char spec_text[] =
	"[model]\ntype = deepfm\n"
	"[data]\ntrain = none.csv\nformat = csv\nlabel = y\n"
	"[field a]\ncolumn = a\nbuckets = 50\n"
	"[field b]\ncolumn = b\nbuckets = 7\n"
	"[field b2]\ncolumn = b2\nshare = b\n"
	"[field m]\ncolumn = m\ntype = multi\nbuckets = 40\n"
	"[field x1..x3]\ncolumn = x1..x3\ntype = numeric\n"
	"[embedding]\ndim = 4\ninit_stddev = 0.1\nlearning_rate = 0.05\nl2 = 0.001\n"
	"[linear]\ninit_stddev = 0.1\n"
	"[dnn]\nhidden = 16,8\nbatch_norm = yes\ndropout = 0.2\n"
	"[train]\nbatch_size = 256\nslots = 8\nlearning_rate = 0.01\n";

struct model *
step_case_model(const char *const *set, size_t n_sets, size_t n_threads, int for_training)
{
	const struct model_options options = { .n_threads = n_threads,
		.for_training = for_training };
	struct spec *spec;
	struct model *m;

	assert_int_equal(spec_load_text(spec_text, "step_case", &spec), RS_OK);
	for (size_t i = 0; i < n_sets; i++) {
		char text[128], *key, *value;

		snprintf(text, sizeof(text), "%s", set[i]);
		key = strchr(text, '.');
		value = strchr(text, '=');
		*key++ = *value++ = '\0';
		assert_int_equal(spec_set(spec, text, key, value), RS_OK);
	}
	assert_int_equal(model_create(spec, &options, &m), RS_OK);
	return m;
}

static void
fill_column(struct batch *batch, const struct model *m, size_t f, size_t B, uint64_t key)
{
	const struct schema_field *field = &m->schema.field[m->schema.column_field[f]];
	const uint64_t rows = m->schema.table[field->table].buckets + 1;
	struct batch_column *c = &batch->column[f];
	size_t n = 0;

	assert_int_equal(batch_reserve_ids(batch, f, 3 * B), RS_OK);
	for (size_t b = 0; b < B; b++) {
		const size_t length = field->single ? 1 : rng_below(key, 7 * b, 4);

		if (c->offset != NULL)
			c->offset[b] = (uint32_t)n;
		for (size_t j = 0; j < length; j++, n++) {
			if (c->weight != NULL)
				c->weight[n] = 1;
			c->ids[n] = rng_below(key, 7 * b + j + 1, b % 3 ? rows : 4);
		}
	}
	if (c->offset != NULL)
		c->offset[B] = (uint32_t)n;
	c->N = n;
}

void
step_case_batch(struct batch *batch, const struct model *m, size_t B, uint64_t key)
{
	assert_int_equal(batch_init(batch, &m->schema), RS_OK);
	assert_int_equal(batch_reserve(batch, B), RS_OK);
	batch->B = B;
	for (size_t b = 0; b < B; b++) {
		batch->label[b] = rng_uniform(key, 100000 + b) < 0.3;
		batch->weight[b] = 1 + (float)(b % 2);
	}
	for (size_t i = 0; i < B * batch->K; i++) {
		batch->dense[i] = (float)rng_normal(key, 200000 + i);
		batch->missing[i] = i % 11 == 0;
		if (batch->missing[i])
			batch->dense[i] = 0;
	}
	for (size_t f = 0; f < batch->F; f++)
		fill_column(batch, m, f, B, rng_key(key, f));
}

/* Weights and state of a row lie beside each other. */
static size_t
stride_of(const struct lookup_table *t)
{
	return t->dim + row_optimizer_slots(row_optimizer_get(t->optimizer.kind), t->dim);
}

unsigned char *
step_case_dump(const struct model *m, size_t *n)
{
	struct buffer b;

	buffer_init(&b, (size_t)1 << 30);
	assert_int_equal(buffer_append(&b, m->param, m->P * sizeof(float)), RS_OK);
	assert_int_equal(buffer_append(&b, m->slot_m, m->P * sizeof(float)), RS_OK);
	assert_int_equal(buffer_append(&b, m->slot_v, m->P * sizeof(float)), RS_OK);
	for (size_t t = 0; t < m->n_tables; t++)
		for (uint64_t id = 0; id < m->table[t].rows; id++) {
			const float *row;
			const struct lookup_pull p = {
				.table = t, .ids = &id, .n = 1, .row = &row
			};
			const int touched = m->lookup->ops->touched(m->lookup, t, id);

			assert_int_equal(m->lookup->ops->pull(m->lookup, &p), RS_OK);
			assert_int_equal(
				buffer_append(&b, row, stride_of(&m->table[t]) * sizeof(float)),
				RS_OK);
			assert_int_equal(buffer_append(&b, &touched, sizeof(touched)), RS_OK);
		}
	assert_int_equal(buffer_append(&b, &m->step, sizeof(m->step)), RS_OK);
	*n = b.n;
	return (unsigned char *)b.data;
}
