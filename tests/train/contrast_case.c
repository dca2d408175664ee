/* The model and batches of the tests of losses over many items. */
#include "contrast_case.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "base/rng.h"

static const char head[] =
	"[data]\ntrain = none.csv\nformat = csv\nlabel = y\n"
	"[field u]\ncolumn = u\nbuckets = 30\n"
	"[field x]\ncolumn = x\ntype = numeric\n"
	"[field i]\ncolumn = i\nbuckets = 20\n"
	"[embedding]\ndim = 4\ninit_stddev = 0.5\noptimizer = sgd\nlearning_rate = 1\n"
	"[tower user]\nfields = u,x\n[tower item]\nfields = i\n"
	"[two_tower]\ntemperature = 0.5\n"
	"[train]\noptimizer = sgd\nlearning_rate = 1\nbatch_size = 64\nslots = 4\n";

struct model *
contrast_case_model(const char *loss, const char *more, size_t n_threads)
{
	const struct model_options options = { .n_threads = n_threads, .for_training = 1 };
	char text[2048];
	struct spec *spec;
	struct model *m;

	snprintf(text, sizeof(text), "[model]\ntype = two_tower\nloss = %s\n%s%s", loss, head,
		more);
	if (spec_load_text(text, "contrast", &spec) != RS_OK)
		fail_msg("%s", spec_n_problems(spec) > 0 ? spec_problem(spec, 0)->text : "?");
	assert_int_equal(model_create(spec, &options, &m), RS_OK);
	return m;
}

/* Item 3 comes up ten times as often as any other. */
static uint64_t
draw_item(uint64_t key, uint64_t counter)
{
	const uint64_t i = rng_below(key, counter, CASE_N_ITEMS + 9);

	return i < CASE_N_ITEMS ? i : 3;
}

void
contrast_case_batch(struct batch *batch, const struct model *m, size_t B, uint64_t key)
{
	assert_int_equal(batch_init(batch, &m->schema), RS_OK);
	assert_int_equal(batch_reserve(batch, B), RS_OK);
	assert_int_equal(batch_reserve_ids(batch, 0, B), RS_OK);
	assert_int_equal(batch_reserve_ids(batch, 1, B), RS_OK);
	batch->B = B;
	batch->column[0].N = batch->column[1].N = B;
	for (size_t b = 0; b < B; b++) {
		batch->label[b] = 1;
		batch->weight[b] = 1 + (float)(b % 3);
		batch->dense[b] = (float)rng_normal(key, 4 * b);
		batch->missing[b] = 0;
		batch->column[0].ids[b] = rng_below(key, 4 * b + 1, CASE_N_USERS);
		batch->column[1].ids[b] = batch->item[b] = draw_item(key, 4 * b + 2);
	}
}

void
contrast_case_candidates(struct batch *batch, const struct model *m, uint64_t key)
{
	struct batch_candidates *c;

	assert_int_equal(memory_alloc(1, sizeof(*c), &c), RS_OK);
	batch->candidates = c;
	contrast_case_batch(&c->own, m, CASE_N_ITEMS, 9);
	assert_int_equal(memory_alloc(batch->B, sizeof(*c->positive), &c->positive), RS_OK);
	assert_int_equal(
		memory_alloc(batch->B * CASE_N_DRAWN, sizeof(*c->negative), &c->negative), RS_OK);
	assert_int_equal(memory_alloc(CASE_N_ITEMS, 1, &c->drawn), RS_OK);
	assert_int_equal(memory_alloc(CASE_N_ITEMS, sizeof(*c->log_q), &c->log_q), RS_OK);
	c->items = &c->own;
	c->M = CASE_N_ITEMS;
	c->n = CASE_N_DRAWN;
	for (size_t i = 0; i < CASE_N_ITEMS; i++) {
		c->own.column[1].ids[i] = i;
		c->drawn[i] = i % 3 != 1;
		c->log_q[i] = -(float)rng_uniform(key, i);
	}
	for (size_t b = 0; b < batch->B; b++)
		c->positive[b] = (uint32_t)batch->item[b];
	for (size_t i = 0; i < batch->B * CASE_N_DRAWN; i++) {
		const uint64_t ahead = 1 + rng_below(key, 100 + i, CASE_N_ITEMS - 1);

		c->negative[i] = (uint32_t)((batch->item[i / CASE_N_DRAWN] + ahead) % CASE_N_ITEMS);
	}
}

size_t
contrast_case_weights(const struct model *m, float *out)
{
	size_t n = m->P;

	memcpy(out, m->param, m->P * sizeof(*out));
	for (size_t t = 0; t < m->n_tables; t++)
		for (uint64_t id = 0; id < m->table[t].rows; id++) {
			const float *row;
			const struct lookup_pull pull = {
				.table = t, .ids = &id, .n = 1, .row = &row,
			};

			assert_int_equal(m->lookup->ops->pull(m->lookup, &pull), RS_OK);
			memcpy(out + n, row, m->table[t].dim * sizeof(*out));
			n += m->table[t].dim;
		}
	return n;
}
