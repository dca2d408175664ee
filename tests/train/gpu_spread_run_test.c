/* Whole runs with tables spread over several GPUs, which are emulated: threads and a stop change no
 * bit, and the host goes on with what was stopped. */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

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
	unsigned refused;              /* the open() or alloc() that finds no memory, from 1 */
};

static double
train_job(const struct run *run, enum rs_status wanted, char directory[300], struct job *job)
{
	nccl_double_reset(&(struct nccl_double_plan){ 0 });
	snprintf(directory, 300, "%s/%s", place_run_top, run->name);
	place_run_begin(job, 1, place_run_spec("deepfm"), directory);
	job->gpu = run->gpu;
	job->threads = run->threads;
	job->signal = run->stop;
	job->resume = run->resume;
	emulated_gpu_refuse_memory(run->refused);
	place_run_jobs(job, 1, NULL);
	emulated_gpu_refuse_memory(0);
	if (job->status != wanted)
		fail_msg("%s: %s", run->name, job->failure.text);
	const double loss = job->summary.loss;
	place_run_free(job, 1);
	assert_int_equal(atomic_load(&three.used), 0);
	assert_clean(run->name);
	return loss;
}

static double
train(const struct run *run, enum rs_status wanted, char directory[300])
{
	struct job job[HUB_RANKS];

	return train_job(run, wanted, directory, job);
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

/* Another process was quicker.  What joins the GPUs opens a queue on each, rows take two pieces of
 * memory there, and what they are given in three; then come those of threads. */
static void
gpus_without_room_any_more_leave_the_host(void **state)
{
	enum { FOR_TABLES = 3 * (1 + 2 + 3) };
	static const unsigned refused[] = { 1, FOR_TABLES, FOR_TABLES + 1, FOR_TABLES + 2 };
	char host[300], there[300], name[32];
	struct job job[HUB_RANKS];

	(void)state;
	train(&(struct run){ .name = "none", .threads = 2 }, RS_OK, host);
	for (size_t i = 0; i < N_ROWS(refused); i++) {
		const int gpus_train = refused[i] <= FOR_TABLES;

		snprintf(name, sizeof(name), "refused-%u", refused[i]);
		train_job(&(struct run){ name, &three, .threads = 2, .refused = refused[i] },
			RS_OK, there, job);
		assert_string_equal(job->lookup, "local");
		assert_non_null(strstr(gpus_train ? job->why_tables : job->why_host,
			"GPU: no block of"));
		if (!gpus_train)
			place_run_assert_same(host, there, 0);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_change_no_bit_and_figures_are_those_of_the_host),
		cmocka_unit_test(a_stopped_run_goes_on),
		cmocka_unit_test(gpus_without_room_any_more_leave_the_host),
	};

	return cmocka_run_group_tests(tests, place_run_set_up, place_run_tear_down);
}
