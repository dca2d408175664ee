/* Rows in memory and in a file against a plain array. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "base/rng.h"
#include "base/thread.h"
#include "embed/spill.h"
#include "tests/test.h"

#define ROWS    5000u
#define WIDTH   5u                 /* floats of a row                                */
#define THREADS 3

static float value[ROWS][WIDTH];   /* what the rows are                              */
static int known[ROWS];

static void
start_row(const void *context, uint64_t i, float *row)
{
	assert_ptr_equal(context, value);
	for (unsigned k = 0; k < WIDTH; k++)
		row[k] = (float)(i * WIDTH + k);
}

static enum rs_status
open_rows(const char *directory, uint64_t n_rows, uint64_t resident, struct spill **out)
{
	const struct spill_settings settings = { .directory = directory, .name = "C1",
		.n_rows = n_rows, .row_bytes = WIDTH * sizeof(float), .resident_bytes = resident,
		.start = start_row, .context = value };

	return spill_open(&settings, out);
}

static struct spill *
open_few(uint64_t resident)
{
	struct spill *s;

	for (unsigned i = 0; i < ROWS; i++) {
		start_row(value, i, value[i]);
		known[i] = 0;
	}
	assert_int_equal(open_rows("/tmp", ROWS, resident, &s), RS_OK);
	return s;
}

/* One row is read, and one in two changed. */
static void
visit(struct spill *s, uint64_t i, uint64_t random)
{
	struct spill_row got;

	if (random % 4 == 0)
		spill_expect(s, i);
	assert_int_equal(spill_take(s, i, random % 8 < 3 ? SPILL_KNOWN : random % 8 < 5 ?
		SPILL_SOON : 0, &got), RS_OK);
	if (got.row == NULL) {
		assert_true(got.is_late || !known[i]);
		return;
	}
	assert_memory_equal(got.row, value[i], sizeof(value[i]));
	if (random & 64)
		for (unsigned k = 0; k < WIDTH; k++)
			value[i][k] = got.row[k] += 1;
	known[i] |= (random & 64) != 0;
	spill_give(s, i, (random & 64) != 0);
}

static void
rows_are_those_of_an_array(void **state)
{
	struct spill *s = open_few(20000);
	float row[WIDTH];

	(void)state;
	assert_true(spill_resident_rows(ROWS, sizeof(row), 20000) < ROWS / 5);
	for (uint64_t n = 0; n < 60000; n++)
		visit(s, rng_u64(1, n) % (n % 3 ? ROWS : ROWS / 50), rng_u64(2, n));
	assert_true(spill_file_bytes(s) > ROWS / 2 * sizeof(row));
	assert_true(spill_file_bytes(s) <= sizeof(value));
	for (unsigned i = 0; i < ROWS; i++) {
		assert_int_equal(spill_copy(s, i, row), RS_OK);
		assert_memory_equal(row, value[i], sizeof(row));
	}
	assert_int_equal(spill_check(s), RS_OK);
	spill_close(s);
}

static void
rows_only_read_are_in_no_file(void **state)
{
	struct spill *s = open_few(20000);
	struct spill_row got;

	(void)state;
	for (unsigned i = 0; i < ROWS; i++) {
		assert_int_equal(spill_take(s, i, 0, &got), RS_OK);
		assert_memory_equal(got.row, value[i], sizeof(value[i]));
		spill_give(s, i, 0);
	}
	assert_int_equal(spill_file_bytes(s), 0);
	assert_int_equal(spill_take(s, 0, SPILL_KNOWN, &got), RS_OK);
	assert_null(got.row);
	spill_close(s);
}

static void
cleared_rows_are_as_at_the_start(void **state)
{
	struct spill *s = open_few(20000);
	struct spill_row got;
	float row[WIDTH];

	(void)state;
	for (unsigned i = 0; i < ROWS; i++) {
		assert_int_equal(spill_take(s, i, SPILL_OVER, &got), RS_OK);
		memset(got.row, 0, sizeof(row));
		spill_give(s, i, 1);
	}
	assert_true(spill_file_bytes(s) > 0);
	spill_clear(s);
	assert_int_equal(spill_file_bytes(s), 0);
	for (unsigned i = 0; i < ROWS; i += 7) {
		assert_int_equal(spill_copy(s, i, row), RS_OK);
		assert_memory_equal(row, value[i], sizeof(row));
	}
	spill_close(s);
}

/* Threads that share all sets, but no row. */
struct worker { struct spill *s; unsigned number; };

static void *
work(void *argument)
{
	const struct worker *w = argument;

	for (uint64_t n = 0; n < 20000; n++)
		visit(w->s, rng_u64(3 + w->number, n) % (ROWS / THREADS) * THREADS + w->number,
			rng_u64(9 + w->number, n));
	return NULL;
}

static void
threads_do_not_lose_rows(void **state)
{
	struct spill *s = open_few(10000);
	struct worker worker[THREADS];
	pthread_t thread[THREADS];
	float row[WIDTH];

	(void)state;
	for (unsigned i = 0; i < THREADS; i++) {
		worker[i] = (struct worker){ s, i };
		assert_int_equal(thread_start(&thread[i], "work", work, &worker[i]), RS_OK);
	}
	for (unsigned i = 0; i < THREADS; i++)
		thread_join(thread[i]);
	for (unsigned i = 0; i < ROWS; i++) {
		assert_int_equal(spill_copy(s, i, row), RS_OK);
		assert_memory_equal(row, value[i], sizeof(row));
	}
	spill_close(s);
}

static void
large_table_takes_memory_when_it_is_used(void **state)
{
	const uint64_t rows = (uint64_t)1 << 31;       /* of 20 bytes: 40 GB            */
	struct spill_row got;
	struct spill *s;

	(void)state;
	assert_int_equal(open_rows("/tmp", rows, 64 << 20, &s), RS_OK);
	for (uint64_t n = 0; n < 200; n++) {
		assert_int_equal(spill_take(s, n * (rows / 200), 0, &got), RS_OK);
		got.row[1] = -1;
		spill_give(s, n * (rows / 200), 1);
	}
	assert_int_equal(spill_take(s, rows / 200, SPILL_KNOWN, &got), RS_OK);
	assert_true(got.row[1] == -1);
	spill_give(s, rows / 200, 0);
	spill_close(s);
}

static void
too_little_memory_is_refused(void **state)
{
	const uint64_t rows = (uint64_t)1 << 31;
	struct spill *s;

	(void)state;
	assert_int_equal(open_rows("/tmp", rows, spill_least(rows, 20) - 1, &s), RS_ESPEC);
	assert_non_null(strstr(rs_failure()->text, "wanted"));
	assert_int_equal(open_rows("/tmp", rows, spill_least(rows, 20), &s), RS_OK);
	spill_close(s);
}

static void
directory_that_is_not_there_is_told(void **state)
{
	struct spill *s;

	(void)state;
	assert_int_equal(open_rows("/nowhere/at/all", ROWS, 20000, &s), RS_ECREATE);
	assert_non_null(strstr(rs_failure()->text, "/nowhere/at/all"));
	assert_non_null(strstr(rs_failure()->hint, "embedding.spill"));
}

/* A file that may not grow is a disk that is full. */
static void
full_disk_is_an_error_and_no_row_is_lost(void **state)
{
	const struct rlimit few = { 20000, RLIM_INFINITY };
	struct rlimit before;
	struct spill *s = open_few(10000);
	struct spill_row got;
	enum rs_status status = RS_OK;
	float row[WIDTH];
	unsigned n = 0;

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ few.rlim_cur,
		before.rlim_max }), 0);
	for (; n < ROWS && status == RS_OK; n++) {
		status = spill_take(s, n, 0, &got);
		if (status == RS_OK) {
			got.row[0] = value[n][0] = -2;
			spill_give(s, n, 1);
		}
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(status, RS_EIO);
	assert_non_null(strstr(rs_failure()->text, "File too large"));
	assert_non_null(strstr(rs_failure()->hint, "make room"));
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(spill_copy(s, i, row), RS_OK);
		assert_memory_equal(row, value[i], sizeof(row));
	}
	spill_close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_those_of_an_array),
		cmocka_unit_test(rows_only_read_are_in_no_file),
		cmocka_unit_test(cleared_rows_are_as_at_the_start),
		cmocka_unit_test(threads_do_not_lose_rows),
		cmocka_unit_test(large_table_takes_memory_when_it_is_used),
		cmocka_unit_test(too_little_memory_is_refused),
		cmocka_unit_test(directory_that_is_not_there_is_told),
		cmocka_unit_test(full_disk_is_an_error_and_no_row_is_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
