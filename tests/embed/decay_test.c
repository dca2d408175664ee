/* Sums of squares that decay: by the factor, not below their start, of touched rows alone. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "embed/lookup.h"
#include "embed/row_optimizer.h"
#include "kernel/kernel.h"
#include "tests/test.h"

enum { ROWS = 200, D = 3, N = 40, STEPS = 24, EVERY = 5 };
#define START 0.1f
#define DECAY 0.6

static struct lookup *
open_lookup(enum row_optimizer_kind kind)
{
	const struct lookup_table table = { .name = "T", .rows = ROWS, .dim = D, .seed = 7,
		.init_stddev = 0.1, .optimizer = { .kind = kind, .learning_rate = 0.05,
		.initial_accumulator = START, .epsilon = 1e-7, .beta1 = 0.9, .beta2 = 0.999,
		.ftrl_beta = 1, .ftrl_power = 0.5 } };
	const struct lookup_local_options o = { .kernel = &kernel_ref, .table = &table,
		.n_tables = 1, .n_slots = 1, .n_inputs = 1, .n_threads = 1, .for_training = 1 };
	struct lookup *l;

	assert_int_equal(lookup_local_open(&o, &l), RS_OK);
	return l;
}

/* Gradients of some ids, every third id only. */
static void
take_step(struct lookup *l, uint64_t step, double decay, int finite)
{
	const struct lookup_commit commit = { .step = step, .finite = finite, .rate_factor = 1,
		.decay = decay, .n_workers = 1 };
	uint64_t ids[N];
	float value[N][D];
	const float *grad[N];

	for (size_t j = 0; j < N; j++) {
		ids[j] = rng_below(step, j, ROWS / 3) * 3;
		grad[j] = value[j];
		for (size_t d = 0; d < D; d++)
			value[j][d] = (float)rng_normal(step, N + j * D + d);
	}
	const struct lookup_push p = { .ids = ids, .n = N, .grad = grad };
	assert_int_equal(l->ops->push(l, &p), RS_OK);
	assert_int_equal(l->ops->commit(l, &commit), RS_OK);
}

struct state { float w[ROWS][D], slot[ROWS * (2 * D + 1)]; uint8_t touched[ROWS]; };

static void
get_state(struct lookup *l, struct state *s)
{
	const struct lookup_rows r = { .n = ROWS, .weights = s->w[0], .slots = s->slot,
		.touched = s->touched };

	memset(s, 0, sizeof *s);
	assert_int_equal(lookup_local_get(l, &r), RS_OK);
}

static void
sums_of_squares_fall_by_the_factor_but_not_below_their_start(void **state)
{
	static const enum row_optimizer_kind kind[] = { ROW_ADAGRAD, ROW_ROWWISE_ADAGRAD };
	struct state before, after;

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		struct lookup *l = open_lookup(kind[k]);
		struct lookup *twin = open_lookup(kind[k]);
		const size_t n_slot = lookup_local_slots(l, 0);
		size_t fell = 0, kept = 0;

		for (uint64_t step = 1; step <= 3; step++) {
			take_step(l, step, step == 3 ? DECAY : 0, 1);
			take_step(twin, step, 0, 1);
		}
		get_state(twin, &before);
		get_state(l, &after);
		assert_memory_equal(before.w, after.w, sizeof before.w);
		for (size_t i = 0; i < ROWS * n_slot; i++) {
			const float x = before.slot[i] * (float)DECAY;

			assert_true(after.slot[i] == (x > START ? x : START));
			fell += after.slot[i] < before.slot[i];
			kept += x <= START;
		}
		assert_true(fell > 20 && kept > 20);
		l->ops->close(l);
		twin->ops->close(twin);
	}
}

static void
a_step_that_is_dropped_decays_nothing(void **state)
{
	struct lookup *l = open_lookup(ROW_ADAGRAD);
	struct state before, after;

	(void)state;
	take_step(l, 1, 0, 1);
	get_state(l, &before);
	take_step(l, 2, DECAY, 0);
	get_state(l, &after);
	assert_memory_equal(&before, &after, sizeof before);
	l->ops->close(l);
}

static void
other_optimizers_have_nothing_that_decays(void **state)
{
	static const enum row_optimizer_kind kind[] = { ROW_SGD, ROW_ADAM, ROW_FTRL };
	struct state one, two;

	(void)state;
	for (size_t k = 0; k < 3; k++) {
		struct lookup *l = open_lookup(kind[k]), *twin = open_lookup(kind[k]);

		for (uint64_t step = 1; step <= 3; step++) {
			take_step(l, step, DECAY, 1);
			take_step(twin, step, 0, 1);
		}
		get_state(l, &one);
		get_state(twin, &two);
		assert_memory_equal(&one, &two, sizeof one);
		l->ops->close(l);
		twin->ops->close(twin);
	}
}

/* Step by step against the formula of Adagrad with decay, in plain loops. */
static void
many_steps_follow_the_formula(void **state)
{
	struct lookup *l = open_lookup(ROW_ADAGRAD);
	struct state s;
	float acc[ROWS][D];

	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		for (size_t d = 0; d < D; d++)
			acc[i][d] = START;
	for (uint64_t step = 1; step <= STEPS; step++) {
		float sum[ROWS][D] = { { 0 } };

		take_step(l, step, step % EVERY == 0 ? DECAY : 0, 1);
		for (size_t j = 0; j < N; j++)
			for (size_t d = 0; d < D; d++)
				sum[rng_below(step, j, ROWS / 3) * 3][d] +=
					(float)rng_normal(step, N + j * D + d);
		for (size_t i = 0; i < ROWS; i++)
			for (size_t d = 0; d < D; d++) {
				acc[i][d] += sum[i][d] * sum[i][d];
				if (step % EVERY == 0 && acc[i][d] * (float)DECAY > START)
					acc[i][d] *= (float)DECAY;
				else if (step % EVERY == 0)
					acc[i][d] = START;
			}
	}
	get_state(l, &s);
	for (size_t i = 0; i < ROWS; i++)
		for (size_t d = 0; d < D; d++)
			assert_float_equal(s.slot[i * D + d], acc[i][d], 1e-4 * acc[i][d]);
	l->ops->close(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_squares_fall_by_the_factor_but_not_below_their_start),
		cmocka_unit_test(a_step_that_is_dropped_decays_nothing),
		cmocka_unit_test(other_optimizers_have_nothing_that_decays),
		cmocka_unit_test(many_steps_follow_the_formula),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
