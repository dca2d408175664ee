/* Losses over many items against plain sums in double, and through both towers. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "contrast_case.h"

enum { MAX_B = 64, MAX_D = 4 };

#define NO_LOG_Q "[two_tower]\nlogq = no\n"
#define DRAWS "[items]\nnegatives = 5\n"

struct plain {
	size_t B, M, d;
	double u[MAX_B * MAX_D], v[MAX_B * MAX_D];
	double scale;
};

static double
similarity(const struct plain *p, size_t b, size_t j)
{
	double sum = 0;

	for (size_t k = 0; k < p->d; k++)
		sum += p->u[b * p->d + k] * p->v[j * p->d + k];
	return sum * p->scale;
}

/* -log of the own item's share; q[j]: weight of item row j, mask[j] for others. */
static double
plain_softmax(const struct plain *p, const struct batch *batch, size_t b)
{
	const struct batch_candidates *c = batch->candidates;
	const int in_batch = c == NULL;
	const size_t own = in_batch ? b : c->positive[b];
	double total = exp(similarity(p, b, own));

	for (size_t j = 0; j < p->M; j++) {
		const int same = in_batch ? batch->item[j] == batch->item[b] : j == own;

		if (!same && (in_batch || c->drawn == NULL || c->drawn[j]))
			total += exp(similarity(p, b, j)
			    - (in_batch || c->drawn == NULL ? 0 : c->log_q[j]));
	}
	return log(total) - similarity(p, b, own);
}

static double
plain_bpr(const struct plain *p, const struct batch *batch, size_t b)
{
	const struct batch_candidates *c = batch->candidates;
	double sum = 0;

	for (size_t k = 0; k < CASE_N_DRAWN; k++)
		sum += log1p(exp(similarity(p, b, c->negative[b * CASE_N_DRAWN + k])
		    - similarity(p, b, c->positive[b])));
	return sum / CASE_N_DRAWN;
}

static double
plain_ccl(const struct plain *p, const struct batch *batch, size_t b)
{
	const struct batch_candidates *c = batch->candidates;
	double sum = 0;

	for (size_t k = 0; k < CASE_N_DRAWN; k++)
		sum += fmax(0, similarity(p, b, c->negative[b * CASE_N_DRAWN + k]) - 0.4);
	return 1 - similarity(p, b, c->positive[b]) + 2 * sum / CASE_N_DRAWN;
}

typedef double plain_loss(const struct plain *p, const struct batch *batch, size_t b);

static const struct loss_case {
	const char *name, *more;
	plain_loss *loss;
	int candidates, draws, is_cosine;
} loss_table[] = {
	{ "softmax", NO_LOG_Q, plain_softmax, 0, 0, 0 },
	{ "full_softmax", "", plain_softmax, 1, 0, 0 },
	{ "sampled_softmax", DRAWS, plain_softmax, 1, 1, 0 },
	{ "bpr", DRAWS, plain_bpr, 1, 1, 0 },
	{ "ccl", DRAWS "[two_tower]\nnegative_weight = 2\n", plain_ccl, 1, 1, 1 },
};
enum { N_LOSSES = sizeof(loss_table) / sizeof(loss_table[0]) };

static void
make_case(const struct loss_case *l, const struct model *m, struct batch *batch, size_t B)
{
	contrast_case_batch(batch, m, B, 7);
	if (!l->candidates)
		return;
	contrast_case_candidates(batch, m, 8);
	if (!l->draws) {
		free(batch->candidates->drawn);
		batch->candidates->drawn = NULL;
	}
}

/* The vectors of the step to come and the loss it should find. */
static double
plain_mean(const struct loss_case *l, struct workers *w, const struct model *m,
	const struct batch *batch, struct plain *p)
{
	const struct batch *items = l->candidates ? batch->candidates->items : batch;
	float u[MAX_B * MAX_D], v[MAX_B * MAX_D];
	double sum = 0, weight = 0;

	*p = (struct plain){ .B = batch->B, .M = items->B, .d = model_vector_dim(m) };
	p->scale = l->is_cosine ? 1 : 1 / 0.5;
	assert_int_equal(workers_vectors(w, TOWER_USER, batch, u), RS_OK);
	assert_int_equal(workers_vectors(w, TOWER_ITEM, items, v), RS_OK);
	for (size_t j = 0; j < MAX_B * MAX_D; j++) {
		p->u[j] = j < p->B * p->d ? u[j] : 0;
		p->v[j] = j < p->M * p->d ? v[j] : 0;
	}
	for (size_t b = 0; b < batch->B; b++) {
		sum += batch->weight[b] * l->loss(p, batch, b);
		weight += batch->weight[b];
	}
	return sum / weight;
}

static void
every_loss_is_its_formula(void **state)
{
	static const size_t B[] = { 1, 7, 61 };

	(void)state;
	for (size_t i = 0; i < N_LOSSES * 3; i++) {
		const struct loss_case *l = &loss_table[i / 3];
		char more[512];
		struct batch batch;
		struct workers *w;
		struct step_result result;
		struct plain p;

		snprintf(more, sizeof(more), "%s%s", CASE_DEEP, l->more);
		struct model *m = contrast_case_model(l->name, more, 1);
		assert_int_equal(workers_create(m, 1, &w), RS_OK);
		make_case(l, m, &batch, B[i % 3]);
		const double wanted = plain_mean(l, w, m, &batch, &p);
		assert_int_equal(workers_step(w, &batch, 0, 0, &result), RS_OK);
		if (!(fabs(result.loss / result.weight - wanted) < 1e-5 * (1 + fabs(wanted))))
			fail_msg("%s of %zu rows: %.9g, wanted %.9g", l->name, B[i % 3],
				result.loss / result.weight, wanted);
		batch_free(&batch);
		workers_free(w);
		model_free(m);
	}
}

/* One step of -rate times the gradient, then the loss there. */
static double
loss_after(const struct loss_case *l, const char *more, double rate, float *weights, size_t *n)
{
	struct model *m = contrast_case_model(l->name, more, 1);
	struct step_result result;
	struct batch batch;
	struct workers *w;

	assert_int_equal(workers_create(m, 1, &w), RS_OK);
	make_case(l, m, &batch, 61);
	assert_int_equal(workers_step(w, &batch, rate, rate, &result), RS_OK);
	*n = contrast_case_weights(m, weights);
	assert_int_equal(workers_step(w, &batch, 0, 0, &result), RS_OK);
	batch_free(&batch);
	workers_free(w);
	model_free(m);
	return result.loss / result.weight;
}

/* A step along the gradient g changes the loss by g.g times its length. */
static void
gradients_go_through_both_towers(void **state)
{
	static float before[4096], after[4096];
	const double rate = 1e-3;

	(void)state;
	for (size_t i = 0; i < N_LOSSES; i++) {
		char more[512];
		size_t n;
		double square = 0;

		snprintf(more, sizeof(more), "%s%s", loss_table[i].is_cosine ? CASE_DEEP :
			CASE_DEEP_TEMPERATURE, loss_table[i].more);
		const double high = loss_after(&loss_table[i], more, -rate, before, &n);
		const double low = loss_after(&loss_table[i], more, rate, after, &n);
		assert_true(n <= 4096);
		for (size_t j = 0; j < n; j++)
			square += pow((before[j] - after[j]) / (2 * rate), 2);
		if (!(fabs((high - low) / (2 * rate) / square - 1) < 5e-3))
			fail_msg("%s: slope %.6g, square of the gradient %.6g", loss_table[i].name,
				(high - low) / (2 * rate), square);
	}
}

/* The loss when column k of an item's vector is x. */
static double
loss_at(struct plain *p, const struct loss_case *l, const struct batch *batch, size_t id, size_t k,
	double x)
{
	const struct batch *items = l->candidates ? batch->candidates->items : batch;
	double sum = 0, weight = 0;

	for (size_t j = 0; j < p->M; j++)
		if (items->column[1].ids[j] == id)
			p->v[j * p->d + k] = x;
	for (size_t b = 0; b < batch->B; b++) {
		sum += batch->weight[b] * l->loss(p, batch, b);
		weight += batch->weight[b];
	}
	return sum / weight;
}

/* The rows of items are the last in the weights. */
static void
check_items(struct plain *p, const struct loss_case *l, const struct batch *batch,
	const float *before, const float *after, size_t n)
{
	for (size_t id = 0; id < CASE_N_ITEMS; id++)
		for (size_t k = 0; k < p->d; k++) {
			const size_t at = n - (CASE_N_ITEMS + 1 - id) * p->d + k;
			const double x = before[at], step = 1e-4;
			const double wanted = (loss_at(p, l, batch, id, k, x + step)
				- loss_at(p, l, batch, id, k, x - step)) / (2 * step);

			loss_at(p, l, batch, id, k, x);
			if (!(fabs(x - after[at] - wanted) < 1e-5 + 1e-4 * fabs(wanted)))
				fail_msg("%s item %zu: %.6g, wanted %.6g", l->name, id,
					x - after[at], wanted);
		}
}

/* Vectors are the rows of tables: each gradient by differences in double. */
static void
gradients_of_every_item_are_its_differences(void **state)
{
	static const char shallow[] = "[two_tower]\nsimilarity = dot\n[tower user]\nhidden = 4\n"
		"[tower item]\nhidden =\n";
	static float before[4096], after[4096];
	static struct plain p;

	(void)state;
	for (size_t i = 0; i < N_LOSSES; i++) {
		const struct loss_case *l = &loss_table[i];
		char more[512];
		struct batch batch;
		struct workers *w;
		struct step_result result;

		if (l->is_cosine)
			continue;
		snprintf(more, sizeof(more), "%s%s", shallow, l->more);
		struct model *m = contrast_case_model(l->name, more, 1);
		assert_int_equal(workers_create(m, 1, &w), RS_OK);
		make_case(l, m, &batch, 61);
		plain_mean(l, w, m, &batch, &p);
		const size_t n = contrast_case_weights(m, before);
		assert_int_equal(workers_step(w, &batch, 1, 1, &result), RS_OK);
		assert_int_equal(contrast_case_weights(m, after), n);
		check_items(&p, l, &batch, before, after, n);
		batch_free(&batch);
		workers_free(w);
		model_free(m);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_loss_is_its_formula),
		cmocka_unit_test(gradients_go_through_both_towers),
		cmocka_unit_test(gradients_of_every_item_are_its_differences),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
