/* The lookup over shards against the one in this process, bit for bit. */
#include "tests/remote/lookup_bed.h"

#include <math.h>

#define LAST 9                      /* steps                                          */

static struct bed_worker worker[BED_SLOTS];

static void
workers_clear(void)
{
	memset(worker, 0, sizeof(worker));
}

/* Trains, and wants what one process has. */
static void
check_equal(const struct bed_run *run, size_t n_shards)
{
	struct lookup *local = bed_local(run->kind);
	struct bed b;

	workers_clear();
	bed_open(&b, n_shards);
	bed_train(&b, run, worker, 1, LAST);
	bed_train_local(local, 1, LAST);
	bed_assert_equal(local, worker[0].r.lookup);
	bed_workers_close(worker, run->n_ranks);
	bed_close(&b);
	local->ops->close(local);
}

static void
every_optimizer_ends_where_one_process_does(void **state)
{
	(void)state;
	for (enum row_optimizer_kind kind = ROW_SGD; kind <= ROW_FTRL; kind++)
		check_equal(&(struct bed_run){ .n_ranks = 2, .n_threads = 2, .kind = kind }, 2);
}

static void
ranks_and_shards_of_any_number_end_where_one_process_does(void **state)
{
	static const struct { size_t ranks, shards, threads; } grid[] = {
		{ 1, 1, 1 }, { 1, 3, 3 }, { 3, 1, 1 }, { 3, 2, 2 }, { 5, 3, 1 }, { 8, 2, 1 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(grid); i++)
		check_equal(&(struct bed_run){ .n_ranks = grid[i].ranks, .kind = ROW_ADAM,
			.n_threads = grid[i].threads }, grid[i].shards);
}

/* Sections of two or three rows, messages of a few sections: twins and bits are cut, too. */
static void
what_goes_in_many_messages_ends_where_one_does(void **state)
{
	static const enum compression how[] = { COMPRESS_NONE, COMPRESS_INT8 };
	static const size_t bytes[] = { 400, 2000 };

	(void)state;
	for (size_t k = 0; k < N_ROWS(bytes); k++)
		check_equal(&(struct bed_run){ .n_ranks = 3, .n_threads = 2, .kind = ROW_ADAGRAD,
			.message_bytes = bytes[k] }, 3);
	/* Rows of exact tables share places of what is rounded off, by part. */
	for (size_t i = 0; i < (bed_kind == TABLE_EXACT ? 1 : N_ROWS(how)); i++) {
		const struct bed_run few = { .n_ranks = 1, .n_threads = 1, .kind = ROW_ADAM,
			.compress = how[i] };
		struct bed_run many = few;
		static struct bed_worker other[BED_SLOTS];
		struct bed a, b;

		many.message_bytes = 500;
		workers_clear();
		memset(other, 0, sizeof(other));
		bed_open(&a, 1);
		bed_open(&b, 2);
		bed_train(&a, &few, worker, 1, LAST);
		bed_train(&b, &many, other, 1, LAST);
		bed_assert_equal(worker[0].r.lookup, other[0].r.lookup);
		bed_workers_close(worker, 1);
		bed_workers_close(other, 1);
		bed_close(&a);
		bed_close(&b);
	}
}

static void
touched_is_known_of_rows_that_came_in_many_messages(void **state)
{
	const struct bed_run run = { .n_ranks = 1, .n_threads = 1, .kind = ROW_SGD,
		.message_bytes = 500 };
	static struct bed_step s;
	struct lookup *local = bed_local(ROW_SGD);
	struct bed b;

	(void)state;
	workers_clear();
	bed_open(&b, 2);
	bed_train(&b, &run, worker, 1, 1);
	bed_train_local(local, 1, 1);
	bed_fill(&s, 20);
	s.training = 0;
	assert_int_equal(bed_fetch(worker[0].r.lookup, &s, 0, BED_SLOTS, 1), RS_OK);
	for (size_t i = 0; i < BED_INPUTS; i++)
		for (size_t j = 0; j < s.begin[bed_input[i].column][BED_SLOTS]; j++) {
			const uint64_t id = s.id[bed_input[i].column][j];

			assert_int_equal(local->ops->touched(local, bed_input[i].table, id),
				worker[0].r.lookup->ops->touched(worker[0].r.lookup,
				bed_input[i].table, id));
		}
	bed_workers_close(worker, 1);
	bed_close(&b);
	local->ops->close(local);
}

/* --- tables that several threads share --- */

#define MANY 30000

/* Every slot pulls its part of C3 and its twin; only even ones push. */
static void
share_step(struct lookup *l, const uint64_t *ids, uint64_t number, size_t n_threads)
{
	static const size_t table[2] = { 2, 4 };
	static const float *row[2][MANY], *grad[2][MANY];
	static float value[MANY][BED_DIM];
	const struct lookup_use use[2] = { { .table = 2, .ids = ids, .n = MANY },
		{ .table = 4, .ids = ids, .n = MANY } };

	if (l->ops->fetch != NULL)
		assert_int_equal(bed_call_all(&(struct bed_call){ .lookup = l, .fetch = {
			.use = use, .n_uses = 2, .step = number, .training = 1 } }, n_threads),
			RS_OK);
	for (size_t slot = 0; slot < BED_SLOTS; slot++)
		for (size_t i = 0; i < 2; i++) {
			const size_t first = MANY * slot / BED_SLOTS;
			const size_t n = MANY * (slot + 1) / BED_SLOTS - first;

			assert_int_equal(l->ops->pull(l, &(struct lookup_pull){ .slot = slot,
				.table = table[i], .input = i, .ids = ids + first, .n = n,
				.row = row[i] + first }), RS_OK);
			for (size_t j = first; j < first + n; j++) {
				grad[i][j] = value[j];
				for (size_t d = 0; d < bed_table[table[i]].dim && i == 0; d++)
					value[j][d] = row[i][j][d] + 1e-3f * (float)j;
			}
			if (slot % 2 == 0)
				assert_int_equal(l->ops->push(l, &(struct lookup_push){
					.slot = slot, .table = table[i], .input = i,
					.ids = ids + first, .n = n, .grad = grad[i] + first }),
					RS_OK);
		}
	assert_int_equal(bed_call_all(&(struct bed_call){ .lookup = l, .is_commit = 1, .commit = {
		.step = number, .finite = 1, .rate_factor = 1 } }, n_threads), RS_OK);
}

static void
threads_that_share_a_table_end_where_one_process_does(void **state)
{
	static uint64_t ids[MANY];

	(void)state;
	for (size_t S = 1; S <= 2; S++) {
		const struct bed_run run = { .n_ranks = 1, .n_threads = 4, .kind = ROW_ADAGRAD };
		struct lookup *local = bed_local(ROW_ADAGRAD);
		struct bed b;

		workers_clear();
		bed_open(&b, S);
		bed_train(&b, &run, worker, 1, 0);
		for (uint64_t step = 1; step <= 3; step++) {
			for (size_t j = 0; j < MANY; j++)   /* odd slots have rows of their own */
				ids[j] = rng_below(step, j, 500) * 2 + j * BED_SLOTS / MANY % 2;
			share_step(worker[0].r.lookup, ids, step, 4);
			share_step(local, ids, step, 1);
		}
		bed_assert_equal(local, worker[0].r.lookup);
		bed_workers_close(worker, 1);
		bed_close(&b);
		local->ops->close(local);
	}
}

/* --- L028: runs are repeatable, one rank is no other than many --- */

static void
L028_three_runs_of_two_ranks_are_bit_equal(void **state)
{
	const struct bed_run run = { .n_ranks = 2, .n_threads = 3, .kind = ROW_ADAGRAD };

	(void)state;
	for (size_t i = 0; i < 3; i++)
		check_equal(&run, 2);
}

/* --- L077: the factor of a gradient is that of the whole batch, however many ranks --- */

static void
L077_a_row_moves_by_the_sum_of_all_ranks(void **state)
{
	struct lookup *first = bed_local(ROW_SGD);
	struct bed b;

	(void)state;
	for (size_t R = 1; R <= 4; R *= 2) {
		const struct bed_run run = { .n_ranks = R, .n_threads = 1, .kind = ROW_SGD };
		struct lookup *local = bed_local(ROW_SGD);
		static struct bed_step s;
		double want[3][4] = { { 0 } };
		const float *row;
		uint64_t id;

		workers_clear();
		bed_open(&b, 1);
		bed_train(&b, &run, worker, 1, 1);
		bed_train_local(local, 1, 1);
		bed_fill(&s, 1);
		for (size_t slot = 0; slot < BED_SLOTS; slot++) {
			assert_int_equal(bed_pull(first, &s, slot, 2), RS_OK);
			assert_int_equal(bed_push(first, &s, slot, 2), RS_OK);
		}
		for (size_t j = 0; j < s.begin[2][BED_SLOTS]; j++)
			for (size_t d = 0; d < 4; d++)
				want[s.id[2][j]][d] += s.value[2][j][d];
		for (id = 0; id < 3; id++) {
			const struct lookup_pull p = { .table = 1, .ids = &id, .n = 1,
				.row = &row };
			float before[4];

			assert_int_equal(first->ops->pull(first, &p), RS_OK);
			memcpy(before, row, sizeof(before));
			assert_int_equal(local->ops->pull(local, &p), RS_OK);
			for (size_t d = 0; d < 4; d++)
				assert_true(fabs(before[d] - row[d] - 0.05 * (want[id][d] +
					0.01 * before[d] + copysign(0.001, before[d]))) < 1e-4);
		}
		bed_assert_equal(local, worker[0].r.lookup);
		bed_workers_close(worker, R);
		bed_close(&b);
		local->ops->close(local);
	}
	first->ops->close(first);
}

/* --- what a fetch knows --- */

static void
an_evaluation_sees_the_step_before_it_and_touches_nothing(void **state)
{
	const struct bed_run run = { .n_ranks = 2, .n_threads = 2, .kind = ROW_ADAGRAD };
	static float local_rows[BED_FLOATS], rows[BED_FLOATS];
	static struct bed_step s;
	struct lookup *local = bed_local(ROW_ADAGRAD);
	struct bed b;
	size_t n, m, n_touched = 0, n_all = 0;

	(void)state;
	workers_clear();
	bed_open(&b, 2);
	bed_train(&b, &run, worker, 1, 1);
	bed_train_local(local, 1, 1);
	bed_fill(&s, 20);
	s.training = 0;
	bed_pull_step(local, &s, local_rows, &n);
	bed_pull_step(worker[0].r.lookup, &s, rows, &m);
	assert_int_equal(n, m);
	assert_memory_equal(local_rows, rows, n * sizeof(float));
	for (size_t i = 0; i < BED_INPUTS; i++)
		for (size_t j = 0; j < s.begin[bed_input[i].column][BED_SLOTS]; j++) {
			const uint64_t id = s.id[bed_input[i].column][j];
			const int want = local->ops->touched(local, bed_input[i].table, id);

			assert_int_equal(worker[0].r.lookup->ops->touched(worker[0].r.lookup,
				bed_input[i].table, id), want);
			n_touched += (size_t)want;
			n_all++;
		}
	assert_true(n_touched > 0 && n_touched < n_all);
	bed_assert_equal(local, worker[0].r.lookup);
	bed_workers_close(worker, 2);
	bed_close(&b);
	local->ops->close(local);
}

static void
an_id_beyond_the_table_is_an_error_as_in_one_process(void **state)
{
	const struct bed_run run = { .n_ranks = 1, .n_threads = 2, .kind = ROW_SGD };
	static struct bed_step s;
	struct bed b;

	(void)state;
	workers_clear();
	bed_open(&b, 2);
	bed_train(&b, &run, worker, 1, 1);
	bed_fill(&s, 2);
	s.id[2][5] = 3;
	assert_int_equal(bed_fetch(worker[0].r.lookup, &s, 0, BED_SLOTS, 2), RS_EDATA);
	assert_non_null(strstr(rs_failure()->text, "table 'C2' has 3 rows, got id 3"));
	s.id[2][5] = 2;
	assert_int_equal(bed_fetch(worker[0].r.lookup, &s, 0, BED_SLOTS, 2), RS_OK);
	bed_workers_close(worker, 1);
	bed_close(&b);
}

/* --- what is rounded on the wire --- */

/* The weights [rows, BED_DIM] of table C3 as its file has them. */
static void
weights_of(struct lookup *l, float *out)
{
	struct lookup *const copy = bed_local(ROW_SGD);
	const size_t rows = bed_table[2].rows;
	uint8_t *const touched = calloc(rows, 1);
	struct file_writer w;

	bed_save_memory(l, 2, &w);
	assert_int_equal(copy->ops->load(copy, 2, (const char *const[]){ w.path }, 1), RS_OK);
	assert_int_equal(lookup_local_get(copy, &(struct lookup_rows){ .table = 2, .n = rows,
		.weights = out, .touched = touched }), RS_OK);
	file_writer_close(&w);
	copy->ops->close(copy);
	free(touched);
}

/* The largest difference of any weight of C3. */
static double
largest_difference(struct lookup *a, struct lookup *b)
{
	const size_t n = bed_table[2].rows * BED_DIM;
	float *const x = calloc(2 * n, sizeof *x);
	double largest = 0;

	weights_of(a, x);
	weights_of(b, x + n);
	for (size_t i = 0; i < n; i++)
		largest = larger_or_nan(largest, fabs((double)x[i] - x[n + i]));
	free(x);
	return largest;
}

/* n pushes of one row of C3 by one rank, `many` occurrences of `value` each. */
static void
push_one_row(struct lookup *l, uint64_t id, size_t many, float value, uint64_t n)
{
	static uint64_t ids[1000];
	static const float *grad[1000], *row[1000];
	float x[BED_DIM];

	for (size_t j = 0; j < many; j++) {
		ids[j] = id;
		grad[j] = x;
	}
	for (size_t d = 0; d < BED_DIM; d++)
		x[d] = value * (1 + (float)d * 0.37f);
	for (uint64_t i = 0; i < n; i++) {
		struct lookup_use use[BED_INPUTS] = {
			[3] = { .table = 2, .ids = ids, .n = many } };
		const struct lookup_fetch fetch = { .use = use, .n_uses = BED_INPUTS, .step = i + 1,
			.training = 1, .n_workers = 1 };
		const struct lookup_commit commit = { .step = i + 1, .finite = 1, .rate_factor = 1,
			.n_workers = 1 };

		if (l->ops->fetch != NULL)
			assert_int_equal(l->ops->fetch(l, &fetch), RS_OK);
		assert_int_equal(l->ops->pull(l, &(struct lookup_pull){ .table = 2, .input = 3,
			.ids = ids, .n = many, .row = row }), RS_OK);
		assert_int_equal(l->ops->push(l, &(struct lookup_push){ .table = 2, .input = 3,
			.ids = ids, .n = many, .grad = grad }), RS_OK);
		assert_int_equal(l->ops->commit(l, &commit), RS_OK);
	}
}

/* A gradient of which rounding would lose a part every time: sums are right in the end. */
static void
errors_of_rounding_are_made_good_later(void **state)
{
	static const enum compression how[] = { COMPRESS_FP16, COMPRESS_INT8 };

	(void)state;
	for (size_t i = 0; i < N_ROWS(how); i++) {
		const struct bed_run run = { .n_ranks = 1, .n_threads = 1, .kind = ROW_SGD,
			.compress = how[i] };
		struct lookup *local = bed_local(ROW_SGD);
		struct bed b;

		workers_clear();
		bed_open(&b, 2);
		bed_train(&b, &run, worker, 1, 0);
		push_one_row(worker[0].r.lookup, 77, 1, 0.0123f, 400);
		push_one_row(local, 77, 1, 0.0123f, 400);
		assert_true(largest_difference(local, worker[0].r.lookup) < 1e-4);
		bed_workers_close(worker, 1);
		bed_close(&b);
		local->ops->close(local);
	}
}

static void
L033_a_thousand_gradients_of_one_row_are_neither_lost_nor_too_large(void **state)
{
	static const enum compression how[] = { COMPRESS_NONE, COMPRESS_FP16, COMPRESS_INT8 };
	static const float value[] = { 1e-3f, 100 };

	(void)state;
	for (size_t i = 0; i < N_ROWS(how); i++)
		for (size_t k = 0; k < N_ROWS(value); k++) {
			const struct bed_run run = { .n_ranks = 1, .n_threads = 1,
				.kind = ROW_SGD, .compress = how[i] };
			struct lookup *local = bed_local(ROW_SGD);
			const double moved = 0.05 * 1000 * (double)value[k];
			struct bed b;

			workers_clear();
			bed_open(&b, 2);
			bed_train(&b, &run, worker, 1, 0);
			push_one_row(worker[0].r.lookup, 5, 1000, value[k], 1);
			/* What a half cannot hold comes with the next pushes, however small. */
			push_one_row(worker[0].r.lookup, 5, 1, 1e-9f, 16);
			push_one_row(local, 5, 1000, value[k], 1);
			push_one_row(local, 5, 1, 1e-9f, 16);
			assert_true(largest_difference(local, worker[0].r.lookup) <=
				(how[i] == COMPRESS_NONE ? 0 : 0.02 * moved));
			bed_workers_close(worker, 1);
			bed_close(&b);
			local->ops->close(local);
		}
}

static void
int8_pushes_at_most_34_percent_of_fp32_with_dim_16(void **state)
{
	uint64_t push[2], pull[2];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const struct bed_run run = { .n_ranks = 1, .n_threads = 2, .kind = ROW_ADAGRAD,
			.compress = i == 0 ? COMPRESS_NONE : COMPRESS_INT8 };
		struct remote_lookup_counts counts;
		struct bed b;

		workers_clear();
		bed_open(&b, 1);
		bed_train(&b, &run, worker, BED_ONLY_C3, BED_ONLY_C3 + 9);
		remote_lookup_counts(worker[0].r.lookup, &counts);
		push[i] = counts.push_bytes;
		pull[i] = counts.pull_bytes;
		assert_int_equal(counts.steps, 10);
		assert_int_equal(counts.dropped_residuals, 0);
		assert_true(counts.pulled_rows == counts.pushed_rows && counts.waited > 0);
		bed_workers_close(worker, 1);
		bed_close(&b);
	}
	assert_int_equal(pull[0], pull[1]);
	assert_true(100 * push[1] <= 34 * push[0]);
}

/* --- bounded staleness, and none --- */

static void
ssp_and_async_lose_no_push(void **state)
{
	static const struct { enum consistency consistency; uint64_t staleness; } mode[] = {
		{ CONSISTENCY_SSP, 0 }, { CONSISTENCY_SSP, 3 }, { CONSISTENCY_ASYNC, 0 },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(mode); i++) {
		const struct bed_run run = { .n_ranks = 2, .n_threads = 1, .kind = ROW_SGD,
			.consistency = mode[i].consistency, .staleness = mode[i].staleness,
			.heedless = 1 };
		struct lookup *local = bed_local(ROW_SGD);
		static struct bed_step s;
		struct bed b;

		workers_clear();
		bed_open(&b, 2);
		bed_train(&b, &run, worker, 1, LAST);
		for (uint64_t step = 1; step <= LAST; step++) {
			bed_fill(&s, step);
			s.heedless = 1;
			assert_int_equal(bed_step_run(local, &s, 0, BED_SLOTS, 1), RS_OK);
		}
		/* L2 is of rows that lag, a little; a push that is lost moves rows more. */
		assert_true(largest_difference(local, worker[0].r.lookup) < 0.01);
		bed_workers_close(worker, 2);
		bed_close(&b);
		local->ops->close(local);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_optimizer_ends_where_one_process_does),
		BED_TEST_EXACT(every_optimizer_ends_where_one_process_does),
		cmocka_unit_test(ranks_and_shards_of_any_number_end_where_one_process_does),
		BED_TEST_EXACT(ranks_and_shards_of_any_number_end_where_one_process_does),
		cmocka_unit_test(what_goes_in_many_messages_ends_where_one_does),
		BED_TEST_EXACT(what_goes_in_many_messages_ends_where_one_does),
		cmocka_unit_test(touched_is_known_of_rows_that_came_in_many_messages),
		BED_TEST_EXACT(touched_is_known_of_rows_that_came_in_many_messages),
		cmocka_unit_test(threads_that_share_a_table_end_where_one_process_does),
		cmocka_unit_test(L028_three_runs_of_two_ranks_are_bit_equal),
		BED_TEST_EXACT(L028_three_runs_of_two_ranks_are_bit_equal),
		cmocka_unit_test(L077_a_row_moves_by_the_sum_of_all_ranks),
		cmocka_unit_test(an_evaluation_sees_the_step_before_it_and_touches_nothing),
		BED_TEST_EXACT(an_evaluation_sees_the_step_before_it_and_touches_nothing),
		cmocka_unit_test(an_id_beyond_the_table_is_an_error_as_in_one_process),
		cmocka_unit_test(errors_of_rounding_are_made_good_later),
		cmocka_unit_test(
			L033_a_thousand_gradients_of_one_row_are_neither_lost_nor_too_large),
		cmocka_unit_test(int8_pushes_at_most_34_percent_of_fp32_with_dim_16),
		cmocka_unit_test(ssp_and_async_lose_no_push),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
