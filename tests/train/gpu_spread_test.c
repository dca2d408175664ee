/* Training on several GPUs, which are emulated, with tables spread over them: as on the host, the
 * same bits with any number of threads, and what there must be for it. */
#include <math.h>
#include <string.h>

#include "gpu_case.h"
#include "gpu_bed.h"
#include "tests/reduce/nccl_double.h"

static struct gpu_memory
several(size_t n)
{
	nccl_double_reset(&(struct nccl_double_plan){ .lag = (int)n % 2 });
	return (struct gpu_memory){ .gpu = &gpu_emulated, .n_devices = n, .device = { 2, 0, 3 },
		.mesh = &nccl_double_mesh };
}

static const struct gpu_case *
case_of(const char *name)
{
	const struct gpu_case *c = gpu_case_table;

	while (strcmp(c->name, name) != 0)
		c++;
	return c;
}

/* Two threads have two of three GPUs, and rows are on all. */
static void
every_model_trains_as_on_the_host(void **state)
{
	static struct gpu_run host, there;
	size_t i = 0;

	(void)state;
	for (const struct gpu_case *c = gpu_case_table; c->name != NULL; c++, i++) {
		struct gpu_memory gpus = several(2 + i % 2);

		emulate_backwards(i % 3 == 0);
		gpu_case_run(c, NULL, 1, &host);
		gpu_case_run(c, &gpus, 1 + i % 4, &there);
		if (strncmp(there.m->why_tables, "they are spread over ", 21) != 0)
			fail_msg("%s: %s", c->name, there.m->why_tables);
		assert_true(nccl_double_count().moves > 0);
		gpu_case_compare(c->name, &host, &there, 1e-5);
		model_free(host.m);
		model_free(there.m);
		assert_int_equal(atomic_load(&gpus.used), 0);
		assert_clean(c->name);
	}
	emulate_backwards(0);
}

static void
threads_change_no_bit(void **state)
{
	static const char *const name[] = { "deepfm", "two_tower, softmax" };
	static struct gpu_run one, more;

	(void)state;
	for (size_t i = 0; i < N_ROWS(name); i++) {
		const struct gpu_case *const c = case_of(name[i]);
		struct gpu_memory gpus = several(3);

		gpu_case_run(c, &gpus, 1, &one);
		for (size_t n_threads = 2; n_threads <= 4; n_threads++) {
			gpu_case_run(c, &gpus, n_threads, &more);
			gpu_case_compare(c->name, &one, &more, 0);
			model_free(more.m);
		}
		model_free(one.m);
		assert_clean(c->name);
	}
}

/* What a step takes was there before the first one, and was planned. */
static void
steps_take_no_more_memory(void **state)
{
	const struct gpu_case *const c = case_of("deepfm");
	struct gpu_memory gpus = several(2);
	float value[GPU_CASE_B];
	size_t after[2][2];
	struct step_result result;
	struct workers *w;
	struct batch batch;

	(void)state;
	struct model *m = gpu_case_model(c, &gpus, 2);
	assert_int_equal(workers_create(m, 2, &w), RS_OK);
	for (size_t i = 0; i < 2; i++) {
		gpu_case_batch(c, m, GPU_CASE_B, i, &batch);
		assert_int_equal(workers_step(w, &batch, 0.05, 1, &result), RS_OK);
		assert_int_equal(workers_predict(w, &batch, value, NULL), RS_OK);
		batch_free(&batch);
		for (size_t k = 0; k < 2; k++)
			after[i][k] = atomic_load(&gpus.used_of[k]);
	}
	assert_int_equal(after[1][0], after[0][0]);
	assert_int_equal(after[1][1], after[0][1]);
	workers_free(w);
	model_free(m);
	/* With that much, and a byte less. */
	gpus.limit = after[0][0] > after[0][1] ? after[0][0] : after[0][1];
	m = gpu_case_model(c, &gpus, 2);
	assert_string_equal(m->lookup->ops->name, "device");
	assert_int_equal(workers_create(m, 2, &w), RS_OK);
	workers_free(w);
	model_free(m);
	gpus.limit--;
	m = gpu_case_model(c, &gpus, 2);
	assert_string_equal(m->lookup->ops->name, "local");
	model_free(m);
	assert_clean(c->name);
}

/* 1: it came to its end. */
static int
train_until_failure(const struct gpu_case *c, size_t n_threads, unsigned n)
{
	struct gpu_memory gpus = several(2);

	emulate_fail(n);
	const int is_over = gpu_case_train(c, &gpus, n_threads);
	emulate_fail(0);
	assert_int_equal(atomic_load(&gpus.used), 0);
	assert_clean(c->name);
	return is_over;
}

static void
what_fails_on_a_gpu_fails_the_step_in_every_worker(void **state)
{
	static const char *const name[] = { "deepfm", "two_tower, bpr" };

	(void)state;
	for (size_t i = 0; i < N_ROWS(name); i++) {
		unsigned n = 1, n_failed = 0;

		for (; !train_until_failure(case_of(name[i]), 1 + n % 3, n); n += 1 + n / 8)
			n_failed++;
		assert_true(n_failed > 10);
	}
}

/* A lost GPU ends the step of all workers. */
static void
gpus_that_lose_each_other_end_the_step(void **state)
{
	const struct gpu_case *const c = case_of("fm");
	struct gpu_memory gpus = several(3);
	struct step_result result;
	struct workers *w;
	struct batch batch;

	(void)state;
	struct model *m = gpu_case_model(c, &gpus, 3);
	assert_int_equal(workers_create(m, 3, &w), RS_OK);
	gpu_case_batch(c, m, GPU_CASE_B, 0, &batch);
	assert_int_equal(workers_step(w, &batch, 0.05, 1, &result), RS_OK);
	nccl_double_break(&(struct nccl_double_plan){ .wrong = 3, .wrong_after = 3 });
	assert_int_equal(workers_step(w, &batch, 0.05, 1, &result), RS_EPEER);
	assert_string_equal(rs_failure()->text,
		"NCCL: GPU 2 of 3: rows between GPUs: the cable is out");
	assert_int_equal(m->step, 1);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
	assert_clean(c->name);
}

/* Tables stay on the host for that reason, and gpu.tables = gpu is refused with it. */
static void
expect_host(struct gpu_memory *on, const char *why, enum rs_status refused)
{
	struct model_options options = { .kernel = "ref", .gpu = on, .n_threads = 2,
		.for_training = 1, .tables = GPU_TABLES_GPU };
	struct model *m = gpu_case_model(case_of("deepfm"), on, 2);
	struct spec *spec;
	struct buffer text;

	assert_string_equal(m->lookup->ops->name, "local");
	if (strstr(m->why_tables, why) == NULL)
		fail_msg("%s", m->why_tables);
	buffer_init(&text, 1 << 20);
	assert_int_equal(spec_print(m->spec, 0, &text), RS_OK);
	assert_int_equal(spec_load_text(text.data, "spec", &spec), RS_OK);
	buffer_free(&text);
	model_free(m);
	assert_int_equal(model_create(spec, &options, &m), refused);
	assert_non_null(strstr(rs_failure()->text, "gpu.tables = gpu: "));
	assert_non_null(strstr(rs_failure()->text, why));
	assert_clean("host");
}

static void
without_room_or_nccl_tables_stay_on_the_host(void **state)
{
	struct gpu_memory gpus = several(2);

	(void)state;
	gpus.mesh = NULL;
	expect_host(&gpus, "nothing joins the GPUs that train", RS_EPEER);
	gpus.mesh = &nccl_double_mesh;
	nccl_double_reset(&(struct nccl_double_plan){ .is_missing = 1 });
	expect_host(&gpus, "several GPUs train, and NCCL is missing: as the test asked", RS_EPEER);
	nccl_double_reset(&(struct nccl_double_plan){ .wrong = 2 });
	expect_host(&gpus, "NCCL: GPU 1 of 2: start: the cable is out", RS_EPEER);
	nccl_double_reset(&(struct nccl_double_plan){ .has_no_id = 1 });
	expect_host(&gpus, "NCCL: no id: no socket", RS_EPEER);
	nccl_double_reset(&(struct nccl_double_plan){ 0 });
	gpus.limit = 1 << 16;
	expect_host(&gpus, "gpu.memory_limit is 0.1 MiB", RS_ERESOURCE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_model_trains_as_on_the_host),
		cmocka_unit_test(threads_change_no_bit),
		cmocka_unit_test(steps_take_no_more_memory),
		cmocka_unit_test(what_fails_on_a_gpu_fails_the_step_in_every_worker),
		cmocka_unit_test(gpus_that_lose_each_other_end_the_step),
		cmocka_unit_test(without_room_or_nccl_tables_stay_on_the_host),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
