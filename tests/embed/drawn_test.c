/* Rows that are drawn when they are first read: what they are, by whom, and when. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "embed/table.h"
#include "kernel/kernel.h"
#include "tests/test.h"

#define ROWS    1003u          /* the last group is not full                        */
#define BEGIN   37u            /* of rows that are a part of a table                */
#define THREADS 4u

static const size_t dims[] = { 1, 2, 3, 7, 8, 16, 17, 100 };

static struct table
make(size_t dim, enum row_storage storage, uint64_t begin)
{
	const struct lookup_table settings = {
		.name = "C1", .rows = ROWS, .begin = begin, .end = ROWS, .dim = dim,
		.storage = storage, .init_stddev = 0.1, .seed = 7,
		.optimizer = { .kind = ROW_ADAGRAD, .initial_accumulator = 0.1 },
	};
	struct table t;

	assert_int_equal(table_open(&t, &settings, &kernel_ref, 1), RS_OK);
	t.block = calloc(1, t.block_bytes + 1);
	assert_non_null(t.block);
	return t;
}

static void
done(struct table *t)
{
	free(t->block);
	table_close(t);
}

/* All rows one after the other, each by itself: [ROWS - begin, stride]. */
static float *
all_rows(const struct table *t)
{
	float *const all = calloc(1, t->block_bytes + 1);

	assert_non_null(all);
	for (uint64_t i = 0; i < t->n_rows; i++)
		table_start_row(t, t->begin + i, all + i * t->stride);
	return all;
}

static void
assert_row(const struct table *t, const float *all, uint64_t i)
{
	assert_memory_equal(table_row(t, i), all + i * t->stride, t->stride * sizeof(float));
}

static void
rows_are_the_same_in_any_order(void **state)
{
	static const enum row_storage storages[] = { ROW_FP32, ROW_BF16 };

	(void)state;
	for (size_t k = 0; k < 4 * N_ROWS(dims); k++) {
		struct table t = make(dims[k / 4], storages[k & 1], k & 2 ? BEGIN : 0);
		float *const all = all_rows(&t);

		for (uint64_t i = 0; i < t.n_rows; i++)
			assert_row(&t, all, rng_permute(k, t.n_rows, i));
		assert_memory_equal(t.block, all, t.block_bytes);
		free(all);
		done(&t);
	}
}

static void
what_is_not_read_is_not_drawn(void **state)
{
	static const size_t group[] = { 16, 8, 4, 2, 2, 1, 1, 1 };

	(void)state;
	for (size_t k = 0; k < N_ROWS(dims); k++) {
		struct table t = make(dims[k], ROW_FP32, 0);
		float *const all = all_rows(&t), *scratch = calloc(t.stride, sizeof(float));
		const uint64_t first = 500 / group[k] * group[k];
		const float *row;

		for (uint64_t i = 0; i < ROWS; i++) {
			assert_int_equal(table_read(&t, i, scratch, &row), RS_OK);
			assert_ptr_equal(row, scratch);
			assert_memory_equal(row, all + i * t.stride, t.stride * sizeof(float));
		}
		assert_row(&t, all, 500);
		for (uint64_t i = 0; i < ROWS; i++) {
			const int is_there = i >= first && i < first + group[k];

			assert_int_equal(drawn_has(&t.drawn, i), is_there);
			assert_int_equal(table_place(&t, i)[t.slot_at] == 0.1f, is_there);
		}
		assert_int_equal(table_read(&t, 500, scratch, &row), RS_OK);
		assert_ptr_equal(row, table_place(&t, 500));
		free(scratch);
		free(all);
		done(&t);
	}
}

/* Of a range that is written over, groups at its ends have rows of others. */
static void
neighbours_of_rows_that_are_written_over_are_drawn(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_ROWS(dims); k++) {
		struct table t = make(dims[k], ROW_FP32, 0);
		float *const all = all_rows(&t);

		table_take_all(&t, 5, 777);
		for (uint64_t i = 5; i < 777; i++)
			memset(table_row(&t, i), 0x55, t.stride * sizeof(float));
		for (uint64_t i = 0; i < ROWS; i++)
			if (i < 5 || i >= 777)
				assert_row(&t, all, i);
			else
				memset(table_row(&t, i), 0, t.stride * sizeof(float));
		for (uint64_t i = 0; i < ROWS; i++)
			if (i >= 5 && i < 777)
				assert_true(table_row(&t, i)[0] == 0);
		free(all);
		done(&t);
	}
}

static void
rows_begin_anew_with_a_table(void **state)
{
	struct table t = make(3, ROW_FP32, 0);
	const struct row_start start = { .key = 1, .stddev = 2, .accumulator = 3 };
	float *all;

	(void)state;
	for (uint64_t i = 0; i < ROWS; i++)
		(void)table_row(&t, i);
	table_restart(&t, &start);
	all = all_rows(&t);
	assert_true(all[t.slot_at] == 3);
	for (uint64_t i = 0; i < ROWS; i++)
		assert_row(&t, all, i);
	free(all);
	done(&t);
}

struct reader { const struct table *t; const float *all; uint64_t key; size_t wrong; };

static void *
reader_run(void *argument)
{
	struct reader *r = argument;
	const size_t bytes = r->t->stride * sizeof(float);

	for (uint64_t i = 0; i < ROWS; i++) {
		const uint64_t row = rng_permute(r->key, ROWS, i);

		r->wrong += memcmp(table_row(r->t, row), r->all + row * r->t->stride, bytes) != 0;
	}
	return NULL;
}

/* Two and two threads read in the same order, so that they meet all the time. */
static void
threads_that_read_a_row_first_at_once_read_the_same(void **state)
{
	struct reader reader[THREADS];
	pthread_t thread[THREADS];

	(void)state;
	for (size_t k = 0; k < 10 * N_ROWS(dims); k++) {
		struct table t = make(dims[k % N_ROWS(dims)], ROW_FP32, 0);
		float *const all = all_rows(&t);

		for (size_t i = 0; i < THREADS; i++) {
			reader[i] = (struct reader){ .t = &t, .all = all, .key = k + i / 2 };
			assert_int_equal(thread_start(&thread[i], "read", reader_run, &reader[i]),
				RS_OK);
		}
		for (size_t i = 0; i < THREADS; i++) {
			thread_join(thread[i]);
			assert_int_equal(reader[i].wrong, 0);
		}
		assert_memory_equal(t.block, all, t.block_bytes);
		free(all);
		done(&t);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_the_same_in_any_order),
		cmocka_unit_test(what_is_not_read_is_not_drawn),
		cmocka_unit_test(neighbours_of_rows_that_are_written_over_are_drawn),
		cmocka_unit_test(rows_begin_anew_with_a_table),
		cmocka_unit_test(threads_that_read_a_row_first_at_once_read_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
