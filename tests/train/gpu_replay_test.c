/* Passes of equal shape as graphs, on a GPU that is emulated: what is replayed are the arguments
 * that were recorded, so one that is no longer right makes other bits than kernels one by one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "gpu_bed.h"
#include "gpu_case.h"
#include "graph/replay.h"

static struct gpu_memory direct = { .gpu = &gpu_emulated_direct };

/* Sizes that come again, with the same ids, and some that do not; two with slots of as many
 * rows, of which each is another share of the batch. */
static const size_t rows[] = { 96, 96, 96, 91, 96, 92, 91, 7, 96, 92, 92 };
enum { N_STEPS = sizeof(rows) / sizeof(rows[0]) };

static void
run_steps(const struct gpu_case *c, struct gpu_memory *on, size_t n_threads, struct gpu_run *out)
{
	static const uint64_t seen[] = { 2, 4, N_STEPS - 1 };
	struct step_result result;
	struct workers *w;
	struct batch batch;

	memset(out, 0, sizeof(*out));
	out->m = gpu_case_model(c, on, n_threads);
	assert_int_equal(workers_create(out->m, n_threads, &w), RS_OK);
	for (size_t i = 0; i < N_STEPS; i++) {
		gpu_case_batch(c, out->m, rows[i], rows[i], &batch);
		for (size_t b = 0; b < rows[i]; b++)
			batch.weight[b] *= 1 + (float)i / 8;
		assert_int_equal(workers_step(w, &batch, 0.01 * (double)(1 + i % 3), 1, &result),
			RS_OK);
		for (size_t k = 0; k < sizeof(seen) / sizeof(seen[0]); k++)
			if (seen[k] == i)
				assert_int_equal(c->has_candidates
					? workers_vectors(w, TOWER_ITEM, &batch, out->value)
					: workers_predict(w, &batch, out->value, NULL), RS_OK);
		if (i < GPU_CASE_STEPS)
			out->loss[i] = result.loss;
		batch_free(&batch);
	}
	workers_free(w);
}

static void
check_bits(const struct gpu_case *c, size_t most_threads)
{
	static struct gpu_run one_by_one, graphs;

	run_steps(c, &direct, 1, &one_by_one);
	assert_int_equal(emulated_gpu_replays(), 0);
	const unsigned held = emulated_gpu_in_use();
	for (size_t n_threads = 1; n_threads <= most_threads; n_threads++) {
		run_steps(c, &gpu, n_threads, &graphs);
		if (n_threads == 1 && emulated_gpu_replays() == 0)
			fail_msg("%s: no graphs", c->name);
		if (gpu_case_distance(&one_by_one, &graphs) != 0)
			fail_msg("%s: other weights with graphs and %zu threads", c->name,
				n_threads);
		gpu_case_compare(c->name, &one_by_one, &graphs, 0);
		model_free(graphs.m);
		assert_left(c->name, held);
	}
	model_free(one_by_one.m);
	assert_clean(c->name);
	(void)emulated_gpu_replays();
}

/* As many ids in slots of as many rows, of batches of another size. */
static const struct gpu_case norm = { "norm", "deepfm",
	"[field a]\ncolumn = a\nbuckets = 50\n[dnn]\nhidden = 8\nbatch_norm = yes\n", 0 };

/* tables: where; a pass then reads addresses of rows there, or rows that were copied. */
static void
check_all_bits(const char *tables)
{
	gpu_case_tables = tables;
	check_bits(&norm, 2);
	for (const struct gpu_case *c = gpu_case_table; c->name != NULL; c++)
		check_bits(c, 1);
	for (const struct gpu_case *c = gpu_case_brain_table; c->name != NULL; c++)
		check_bits(c, 2);
	gpu_case_tables = "auto";
}

static void
graphs_change_no_bit(void **state)
{
	(void)state;
	check_all_bits("host");
}

static void
graphs_change_no_bit_of_tables_there(void **state)
{
	(void)state;
	check_all_bits("gpu");
}

/* All that can be is a graph, but nothing that varies; when one cannot be made none is. */
static void
where_a_graph_cannot_be_made_kernels_run_one_by_one(void **state)
{
	static struct gpu_run one_by_one, refused;
	unsigned least = 0;

	(void)state;
	run_steps(gpu_case_brain_table, &direct, 1, &one_by_one);
	const unsigned held = emulated_gpu_in_use();
	for (unsigned n = 1; n < 20; n += 9) {
		emulated_gpu_refuse_graph(n);
		run_steps(gpu_case_brain_table, &gpu, 1, &refused);
		const unsigned replays = emulated_gpu_replays();

		assert_true(n == 1 ? replays == 0 : replays >= least);
		least = replays;
		gpu_case_compare("refused", &one_by_one, &refused, 0);
		model_free(refused.m);
		assert_left("refused", held);
	}
	assert_true(least > 0);
	emulated_gpu_refuse_graph(0);
	model_free(one_by_one.m);
}

enum { N_INPUTS_MAX = 8 };

static const struct gpu_case fm = { "fm", "fm",
	"[field a]\ncolumn = a\nbuckets = 50\n[field b]\ncolumn = b\nbuckets = 50\n", 0 };

enum { N_FORWARD = 3 };

/* One row for every id. */
static const float *
start_forward(struct exec *e, const struct model *m)
{
	static const float row[4] = { 0.5f, 0.25f, -1, 2 };
	static const float *const rows_of[GPU_CASE_B] = { row, row, row };
	const float *const *row_of[N_INPUTS_MAX];
	struct feed feed = { .B = N_FORWARD, .row = row_of };

	assert_true(graph_n_inputs(m->graph) <= N_INPUTS_MAX);
	for (size_t i = 0; i < graph_n_inputs(m->graph); i++)
		row_of[i] = rows_of;
	return exec_forward(e, m->param, &feed, 1);
}

static enum rs_status
forward(struct exec *e, const struct model *m, float logit[GPU_CASE_B])
{
	const float *const value = start_forward(e, m);

	RS_TRY(exec_wait(e));
	memcpy(logit, value, N_FORWARD * sizeof(*logit));
	return RS_OK;
}

/* Whatever the thread had to do with another since, or nothing, after which another thread may use
 * that. */
static void
a_pass_is_waited_for_in_its_own_queue(void **state)
{
	float want[GPU_CASE_B];
	struct exec *e[2];

	(void)state;
	gpu_case_tables = "host";
	struct model *m = gpu_case_model(&fm, &gpu, 1);
	gpu_case_tables = "auto";
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(exec_create(m->graph, 0, GPU_CASE_B, &e[i]), RS_OK);
	assert_int_equal(forward(e[0], m, want), RS_OK);
	const float *const first = start_forward(e[0], m), *const second = start_forward(e[1], m);
	assert_int_equal(exec_wait(e[0]), RS_OK);
	assert_memory_equal(first, want, N_FORWARD * sizeof(*want));
	gpu.gpu->use(NULL);
	assert_int_equal(exec_wait(e[1]), RS_OK);
	assert_memory_equal(second, want, N_FORWARD * sizeof(*want));
	for (size_t i = 0; i < 2; i++)
		exec_destroy(e[i]);
	model_free(m);
	(void)emulated_gpu_replays();
	assert_clean(fm.name);
}

/* The pass after is of a known shape, and makes its graph anew. */
static void
what_failed_is_not_replayed(void **state)
{
	static float before[GPU_CASE_B], after[GPU_CASE_B];
	unsigned n = 0;
	struct exec *e;

	(void)state;
	gpu_case_tables = "host";
	struct model *m = gpu_case_model(&fm, &gpu, 1);
	gpu_case_tables = "auto";
	assert_int_equal(exec_create(m->graph, 0, GPU_CASE_B, &e), RS_OK);
	for (enum rs_status status = RS_EDEVICE; status != RS_OK;) {
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(forward(e, m, before), RS_OK);
		assert_true(emulated_gpu_replays() > 0);
		const unsigned in_use = emulated_gpu_in_use();
		emulate_fail(++n);
		status = forward(e, m, after);
		(void)emulated_gpu_replays();
		assert_int_equal(emulated_gpu_in_use(), status == RS_OK ? in_use : in_use - 1);
		emulate_fail(0);
		for (size_t i = 0; i < 2 && status != RS_OK; i++) {
			assert_int_equal(status, RS_EDEVICE);
			assert_int_equal(forward(e, m, after), RS_OK);
			assert_int_equal(emulated_gpu_replays(), 0);
			assert_memory_equal(before, after, sizeof(before));
		}
	}
	assert_true(n > 5);
	exec_destroy(e);
	model_free(m);
	assert_clean(fm.name);
}

/* A pass of this model is one piece, and all slots of these batches have as many rows. */
static void
graphs_are_at_most_those_of_the_last_shapes(void **state)
{
	struct step_result result;
	struct workers *w;
	struct batch batch;

	(void)state;
	struct model *m = gpu_case_model(&fm, &gpu, 1);
	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	unsigned others = 0;        /* what slots hold from their first step on       */
	for (size_t n = 1; n <= REPLAY_SHAPES; n++) {
		gpu_case_batch(&fm, m, 4 * n, n, &batch);
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(workers_step(w, &batch, 0.01, 1, &result), RS_OK);
		if (n == 1)
			others = emulated_gpu_in_use() - 2;
		assert_int_equal(emulated_gpu_in_use() - others,
			2 * n < REPLAY_SHAPES ? 2 * n : REPLAY_SHAPES);
		/* Forward and backward, of eight passes all but the first two. */
		assert_int_equal(emulated_gpu_replays(), 2 * (8 - 2));
		batch_free(&batch);
	}
	workers_free(w);
	model_free(m);
	assert_clean(fm.name);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(graphs_change_no_bit),
		cmocka_unit_test(graphs_change_no_bit_of_tables_there),
		cmocka_unit_test(where_a_graph_cannot_be_made_kernels_run_one_by_one),
		cmocka_unit_test(a_pass_is_waited_for_in_its_own_queue),
		cmocka_unit_test(what_failed_is_not_replayed),
		cmocka_unit_test(graphs_are_at_most_those_of_the_last_shapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
