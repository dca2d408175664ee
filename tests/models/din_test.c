/*
 * DIN as trained: its logits against the formulas in plain double, and what an empty
 * history, a long one and a table shared with the target must not do.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"
#include "models/models.h"
#include "train/model.h"
#include "train/step.h"

enum { MAX_B = 16, MAX_LENGTH = 120, ITEMS = 30, CATES = 9, DIM = 4, D = 2 * DIM };
enum { ITEM, CATE, PAST_ITEM, PAST_CATE, N_COLUMNS };

static const char spec_text[] =
	"[model]\ntype = din\n"
	"[data]\ntrain = none.csv\nformat = csv\nlabel = y\n"
	"[field item]\nbuckets = 30\ncolumn = a\n"
	"[field cate]\nbuckets = 9\ncolumn = b\n"
	"[field past_item]\ncolumn = c\ntype = sequence\nshare = item\nmax_length = 120\n"
	"[field past_cate]\ncolumn = d\ntype = sequence\nshare = cate\nmax_length = 120\n"
	"[embedding]\ndim = 4\ninit_stddev = 0.3\nlearning_rate = 0.05\n"
	"[dnn]\nhidden = 6\nactivation = tanh\n"
	"[din]\nattention = 5\nactivation = prelu\n"
	"[train]\nbatch_size = 16\nslots = 1\nlearning_rate = 0.01\n";

/* setting: "section.key=value" or NULL. */
static struct model *
model_open(const char *section, const char *key, const char *value)
{
	const struct model_options options = { .n_threads = 1, .for_training = 1 };
	struct spec *spec;
	struct model *m;

	assert_int_equal(spec_load_text(spec_text, "din_test", &spec), RS_OK);
	if (section != NULL)
		assert_int_equal(spec_set(spec, section, key, value), RS_OK);
	assert_int_equal(model_create(spec, &options, &m), RS_OK);
	for (size_t i = 0; i < m->P; i++)       /* zero biases would hide much */
		m->param[i] += 0.1f * (float)rng_normal(5, i);
	return m;
}

/* Row b has length[b] items; ids are a function of (row number, position). */
static void
batch_open(struct batch *batch, const struct model *m, const size_t *length, size_t B,
	size_t first_row)
{
	static const uint64_t buckets[N_COLUMNS] = { ITEMS, CATES, ITEMS, CATES };

	assert_int_equal(batch_init(batch, &m->schema), RS_OK);
	assert_int_equal(batch_reserve(batch, B), RS_OK);
	batch->B = B;
	for (size_t f = 0; f < N_COLUMNS; f++) {
		struct batch_column *c = &batch->column[f];
		assert_int_equal(batch_reserve_ids(batch, f, B * (MAX_LENGTH + 1)), RS_OK);
		for (size_t b = 0; b < B; b++) {
			const size_t n = f < PAST_ITEM ? 1 : length[b];
			if (c->offset != NULL)
				c->offset[b] = (uint32_t)c->N;
			for (size_t i = 0; i < n; i++)
				c->ids[c->N++] = rng_below(
					7 + f, (first_row + b) * 1000 + i, buckets[f]);
		}
		if (c->offset != NULL)
			c->offset[B] = (uint32_t)c->N;
	}
	for (size_t b = 0; b < B; b++) {
		batch->label[b] = (first_row + b) % 3 == 0;
		batch->weight[b] = 1;
	}
}

static void
predict(struct model *m, const struct batch *batch, float *logit)
{
	const struct step_prediction p = { .batch = batch, .value = logit };
	struct stepper *s;

	assert_int_equal(stepper_create(m, 1, &s), RS_OK);
	assert_int_equal(step_predict(s, 0, &p), RS_OK);
	stepper_free(s);
}

static void
train(struct model *m, const struct batch *batch)
{
	struct step_result result;
	struct stepper *s;

	assert_int_equal(stepper_create(m, 1, &s), RS_OK);
	assert_int_equal(step_run(s, 0, batch, 0.01, 1, &result), RS_OK);
	assert_false(result.skipped);
	stepper_free(s);
}

/* A row of the table, its optimizer state behind it. */
static const float *
row_of(const struct model *m, size_t table, uint64_t id)
{
	const float *row = NULL;
	const struct lookup_pull p = { .table = table, .ids = &id, .n = 1, .row = &row };

	assert_int_equal(m->lookup->ops->pull(m->lookup, &p), RS_OK);
	return row;
}

static const float *
param_of(const struct model *m, const char *name)
{
	for (size_t i = 0; i < graph_n_params(m->graph); i++)
		if (strcmp(graph_param(m->graph, i)->name, name) == 0)
			return m->param + graph_param(m->graph, i)->offset;
	fail_msg("no parameter '%s'", name);
	return NULL;
}

static void
vector_of(const struct model *m, uint64_t item, uint64_t cate, double v[D])
{
	for (size_t d = 0; d < DIM; d++) {
		v[d] = row_of(m, 0, item)[d];
		v[DIM + d] = row_of(m, 1, cate)[d];
	}
}

/* a(k, q) = v . prelu([k, q, k-q, k*q] W + b) + c */
static double
attention(const struct model *m, const double q[D], const double k[D])
{
	const float *w = param_of(m, "history.attention.0.weight");
	const float *bias = param_of(m, "history.attention.0.bias");
	const float *slope = param_of(m, "history.attention.0.slope");
	const float *out = param_of(m, "history.attention.1.weight");
	double a = param_of(m, "history.attention.1.bias")[0];

	for (size_t h = 0; h < 5; h++) {
		double z = bias[h];
		for (size_t d = 0; d < D; d++)
			z += k[d] * w[d * 5 + h] + q[d] * w[(D + d) * 5 + h]
				+ (k[d] - q[d]) * w[(2 * D + d) * 5 + h]
				+ k[d] * q[d] * w[(3 * D + d) * 5 + h];
		a += out[h] * (z > 0 ? z : slope[h] * z);
	}
	return a;
}

/* How the weights of a history come about. */
enum weights { ATTENTION, SOFTMAX, MEAN, SUM };

static void
weights_of(const struct model *m, enum weights kind, const double q[D], const double (*k)[D],
	size_t n, double *a)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		a[i] = kind == MEAN ? 1.0 / (double)n : kind == SUM ? 1 : attention(m, q, k[i]);
		sum += exp(a[i]);
	}
	for (size_t i = 0; i < n && kind == SOFTMAX; i++)
		a[i] = exp(a[i]) / sum;
}

/* The MLP on [q, sum of a_i k_i]. */
static double
logit_of(const struct model *m, enum weights kind, const struct batch *batch, size_t b)
{
	const struct batch_column *c = batch->column;
	const float *w = param_of(m, "dnn.0.weight"), *bias = param_of(m, "dnn.0.bias");
	const float *out = param_of(m, "dnn.1.weight");
	const size_t begin = c[PAST_ITEM].offset[b], n = c[PAST_ITEM].offset[b + 1] - begin;
	double x[2 * D] = { 0 }, k[MAX_LENGTH][D], a[MAX_LENGTH], y = param_of(m, "dnn.1.bias")[0];

	vector_of(m, c[ITEM].ids[b], c[CATE].ids[b], x);
	for (size_t i = 0; i < n; i++)
		vector_of(m, c[PAST_ITEM].ids[begin + i], c[PAST_CATE].ids[begin + i], k[i]);
	weights_of(m, kind, x, (const double (*)[D])k, n, a);
	for (size_t i = 0; i < n; i++)
		for (size_t d = 0; d < D; d++)
			x[D + d] += a[i] * k[i][d];
	for (size_t h = 0; h < 6; h++) {
		double z = bias[h];
		for (size_t d = 0; d < 2 * D; d++)
			z += x[d] * w[d * 6 + h];
		y += out[h] * tanh(z);
	}
	return y;
}

/* Together more positions than one block of the attention unit. */
static const size_t lengths[MAX_B] = { 0, 120, 1, 7, 0, 0, 120, 119, 33, 90, 120, 0, 2, 1, 60, 0 };

static void
check_formula(const char *key, const char *value, enum weights kind)
{
	struct model *m = model_open(key == NULL ? NULL : "din", key, value);
	struct batch batch;
	float logit[MAX_B];

	batch_open(&batch, m, lengths, MAX_B, 0);
	train(m, &batch);
	predict(m, &batch, logit);
	for (size_t b = 0; b < MAX_B; b++)
		if (!(fabs(logit[b] - logit_of(m, kind, &batch, b)) <= 1e-4))
			fail_msg("row %zu: logit %.7g, by the formula %.7g", b, (double)logit[b],
				logit_of(m, kind, &batch, b));
	batch_free(&batch);
	model_free(m);
}

static void
logits_are_those_of_the_formula(void **state)
{
	(void)state;
	check_formula(NULL, NULL, ATTENTION);
	check_formula("softmax", "yes", SOFTMAX);
}

static void
mean_and_sum_take_the_place_of_attention(void **state)
{
	(void)state;
	check_formula("pooling", "mean", MEAN);
	check_formula("pooling", "sum", SUM);
}

static void
plain_pooling_needs_no_table_of_the_target(void **state)
{
	struct model *m = model_open("din", "pooling", "mean");
	struct settings own = *spec_settings(m->spec);
	struct graph *g;

	(void)state;
	own.field[PAST_ITEM].share = own.field[PAST_CATE].share = (char[]){ "" };
	assert_int_equal(graph_create(m->kernel, &g), RS_OK);
	graph_set_dense(g, 0);
	assert_int_equal(graph_finish(g, din_build(g, &m->schema, &own), 0), RS_OK);
	graph_destroy(g);
	model_free(m);
}

/* B095: padding is no item, whatever the other rows hold. */
static void
B095_a_history_ends_where_it_ends(void **state)
{
	struct model *m = model_open(NULL, NULL, NULL);
	struct batch all, one;
	float together[MAX_B], alone;

	(void)state;
	batch_open(&all, m, lengths, MAX_B, 0);
	predict(m, &all, together);
	for (size_t b = 0; b < MAX_B; b++) {
		batch_open(&one, m, lengths + b, 1, b);
		predict(m, &one, &alone);
		assert_true(fabsf(alone - together[b]) < 1e-6f);
		batch_free(&one);
	}
	batch_free(&all);
	model_free(m);
}

/* B095: id 0 is an item like any other; nothing stands for "no item". */
static void
B095_id_0_is_an_item_and_no_row_is_padding(void **state)
{
	const size_t length[2] = { 3, 0 };
	struct model *m = model_open(NULL, NULL, NULL);
	struct batch batch;
	float with[2], without[2], before[DIM], missing[DIM];

	(void)state;
	batch_open(&batch, m, length, 2, 0);
	memset(batch.column[PAST_ITEM].ids, 0, 3 * sizeof(uint64_t));
	batch.column[ITEM].ids[0] = batch.column[ITEM].ids[1] = 5;
	memcpy(before, row_of(m, 0, 0), sizeof(before));
	memcpy(missing, row_of(m, 0, ITEMS), sizeof(missing));
	predict(m, &batch, with);
	train(m, &batch);
	assert_memory_not_equal(before, row_of(m, 0, 0), sizeof(before));
	assert_memory_equal(missing, row_of(m, 0, ITEMS), sizeof(missing));
	assert_true(m->lookup->ops->touched(m->lookup, 0, 0));
	assert_false(m->lookup->ops->touched(m->lookup, 0, ITEMS));
	batch_free(&batch);

	model_free(m);
	m = model_open(NULL, NULL, NULL);
	batch_open(&batch, m, (const size_t[]){ 0, 0 }, 2, 0);
	batch.column[ITEM].ids[0] = batch.column[ITEM].ids[1] = 5;
	predict(m, &batch, without);
	assert_true(with[0] != without[0] && with[1] == without[1]);
	batch_free(&batch);
	model_free(m);
}

/* Slots and batches without any item, with every activation of the unit. */
static void
batches_without_items_train(void **state)
{
	static const char *const activation[] = { "prelu", "dice", "relu", "gelu" };
	const size_t none[3] = { 0, 0, 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct model *m = model_open("din", "activation", activation[i]);
		struct batch batch;
		float logit[3];
		batch_open(&batch, m, none, 3, 0);
		train(m, &batch);
		predict(m, &batch, logit);
		assert_true(isfinite(logit[0]) && isfinite(logit[1]) && isfinite(logit[2]));
		batch_free(&batch);
		model_free(m);
	}
}

/* One Adagrad step has s' = s + g^2 and w' = w - rate g / (sqrt(s') + epsilon). */
static void
target_and_history_make_one_update_of_a_row(void **state)
{
	struct model *m = model_open(NULL, NULL, NULL);
	struct batch batch;
	float before[2 * DIM];
	size_t moved = 0;

	(void)state;
	batch_open(&batch, m, (const size_t[]){ 2 }, 1, 0);
	for (size_t f = 0; f < N_COLUMNS; f++)
		batch.column[f].ids[0] = 3;
	batch.column[PAST_ITEM].ids[1] = batch.column[PAST_CATE].ids[1] = 3;
	memcpy(before, row_of(m, 0, 3), sizeof(before));
	train(m, &batch);
	const float *after = row_of(m, 0, 3);
	for (size_t d = 0; d < DIM; d++) {
		const double step = before[d] - after[d], s = after[DIM + d];
		const double g = step * (sqrt(s) + 1e-7) / 0.05;
		assert_true(fabs(s - before[DIM + d] - g * g) < 1e-5);
		moved += fabs(g) > 1e-2;
	}
	assert_true(moved > 0);
	batch_free(&batch);
	model_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(logits_are_those_of_the_formula),
		cmocka_unit_test(mean_and_sum_take_the_place_of_attention),
		cmocka_unit_test(plain_pooling_needs_no_table_of_the_target),
		cmocka_unit_test(B095_a_history_ends_where_it_ends),
		cmocka_unit_test(B095_id_0_is_an_item_and_no_row_is_padding),
		cmocka_unit_test(batches_without_items_train),
		cmocka_unit_test(target_and_history_make_one_update_of_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
