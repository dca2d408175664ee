/* Models and batches of the tests of GPUs. */
#include "gpu_case.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "contrast_case.h"
#include "step_case.h"
#include "tests/embed/home.h"

#define FIELDS "[field a]\ncolumn = a\nbuckets = 50\n" \
	"[field b]\ncolumn = b\nbuckets = 7\n[field b2]\ncolumn = b2\nshare = b\n"
#define MULTI "[field m]\ncolumn = m\ntype = multi\nbuckets = 40\nmax_length = 3\n"
#define NUMERIC "[field x1..x3]\ncolumn = x1..x3\ntype = numeric\n"
#define HISTORY "[field h]\ncolumn = h\ntype = sequence\nshare = a\nmax_length = 3\n"
#define TOWERS "[field u]\ncolumn = u\nbuckets = 30\n[field x]\ncolumn = x\ntype = numeric\n" \
	"[field i]\ncolumn = i\nbuckets = 20\n[tower user]\nfields = u,x\nhidden = 6,4\n" \
	"[tower item]\nfields = i\nhidden = 5,4\n[two_tower]\ntemperature = 0.5\n" \
	"learn_temperature = yes\n"
#define BARE "[field u]\ncolumn = u\nbuckets = 30\n[field i]\ncolumn = i\nbuckets = 20\n" \
	"[tower user]\nfields = u\nhidden =\n[tower item]\nfields = i\nhidden =\n"
#define SMOOTH "activation = tanh\n"
#define BRAIN "[train]\nprecision = bf16\n"
#define WIDE_TOWERS "[field u]\ncolumn = u\nbuckets = 30\ndim = 16\n[field x]\ncolumn = x\n" \
	"type = numeric\n[field i]\ncolumn = i\nbuckets = 20\ndim = 17\n[tower user]\n" \
	"fields = u,x\nhidden = 33,16\n" SMOOTH "[tower item]\nfields = i\nhidden = 18,16\n" SMOOTH \
	"[two_tower]\ntemperature = 0.5\n"

const struct gpu_case gpu_case_table[] = {
	{ "fm", "fm", FIELDS MULTI NUMERIC, 0 },
	{ "fm, mse", "fm\nloss = mse", FIELDS NUMERIC, 0 },
	{ "wide_deep", "wide_deep", FIELDS MULTI NUMERIC "[dnn]\nhidden = 9,4\n" SMOOTH, 0 },
	{ "deepfm", "deepfm", FIELDS MULTI NUMERIC
		"[dnn]\nhidden = 16,8\nbatch_norm = yes\ndropout = 0.2\n" SMOOTH, 0 },
	{ "deepfm, max", "deepfm", FIELDS MULTI "combiner = max\n" NUMERIC
		"[dnn]\nhidden = 8\nactivation = prelu\n", 0 },
	{ "deepfm, mean", "deepfm", FIELDS MULTI "combiner = mean\n" NUMERIC
		"[dnn]\nhidden = 8\nactivation = gelu\n", 0 },
	{ "dcn v1", "dcn", FIELDS NUMERIC "[dcn]\nversion = v1\nlayers = 2\n[dnn]\nhidden = 8\n"
		SMOOTH, 0 },
	{ "dcn v2", "dcn", FIELDS NUMERIC "[dcn]\nversion = v2\nlayers = 2\n[dnn]\nhidden = 8\n"
		SMOOTH, 0 },
	{ "dcn mix", "dcn", FIELDS NUMERIC "[dcn]\nversion = v2\nlayers = 2\nrank = 3\n"
		"experts = 3\n[dnn]\nhidden = 8\n" SMOOTH, 0 },
	{ "din", "din", FIELDS HISTORY NUMERIC "[dnn]\nhidden = 8\nactivation = dice\n"
		"[din]\nattention = 6\n", 0 },
	{ "din, softmax", "din", FIELDS HISTORY "[dnn]\nhidden = 8\nactivation = prelu\n"
		"[din]\nattention = 6\nsoftmax = yes\n", 0 },
	{ "dlrm", "dlrm", FIELDS NUMERIC "[dlrm]\nbottom = 6,4\n[dnn]\nhidden = 8\n" SMOOTH, 0 },
	{ "two_tower", "two_tower", TOWERS, 0 },
	{ "two_tower, no parameters", "two_tower", BARE, 0 },
	{ "two_tower, softmax", "two_tower\nloss = softmax", TOWERS, 1 },
	{ "two_tower, bpr", "two_tower\nloss = bpr", TOWERS "[items]\nnegatives = 5\n", 1 },
	{ NULL, NULL, NULL, 0 },
};

/* Layers that are wide enough: after a norm, of an odd width, of a cross, in a mixture. */
const struct gpu_case gpu_case_brain_table[] = {
	{ "deepfm, bf16", "deepfm", FIELDS MULTI NUMERIC
		"[dnn]\nhidden = 33,16,17\nbatch_norm = yes\ndropout = 0.2\n" SMOOTH BRAIN, 0 },
	{ "wide_deep, bf16", "wide_deep", FIELDS NUMERIC "[dnn]\nhidden = 19,40\n" BRAIN, 0 },
	{ "dcn v2, bf16", "dcn", FIELDS NUMERIC "[dcn]\nversion = v2\nlayers = 3\n"
		"[dnn]\nhidden = 16\n" SMOOTH BRAIN, 0 },
	{ "dcn mix, bf16", "dcn", FIELDS NUMERIC "[dcn]\nversion = v2\nlayers = 2\nrank = 17\n"
		"experts = 2\n[dnn]\nhidden = 16\n" SMOOTH BRAIN, 0 },
	{ "din, bf16", "din", FIELDS HISTORY NUMERIC "[dnn]\nhidden = 16,18\nactivation = dice\n"
		"[din]\nattention = 16\n" BRAIN, 0 },
	{ "two_tower, bf16", "two_tower", WIDE_TOWERS BRAIN, 0 },
	{ "two_tower, softmax, bf16", "two_tower\nloss = softmax", WIDE_TOWERS BRAIN, 1 },
	{ NULL, NULL, NULL, 0 },
};

const char *gpu_case_tables = "auto";

struct model *
gpu_case_model(const struct gpu_case *c, struct gpu_memory *gpu, size_t n_threads)
{
	struct model_options options = { .kernel = "ref", .gpu = gpu,
		.n_threads = n_threads, .for_training = 1 };
	char text[2048];
	struct spec *spec;
	struct model *m;

	snprintf(text, sizeof(text), "[model]\ntype = %s\n[data]\ntrain = none.csv\n"
		"format = csv\nlabel = y\n%s[embedding]\ndim = 4\ninit_stddev = 0.1\n"
		"optimizer = sgd\nlearning_rate = 0.1\n[train]\nbatch_size = 96\nslots = 4\n"
		"optimizer = momentum\nlearning_rate = 0.05\n[gpu]\ntables = %s\n", c->model,
		c->more, gpu_case_tables);
	if (spec_load_text(text, c->name, &spec) != RS_OK)
		fail_msg("%s: %s", c->name,
			spec_n_problems(spec) > 0 ? spec_problem(spec, 0)->text : "?");
	options.tables = spec_settings(spec)->gpu.tables;
	if (model_create(spec, &options, &m) != RS_OK)
		fail_msg("%s: %s", c->name, rs_failure()->text);
	return m;
}

void
gpu_case_batch(const struct gpu_case *c, const struct model *m, size_t B, uint64_t i,
	struct batch *out)
{
	if (!c->has_candidates) {
		step_case_batch(out, m, B, 40 + i);
		return;
	}
	contrast_case_batch(out, m, B, 40 + i);
	contrast_case_candidates(out, m, 60 + i);
}

void
gpu_case_run(const struct gpu_case *c, struct gpu_memory *gpu, size_t n_threads,
	struct gpu_run *out)
{
	static const size_t rows[GPU_CASE_STEPS] = { GPU_CASE_B, GPU_CASE_B - 5, 7 };
	struct step_result result;
	struct workers *w;
	struct batch batch;

	memset(out, 0, sizeof(*out));
	out->m = gpu_case_model(c, gpu, n_threads);
	if (workers_create(out->m, n_threads, &w) != RS_OK)
		fail_msg("%s: %s", c->name, rs_failure()->text);
	assert_int_equal(gpu != NULL, gpu != NULL && atomic_load(&gpu->used) > 0);
	for (size_t i = 0; i < GPU_CASE_STEPS; i++) {
		gpu_case_batch(c, out->m, rows[i], i, &batch);
		if (workers_step(w, &batch, 0.05, 1, &result) != RS_OK)
			fail_msg("%s: %s", c->name, rs_failure()->text);
		assert_int_equal(result.skipped, 0);
		out->loss[i] = result.loss / result.weight;
		batch_free(&batch);
	}
	gpu_case_batch(c, out->m, GPU_CASE_B, GPU_CASE_STEPS, &batch);
	assert_int_equal(c->has_candidates
		? workers_vectors(w, TOWER_ITEM, &batch, out->value)
		: workers_predict(w, &batch, out->value, NULL), RS_OK);
	batch_free(&batch);
	workers_free(w);
}

int
gpu_case_train(const struct gpu_case *c, struct gpu_memory *gpu, size_t n_threads)
{
	struct model *m = gpu_case_model(c, gpu, n_threads);
	float value[GPU_CASE_VALUES];
	struct step_result result;
	struct workers *w;
	struct batch batch;

	gpu_case_batch(c, m, GPU_CASE_B, 0, &batch);
	enum rs_status status = workers_create(m, n_threads, &w);
	if (status == RS_OK)
		status = workers_step(w, &batch, 0.05, 1, &result);
	const uint64_t step = m->step;
	if (status == RS_OK)
		status = c->has_candidates ? workers_vectors(w, TOWER_USER, &batch, value)
			: workers_predict(w, &batch, value, NULL);
	if (status != RS_OK) {
		assert_int_equal(status, RS_EDEVICE);
		assert_string_equal(rs_failure()->text, "GPU: a kernel or copy failed: emulated");
	} else {
		assert_int_equal(step, 1);
	}
	batch_free(&batch);
	workers_free(w);
	model_free(m);
	return status == RS_OK;
}

struct comparison {
	const char *name, *what;
	double tolerance;
};

static void
compare(const struct comparison *c, const float *host, const float *there, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!(fabs((double)there[i] - host[i]) <= c->tolerance * (1 + fabs(host[i]))))
			fail_msg("%s: %s %zu is %.9g, on the host %.9g", c->name, c->what, i,
				there[i], host[i]);
}

static const float *
row_of(struct lookup *l, size_t table, uint64_t id)
{
	const float *row;
	const struct lookup_pull p = { .table = table, .ids = &id, .n = 1, .row = &row };

	assert_int_equal(l->ops->pull(l, &p), RS_OK);
	return row;
}

double
gpu_case_distance(const struct gpu_run *host, const struct gpu_run *there)
{
	double most = 0;

	for (size_t i = 0; i < host->m->P; i++) {
		const double a = host->m->param[i], b = there->m->param[i];
		most = larger_or_nan(most, fabs(a - b) / (1 + fabs(a)));
	}
	return most;
}

void
gpu_case_compare(const char *name, const struct gpu_run *host, const struct gpu_run *there,
	double tolerance)
{
	const struct model *a = host->m, *b = there->m;
	struct comparison c = { name, "value", tolerance };

	for (size_t i = 0; i < GPU_CASE_STEPS; i++)
		if (!(fabs(there->loss[i] / host->loss[i] - 1) <= tolerance))
			fail_msg("%s: loss of step %zu is %.9g, on the host %.9g", name, i,
				there->loss[i], host->loss[i]);
	compare(&c, host->value, there->value, GPU_CASE_VALUES);
	c.what = "parameter";
	compare(&c, a->param, b->param, a->P);
	c.what = "momentum";
	compare(&c, a->slot_m, b->slot_m, a->P);
	c.what = "number of a row";
	struct lookup *const home = home_of(a->lookup), *const home_there = home_of(b->lookup);
	for (size_t t = 0; t < a->n_tables; t++)
		for (uint64_t id = 0; id < a->table[t].rows; id++)
			compare(&c, row_of(home, t, id), row_of(home_there, t, id),
				a->table[t].dim);
}
