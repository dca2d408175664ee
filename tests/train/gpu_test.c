/* Training on a GPU, which is emulated: as on the host with the reference, and its failures. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "data/catalogue.h"
#include "gpu_case.h"
#include "gpu_bed.h"
#include "tests/embed/home.h"

static void
train_every_model(const char *lookup)
{
	static struct gpu_run host, there;

	for (const struct gpu_case *c = gpu_case_table; c->name != NULL; c++)
		for (size_t n_threads = 1; n_threads <= 3; n_threads += 2) {
			emulate_backwards(n_threads > 1);
			gpu_case_run(c, NULL, 1, &host);
			gpu_case_run(c, &gpu, n_threads, &there);
			assert_string_equal(host.m->lookup->ops->name, "local");
			assert_string_equal(there.m->lookup->ops->name, lookup);
			gpu_case_compare(c->name, &host, &there, 1e-5);
			model_free(host.m);
			model_free(there.m);
			assert_clean(c->name);
		}
}

static void
every_model_trains_as_on_the_host(void **state)
{
	(void)state;
	train_every_model("device");
}

static void
every_model_trains_with_tables_on_the_host(void **state)
{
	(void)state;
	gpu_case_tables = "host";
	train_every_model("local");
	gpu_case_tables = "auto";
}

/* The case in floats. */
static struct gpu_case
in_floats(const struct gpu_case *c, char *more, size_t n)
{
	struct gpu_case plain = *c;
	const char *const end = strstr(c->more, "[train]\n");

	snprintf(more, n, "%.*s", (int)(end - c->more), c->more);
	plain.more = more;
	return plain;
}

/* What rounding does is far more than what is left between the two that round: there an operand
 * near the middle of two numbers of two bytes may go the other way. */
static void
two_bytes_train_as_rounded_on_the_host(void **state)
{
	static struct gpu_run host, there, floats;
	char more[1024];

	(void)state;
	assert_int_equal(kernel_force("ref"), RS_OK);
	for (const struct gpu_case *c = gpu_case_brain_table; c->name != NULL; c++)
		for (size_t n_threads = 1; n_threads <= 3; n_threads += 2) {
			const struct gpu_case plain = in_floats(c, more, sizeof(more));
			emulate_backwards(n_threads > 1);
			gpu_case_run(c, NULL, 1, &host);
			gpu_case_run(c, &gpu, n_threads, &there);
			gpu_case_run(&plain, &gpu, 1, &floats);
			gpu_case_compare(c->name, &host, &there, 1e-3);
			assert_true(gpu_case_distance(&host, &floats)
				> 8 * gpu_case_distance(&host, &there));
			model_free(host.m);
			model_free(there.m);
			model_free(floats.m);
			assert_clean(c->name);
		}
	assert_int_equal(kernel_force("auto"), RS_OK);
}

static void
first_values(const struct gpu_case *c, float value[GPU_CASE_B])
{
	struct model *m = gpu_case_model(c, &gpu, 1);
	struct workers *w;
	struct batch batch;

	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	gpu_case_batch(c, m, GPU_CASE_B, 0, &batch);
	assert_int_equal(workers_predict(w, &batch, value, NULL), RS_OK);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
}

/* Ten bits leave a thousandth of an operand; on the host the key changes nothing. */
static void
check_tf32(const struct gpu_case *plain)
{
	static struct gpu_run floats, coarse, host[2];
	static float value[2][GPU_CASE_B];
	struct gpu_case c = *plain;
	char more[1024];

	snprintf(more, sizeof(more), "%s[gpu]\ntf32 = yes\n", plain->more);
	c.more = more;
	first_values(plain, value[0]);
	first_values(&c, value[1]);
	assert_memory_equal(value[0], value[1], sizeof(value[0]));
	gpu_case_run(plain, &gpu, 1, &floats);
	gpu_case_run(&c, &gpu, 2, &coarse);
	gpu_case_run(plain, NULL, 1, &host[0]);
	gpu_case_run(&c, NULL, 1, &host[1]);
	gpu_case_compare(c.name, &host[1], &coarse, 1e-2);
	assert_true(gpu_case_distance(&floats, &coarse)
		> 8 * gpu_case_distance(&floats, &host[0]));
	assert_true(gpu_case_distance(&host[0], &host[1]) == 0);
	model_free(floats.m);
	model_free(coarse.m);
	for (size_t i = 0; i < 2; i++)
		model_free(host[i].m);
	assert_clean(c.name);
}

static void
tf32_is_for_products_of_training_on_a_gpu(void **state)
{
	size_t n = 0;

	(void)state;
	for (const struct gpu_case *c = gpu_case_table; c->name != NULL; c++)
		if (strcmp(c->name, "deepfm, mean") == 0 || strcmp(c->name, "din, softmax") == 0) {
			check_tf32(c);
			n++;
		}
	assert_int_equal(n, 2);
}

/* A loss over many items has an exec for each slot beside those of the threads. */
static void
a_plan_beyond_the_limit_is_refused(void **state)
{
	const struct gpu_case *towers = gpu_case_table;
	struct gpu_memory little = { .gpu = &gpu_emulated, .limit = 1 << 19 };
	struct workers *w;

	(void)state;
	while (strcmp(towers->name, "two_tower, softmax") != 0)
		towers++;
	for (const struct gpu_case *c = gpu_case_table;; c = towers) {
		struct model *m = gpu_case_model(c, &little, 3);
		assert_int_equal(workers_create(m, 3, &w), RS_ERESOURCE);
		assert_non_null(strstr(rs_failure()->text, "GPU: training wants "));
		assert_non_null(strstr(rs_failure()->text, "gpu.memory_limit is 0.5 MiB"));
		assert_non_null(strstr(rs_failure()->hint, "train.batch_size"));
		model_free(m);
		assert_clean(c->name);
		if (c == towers)
			break;
	}
}

/* A loss over all items has slots of more rows than the batch, which the first step must not
 * find out. */
static void
a_loss_over_many_items_is_planned_with_them(void **state)
{
	static const struct gpu_case all = { "full_softmax", "two_tower\nloss = full_softmax",
		"[field u]\ncolumn = u\nbuckets = 50\n[field i]\ncolumn = i\nbuckets = 50\n"
		"[tower user]\nfields = u\n[tower item]\nfields = i\n[items]\nkey = i\n", 1 };
	struct gpu_memory little = { .gpu = &gpu_emulated };
	struct model *m = gpu_case_model(&all, &little, 1);
	size_t few = 0;
	struct workers *w;

	(void)state;
	assert_int_equal(memory_alloc(1, sizeof(*m->catalogue), &m->catalogue), RS_OK);
	for (size_t n = 100; n <= 1000000; n *= 10000) {
		m->catalogue->n = n;
		assert_int_equal(workers_create(m, 1, &w), n == 100 ? RS_OK : RS_ERESOURCE);
		if (n == 100) {
			few = atomic_load(&little.used);
			workers_free(w);
		}
		little.limit = 8 * few;
	}
	assert_non_null(strstr(rs_failure()->text, "GPU: training wants "));
	model_free(m);
	assert_clean(all.name);
}

static void
a_plan_larger_than_the_gpu_is_refused(void **state)
{
	static const struct gpu_case large = { "large", "deepfm",
		"[field a]\ncolumn = a\nbuckets = 50\n[dnn]\nhidden = 9000,9000\n", 0 };
	static const size_t limit[] = { 0, (size_t)2 * EMULATED_GPU_BYTES };
	struct gpu_memory whole = { .gpu = &gpu_emulated };
	struct model *m = gpu_case_model(&large, &whole, 4);
	struct workers *w;

	(void)state;
	for (size_t i = 0; i < sizeof(limit) / sizeof(limit[0]); i++) {
		whole.limit = limit[i];
		assert_int_equal(workers_create(m, 4, &w), RS_ERESOURCE);
		assert_non_null(strstr(rs_failure()->text, "free are 1.0 GiB"));
		assert_int_equal(atomic_load(&whole.used), 0);
	}
	model_free(m);
	assert_clean("large");
}

/* As many as threads have one each, and memory is that of each GPU. */
static void
threads_are_dealt_to_gpus_and_change_no_bit(void **state)
{
	static struct gpu_run one, several;
	struct gpu_memory gpus = { .gpu = &gpu_emulated, .n_devices = 3, .device = { 2, 0, 3 } };
	const struct gpu_case *c = gpu_case_table;
	struct workers *w;

	(void)state;
	while (strcmp(c->name, "deepfm") != 0)
		c++;
	gpu_case_tables = "host";
	gpu_case_run(c, &gpu, 1, &one);
	gpu_case_run(c, &gpus, 4, &several);
	gpu_case_tables = "auto";
	gpu_case_compare(c->name, &one, &several, 0);
	model_free(one.m);
	assert_int_equal(workers_create(several.m, 4, &w), RS_OK);
	assert_int_equal(emulated_gpu_queues(0), 1);
	assert_int_equal(emulated_gpu_queues(1), 0);
	assert_int_equal(emulated_gpu_queues(2), 2);
	assert_int_equal(emulated_gpu_queues(3), 1);
	const size_t largest = atomic_load(&gpus.used_of[0]);
	assert_true(atomic_load(&gpus.used) == 2 * largest);
	workers_free(w);
	/* Two of four on one GPU, which is the first. */
	gpus.limit = largest;
	assert_int_equal(workers_create(several.m, 4, &w), RS_OK);
	workers_free(w);
	gpus.limit = largest - 1;
	assert_int_equal(workers_create(several.m, 4, &w), RS_ERESOURCE);
	assert_non_null(strstr(rs_failure()->text, "GPU 2: training wants "));
	assert_int_equal(workers_create(several.m, 3, &w), RS_OK);
	workers_free(w);
	gpus.device[1] = EMULATED_GPUS;
	assert_int_equal(workers_create(several.m, 3, &w), RS_EPEER);
	model_free(several.m);
	assert_int_equal(atomic_load(&gpus.used), 0);
	assert_clean(c->name);
}

/* What a case makes beyond the limit is refused while it trains, too. */
static void
more_ids_than_the_spec_says_take_more_memory_or_are_refused(void **state)
{
	static const struct gpu_case few = { "few", "deepfm",
		"[field a]\ncolumn = a\nbuckets = 50\n[field m]\ncolumn = m\n"
		"type = multi\nbuckets = 40\nmax_length = 1\n[dnn]\nhidden = 4\n", 0 };
	static struct gpu_run host, there;
	struct gpu_memory little = { .gpu = &gpu_emulated };
	struct step_result result;
	struct workers *w;
	struct batch batch;

	(void)state;
	gpu_case_run(&few, NULL, 1, &host);
	gpu_case_run(&few, &gpu, 2, &there);
	gpu_case_compare(few.name, &host, &there, 1e-5);
	model_free(host.m);
	model_free(there.m);
	struct model *m = gpu_case_model(&few, &little, 1);
	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	little.limit = atomic_load(&little.used);
	gpu_case_batch(&few, m, 4 * 512, 0, &batch);
	assert_int_equal(workers_step(w, &batch, 0.05, 1, &result), RS_ERESOURCE);
	assert_non_null(strstr(rs_failure()->text, "gpu.memory_limit is "));
	batch_free(&batch);
	workers_free(w);
	model_free(m);
	assert_int_equal(atomic_load(&little.used), 0);
	assert_clean(few.name);
}

/* Sums of a cross layer go through memory that is planned by rows and columns. */
static void
what_kernels_need_besides_is_planned_for_many_rows(void **state)
{
	const struct gpu_case *c = gpu_case_table;
	struct step_result result;
	struct workers *w;
	struct batch batch;

	(void)state;
	while (strcmp(c->name, "dcn v1") != 0)
		c++;
	struct model *m = gpu_case_model(c, &gpu, 1);
	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	gpu_case_batch(c, m, 4 * 2100, 0, &batch);
	assert_int_equal(workers_step(w, &batch, 0.05, 1, &result), RS_OK);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
	assert_clean(c->name);
}

/* 1: the run came to its end. */
static int
train_until_failure(const struct gpu_case *c, size_t n_threads, unsigned n)
{
	emulate_fail(n);
	const int is_over = gpu_case_train(c, &gpu, n_threads);
	assert_clean(c->name);
	return is_over;
}

static void
fail_everywhere(const struct gpu_case *c)
{
	unsigned n = 1, n_failed = 0;

	for (; !train_until_failure(c, 1 + n % 3, n); n += 1 + n / 8)
		n_failed++;
	assert_true(n_failed > 10);
}

static void
what_fails_on_the_gpu_fails_the_step_in_every_worker(void **state)
{
	(void)state;
	for (const struct gpu_case *c = gpu_case_table; c->name != NULL; c++)
		fail_everywhere(c);
	fail_everywhere(gpu_case_brain_table);
	emulate_fail(0);
}

static void
meet_infinity(const struct gpu_case *c)
{
	struct step_result result[2];
	const char *culprit[2];

	for (size_t side = 0; side < 2; side++) {
		struct model *m = gpu_case_model(c, side == 0 ? NULL : &gpu, 2);
		struct workers *w;
		struct batch batch;

		assert_int_equal(workers_create(m, 2, &w), RS_OK);
		gpu_case_batch(c, m, GPU_CASE_B, 0, &batch);
		batch.dense[50 * batch.K] = INFINITY;
		batch.missing[50 * batch.K] = 0;
		assert_int_equal(workers_step(w, &batch, 0.05, 1, &result[side]), RS_OK);
		assert_int_equal(result[side].skipped, 1);
		assert_int_equal(m->step, 0);
		culprit[side] = result[side].culprit;
		assert_non_null(culprit[side]);
		batch.dense[50 * batch.K] = 0;
		assert_int_equal(workers_step(w, &batch, 0.05, 1, &result[side]), RS_OK);
		assert_int_equal(result[side].skipped, 0);
		batch_free(&batch);
		workers_free(w);
		model_free(m);
	}
	assert_string_equal(culprit[1], culprit[0]);
	assert_true(fabs(result[1].loss / result[0].loss - 1) < 1e-5);
	assert_clean(c->name);
}

static void
a_step_that_is_not_finite_names_the_operator(void **state)
{
	const struct gpu_case *c = gpu_case_table;

	(void)state;
	while (strcmp(c->name, "deepfm") != 0)
		c++;
	meet_infinity(c);
	assert_int_equal(kernel_force("ref"), RS_OK);
	meet_infinity(gpu_case_brain_table);
	assert_int_equal(kernel_force("auto"), RS_OK);
}

/* To look for it takes no memory that was not planned. */
static void
it_is_named_where_no_memory_is_left(void **state)
{
	struct gpu_memory little = { .gpu = &gpu_emulated };
	const struct gpu_case *c = gpu_case_table;
	struct step_result result;
	struct workers *w;
	struct batch batch;

	(void)state;
	while (strcmp(c->name, "deepfm") != 0)
		c++;
	struct model *m = gpu_case_model(c, &little, 2);
	assert_int_equal(workers_create(m, 2, &w), RS_OK);
	gpu_case_batch(c, m, GPU_CASE_B, 0, &batch);
	assert_int_equal(workers_step(w, &batch, 0.05, 1, &result), RS_OK);
	little.limit = atomic_load(&little.used);
	batch.dense[50 * batch.K] = INFINITY;
	batch.missing[50 * batch.K] = 0;
	assert_int_equal(workers_step(w, &batch, 0.05, 1, &result), RS_OK);
	assert_int_equal(result.skipped, 1);
	assert_non_null(result.culprit);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
	assert_clean(c->name);
}

/* Rows of users are zero, those of items as large as can be. */
static void
set_rows(struct model *m)
{
	struct lookup *const home = home_of(m->lookup);

	assert_int_equal(m->n_tables, 2);
	for (size_t t = 0; t < 2; t++)
		for (uint64_t id = 0; id < m->table[t].rows; id++) {
			const float *row;
			const struct lookup_pull p = { .table = t, .ids = &id, .n = 1,
				.row = &row };

			assert_int_equal(home->ops->pull(home, &p), RS_OK);
			for (size_t d = 0; d < m->table[t].dim; d++)
				((float *)(uintptr_t)row)[d] = t == 0 ? 0 : 3e38f;
		}
}

/* Logits are zero, there is no parameter, and gradients of items are zero. */
static void
a_gradient_of_a_row_alone_makes_a_step_bad(void **state)
{
	static const struct gpu_case c = { "rows", "two_tower", "[field u]\ncolumn = u\n"
		"buckets = 30\n[field i]\ncolumn = i\nbuckets = 20\n[tower user]\nfields = u\n"
		"hidden =\n[tower item]\nfields = i\nhidden =\n[two_tower]\n"
		"similarity = dot\ntemperature = 1e-6\n", 0 };

	(void)state;
	for (size_t side = 0; side < 3; side++) {
		gpu_case_tables = side == 1 ? "host" : "auto";
		struct model *m = gpu_case_model(&c, side == 0 ? NULL : &gpu, 2);
		struct step_result result;
		struct workers *w;
		float value[GPU_CASE_B];
		struct batch batch;

		set_rows(m);
		assert_int_equal(workers_create(m, 2, &w), RS_OK);
		gpu_case_batch(&c, m, GPU_CASE_B, 0, &batch);
		assert_int_equal(workers_step(w, &batch, 0.05, 1, &result), RS_OK);
		assert_int_equal(result.skipped, 1);
		assert_int_equal(workers_predict(w, &batch, value, NULL), RS_OK);
		for (size_t b = 0; b < GPU_CASE_B; b++)
			assert_true(value[b] == 0);
		batch_free(&batch);
		workers_free(w);
		model_free(m);
		assert_clean(c.name);
	}
}

/* Why tables are where they are; gpu.tables = gpu is refused with that. */
static void
expect_tables(const struct gpu_case *c, struct gpu_memory *on, const char *lookup,
	const char *why, enum rs_status refused)
{
	struct model *m = gpu_case_model(c, on, 2);
	const struct model_options options = { .kernel = "ref", .gpu = on, .n_threads = 2,
		.for_training = 1, .tables = GPU_TABLES_GPU };
	struct spec *spec;
	struct buffer text;

	assert_string_equal(m->lookup->ops->name, lookup);
	if (strstr(m->why_tables, why) == NULL)
		fail_msg("%s: %s", c->name, m->why_tables);
	buffer_init(&text, 1 << 20);
	assert_int_equal(spec_print(m->spec, 0, &text), RS_OK);
	assert_int_equal(spec_load_text(text.data, c->name, &spec), RS_OK);
	buffer_free(&text);
	model_free(m);
	assert_int_equal(model_create(spec, &options, &m), refused);
	if (refused == RS_OK) {
		assert_string_equal(m->lookup->ops->name, "device");
		model_free(m);
	} else {
		assert_non_null(strstr(rs_failure()->text, "gpu.tables = gpu: "));
		assert_non_null(strstr(rs_failure()->text, why));
	}
	assert_clean(c->name);
}

static void
tables_are_where_they_can_be_and_the_model_says_why(void **state)
{
	static const struct gpu_case plain = { "plain", "fm", "[field a]\ncolumn = a\n"
		"buckets = 50000\n", 0 };
	static const struct gpu_case exact = { "exact", "fm", "[field a]\ncolumn = a\n"
		"table = exact\nbuckets = 50\n", 0 };
	static const struct gpu_case narrow = { "narrow", "fm", "[field a]\ncolumn = a\n"
		"buckets = 50\n[embedding]\nstorage = bf16\n", 0 };
	static const struct gpu_case stack = { "stack", "fm", "[field a]\ncolumn = a\n"
		"buckets = 50\nrounds = 2\n", 0 };
	struct gpu_memory two = { .gpu = &gpu_emulated, .n_devices = 2, .device = { 0, 1 } };
	struct gpu_memory little = { .gpu = &gpu_emulated, .limit = 1 << 20 };

	(void)state;
	expect_tables(&plain, &gpu, "device", "they take 1.", RS_OK);
	expect_tables(&plain, &two, "local", "nothing joins the GPUs that train", RS_EPEER);
	expect_tables(&plain, &little, "local", "gpu.memory_limit is 1.0 MiB", RS_ERESOURCE);
	expect_tables(&exact, &gpu, "local", "table 'a': it is exact", RS_ESPEC);
	expect_tables(&narrow, &gpu, "local", "table 'a': its weights have two", RS_ESPEC);
	expect_tables(&stack, &gpu, "local", "table 'a': an id of it has several rows", RS_ESPEC);
	gpu_case_tables = "host";
	expect_tables(&plain, &gpu, "local", "gpu.tables = host", RS_OK);
	gpu_case_tables = "auto";
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_model_trains_as_on_the_host),
		cmocka_unit_test(every_model_trains_with_tables_on_the_host),
		cmocka_unit_test(two_bytes_train_as_rounded_on_the_host),
		cmocka_unit_test(tf32_is_for_products_of_training_on_a_gpu),
		cmocka_unit_test(a_plan_beyond_the_limit_is_refused),
		cmocka_unit_test(a_loss_over_many_items_is_planned_with_them),
		cmocka_unit_test(a_plan_larger_than_the_gpu_is_refused),
		cmocka_unit_test(threads_are_dealt_to_gpus_and_change_no_bit),
		cmocka_unit_test(more_ids_than_the_spec_says_take_more_memory_or_are_refused),
		cmocka_unit_test(what_kernels_need_besides_is_planned_for_many_rows),
		cmocka_unit_test(what_fails_on_the_gpu_fails_the_step_in_every_worker),
		cmocka_unit_test(a_step_that_is_not_finite_names_the_operator),
		cmocka_unit_test(it_is_named_where_no_memory_is_left),
		cmocka_unit_test(a_gradient_of_a_row_alone_makes_a_step_bad),
		cmocka_unit_test(tables_are_where_they_can_be_and_the_model_says_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
