/* Whole runs on a GPU, which is emulated: their figures are those of the host, their versions
 * are read there, and ranks, threads and a stop change no bit of them. */
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "place_run.h"
#include "gpu_bed.h"
#include "train/checkpoint.h"
#include "train/evaluate.h"

/* A run that ends well; n_ranks 0: without a place. */
struct run {
	const char *model, *train, *valid, *tables;   /* NULL: those of the spec      */
	struct gpu_memory *gpu;
	size_t n_ranks;
	int threads;
	char directory[300];           /* out                                         */
	struct train_summary summary;  /* out, without files                          */
};

static void
train(struct run *run)
{
	static unsigned number;
	const size_t n = run->n_ranks > 0 ? run->n_ranks : 1;
	struct place_hub *hub = run->n_ranks > 0 ? place_hub_open(n, HUB_SHARED) : NULL;
	struct job job[HUB_RANKS];

	snprintf(run->directory, sizeof(run->directory), "%s/run-%u", place_run_top, number++);
	place_run_begin(job, n, place_run_spec(run->model), run->directory);
	for (size_t r = 0; r < n; r++) {
		job[r].gpu = run->gpu;
		job[r].threads = run->threads;
		job[r].train = run->train;
		job[r].valid = run->valid;
		job[r].tables = run->tables;
	}
	place_run_jobs(job, n, hub);
	for (size_t r = 0; r < n; r++)
		if (job[r].status != RS_OK)
			fail_msg("%s: %s", run->model, job[r].failure.text);
	run->summary = job[0].summary;
	place_run_free(job, n);
	if (hub != NULL)
		place_hub_close(hub);
	assert_clean(run->model);
}

/* The rows that were trained are ranked again: of the others the models know nothing.  Before
 * a batch norm a bias has no gradient but what rounding leaves, of which Adam makes steps. */
static void
figures_are_those_of_the_host(void **state)
{
	static const char *const model[] = { "early", "din", "deepfm", "dcn", "softmax",
		"sampled", "full", "bpr", "ccl" };
	enum { N_RANKED = 2 };
	char valid[300];

	(void)state;
	snprintf(valid, sizeof(valid), "%s/train.csv", place_run_top);
	for (size_t i = 0; i < N_ROWS(model); i++) {
		struct run host = { .model = model[i], .valid = valid };
		struct run there = { .model = model[i], .valid = valid, .gpu = &gpu };

		train(&host);
		train(&there);
		assert_int_equal(there.summary.step, host.summary.step);
		assert_int_equal(there.summary.rows_trained, host.summary.rows_trained);
		if (!(fabs(there.summary.loss / host.summary.loss - 1) < 1e-4))
			fail_msg("%s: loss %g, on the host %g", model[i], there.summary.loss,
				host.summary.loss);
		if (i < N_RANKED && !(host.summary.valid.auc > 0.6))
			fail_msg("%s: auc %g", model[i], host.summary.valid.auc);
		if (i < N_RANKED
		    && !(fabs(there.summary.valid.auc - host.summary.valid.auc) <= 0.0005))
			fail_msg("%s: auc %g, on the host %g", model[i],
				there.summary.valid.auc, host.summary.valid.auc);
	}
}

enum { N_MORE = 6000 };

/* Operands of two bytes change a model, hardly what it is worth, on either device. */
static void
two_bytes_converge_as_four(void **state)
{
	char more[300], later[300];

	(void)state;
	place_run_rows("more.csv", N_MORE, 5);
	place_run_rows("later.csv", N_MORE, 6);
	snprintf(more, sizeof(more), "%s/more.csv", place_run_top);
	snprintf(later, sizeof(later), "%s/later.csv", place_run_top);
	struct run floats = { .model = "wide", .train = more, .valid = later, .gpu = &gpu };
	struct run there = { .model = "brain", .train = more, .valid = later, .gpu = &gpu,
		.tables = "host" };
	struct run host = { .model = "brain", .train = more, .valid = later };

	train(&floats);
	train(&there);
	assert_int_equal(kernel_force("ref"), RS_OK);
	train(&host);
	assert_int_equal(kernel_force("auto"), RS_OK);
	const struct metric_result *const f = &floats.summary.valid;
	const struct metric_result *const t = &there.summary.valid, *const h = &host.summary.valid;
	if (!(f->auc > 0.85 && fabs(t->auc - f->auc) <= 0.003 && fabs(t->auc - h->auc) <= 0.001))
		fail_msg("auc %g, in floats %g, on the host %g", t->auc, f->auc, h->auc);
	assert_true(t->logloss != f->logloss);
}

/* A version keeps the key, as the run that goes on with it would be another without. */
static void
tf32_is_what_a_run_trains_with(void **state)
{
	struct run floats = { .model = "wide", .gpu = &gpu };
	struct run coarse = { .model = "coarse", .gpu = &gpu };
	struct run host = { .model = "coarse" };
	struct spec *spec;

	(void)state;
	train(&floats);
	train(&coarse);
	train(&host);
	assert_true(coarse.summary.loss != floats.summary.loss);
	assert_true(fabs(coarse.summary.loss / floats.summary.loss - 1) < 1e-2);
	assert_true(fabs(host.summary.loss / floats.summary.loss - 1) < 1e-5);
	assert_int_equal(checkpoint_spec(coarse.directory, coarse.summary.version, &spec), RS_OK);
	assert_true(spec_settings(spec)->gpu.tf32);
	spec_free(spec);
}

static void
threads_and_ranks_change_no_bit(void **state)
{
	static const char *const model[] = { "deepfm", "din", "softmax", "brain" };

	(void)state;
	for (size_t i = 0; i < N_ROWS(model); i++) {
		struct run alone = { .model = model[i], .gpu = &gpu };
		struct run threads = { .model = model[i], .gpu = &gpu, .threads = 2 };
		struct run host = { .model = model[i], .gpu = &gpu, .tables = "host" };
		struct run ranks = { .model = model[i], .gpu = &gpu, .n_ranks = 3 };

		train(&alone);
		train(&threads);
		place_run_assert_same(alone.directory, threads.directory, 1);
		train(&host);
		train(&ranks);
		place_run_assert_same(host.directory, ranks.directory, 1);
	}
}

static void
run_once(const char *name, const char *directory, int resume, int stop, struct gpu_memory *on,
	enum rs_status wanted)
{
	struct job job[HUB_RANKS];

	place_run_begin(job, 1, place_run_spec(name), directory);
	job[0].resume = resume;
	job[0].signal = stop;
	job[0].gpu = on;
	place_run_jobs(job, 1, NULL);
	if (job[0].status != wanted)
		fail_msg("%s: %s", name, job[0].failure.text);
	place_run_free(job, 1);
	assert_clean(name);
}

/* Gone on with on the GPU it is the run that was not stopped; the host goes on with it, too. */
static void
a_stopped_run_goes_on(void **state)
{
	struct run alone = { .model = "deepfm", .gpu = &gpu };
	char stopped[300];

	(void)state;
	train(&alone);
	snprintf(stopped, sizeof(stopped), "%s/stopped", place_run_top);
	run_once("deepfm", stopped, 0, SIGTERM, &gpu, RS_ESIGNAL);
	run_once("deepfm", stopped, 1, 0, &gpu, RS_OK);
	place_run_assert_same(alone.directory, stopped, 0);
	snprintf(stopped, sizeof(stopped), "%s/stopped-host", place_run_top);
	run_once("deepfm", stopped, 0, SIGTERM, &gpu, RS_ESIGNAL);
	run_once("deepfm", stopped, 1, 0, NULL, RS_OK);
}

/* Figures of the version that a run made, by the host or there. */
static void
score(const char *directory, struct gpu_memory *on, struct metric_result *out)
{
	const struct model_options options = { .kernel = "ref", .n_threads = 2, .gpu = on };
	const struct evaluate_options what = { 0 };
	struct evaluation *e;
	struct workers *w;
	struct model *m;

	assert_int_equal(checkpoint_load(directory, 0, &options, &m, NULL, NULL), RS_OK);
	assert_int_equal(workers_create(m, 2, &w), RS_OK);
	assert_int_equal(evaluate_open(&what, &e), RS_OK);
	assert_int_equal(evaluate_run(e, w, m, out, NULL), RS_OK);
	evaluate_close(e);
	workers_free(w);
	model_free(m);
	assert_clean("a version");
}

static void
a_version_scores_alike_wherever_it_is_read(void **state)
{
	struct run run = { .model = "deepfm", .gpu = &gpu };
	struct metric_result host, there;

	(void)state;
	train(&run);
	score(run.directory, NULL, &host);
	score(run.directory, &gpu, &there);
	assert_true(host.rows == N_VALID);
	assert_true(there.logloss == run.summary.valid.logloss);
	assert_true(fabs(host.logloss / there.logloss - 1) < 1e-6);
}

static void
what_fails_there_fails_the_run(void **state)
{
	char path[400], directory[300];
	struct job job[HUB_RANKS];

	(void)state;
	for (unsigned n = 2; n < 4000; n *= 3) {
		snprintf(directory, sizeof(directory), "%s/failed-%u", place_run_top, n);
		place_run_begin(job, 1, place_run_spec("deepfm"), directory);
		job[0].gpu = &gpu;
		job[0].threads = 2;
		emulate_fail(n);
		place_run_jobs(job, 1, NULL);
		assert_int_equal(job[0].status, RS_EDEVICE);
		assert_string_equal(job[0].failure.text,
			"GPU: a kernel or copy failed: emulated");
		place_run_free(job, 1);
		snprintf(path, sizeof(path), "%s/CURRENT", directory);
		assert_int_equal(access(path, F_OK), -1);
		assert_clean("failed");
	}
	emulate_fail(0);
}

static void
run_refused(unsigned nth, const char *tables, const char *device, char directory[300],
	struct job *job)
{
	static unsigned number;

	snprintf(directory, 300, "%s/refused-%u", place_run_top, number++);
	place_run_begin(job, 1, place_run_spec("deepfm"), directory);
	job->gpu = nth > 0 ? &gpu : NULL;
	job->threads = 2;
	job->tables = tables;
	job->device = device;
	emulated_gpu_refuse_memory(nth);
	place_run_jobs(job, 1, NULL);
	emulated_gpu_refuse_memory(0);
	place_run_free(job, 1);
	assert_clean("refused");
}

/* Another process was quicker: first the block of tables and their queue are opened, then what
 * each thread has. */
static void
a_gpu_without_room_any_more_leaves_the_host(void **state)
{
	char host[300], there[300], none[300];
	struct job job[HUB_RANKS];

	(void)state;
	run_refused(0, NULL, NULL, host, job);
	for (unsigned n = 1; n <= 4; n++) {
		run_refused(n, NULL, NULL, there, job);
		if (job->status != RS_OK)
			fail_msg("%u: %s", n, job->failure.text);
		assert_string_equal(job->lookup, "local");
		if (n <= 2)
			assert_string_equal(job->why_host, "");
		assert_non_null(strstr(n <= 2 ? job->why_tables
			: job->why_host, "GPU: no block of"));
		if (n > 2)
			place_run_assert_same(host, there, 0);
		run_refused(n, n <= 2 ? "gpu" : NULL, n > 2 ? "cuda" : NULL, none, job);
		assert_int_equal(job->status, RS_ERESOURCE);
		assert_non_null(strstr(job->failure.text, n <= 2 ? "gpu.tables = gpu: GPU: no block"
			: "GPU: no block"));
	}
}

static void
a_run_that_diverges_ends_as_on_the_host(void **state)
{
	char directory[300];

	(void)state;
	snprintf(directory, sizeof(directory), "%s/diverged", place_run_top);
	run_once("diverging", directory, 0, 0, &gpu, RS_EDIVERGED);
	snprintf(directory, sizeof(directory), "%s/diverged-brain", place_run_top);
	run_once("diverging_brain", directory, 0, 0, &gpu, RS_EDIVERGED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures_are_those_of_the_host),
		cmocka_unit_test(two_bytes_converge_as_four),
		cmocka_unit_test(tf32_is_what_a_run_trains_with),
		cmocka_unit_test(threads_and_ranks_change_no_bit),
		cmocka_unit_test(a_stopped_run_goes_on),
		cmocka_unit_test(a_version_scores_alike_wherever_it_is_read),
		cmocka_unit_test(what_fails_there_fails_the_run),
		cmocka_unit_test(a_gpu_without_room_any_more_leaves_the_host),
		cmocka_unit_test(a_run_that_diverges_ends_as_on_the_host),
	};

	return cmocka_run_group_tests(tests, place_run_set_up, place_run_tear_down);
}
