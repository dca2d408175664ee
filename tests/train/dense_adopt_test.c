/* A model that goes on from one of other fields: all that both have is equal to the bit, and
 * it scores as before. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/log.h"
#include "base/rng.h"
#include "data/loader.h"
#include "train/checkpoint.h"
#include "train/workers.h"

enum { ROWS = 40, OLD = 0, NEW = 1 };

static const struct model_options model_options = { .n_threads = 1, .for_training = 1 };
static char directory[64];

/* Models of fields a, c and number x; the spec of the new one is without c or with more. */
static const struct {
	const char *name, *head, *tail;
	float tolerance;               /* of scores: the wide part and fm2 have weights and
	                                * vectors of the new fields, which start near 0 */
} model_table[] = {
	{ "wide_deep", "type = wide_deep", "[dnn]\nhidden = 6,4\n", 1e-3f },
	{ "deepfm", "type = deepfm", "[dnn]\nhidden = 6,4\nactivation = dice\n", 5e-3f },
	{ "batch norm", "type = wide_deep", "[dnn]\nhidden = 6\nbatch_norm = yes\n", 1e-3f },
	{ "dcn v1", "type = dcn", "[dnn]\nhidden = 6\n[dcn]\nversion = v1\nlayers = 2\n", 2e-6f },
	{ "dcn v2", "type = dcn", "[dnn]\nhidden = 6\n[dcn]\nversion = v2\nlayers = 2\n", 2e-6f },
	{ "dcn low rank", "type = dcn", "[dnn]\nhidden = 6\n[dcn]\nversion = v2\nlayers = 2\n"
		"rank = 2\nexperts = 2\nstructure = stacked\n", 2e-6f },
	{ "dlrm", "type = dlrm", "[dnn]\nhidden = 6\n[dlrm]\nbottom = 5\n", 2e-6f },
	{ "fm", "type = fm", "", 5e-3f },
	{ "din", "type = din", "[dnn]\nhidden = 6\n[din]\nattention = 5,4\nsoftmax = yes\n",
		2e-6f },
};
enum { DIN = 8 };

#define A "[field a]\ncolumn = 2\nbuckets = 20\n"
#define C "[field c]\ncolumn = 3\nbuckets = 30\n"
#define X "[field x]\ncolumn = 4\ntype = numeric\n"
#define N "[field n]\ncolumn = 5\nbuckets = 7\n"
#define H "[field h]\ncolumn = 7\ntype = sequence\nshare = a\nhistory = q\n"
#define G "[field g]\ncolumn = 8\ntype = sequence\nshare = c\nhistory = q\n"
#define Y "[field y]\ncolumn = 6\ntype = numeric\n"

static struct model *
make_model_with(size_t i, const char *fields, const struct model_options *options)
{
	char text[2048];
	struct spec *spec;
	struct model *m;

	snprintf(text, sizeof text, "[model]\n%s\n[data]\ntrain = %s/t.tsv\nformat = tsv\n"
		"label = 1\n%s[embedding]\ndim = 3\n%s[train]\nbatch_size = %d\n",
		model_table[i].head, directory, fields, model_table[i].tail, ROWS);
	if (spec_load_text(text, "test.ini", &spec) != RS_OK)
		fail_msg("%s: %s", model_table[i].name, rs_failure()->text);
	if (model_create(spec, options, &m) != RS_OK)
		fail_msg("%s: %s", model_table[i].name, rs_failure()->text);
	return m;
}

static struct model *
make_model(size_t i, const char *fields)
{
	return make_model_with(i, fields, &model_options);
}

static int
set_up(void **state)
{
	char path[128], text[ROWS * 64];
	size_t n = 0;

	(void)state;
	log_set_level(LOG_ERROR);
	snprintf(directory, sizeof directory, "/tmp/dense_adopt.XXXXXX");
	if (mkdtemp(directory) == NULL)
		return -1;
	for (uint64_t i = 0; i < ROWS; i++)
		n += (size_t)snprintf(text + n, 64, "%u\ta%u\tc%u\t%.3f\t\t\ta1|a%u\tc%u|c3\n",
			(unsigned)(i % 2), (unsigned)rng_below(1, i, 15),
			(unsigned)rng_below(2, i, 25), rng_uniform(3, i), (unsigned)i % 9,
			(unsigned)i % 7);
	snprintf(path, sizeof path, "%s/t.tsv", directory);
	return file_replace(path, text, n) == RS_OK ? 0 : -1;
}

static int
tear_down(void **state)
{
	(void)state;
	return file_remove_tree(directory) == RS_OK ? 0 : -1;
}

/* Numbers as if it had been trained for long. */
static void
disturb(struct model *m)
{
	for (size_t i = 0; i < graph_n_params(m->graph); i++) {
		const struct graph_param *p = graph_param(m->graph, i);

		for (size_t k = p->offset; k < p->offset + p->rows * p->columns; k++) {
			m->param[k] = 0.5f * (float)rng_uniform(7, k) + (p->is_statistic ? 1 : 0);
			m->slot_m[k] = (float)rng_uniform(8, k);
			m->slot_v[k] = (float)rng_uniform(9, k);
		}
	}
	m->step = 1000;
}

/* A step, so that rows of the tables are no initial ones. */
static void
run_batch(struct model *m, int trains, float *logit)
{
	const struct loader_options options = { .schema = &m->schema,
		.files = &spec_settings(m->spec)->data.train, .purpose = PARSE_TRAIN,
		.batch_size = ROWS, .epochs = 1, .n_threads = 1 };
	const struct batch *batch;
	struct step_result result;
	struct workers *w;
	struct loader *l;

	assert_int_equal(loader_open(&options, &l), RS_OK);
	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	assert_int_equal(loader_next(l, &batch, NULL), RS_OK);
	if (trains)
		assert_int_equal(workers_step(w, batch, 0.01, 1, &result), RS_OK);
	else
		assert_int_equal(workers_predict(w, batch, logit, NULL), RS_OK);
	workers_free(w);
	loader_close(l);
}

static uint64_t
save(struct model *m)
{
	const struct checkpoint_progress progress = { .state = CHECKPOINT_FINAL, .best = NAN,
		.rate_factor = 1 };
	uint64_t version;

	assert_int_equal(checkpoint_save(directory, m, &progress, 1, &version, NULL), RS_OK);
	return version;
}

/* A saved model of the fields. */
static struct model *
make_former(size_t i, const char *fields, uint64_t *version)
{
	struct model *m = make_model(i, fields);

	disturb(m);
	run_batch(m, 1, NULL);
	*version = save(m);
	return m;
}

static struct model *
adopt(size_t i, const char *fields, uint64_t version)
{
	const struct model_options options = { .n_threads = 1, .for_training = 1 };
	struct model *m = make_model_with(i, fields, &options);

	if (checkpoint_fill(directory, version, CHECKPOINT_STATE | CHECKPOINT_OTHER_FIELDS, m,
	    NULL) != RS_OK)
		fail_msg("%s: %s", model_table[i].name, rs_failure()->text);
	return m;
}

static void
assert_same_scores(size_t i, struct model *a, struct model *b)
{
	float x[ROWS], y[ROWS];

	run_batch(a, 0, x);
	run_batch(b, 0, y);
	for (size_t r = 0; r < ROWS; r++)
		if (!(fabsf(x[r] - y[r]) <= model_table[i].tolerance * fmaxf(1, fabsf(x[r]))))
			fail_msg("%s: row %zu scores %g, before %g", model_table[i].name, r,
				(double)y[r], (double)x[r]);
}

static void
assert_table_equal(const struct model *a, size_t t, const struct model *b, size_t u)
{
	float w[2][3 * 31], s[2][3 * 31];
	uint8_t touched[2][31];
	struct lookup_rows r = { .table = t, .n = (size_t)a->table[t].rows, .weights = w[0],
		.slots = s[0], .touched = touched[0] };

	assert_int_equal(lookup_local_get(a->lookup, &r), RS_OK);
	r = (struct lookup_rows){ .table = u, .n = (size_t)b->table[u].rows, .weights = w[1],
		.slots = s[1], .touched = touched[1] };
	assert_int_equal(lookup_local_get(b->lookup, &r), RS_OK);
	assert_memory_equal(w[0], w[1], r.n * a->table[t].dim * sizeof(float));
	assert_memory_equal(s[0], s[1], r.n * lookup_local_slots(a->lookup, t) * sizeof(float));
	assert_memory_equal(touched[0], touched[1], r.n);
}

/* n_tables: it has none of this name. */
static size_t
table_named(const struct model *m, const char *name)
{
	size_t t = 0;

	while (t < m->n_tables && strcmp(m->table[t].name, name) != 0)
		t++;
	return t;
}

static void
assert_tables_equal(const struct model *a, const struct model *b)
{
	for (size_t t = 0; t < a->n_tables; t++) {
		const size_t u = table_named(b, a->table[t].name);

		if (u < b->n_tables)
			assert_table_equal(a, t, b, u);
	}
}

/* Those that the former model had not are as in a model that nothing was loaded into. */
static void
assert_new_tables_begin(const struct model *former, const struct model *m, size_t i,
	const char *fields)
{
	struct model *const fresh = make_model(i, fields);

	for (size_t t = 0; t < m->n_tables; t++)
		if (table_named(former, m->table[t].name) == former->n_tables)
			assert_table_equal(m, t, fresh, t);
	model_free(fresh);
}

static int
float_order(const void *a, const void *b)
{
	const float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

/* Weights that are not 0, and states, in ascending order. */
static size_t
sorted(const struct model *m, const float *from, float skip, float *out)
{
	size_t n = 0;

	for (size_t i = 0; i < m->P; i++)
		if (from[i] != skip)
			out[n++] = from[i];
	qsort(out, n, sizeof *out, float_order);
	return n;
}

/* Every value of the former model is in this one, as often. */
static void
assert_has_values_of(const struct model *a, const struct model *b)
{
	float *x = malloc(a->P * sizeof *x), *y = malloc(b->P * sizeof *y);
	const float *const of_a[] = { a->param, a->slot_m, a->slot_v };
	const float *const of_b[] = { b->param, b->slot_m, b->slot_v };

	for (size_t i = 0; i < 3; i++) {
		const size_t n = sorted(a, of_a[i], 0, x), k = sorted(b, of_b[i], 0, y);
		size_t at = 0;

		for (size_t v = 0; v < n; v++) {
			while (at < k && y[at] < x[v])
				at++;
			assert_true(at < k && y[at++] == x[v]);
		}
	}
	free(x);
	free(y);
}

static void
assert_grows(size_t i, const char *before, const char *now)
{
	uint64_t version;
	struct model *old = make_former(i, before, &version), *new = adopt(i, now, version);

	assert_int_equal(new->step, old->step);
	assert_same_scores(i, old, new);
	assert_tables_equal(old, new);
	assert_new_tables_begin(old, new, i, now);
	assert_has_values_of(old, new);
	/* and back: the model of before to the bit */
	const uint64_t grown = save(new);
	struct model *back = adopt(i, before, grown);
	assert_int_equal(back->P, old->P);
	assert_memory_equal(back->param, old->param, old->P * sizeof(float));
	assert_memory_equal(back->slot_m, old->slot_m, old->P * sizeof(float));
	assert_memory_equal(back->slot_v, old->slot_v, old->P * sizeof(float));
	assert_tables_equal(old, back);
	model_free(back);
	model_free(new);
	model_free(old);
}

static void
B051_a_new_field_starts_fresh_and_the_rest_goes_on(void **state)
{
	(void)state;
	for (size_t i = 0; i < DIN; i++) {
		assert_grows(i, A C X, A C N X);
		assert_grows(i, A C X, N A C X);
		assert_grows(i, A C X, A C X N Y);
		assert_grows(i, A C X, Y A N X C);
	}
	assert_grows(DIN, A H X, A C H G X);
	assert_grows(DIN, A H C X, N A G H C X);
}

static void
order_of_fields_does_not_matter(void **state)
{
	(void)state;
	for (size_t i = 0; i < DIN; i++)
		assert_grows(i, A C X, X C A);
}

static void
a_removed_field_leaves_the_rest_as_it_is(void **state)
{
	(void)state;
	for (size_t i = 0; i < DIN; i++) {
		uint64_t version;
		struct model *old = make_former(i, A C N X, &version);
		struct model *new = adopt(i, A N X, version);

		assert_tables_equal(new, old);
		assert_has_values_of(new, old);
		model_free(new);
		model_free(old);
	}
}

static void
other_layers_are_refused(void **state)
{
	char text[1024];
	uint64_t version;
	struct model *old = make_former(0, A C X, &version), *m;
	struct spec *spec;

	(void)state;
	static const char *const hidden[] = { "6,5", "7,4", "6", "6,4,4", "4,6" };
	for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++) {
		snprintf(text, sizeof text, "[model]\ntype = wide_deep\n[data]\ntrain = t.tsv\n"
			"format = tsv\nlabel = 1\n" A C N X "[embedding]\ndim = 3\n[dnn]\n"
			"hidden = %s\n", hidden[i]);
		assert_int_equal(spec_load_text(text, "test.ini", &spec), RS_OK);
		assert_int_equal(model_create(spec, &model_options, &m), RS_OK);
		assert_int_equal(checkpoint_fill(directory, version,
			CHECKPOINT_STATE | CHECKPOINT_OTHER_FIELDS, m, NULL), RS_ESPEC);
		assert_non_null(strstr(rs_failure()->text, "'dnn."));
		assert_non_null(strstr(rs_failure()->hint, "--fresh"));
		model_free(m);
	}
	model_free(old);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(B051_a_new_field_starts_fresh_and_the_rest_goes_on),
		cmocka_unit_test(order_of_fields_does_not_matter),
		cmocka_unit_test(a_removed_field_leaves_the_rest_as_it_is),
		cmocka_unit_test(other_layers_are_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
