/* The step: same bits for any number of threads, the guard, predictions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "step_case.h"

#define STEPS 4

/* Trains on batches of the given sizes and dumps everything. */
static unsigned char *
train(const char *const *set, size_t n_sets, size_t n_threads, const size_t *B, size_t *n,
	struct step_result *last)
{
	struct model *m = step_case_model(set, n_sets, n_threads, 1);
	struct workers *w;
	unsigned char *dump;

	assert_int_equal(workers_create(m, n_threads, &w), RS_OK);
	for (size_t i = 0; i < STEPS; i++) {
		struct batch batch;

		step_case_batch(&batch, m, B[i], 40 + i);
		assert_int_equal(workers_step(w, &batch, 0.01, 1, last), RS_OK);
		assert_int_equal(last->skipped, 0);
		batch_free(&batch);
	}
	dump = step_case_dump(m, n);
	workers_free(w);
	model_free(m);
	return dump;
}

static void
assert_threads_agree(const char *const *set, size_t n_sets, const size_t *B)
{
	struct step_result one_result, result;
	size_t n_one, n;
	unsigned char *one = train(set, n_sets, 1, B, &n_one, &one_result);

	for (size_t threads = 2; threads <= 4; threads++) {
		unsigned char *many = train(set, n_sets, threads, B, &n, &result);

		assert_int_equal(n, n_one);
		assert_memory_equal(many, one, n);
		assert_memory_equal(&result.loss, &one_result.loss, sizeof(result.loss));
		assert_memory_equal(
			&result.prediction, &one_result.prediction, sizeof(result.loss));
		free(many);
	}
	free(one);
}

static void
B019_threads_give_the_same_bits(void **state)
{
	static const size_t B[STEPS] = { 256, 256, 256, 256 };

	(void)state;
	assert_threads_agree(NULL, 0, B);
}

static void
batches_that_do_not_divide_give_the_same_bits(void **state)
{
	static const size_t B[STEPS] = { 251, 97, 8, 5 };
	static const char *const slots7[] = { "train.slots=7" };

	(void)state;
	assert_threads_agree(NULL, 0, B);
	assert_threads_agree(slots7, 1, B);
}

static void
every_row_optimizer_gives_the_same_bits(void **state)
{
	static const size_t B[STEPS] = { 64, 64, 63, 64 };
	static const char *const kind[] = { "sgd", "adagrad", "rowwise_adagrad", "adam", "ftrl" };

	(void)state;
	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		char text[64];
		const char *const set[] = { text };

		snprintf(text, sizeof(text), "embedding.optimizer=%s", kind[i]);
		assert_threads_agree(set, 1, B);
	}
}

static void
every_dense_optimizer_gives_the_same_bits(void **state)
{
	static const size_t B[STEPS] = { 64, 64, 63, 64 };
	static const char *const kind[] = { "sgd", "momentum", "adagrad", "adam", "adamw" };

	(void)state;
	for (size_t i = 0; i < sizeof(kind) / sizeof(kind[0]); i++) {
		char text[64];
		const char *const set[] = { text, "train.weight_decay=0.01", "dnn.l2=0.001",
			"train.clip_norm=0.05" };

		snprintf(text, sizeof(text), "train.optimizer=%s", kind[i]);
		assert_threads_agree(set, 4, B);
	}
}

static void
a_worker_without_a_slot_is_harmless(void **state)
{
	static const size_t B[STEPS] = { 40, 40, 40, 40 };
	static const char *const set[] = { "train.slots=2" };

	(void)state;
	assert_threads_agree(set, 1, B);
}

/* The loss is the mean over the global batch, so the sums count every row once. */
static void
sums_are_over_the_global_batch(void **state)
{
	struct model *m = step_case_model(NULL, 0, 2, 1);
	struct step_result r;
	struct workers *w;
	struct batch batch;
	double weight = 0, label = 0;

	(void)state;
	assert_int_equal(workers_create(m, 2, &w), RS_OK);
	step_case_batch(&batch, m, 199, 3);
	for (size_t b = 0; b < 199; b++) {
		weight += batch.weight[b];
		label += (double)batch.weight[b] * batch.label[b];
	}
	assert_int_equal(workers_step(w, &batch, 0.01, 1, &r), RS_OK);
	assert_true(r.rows == 199);
	assert_true(r.weight == weight);
	assert_true(r.label == label);
	assert_true(r.loss / r.weight > 0.3 && r.loss / r.weight < 3);
	assert_true(r.prediction > 0 && r.prediction < r.weight);
	assert_int_equal(m->step, 1);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
}

static void
a_step_that_is_not_finite_changes_nothing(void **state)
{
	const float bad[] = { NAN, INFINITY };

	(void)state;
	for (size_t threads = 1; threads <= 3; threads++)
		for (size_t i = 0; i < 2; i++) {
			struct model *m = step_case_model(NULL, 0, threads, 1);
			unsigned char *before, *after;
			struct step_result r;
			struct workers *w;
			struct batch batch;
			size_t n_before, n_after;

			assert_int_equal(workers_create(m, threads, &w), RS_OK);
			before = step_case_dump(m, &n_before);
			step_case_batch(&batch, m, 200, 3);
			batch.dense[100 * batch.K] = bad[i];
			batch.missing[100 * batch.K] = 0;
			assert_int_equal(workers_step(w, &batch, 0.01, 1, &r), RS_OK);
			assert_int_equal(r.skipped, 1);
			assert_non_null(r.culprit);
			assert_int_equal(m->skipped_steps, 1);
			after = step_case_dump(m, &n_after);
			assert_int_equal(n_before, n_after);
			assert_memory_equal(before, after, n_after);

			/* and the next good step is the one a fresh model would do */
			batch.dense[100 * batch.K] = 0;
			assert_int_equal(workers_step(w, &batch, 0.01, 1, &r), RS_OK);
			assert_int_equal(r.skipped, 0);
			assert_null(r.culprit);
			free(before);
			free(after);
			batch_free(&batch);
			workers_free(w);
			model_free(m);
		}
}

static void
an_id_out_of_range_fails_in_every_worker(void **state)
{
	(void)state;
	for (size_t threads = 1; threads <= 3; threads++) {
		struct model *m = step_case_model(NULL, 0, threads, 1);
		struct step_result r;
		struct workers *w;
		struct batch batch;

		assert_int_equal(workers_create(m, threads, &w), RS_OK);
		step_case_batch(&batch, m, 100, 3);
		batch.column[0].ids[99] = 51;
		assert_int_equal(workers_step(w, &batch, 0.01, 1, &r), RS_EDATA);
		assert_non_null(strstr(rs_failure()->text, "got id 51"));
		batch_free(&batch);
		workers_free(w);
		model_free(m);
	}
}

static void
training_lowers_the_loss(void **state)
{
	static const char *const set[] = { "dnn.dropout=0", "dnn.batch_norm=no" };
	struct model *m = step_case_model(set, 2, 2, 1);
	struct step_result first, r;
	struct workers *w;
	struct batch batch;

	(void)state;
	assert_int_equal(workers_create(m, 2, &w), RS_OK);
	step_case_batch(&batch, m, 256, 3);
	assert_int_equal(workers_step(w, &batch, 0.01, 1, &first), RS_OK);
	for (size_t i = 0; i < 60; i++)
		assert_int_equal(workers_step(w, &batch, 0.01, 1, &r), RS_OK);
	assert_true(r.loss < 0.8 * first.loss);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
}

static void
predictions_do_not_depend_on_threads_and_touch_nothing(void **state)
{
	static float one[1500], many[1500];

	(void)state;
	for (size_t threads = 1; threads <= 3; threads++) {
		struct model *m = step_case_model(NULL, 0, threads, threads != 2);
		uint64_t unseen[2] = { 0, 0 };
		struct workers *w;
		struct batch batch;
		size_t n_ids = 0;

		assert_int_equal(workers_create(m, threads, &w), RS_OK);
		step_case_batch(&batch, m, 1500, 3);
		for (size_t f = 0; f < batch.F; f++)
			n_ids += batch.column[f].N;
		assert_int_equal(
			workers_predict(w, &batch, threads == 1 ? one : many, unseen), RS_OK);
		assert_int_equal(unseen[0], n_ids);
		assert_int_equal(unseen[1], n_ids);
		if (threads > 1)
			assert_memory_equal(one, many, sizeof(one));
		batch_free(&batch);
		workers_free(w);
		model_free(m);
	}
}

static void
trained_ids_are_no_longer_unseen(void **state)
{
	struct model *m = step_case_model(NULL, 0, 1, 1);
	static float logit[256];
	uint64_t unseen[2] = { 0, 0 };
	struct step_result r;
	struct workers *w;
	struct batch batch;

	(void)state;
	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	step_case_batch(&batch, m, 256, 3);
	assert_int_equal(workers_step(w, &batch, 0.01, 1, &r), RS_OK);
	assert_int_equal(workers_predict(w, &batch, logit, unseen), RS_OK);
	assert_int_equal(unseen[0], 0);
	assert_true(unseen[1] > 0);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(B019_threads_give_the_same_bits),
		cmocka_unit_test(batches_that_do_not_divide_give_the_same_bits),
		cmocka_unit_test(every_row_optimizer_gives_the_same_bits),
		cmocka_unit_test(every_dense_optimizer_gives_the_same_bits),
		cmocka_unit_test(a_worker_without_a_slot_is_harmless),
		cmocka_unit_test(sums_are_over_the_global_batch),
		cmocka_unit_test(a_step_that_is_not_finite_changes_nothing),
		cmocka_unit_test(an_id_out_of_range_fails_in_every_worker),
		cmocka_unit_test(training_lowers_the_loss),
		cmocka_unit_test(predictions_do_not_depend_on_threads_and_touch_nothing),
		cmocka_unit_test(trained_ids_are_no_longer_unseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
