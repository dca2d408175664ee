/* Where rows are: every row in one part, parts fairly dealt, twins together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "embed/exact.h"
#include "remote/parts.h"

#define TABLES 12

static struct lookup_table
table_of(size_t i, uint64_t rows, size_t dim, size_t twins)
{
	struct lookup_table t = { .rows = rows, .dim = dim, .twins = twins };

	snprintf(t.name, sizeof(t.name), "C%zu", i);
	t.optimizer.kind = ROW_ADAGRAD;
	return t;
}

/* Every row once, in order; no shard has two parts of a table. */
static void
check_cover(const struct parts *p, const struct lookup_table *table)
{
	for (size_t t = 0; t < p->n_tables; t++) {
		uint64_t next = 0;

		assert_true(p->first[t] < p->first[t + 1]);
		for (size_t i = p->first[t]; i < p->first[t + 1]; i++) {
			assert_int_equal(p->part[i].table, t);
			assert_int_equal(p->part[i].begin, next);
			assert_true(p->part[i].end > next);
			assert_true(p->part[i].shard < p->n_shards);
			for (size_t j = p->first[t]; j < i; j++)
				assert_int_not_equal(p->part[i].shard, p->part[j].shard);
			next = p->part[i].end;
		}
		assert_int_equal(next, table[t].rows);
	}
	assert_int_equal(p->first[p->n_tables], p->n);
}

static void
L029_rows_need_not_be_a_multiple_of_shards(void **state)
{
	const uint64_t rows[] = { 1, 6, 7 };
	const size_t n_parts[] = { 1, 4, 4 };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		const struct lookup_table t = table_of(0, rows[i], 8, 0);
		struct parts p;

		assert_int_equal(parts_make(&t, 1, 4, 1, &p), RS_OK);
		check_cover(&p, &t);
		assert_int_equal(p.n, n_parts[i]);
		parts_free(&p);
	}
}

static void
L061_more_shards_than_rows_leave_some_empty(void **state)
{
	const struct lookup_table t = table_of(0, 3, 8, 0);
	struct parts p;

	(void)state;
	assert_int_equal(parts_make(&t, 1, 8, 1, &p), RS_OK);
	check_cover(&p, &t);
	assert_int_equal(p.n, 3);
	assert_int_equal(p.n_shards, 8);
	parts_free(&p);
}

static void
L024_no_table_is_missing_whatever_the_sizes(void **state)
{
	struct lookup_table table[TABLES];

	(void)state;
	for (uint64_t trial = 0; trial < 200; trial++) {
		const size_t n = 1 + rng_below(trial, 0, TABLES);
		const size_t n_shards = 1 + rng_below(trial, 1, 9);
		const uint64_t least = rng_below(trial, 2, 1 << 14);
		struct parts p;

		for (size_t i = 0; i < n; i++)
			table[i] = table_of(i, 1 + rng_below(trial, 10 + i, 1 << (i + 1)),
				1 + rng_below(trial, 40 + i, 20), i);
		assert_int_equal(parts_make(table, n, n_shards, least, &p), RS_OK);
		assert_int_equal(p.n_tables, n);
		check_cover(&p, table);
		parts_free(&p);
	}
}

static void
twins_are_cut_and_placed_as_one(void **state)
{
	/* Vectors first, first-order weights after them, as a model numbers them. */
	const struct lookup_table table[] = {
		table_of(0, 5000, 16, 0), table_of(1, 70, 16, 1), table_of(2, 900, 4, 2),
		table_of(3, 5000, 1, 0), table_of(4, 70, 1, 1), table_of(5, 900, 1, 2),
	};
	struct parts p;

	(void)state;
	assert_int_equal(parts_make(table, 6, 3, 1000, &p), RS_OK);
	check_cover(&p, table);
	for (size_t t = 0; t < 3; t++) {
		const size_t n = p.first[t + 1] - p.first[t];

		assert_int_equal(n, p.first[t + 4] - p.first[t + 3]);
		for (size_t i = 0; i < n; i++) {
			const struct part *a = &p.part[p.first[t] + i],
					  *b = &p.part[p.first[t + 3] + i];

			assert_int_equal(a->begin, b->begin);
			assert_int_equal(a->end, b->end);
			assert_int_equal(a->shard, b->shard);
		}
	}
	parts_free(&p);
}

static void
twins_are_counted_as_one(void **state)
{
	/* 200 rows of 2 and of 1 floats with as many slots: 3200 and 1600 bytes, and bits. */
	const struct lookup_table table[] = { table_of(0, 200, 2, 0), table_of(1, 200, 1, 0) };
	struct parts p;

	(void)state;
	assert_int_equal(parts_bytes(&table[0], 0, 200), 200 * 16 + 4 * 8);
	assert_int_equal(parts_make(table, 2, 8, 2000, &p), RS_OK);
	assert_int_equal(p.first[1], 3);
	parts_free(&p);
	assert_int_equal(parts_make(table, 1, 8, 2000, &p), RS_OK);
	assert_int_equal(p.first[1], 2);
	parts_free(&p);
}

static void
twins_of_other_sizes_are_refused(void **state)
{
	const struct lookup_table table[] = { table_of(0, 200, 2, 0), table_of(1, 100, 1, 0) };
	struct parts p;

	(void)state;
	assert_int_equal(parts_make(table, 2, 2, 1, &p), RS_EBUG);
	assert_non_null(strstr(rs_failure()->text, "'C1'"));
}

static void
shards_get_about_the_same_bytes(void **state)
{
	struct lookup_table table[TABLES];
	uint64_t bytes[4] = { 0 }, most = 0, least = UINT64_MAX;
	struct parts p;

	(void)state;
	for (size_t i = 0; i < TABLES; i++)
		table[i] = table_of(i, 1 + rng_below(5, i, 20000), 16, i);
	assert_int_equal(parts_make(table, TABLES, 4, 256 << 10, &p), RS_OK);
	for (size_t i = 0; i < p.n; i++)
		bytes[p.part[i].shard] += parts_bytes(&table[p.part[i].table], p.part[i].begin,
			p.part[i].end);
	for (size_t s = 0; s < 4; s++) {
		most = bytes[s] > most ? bytes[s] : most;
		least = bytes[s] < least ? bytes[s] : least;
	}
	assert_true(most < least + least / 4);
	parts_free(&p);
}

static void
a_table_of_two_to_the_forty_rows_is_cut_exactly(void **state)
{
	const struct lookup_table t = table_of(0, ((uint64_t)1 << 40) + 1, 16, 0);
	struct parts p, again;

	(void)state;
	assert_int_equal(parts_make(&t, 1, 1000, 256 << 10, &p), RS_OK);
	check_cover(&p, &t);
	assert_int_equal(p.n, 1000);
	for (size_t i = 0; i < p.n; i++)
		assert_true(p.part[i].end - p.part[i].begin - t.rows / 1000 <= 1);
	assert_int_equal(parts_make(&t, 1, 1000, 256 << 10, &again), RS_OK);
	assert_memory_equal(p.part, again.part, p.n * sizeof(*p.part));
	parts_free(&p);
	parts_free(&again);
}

/* Of any number of shards, at whole segments, twins and hashed tables beside them. */
static void
exact_tables_are_cut_at_segments(void **state)
{
	(void)state;
	for (size_t n_shards = 1; n_shards < 80; n_shards++) {
		struct lookup_table table[] = {
			table_of(0, EXACT_ROWS, 16, 0), table_of(1, 5000, 16, 1),
			table_of(2, EXACT_ROWS, 1, 0),
		};
		struct parts p;
		uint64_t rows = 0;

		table[0].kind = table[2].kind = TABLE_EXACT;
		table[0].expected = table[2].expected = 1000000;
		assert_int_equal(parts_make(table, 3, n_shards, 1, &p), RS_OK);
		check_cover(&p, table);
		assert_int_equal(p.first[1], n_shards < EXACT_SEGMENTS ? n_shards : EXACT_SEGMENTS);
		for (size_t i = 0; i < p.first[1]; i++) {
			const struct part *part = &p.part[i], *twin = &p.part[p.first[2] + i];

			assert_true(part->begin ==
				exact_segment_begin(exact_segment_of(part->begin)));
			assert_true(twin->begin == part->begin && twin->shard == part->shard);
			rows += parts_rows(&table[0], part->begin, part->end);
		}
		assert_true(rows > 999900 && rows <= 1000000);
		parts_free(&p);
		table[2].kind = TABLE_HASHED;
		assert_int_equal(parts_make(table, 3, n_shards, 1, &p), RS_EBUG);
	}
}

static void
no_shards_are_refused_and_no_tables_are_no_parts(void **state)
{
	const struct lookup_table t = table_of(0, 3, 8, 0);
	struct parts p;

	(void)state;
	assert_int_equal(parts_make(&t, 1, 0, 1, &p), RS_EUSAGE);
	assert_int_equal(parts_make(&t, 0, 2, 0, &p), RS_OK);
	assert_int_equal(p.n, 0);
	parts_free(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L029_rows_need_not_be_a_multiple_of_shards),
		cmocka_unit_test(L061_more_shards_than_rows_leave_some_empty),
		cmocka_unit_test(L024_no_table_is_missing_whatever_the_sizes),
		cmocka_unit_test(twins_are_cut_and_placed_as_one),
		cmocka_unit_test(twins_are_counted_as_one),
		cmocka_unit_test(twins_of_other_sizes_are_refused),
		cmocka_unit_test(shards_get_about_the_same_bytes),
		cmocka_unit_test(a_table_of_two_to_the_forty_rows_is_cut_exactly),
		cmocka_unit_test(exact_tables_are_cut_at_segments),
		cmocka_unit_test(no_shards_are_refused_and_no_tables_are_no_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
