/* The limits of a GPU, which is emulated: its products are those of the host. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/bench_gpu.h"
#include "tests/train/gpu_bed.h"
#include "tests/train/gpu_case.h"

enum { B = 96 };

struct bed {
	struct model *m;
	struct batch batch;
	struct bench_batches batches;
	struct bench_gemm gemm;
};

static const struct gpu_case deepfm = { "deepfm", "deepfm",
	"[field a]\ncolumn = a\nbuckets = 50\n[field b]\ncolumn = b\nbuckets = 50\n"
	"[dnn]\nhidden = 12,8\n", 0 };

static const struct gpu_case brain = { "brain", "deepfm",
	"[field a]\ncolumn = a\nbuckets = 50\ndim = 10\n[field b]\ncolumn = b\nbuckets = 50\n"
	"dim = 10\n[dnn]\nhidden = 17,18\n[train]\nprecision = bf16\n", 0 };

static void
bed_open(struct bed *b, const struct gpu_case *c, struct gpu_memory *memory)
{
	b->m = gpu_case_model(c, memory, 1);
	gpu_case_batch(c, b->m, B, 0, &b->batch);
	b->batches = (struct bench_batches){ .batch = &b->batch, .n = 1 };
	assert_int_equal(bench_gemm_open(&b->gemm, b->m, &b->batches), RS_OK);
	assert_true(b->gemm.n > 3);
}

static void
bed_close(struct bed *b)
{
	bench_gemm_close(&b->gemm);
	batch_free(&b->batch);
	model_free(b->m);
}

/* Of a product that was made there, the most that it is off what the host makes. */
static double
distance(const struct bench_gpu *g, const struct bench_gemm *gemm, size_t i)
{
	const struct gemm_args *const here = &gemm->product[i], *const there = &g->product[i];
	const size_t n = here->m * here->ldc;
	double most = 0;
	float *c;

	assert_int_equal(gpu_emulated.host_alloc(n * sizeof *c, &c), RS_OK);
	gpu_emulated.download(c, there->c, n * sizeof *c);
	assert_int_equal(gpu_emulated.wait(), RS_OK);
	gemm->kernel->gemm(here);
	for (size_t k = 0; k < n; k++)
		most = larger_or_nan(most, fabs((double)c[k] - here->c[k])
			/ (1 + fabs((double)here->c[k])));
	gpu_emulated.host_free(c);
	return most;
}

static void
products_and_copies_are_those_of_the_model(void **state)
{
	struct bench_gpu there;
	double gemm_s = NAN, copy_s = NAN;
	struct bed b;

	(void)state;
	bed_open(&b, &deepfm, &gpu);
	assert_int_equal(bench_gpu_open(&there, &b.gemm, b.m, &b.batches), RS_OK);
	size_t floats = b.m->P;
	for (size_t i = 0; i < graph_n_inputs(b.m->graph); i++)
		floats += B * graph_input(b.m->graph, i)->dim;
	assert_int_equal(there.copy_bytes, floats * sizeof(float));
	for (int i = 0; i < 2; i++) {
		assert_int_equal(bench_gpu_run(&there, &gemm_s, &copy_s), RS_OK);
		assert_true(gemm_s > 0 && copy_s > 0);
		assert_true(distance(&there, &b.gemm, 0) < 1e-4);
		assert_true(distance(&there, &b.gemm, b.gemm.n - 1) < 1e-4);
	}
	bench_gpu_close(&there);
	bed_close(&b);
	assert_clean("bench");
}

/* All three of the first two layers, none of the last, whose value is the logit. */
static void
what_trains_with_two_bytes_is_measured_so(void **state)
{
	struct bench_gpu there;
	double gemm_s, copy_s;
	struct bed b;

	(void)state;
	bed_open(&b, &brain, &gpu);
	assert_int_equal(b.gemm.n, 9);
	assert_int_equal(bench_gpu_open(&there, &b.gemm, b.m, &b.batches), RS_OK);
	assert_int_equal(bench_gpu_run(&there, &gemm_s, &copy_s), RS_OK);
	for (size_t i = 0; i < b.gemm.n; i++) {
		const double off = distance(&there, &b.gemm, i);

		assert_true(off < 0.05);
		assert_int_equal(off > 1e-4, i < 6);
	}
	bench_gpu_close(&there);
	bed_close(&b);
	assert_clean("bench");
}

static void
limits_beyond_the_memory_are_refused(void **state)
{
	struct gpu_memory little = { .gpu = &gpu_emulated, .limit = 64 };
	struct bench_gpu there;
	struct bed b;

	(void)state;
	bed_open(&b, &deepfm, &little);
	assert_int_equal(bench_gpu_open(&there, &b.gemm, b.m, &b.batches), RS_ERESOURCE);
	bench_gpu_close(&there);
	bed_close(&b);
	assert_clean("bench");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_beyond_the_memory_are_refused),
		cmocka_unit_test(what_trains_with_two_bytes_is_measured_so),
		cmocka_unit_test(products_and_copies_are_those_of_the_model),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
