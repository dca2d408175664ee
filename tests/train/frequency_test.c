/* The streaming estimate of how often items come up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/rng.h"
#include "train/frequency.h"

enum { N_PLACES = 101, N_ROWS = 40000 };

/* Item 7 comes up half the time, items 20..29 share the other half. */
static void
draw(uint64_t *item, size_t n, uint64_t key)
{
	for (size_t i = 0; i < n; i++)
		item[i] = rng_uniform(key, 2 * i) < 0.5 ? 7 : 20 + rng_below(key, 2 * i + 1, 10);
}

static void
shares_are_those_of_the_rows(void **state)
{
	static uint64_t item[N_ROWS];
	struct frequency *f;

	(void)state;
	assert_int_equal(frequency_create(N_PLACES, 0.01, &f), RS_OK);
	draw(item, N_ROWS, 1);
	frequency_add(f, item, N_ROWS);
	assert_true(fabs(frequency_share(f, 7) / 0.5 - 1) < 0.2);
	for (uint64_t i = 20; i < 30; i++)
		assert_true(fabs(frequency_share(f, i) / 0.05 - 1) < 0.4);
	assert_true(frequency_share(f, 3) == 0);
	frequency_free(f);
}

/* Seen in rows 3 and 5 of 5: every 2.5 rows. */
static void
first_distances_are_averaged(void **state)
{
	static const uint64_t item[] = { 1, 1, 4, 1, 4 };
	struct frequency *f;

	(void)state;
	assert_int_equal(frequency_create(N_PLACES, 0.01, &f), RS_OK);
	frequency_add(f, item, 5);
	assert_true(fabs(frequency_share(f, 4) - 1 / 2.5) < 1e-12);
	frequency_free(f);
}

static void
a_new_rhythm_is_followed(void **state)
{
	uint64_t item[400];
	struct frequency *f;

	(void)state;
	assert_int_equal(frequency_create(N_PLACES, 0.1, &f), RS_OK);
	for (size_t i = 0; i < 400; i++)
		item[i] = i < 200 ? 7 : 7 + i % 4;
	frequency_add(f, item, 400);
	assert_true(fabs(frequency_share(f, 7) - 0.25) < 0.01);
	frequency_free(f);
}

static void
the_file_restores_the_state(void **state)
{
	char path[] = "/tmp/frequency_test.XXXXXX";
	static uint64_t item[1000];
	struct frequency *f, *again;
	struct file_writer w;

	(void)state;
	close(mkstemp(path));
	draw(item, 1000, 2);
	assert_int_equal(frequency_create(N_PLACES, 0.05, &f), RS_OK);
	assert_int_equal(frequency_create(N_PLACES, 0.05, &again), RS_OK);
	frequency_add(f, item, 600);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(frequency_save(f, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
	assert_int_equal(frequency_load(again, path), RS_OK);
	frequency_add(f, item + 600, 400);
	frequency_add(again, item + 600, 400);
	for (uint64_t i = 0; i < N_PLACES; i++) {
		const double a = frequency_share(f, i), b = frequency_share(again, i);

		assert_memory_equal(&a, &b, sizeof(a));
	}
	frequency_free(again);
	assert_int_equal(frequency_create(N_PLACES + 1, 0.05, &again), RS_OK);
	assert_int_equal(frequency_load(again, path), RS_ESPEC);
	assert_int_equal(truncate(path, 50), 0);
	assert_int_equal(frequency_load(f, path), RS_EDATA);
	frequency_free(f);
	frequency_free(again);
	unlink(path);
}

/* As if the last calls had not been, twins within one included; not further than it remembers. */
static void
additions_are_taken_back(void **state)
{
	static uint64_t item[4][500];
	struct frequency *f, *want;
	uint64_t rows[5];

	(void)state;
	assert_int_equal(frequency_create(N_PLACES, 0.05, &f), RS_OK);
	assert_int_equal(frequency_create(N_PLACES, 0.05, &want), RS_OK);
	assert_int_equal(frequency_remember(f, 3), RS_OK);
	for (size_t k = 0; k < 4; k++) {
		draw(item[k], 500, 40 + k);
		rows[k] = frequency_rows(f);
		frequency_add(f, item[k], 500 - 100 * k);
	}
	frequency_add(want, item[0], 500);
	frequency_add(want, item[1], 400);
	assert_int_equal(frequency_take_back(f, rows[2] + 1), RS_EUNMET);
	assert_int_equal(frequency_take_back(f, rows[2]), RS_OK);
	assert_int_equal(frequency_rows(f), 900);
	for (uint64_t i = 0; i < N_PLACES; i++)
		assert_true(frequency_share(f, i) == frequency_share(want, i));
	frequency_add(f, item[2], 300);
	assert_int_equal(frequency_take_back(f, rows[2]), RS_OK);
	assert_int_equal(frequency_take_back(f, rows[0]), RS_EUNMET);
	frequency_free(f);
	frequency_free(want);
}

/* Items of an exact table: each is told from every other, however many there are. */
static void
items_have_places_of_their_own(void **state)
{
	enum { N = 5000 };
	static uint64_t item[2 * N];
	struct frequency *f;

	(void)state;
	for (size_t i = 0; i < 2 * N; i++)
		item[i] = i / 2 * 0x9e3779b97f4a7c15u;
	assert_int_equal(frequency_create(0, 0.01, &f), RS_OK);
	assert_int_equal(frequency_add(f, item, 2 * N), RS_OK);
	for (size_t i = 0; i < N; i++)         /* rows 2i + 1 and 2i + 2 */
		assert_true(fabs(frequency_share(f, item[2 * i]) - 1 / (double)(i + 1)) < 1e-9);
	assert_true(frequency_share(f, 12345) == 0);
	frequency_free(f);
}

/* The same numbers as with a place for each, from the file, and taken back; the file is the same
 * in whatever order the items came. */
static void
own_places_are_saved_and_taken_back(void **state)
{
	char path[] = "/tmp/frequency_test.XXXXXX";
	static uint64_t item[1000];
	struct frequency *f, *again, *want;
	struct file_writer w;

	(void)state;
	close(mkstemp(path));
	draw(item, 1000, 3);
	for (size_t i = 400; i < 500; i++)
		item[i] = 1000 * i;            /* only in what is taken back */
	assert_int_equal(frequency_create(0, 0.05, &f), RS_OK);
	assert_int_equal(frequency_create(0, 0.05, &again), RS_OK);
	assert_int_equal(frequency_create(N_PLACES, 0.05, &want), RS_OK);
	assert_int_equal(frequency_remember(f, 2), RS_OK);
	assert_int_equal(frequency_add(f, item, 400), RS_OK);
	assert_int_equal(frequency_add(f, item + 400, 100), RS_OK);
	assert_int_equal(frequency_take_back(f, 400), RS_OK);
	assert_int_equal(frequency_add(want, item, 400), RS_OK);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(frequency_save(f, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
	assert_int_equal(frequency_add(again, item + 600, 10), RS_OK);
	assert_int_equal(frequency_load(again, path), RS_OK);
	assert_int_equal(frequency_rows(again), 400);
	for (uint64_t i = 0; i < N_PLACES; i++) {
		const double a = frequency_share(again, i), b = frequency_share(want, i);

		assert_memory_equal(&a, &b, sizeof(a));
	}
	assert_true(frequency_share(again, 400000) == 0);
	assert_int_equal(frequency_load(want, path), RS_ESPEC);
	assert_int_equal(truncate(path, 50), 0);
	assert_int_equal(frequency_load(f, path), RS_EDATA);
	frequency_free(f);
	frequency_free(again);
	frequency_free(want);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_are_those_of_the_rows),
		cmocka_unit_test(first_distances_are_averaged),
		cmocka_unit_test(a_new_rhythm_is_followed),
		cmocka_unit_test(the_file_restores_the_state),
		cmocka_unit_test(additions_are_taken_back),
		cmocka_unit_test(items_have_places_of_their_own),
		cmocka_unit_test(own_places_are_saved_and_taken_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
