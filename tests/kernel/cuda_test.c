/* The kernels on a GPU: they agree with the reference and give the same bits each time.
 * Without a GPU: cuBLAS is found or named, and its absence or that of a GPU is a failure. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "compare.h"
#include "kernel/cuda/cuda.h"
#include "kernel/device.h"
#include "kernel/gpu.h"
#include "tests/test.h"

enum { TEST_BYTES = 256 << 20, TEST_ROWS = 1 << 16, TEST_COLUMNS = 1 << 14 };

static struct cuda_context *context;

static void
open_context(const struct cuda_plan *plan)
{
	if (device_look()->n == 0) {
		print_message("nothing ran on a GPU: %s\n", device_look()->text);
		skip();
	}
	if (cuda_open(plan, &context) != RS_OK)
		fail_msg("%s", rs_failure()->text);
	cuda_use(context);
}

static void *
take(size_t bytes)
{
	void *const p = cuda_take(context, bytes);

	assert_non_null(p);
	return p;
}

static void
wait_for_kernels(void)
{
	if (cuda_wait() != RS_OK)
		fail_msg("%s", rs_failure()->text);
}

static void
reset(void)
{
	cuda_reset(context);
}

static const struct agree_memory shared_memory = {
	.take = take, .wait = wait_for_kernels, .reset = reset
};

static struct cuda_plan
shared_plan(void)
{
	return (struct cuda_plan){
		.bytes = TEST_BYTES, .is_shared = 1, .multiplies = 1,
		.scratch_floats = cuda_scratch_floats(TEST_ROWS, TEST_COLUMNS),
	};
}

static void
compare_twice(int is_odd)
{
	const size_t n = compare_n * COMPARE_TRIALS;
	const struct cuda_plan plan = shared_plan();

	open_context(&plan);
	uint32_t *const crc = calloc(2 * n, sizeof(*crc));
	assert_non_null(crc);
	for (size_t run = 0; run < 2; run++)
		compare_set(&kernel_cuda, &shared_memory, is_odd, 1e-5, crc + run * n);
	assert_memory_equal(crc, crc + n, n * sizeof(*crc));
	free(crc);
	cuda_close(context);
	print_message("%zu kernels agree with ref on %s\n", compare_n, device_look()->text);
}

static void
drawn_shapes_agree_with_ref_each_time(void **state)
{
	(void)state;
	compare_twice(0);
}

static void
odd_shapes_agree_with_ref_each_time(void **state)
{
	(void)state;
	compare_twice(1);
}

enum { M = 33, N = 65, K = 129 };

/* The largest distance between a product on the GPU, in its own memory, and by ref. */
static double
product_distance(int is_tf32)
{
	static float host[M * K + K * N], want[M * N], got[M * N];
	const struct cuda_plan plan = {
		.bytes = sizeof(host) + sizeof(got) + 512, .multiplies = 1,
	};
	struct agree draw = { .key = 7 };
	double largest = 0;

	open_context(&plan);
	float *const there = take(sizeof(host)), *const product = take(sizeof(got));
	for (size_t i = 0; i < M * K + K * N; i++)
		host[i] = (float)agree_uniform(&draw, -1, 1);
	struct gemm_args a = {
		.m = M, .n = N, .k = K, .alpha = 1, .a = host, .lda = K, .b = host + M * K,
		.ldb = N, .c = want, .ldc = N,
	};
	kernel_ref.gemm(&a);
	cuda_upload(there, host, sizeof(host));
	a.a = there;
	a.b = there + M * K;
	a.c = product;
	a.is_tf32 = is_tf32;
	kernel_cuda.gemm(&a);
	cuda_download(got, product, sizeof(got));
	wait_for_kernels();
	cuda_close(context);
	for (size_t i = 0; i < M * N; i++)
		largest = larger_or_nan(largest, fabs((double)got[i] - want[i]));
	return largest;
}

/* The sum of K products of numbers below 1, each with the bits of its precision. */
static void
products_are_as_precise_as_asked(void **state)
{
	(void)state;
	assert_true(product_distance(0) < 1e-4);
	assert_true(product_distance(1) < 0.02);
}

static void
double_and_square(float *x, float *y)
{
	kernel_cuda.scale(4, x, 2);
	kernel_cuda.gemm(&(struct gemm_args){ .m = 2, .n = 2, .k = 2, .alpha = 1, .a = x, .lda = 2,
		.b = x, .ldb = 2, .c = y, .ldc = 2 });
}

/* Each time with what x holds then. */
static void
a_graph_runs_when_it_is_made_and_each_time_after(void **state)
{
	const struct cuda_plan plan = { .bytes = 1 << 20, .multiplies = 1 };
	struct gpu_graph *graph = NULL;
	float host[4] = { 1, 0, 0, 1 };

	(void)state;
	open_context(&plan);
	float *const x = take(sizeof(host)), *const y = take(sizeof(host));
	cuda_upload(x, host, sizeof(host));
	double_and_square(x, y);            /* whatever is loaded when it is first wanted */
	for (size_t i = 0; i < 3; i++) {
		cuda_graph_begin(graph);
		double_and_square(x, y);
		assert_true(cuda_graph_end(&graph));
		assert_non_null(graph);
	}
	cuda_download(host, y, sizeof(host));
	wait_for_kernels();
	assert_true(host[0] == 256 && host[1] == 0 && host[3] == 256);
	cuda_graph_destroy(graph);
	cuda_close(context);
}

/* In memory of all queues, of which one writes much before the other may read. */
static void
what_follows_a_mark_has_what_is_before_it(void **state)
{
	enum { FLOATS = 1 << 22, LAST = 200 };
	const struct cuda_plan plan = { .bytes = 256 };
	const struct gpu *const gpu = &gpu_cuda;
	struct cuda_context *writer;
	struct gpu_mark *mark;
	float *x, got[2];

	(void)state;
	open_context(&plan);
	writer = context;
	open_context(&plan);
	assert_int_equal(gpu->alloc(0, FLOATS * sizeof(*x), &x), RS_OK);
	assert_int_equal(gpu->order->open(0, &mark), RS_OK);
	gpu->order->follow(mark);
	cuda_use(writer);
	for (size_t i = 0; i <= LAST; i++)
		gpu->kernel->fill(FLOATS, x, (float)i);
	gpu->order->set(mark);
	cuda_use(context);
	gpu->order->follow(mark);
	gpu->download(&got[0], x, sizeof(*x));
	gpu->download(&got[1], x + FLOATS - 1, sizeof(*x));
	wait_for_kernels();
	assert_true(got[0] == LAST && got[1] == LAST);
	gpu->order->close(mark);
	cuda_close(writer);
	gpu->free(x);
	cuda_close(context);
}

static void
too_small_a_plan_is_a_failure(void **state)
{
	const struct cuda_plan plan = { .bytes = 1 << 20, .scratch_floats = 1 };

	(void)state;
	open_context(&plan);
	assert_null(cuda_take(context, 2 << 20));
	float *const x = take(256);
	kernel_cuda.bias_act_backward(4, 4, x, x, KERNEL_ACT_NONE, x, x);
	assert_int_equal(cuda_wait(), RS_ERESOURCE);
	assert_int_equal(cuda_wait(), RS_OK);
	cuda_close(context);
}

/* cuBLAS is opened for products alone. */
static void
memory_of_blas_is_that_of_queues_with_products(void **state)
{
	struct gpu_plan plan = { .bytes = 1 << 20, .rows = 1, .columns = 1 };
	const size_t bytes = gpu_cuda.size(&plan);

	(void)state;
	assert_true(bytes < 2 << 20);
	plan.multiplies = 1;
	assert_true(gpu_cuda.size(&plan) >= bytes + (32 << 20));
}

static void
machine_without_a_gpu_is_a_failure_with_a_reason(void **state)
{
	const struct cuda_plan plan = { .bytes = 1 << 20 };

	(void)state;
	assert_true(device_look()->is_compiled);
	assert_true(strlen(device_look()->text) > 0);
	if (device_look()->n > 0) {
		print_message("there is a GPU: %s\n", device_look()->text);
		skip();
	}
	assert_int_equal(cuda_open(&plan, &context), RS_EPEER);
	assert_non_null(strstr(rs_failure()->text, "GPU: cannot be used: "));
}

static void
blas_is_found_or_its_absence_told(void **state)
{
	(void)state;
	if (cuda_blas_load() == RS_OK)
		return;
	assert_int_equal(rs_failure()->status, RS_EPEER);
	assert_non_null(strstr(rs_failure()->text, "libcublas.so."));
	assert_non_null(strstr(rs_failure()->hint, "LD_LIBRARY_PATH"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blas_is_found_or_its_absence_told),
		cmocka_unit_test(memory_of_blas_is_that_of_queues_with_products),
		cmocka_unit_test(machine_without_a_gpu_is_a_failure_with_a_reason),
		cmocka_unit_test(drawn_shapes_agree_with_ref_each_time),
		cmocka_unit_test(odd_shapes_agree_with_ref_each_time),
		cmocka_unit_test(products_are_as_precise_as_asked),
		cmocka_unit_test(a_graph_runs_when_it_is_made_and_each_time_after),
		cmocka_unit_test(what_follows_a_mark_has_what_is_before_it),
		cmocka_unit_test(too_small_a_plan_is_a_failure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
