/* Whole runs with tables spread over several GPUs, which are emulated: threads and a stop change no
 * bit, and the host goes on with what was stopped. */
#include <math.h>
#include <signal.h>
#include <stdio.h>

#include "place_run.h"
#include "gpu_bed.h"
#include "tests/reduce/nccl_double.h"

static struct gpu_memory three = { .gpu = &gpu_emulated, .n_devices = 3, .device = { 1, 4, 0 },
	.mesh = &nccl_double_mesh };

/* What one run of a model is. */
struct run {
	const char *name;              /* of its directory                            */
	struct gpu_memory *gpu;
	int threads, stop, resume;
};

static double
train(const struct run *run, enum rs_status wanted, char directory[300])
{
	struct job job[HUB_RANKS];

	nccl_double_reset(&(struct nccl_double_plan){ 0 });
	snprintf(directory, 300, "%s/%s", place_run_top, run->name);
	place_run_begin(job, 1, place_run_spec("deepfm"), directory);
	job[0].gpu = run->gpu;
	job[0].threads = run->threads;
	job[0].signal = run->stop;
	job[0].resume = run->resume;
	place_run_jobs(job, 1, NULL);
	if (job[0].status != wanted)
		fail_msg("%s: %s", run->name, job[0].failure.text);
	const double loss = job[0].summary.loss;
	place_run_free(job, 1);
	assert_int_equal(atomic_load(&three.used), 0);
	assert_clean(run->name);
	return loss;
}

static void
threads_change_no_bit_and_figures_are_those_of_the_host(void **state)
{
	char host[300], one[300], more[300];

	(void)state;
	const double there = train(&(struct run){ "three", &three, .threads = 3 }, RS_OK, more);
	assert_true(nccl_double_count().moves > 0);
	train(&(struct run){ "one", &three, .threads = 1 }, RS_OK, one);
	place_run_assert_same(one, more, 1);
	const double wanted = train(&(struct run){ .name = "host" }, RS_OK, host);
	if (!(fabs(there / wanted - 1) < 1e-4))
		fail_msg("loss %.9g, on the host %.9g", there, wanted);
}

static void
a_stopped_run_goes_on(void **state)
{
	char whole[300], stopped[300];

	(void)state;
	train(&(struct run){ "whole", &three, .threads = 2 }, RS_OK, whole);
	train(&(struct run){ "stopped", &three, .threads = 2, .stop = SIGTERM }, RS_ESIGNAL,
		stopped);
	train(&(struct run){ "stopped", &three, .threads = 2, .resume = 1 }, RS_OK, stopped);
	place_run_assert_same(whole, stopped, 0);
	train(&(struct run){ "elsewhere", &three, .stop = SIGTERM }, RS_ESIGNAL, stopped);
	train(&(struct run){ .name = "elsewhere", .resume = 1 }, RS_OK, stopped);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_change_no_bit_and_figures_are_those_of_the_host),
		cmocka_unit_test(a_stopped_run_goes_on),
	};

	return cmocka_run_group_tests(tests, place_run_set_up, place_run_tear_down);
}
