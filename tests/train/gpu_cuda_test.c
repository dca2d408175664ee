/* Every model trains on a GPU as on the host; without one it says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "gpu_case.h"
#include "kernel/device.h"

/* Sums are in float there and in double here, and a few steps have passed. */
#define TOLERANCE 1e-4

static const struct gpu *
gpu_or_skip(void)
{
	if (device_gpu() == NULL) {
		print_message("nothing ran on a GPU: %s\n", device_look()->text);
		skip();
	}
	return device_gpu();
}

static void
every_model_trains_as_on_the_host(void **state)
{
	static struct gpu_run host, there;
	struct gpu_memory gpu = { .gpu = gpu_or_skip() };

	(void)state;
	for (const struct gpu_case *c = gpu_case_table; c->name != NULL; c++)
		for (size_t n_threads = 1; n_threads <= 3; n_threads += 2) {
			gpu_case_run(c, NULL, 1, &host);
			gpu_case_run(c, &gpu, n_threads, &there);
			gpu_case_compare(c->name, &host, &there, TOLERANCE);
			model_free(host.m);
			model_free(there.m);
			assert_int_equal(atomic_load(&gpu.used), 0);
		}
}

/* An operand near the middle of two numbers of two bytes may go the other way there. */
#define BRAIN_TOLERANCE 1e-2

static void
two_bytes_train_as_rounded_on_the_host(void **state)
{
	static struct gpu_run host, there;
	struct gpu_memory gpu = { .gpu = gpu_or_skip() };

	(void)state;
	assert_int_equal(kernel_force("ref"), RS_OK);
	for (const struct gpu_case *c = gpu_case_brain_table; c->name != NULL; c++) {
		gpu_case_run(c, NULL, 1, &host);
		gpu_case_run(c, &gpu, 2, &there);
		gpu_case_compare(c->name, &host, &there, BRAIN_TOLERANCE);
		model_free(host.m);
		model_free(there.m);
		assert_int_equal(atomic_load(&gpu.used), 0);
	}
	assert_int_equal(kernel_force("auto"), RS_OK);
}

static void
a_plan_larger_than_the_gpu_is_refused(void **state)
{
	static const struct gpu_case large = { "large", "deepfm",
		"[field a]\ncolumn = a\nbuckets = 50\n[dnn]\nhidden = 20000,20000\n", 0 };
	struct gpu_memory gpu = { .gpu = gpu_or_skip(), .limit = 1 << 30 };
	struct workers *w;

	(void)state;
	struct model *m = gpu_case_model(&large, &gpu, 1);
	assert_int_equal(workers_create(m, 1, &w), RS_ERESOURCE);
	model_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_model_trains_as_on_the_host),
		cmocka_unit_test(two_bytes_train_as_rounded_on_the_host),
		cmocka_unit_test(a_plan_larger_than_the_gpu_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
