/* Hash stacks: the sum of the rows of all rounds, its gradient, and what "missing" is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "data/hash_stack.h"
#include "data/id_hash.h"
#include "embed/stacked.h"
#include "kernel/kernel.h"

#define E       40                 /* rows without that of "missing"              */
#define D       3
#define MISSING SCHEMA_EXACT_BUCKETS
#define N       7                  /* occurrences                                 */
#define RATE    0.5

struct bed {
	struct lookup_table table;
	struct schema_table schema;
	struct lookup *lookup;
	struct stacked *stacked;
};

static void
bed_open(struct bed *b, size_t rounds, int scales)
{
	b->schema = (struct schema_table){ .kind = TABLE_HASHED, .buckets = MISSING, .rows = E,
		.rounds = rounds };
	b->table = (struct lookup_table){ .name = "C1", .rows = E + 1, .dim = D, .init_stddev = 0.3,
		.seed = 3, .rounds = rounds, .scales_rounds = scales,
		.optimizer = { .kind = ROW_SGD, .learning_rate = RATE, .scheduled = 1 } };
	const struct lookup_local_options o = { .kernel = &kernel_ref, .table = &b->table,
		.n_tables = 1, .n_slots = 1, .n_inputs = 1, .n_threads = 1, .for_training = 1 };

	assert_int_equal(lookup_local_open(&o, &b->lookup), RS_OK);
	assert_int_equal(stacked_open(&b->table, 1, 1, 1, &b->stacked), RS_OK);
}

static void
bed_close(struct bed *b)
{
	stacked_close(b->stacked);
	b->lookup->ops->close(b->lookup);
}

static void
pull(struct bed *b, const uint64_t *id, size_t n, float (*out)[D])
{
	const float *row[N];
	const struct lookup_pull p = { .ids = id, .n = n, .row = row, .training = 1 };

	assert_int_equal(stacked_pull(b->stacked, b->lookup, &p), RS_OK);
	for (size_t j = 0; j < n; j++)
		memcpy(out[j], row[j], sizeof(out[j]));
}

static void
rows_of(struct bed *b, float (*w)[D], int put)
{
	uint8_t touched[E + 1] = { 0 };
	const struct lookup_rows r = { .n = E + 1, .weights = &w[0][0], .touched = touched };

	assert_int_equal(put ? lookup_local_put(b->lookup, &r) : lookup_local_get(b->lookup, &r),
		RS_OK);
}

static void
the_vector_is_the_sum_of_the_rows(void **state)
{
	static const uint64_t id[N] = { 11, 12, MISSING, 11, 99999, UINT64_MAX / 3, 0 };
	float w[E + 1][D], y[N][D];
	struct bed b;

	(void)state;
	for (size_t rounds = 2; rounds <= 8; rounds++)
		for (int scales = 0; scales < 2; scales++) {
			bed_open(&b, rounds, scales);
			rows_of(&b, w, 0);
			pull(&b, id, N, y);
			for (size_t j = 0; j < N; j++)
				for (size_t d = 0; d < D; d++) {
					double sum = 0;

					for (size_t r = 0; r < hash_stack_rows(&b.schema, id[j]);
					     r++)
						sum += (double)w[hash_stack_row(&b.schema, id[j],
							r)][d];
					if (scales && id[j] != MISSING)
						sum /= sqrt((double)rounds);
					assert_true(fabs(sum - (double)y[j][d]) < 1e-6);
				}
			bed_close(&b);
		}
}

static void
the_first_round_is_the_hash_of_a_table_of_one(void **state)
{
	const struct id_divisor buckets = id_divisor_make(E), all = id_divisor_make(MISSING);
	const struct schema_table t = { .buckets = MISSING, .rows = E, .rounds = 4 };
	char text[24];

	(void)state;
	for (int i = 0; i < 1000; i++) {
		const size_t n = (size_t)snprintf(text, sizeof(text), "value %d", i * i);

		assert_int_equal(hash_stack_row(&t, id_bucket(text, n, &all), 0),
			id_bucket(text, n, &buckets));
	}
}

/* Two values that share the row of a round. */
static void
find_pair(const struct bed *b, size_t round, uint64_t pair[2])
{
	pair[0] = 5;
	pair[1] = 6;
	while (hash_stack_row(&b->schema, pair[0], round) != hash_stack_row(&b->schema, pair[1],
		round) || hash_stack_row(&b->schema, pair[0], !round)
		== hash_stack_row(&b->schema, pair[1], !round))
		pair[1]++;
}

static void
values_that_share_a_row_in_one_round_differ(void **state)
{
	struct bed b;
	uint64_t pair[2];
	float y[2][D];

	(void)state;
	bed_open(&b, 2, 0);
	for (size_t round = 0; round < 2; round++) {
		find_pair(&b, round, pair);
		pull(&b, pair, 2, y);
		assert_memory_not_equal(y[0], y[1], sizeof(y[0]));
	}
	bed_close(&b);
}

/* sum over j, d of c[j][d] y[j][d] */
static double
loss(struct bed *b, const uint64_t *id, float (*c)[D])
{
	float y[N][D];
	double sum = 0;

	pull(b, id, N, y);
	for (size_t j = 0; j < N; j++)
		for (size_t d = 0; d < D; d++)
			sum += (double)c[j][d] * (double)y[j][d];
	return sum;
}

/* One step of SGD with these gradients, weighted. */
static void
step(struct bed *b, const uint64_t *id, float (*c)[D], const float *scale)
{
	const float *grad[N];
	float y[N][D];
	const struct lookup_push p = { .ids = id, .n = N, .grad = grad, .scale = scale };
	const struct lookup_commit commit = { .step = 1, .finite = 1, .rate_factor = 1,
		.n_workers = 1 };

	for (size_t j = 0; j < N; j++)
		grad[j] = c[j];
	pull(b, id, N, y);
	assert_int_equal(stacked_push(b->stacked, b->lookup, &p), RS_OK);
	assert_int_equal(b->lookup->ops->commit(b->lookup, &commit), RS_OK);
}

/* Every number of the table, by differences, against what a step of SGD takes from it. */
static void
gradients_are_those_of_differences(void **state)
{
	static const uint64_t id[N] = { 11, 12, MISSING, 11, 99999, 7, MISSING };
	static const float scale[N] = { 1, 0.5f, 2, 1, 0.25f, 3, 1 };
	const float h = 1.0f / 64;
	float c[N][D], weighted[N][D], w[E + 1][D], after[E + 1][D];
	struct bed b;

	(void)state;
	for (size_t i = 0; i < N * D; i++) {
		c[i / D][i % D] = (float)(i % 5) - 2.25f;
		weighted[i / D][i % D] = c[i / D][i % D] * scale[i / D];
	}
	for (int scales = 0; scales < 2; scales++) {
		bed_open(&b, 3, scales);
		rows_of(&b, w, 0);
		step(&b, id, c, scale);
		rows_of(&b, after, 0);
		for (size_t i = 0; i < (E + 1) * D; i++) {
			const double taken = ((double)w[i / D][i % D] - (double)after[i / D][i % D])
				/ RATE;
			double sides[2];

			for (int k = 0; k < 2; k++) {
				w[i / D][i % D] += k == 0 ? h : -2 * h;
				rows_of(&b, w, 1);
				sides[k] = loss(&b, id, weighted);
			}
			w[i / D][i % D] += h;
			assert_true(fabs(taken - (sides[0] - sides[1]) / (2 * (double)h)) < 1e-3);
		}
		bed_close(&b);
	}
}

static void
what_is_used_is_what_is_pulled(void **state)
{
	static const uint64_t id[N] = { 11, 12, MISSING, 11, 99999, 7, MISSING };
	struct lookup_use use[2] = { { .table = 0, .ids = id, .n = N }, { .table = 0, .n = 0 } };
	struct bed b;

	(void)state;
	bed_open(&b, 3, 0);
	assert_int_equal(stacked_use(b.stacked, use, 1), RS_OK);
	assert_int_equal(use[0].n, 3 * N);
	for (size_t j = 0; j < N; j++)
		for (size_t r = 0; r < 3; r++)
			assert_int_equal(use[0].ids[3 * j + r], id[j] == MISSING ? E
				: hash_stack_row(&b.schema, id[j], r));
	bed_close(&b);
}

static void
a_value_is_trained_when_all_its_rows_are(void **state)
{
	static const uint64_t id[N] = { 11, 11, 11, 11, 11, 11, 11 };
	float c[N][D] = { { 1, 1, 1 } };
	struct bed b;
	uint64_t other = 12;

	(void)state;
	bed_open(&b, 2, 0);
	assert_false(stacked_touched(b.stacked, b.lookup, 0, 11));
	step(&b, id, c, NULL);
	assert_true(stacked_touched(b.stacked, b.lookup, 0, 11));
	assert_false(stacked_touched(b.stacked, b.lookup, 0, MISSING));
	while (hash_stack_row(&b.schema, other, 0) != hash_stack_row(&b.schema, 11, 0)
	    || hash_stack_row(&b.schema, other, 1) == hash_stack_row(&b.schema, 11, 1)
	    || hash_stack_row(&b.schema, other, 1) == hash_stack_row(&b.schema, 11, 0))
		other++;
	assert_false(stacked_touched(b.stacked, b.lookup, 0, other));
	bed_close(&b);
}

static void
tables_of_one_round_need_none(void **state)
{
	const struct lookup_table table[2] = { { .rounds = 0 }, { .rounds = 1 } };
	struct stacked *s;

	(void)state;
	assert_int_equal(stacked_open(table, 2, 1, 1, &s), RS_OK);
	assert_null(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_vector_is_the_sum_of_the_rows),
		cmocka_unit_test(the_first_round_is_the_hash_of_a_table_of_one),
		cmocka_unit_test(values_that_share_a_row_in_one_round_differ),
		cmocka_unit_test(gradients_are_those_of_differences),
		cmocka_unit_test(what_is_used_is_what_is_pulled),
		cmocka_unit_test(a_value_is_trained_when_all_its_rows_are),
		cmocka_unit_test(tables_of_one_round_need_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
