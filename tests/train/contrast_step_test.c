/* Steps of losses over many items: log q, masks, threads, the guard. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "contrast_case.h"

enum { MAX_WEIGHTS = 4096, LARGE_B = 2048 };

#define DRAWS "[items]\nnegatives = 5\n"

/* Every item is to be compared with, none marked. */
static void
use_all_items(struct batch *batch, const struct model *m)
{
	contrast_case_candidates(batch, m, 8);
	free(batch->candidates->drawn);
	batch->candidates->drawn = NULL;
}

/* The loss and, as the change of the weights, its gradient, once frequencies are known. */
static double
gradient_of(const char *loss, const char *more, float *gradient)
{
	static float after[MAX_WEIGHTS];
	struct model *m = contrast_case_model(loss, more, 1);
	struct step_result result;
	struct workers *w;

	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	for (uint64_t i = 0; i < 4; i++) {
		struct batch batch;

		contrast_case_batch(&batch, m, LARGE_B, 40 + i);
		use_all_items(&batch, m);
		if (i == 3)
			contrast_case_weights(m, gradient);
		assert_int_equal(workers_step(w, &batch, i == 3, i == 3, &result), RS_OK);
		batch_free(&batch);
	}
	const size_t n = contrast_case_weights(m, after);
	for (size_t i = 0; i < n; i++)
		gradient[i] -= after[i];
	workers_free(w);
	model_free(m);
	return result.loss / result.weight;
}

static double
distance(const float *a, const float *b)
{
	double difference = 0, square = 0;

	for (size_t i = 0; i < MAX_WEIGHTS; i++) {
		difference += pow((double)a[i] - b[i], 2);
		square += pow(b[i], 2);
	}
	return sqrt(difference / square);
}

/* One item is ten times as frequent as the others; the batch holds each many times. */
static void
B017_log_q_is_subtracted_so_the_batch_tends_to_all_items(void **state)
{
	static float full[MAX_WEIGHTS], batch[MAX_WEIGHTS], without[MAX_WEIGHTS];
	const double wanted = gradient_of("full_softmax", CASE_DEEP, full);
	const double found = gradient_of("softmax", CASE_DEEP, batch);

	(void)state;
	gradient_of("softmax", CASE_DEEP "[two_tower]\nlogq = no\n", without);
	assert_true(fabs(found / wanted - 1) < 0.01);
	assert_true(distance(batch, full) < 0.1);
	assert_true(distance(without, full) > 0.3);
}

static void
rows_of_the_same_item_are_no_negatives(void **state)
{
	static float before[MAX_WEIGHTS], after[MAX_WEIGHTS];
	struct model *m = contrast_case_model("softmax", CASE_DEEP, 1);
	struct step_result result;
	struct batch batch;
	struct workers *w;

	(void)state;
	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	contrast_case_batch(&batch, m, 61, 3);
	for (size_t b = 0; b < batch.B; b++)
		batch.column[1].ids[b] = batch.item[b] = 7;
	const size_t n = contrast_case_weights(m, before);
	assert_int_equal(workers_step(w, &batch, 1, 1, &result), RS_OK);
	contrast_case_weights(m, after);
	assert_true(result.loss == 0);
	assert_memory_equal(before, after, n * sizeof(*before));
	batch_free(&batch);
	workers_free(w);
	model_free(m);
}

static void
rows_of_label_0_have_no_loss_of_their_own(void **state)
{
	struct model *m = contrast_case_model("softmax", CASE_DEEP, 1);
	struct step_result all, half;
	struct batch batch;
	struct workers *w;

	(void)state;
	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	contrast_case_batch(&batch, m, 60, 3);
	assert_int_equal(workers_step(w, &batch, 0, 0, &all), RS_OK);
	for (size_t b = 0; b < batch.B; b += 2)
		batch.label[b] = 0;
	assert_int_equal(workers_step(w, &batch, 0, 0, &half), RS_OK);
	assert_true(all.weight == 120 && half.weight == 60);
	assert_true(half.loss > 0 && half.loss < all.loss);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
}

static size_t
train(const char *loss, const char *more, size_t n_threads, float *weights)
{
	static const size_t B[] = { 64, 61, 3, 130 };
	struct model *m = contrast_case_model(loss, more, n_threads);
	struct step_result result;
	struct workers *w;

	assert_int_equal(workers_create(m, n_threads, &w), RS_OK);
	for (size_t i = 0; i < sizeof(B) / sizeof(B[0]); i++) {
		struct batch batch;

		contrast_case_batch(&batch, m, B[i], 40 + i);
		contrast_case_candidates(&batch, m, 60 + i);
		assert_int_equal(workers_step(w, &batch, 0.1, 0.1, &result), RS_OK);
		assert_int_equal(result.skipped, 0);
		batch_free(&batch);
	}
	const size_t n = contrast_case_weights(m, weights);
	workers_free(w);
	model_free(m);
	return n;
}

static void
threads_give_the_same_bits(void **state)
{
	static const struct { const char *loss, *more; } row[] = {
		{ "softmax", CASE_DEEP_TEMPERATURE },
		{ "full_softmax", CASE_DEEP "batch_norm = yes\ndropout = 0.3\n" },
		{ "sampled_softmax", CASE_DEEP_TEMPERATURE DRAWS },
		{ "bpr", CASE_DEEP DRAWS }, { "ccl", CASE_DEEP DRAWS },
	};
	static float one[MAX_WEIGHTS], many[MAX_WEIGHTS];

	(void)state;
	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		const size_t n = train(row[i].loss, row[i].more, 1, one);

		for (size_t threads = 2; threads <= 3; threads++) {
			assert_int_equal(train(row[i].loss, row[i].more, threads, many), n);
			assert_memory_equal(one, many, n * sizeof(*one));
		}
	}
}

static void
a_step_that_is_not_finite_is_skipped_and_its_operator_named(void **state)
{
	static float before[MAX_WEIGHTS], after[MAX_WEIGHTS];
	struct model *m = contrast_case_model("softmax", CASE_DEEP, 2);
	struct step_result result;
	struct batch batch;
	struct workers *w;

	(void)state;
	assert_int_equal(workers_create(m, 2, &w), RS_OK);
	contrast_case_batch(&batch, m, 64, 3);
	m->param[m->P - 1] = NAN;          /* a bias of the last layer of the items */
	const size_t n = contrast_case_weights(m, before);
	assert_int_equal(workers_step(w, &batch, 1, 1, &result), RS_OK);
	contrast_case_weights(m, after);
	assert_int_equal(result.skipped, 1);
	assert_string_equal(result.culprit, "linear");
	assert_memory_equal(before, after, n * sizeof(*before));
	batch_free(&batch);
	workers_free(w);
	model_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(B017_log_q_is_subtracted_so_the_batch_tends_to_all_items),
		cmocka_unit_test(rows_of_the_same_item_are_no_negatives),
		cmocka_unit_test(rows_of_label_0_have_no_loss_of_their_own),
		cmocka_unit_test(threads_give_the_same_bits),
		cmocka_unit_test(a_step_that_is_not_finite_is_skipped_and_its_operator_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
