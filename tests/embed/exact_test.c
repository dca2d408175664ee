/* An exact table against a plain sorted array. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "embed/exact.h"
#include "tests/test.h"

#define N_IDS 4000

struct twin { uint64_t id; float value; };

static struct twin twin[N_IDS];
static size_t n_twins;

static size_t
twin_place(uint64_t id)
{
	size_t i = 0;

	while (i < n_twins && twin[i].id < id)
		i++;
	return i;
}

static void
put(struct exact *e, uint64_t id, float value)
{
	const size_t i = twin_place(id);
	const size_t floats = (e->entry_bytes - sizeof(struct exact_entry)) / sizeof(float);
	struct exact_entry *entry;
	int is_new;

	assert_int_equal(exact_insert(e, id, &entry, &is_new), RS_OK);
	assert_int_equal(is_new, i == n_twins || twin[i].id != id);
	assert_int_equal(entry->id, id);
	if (is_new) {
		memmove(twin + i + 1, twin + i, (n_twins++ - i) * sizeof(twin[0]));
		twin[i].id = id;
	} else {
		assert_float_equal(exact_row(entry)[floats - 1], twin[i].value, 0);
	}
	twin[i].value = value;
	for (size_t k = 0; k < floats; k++)
		exact_row(entry)[k] = value;
}

/* All of it: found, in order, from anywhere, and nothing else. */
static void
compare(const struct exact *e)
{
	uint64_t id = 0;
	size_t n = 0;
	const struct exact_entry *entry;

	assert_int_equal(exact_count(e), n_twins);
	for (unsigned s = e->first; s < e->last; s++)
		for (uint64_t place = 0; (entry = exact_step(e, s, &place)) != NULL; n++) {
			assert_true(n < n_twins);
			assert_true(entry->id == twin[n].id);
			assert_float_equal(exact_row(entry)[0], twin[n].value, 0);
		}
	assert_int_equal(n, n_twins);
	for (n = 0; (entry = exact_next(e, &id)) != NULL; n++) {
		assert_true(entry->id == twin[n].id);
		assert_ptr_equal(exact_find(e, entry->id), entry);
		if (n + 1 < n_twins && twin[n + 1].id > entry->id + 1)
			assert_null(exact_find(e, entry->id + 1));
	}
	assert_int_equal(n, n_twins);
}

/* Many at once are what each is, those there and those beside them, however many. */
static void
compare_many(const struct exact *e)
{
	static uint64_t id[2 * N_IDS];
	static struct exact_entry *found[2 * N_IDS];
	const size_t most = 2 * n_twins;

	for (size_t i = 0; i < most; i++)
		id[i] = twin[rng_below(most, i, n_twins)].id + i % 2;
	for (size_t n = 0; n <= most; n += n < 40 ? 1 : n) {
		memset(found, 0xff, sizeof(found));
		exact_find_many(e, id, n, found);
		for (size_t i = 0; i < n; i++)
			assert_ptr_equal(found[i], exact_find(e, id[i]));
		assert_true(n == most || found[n] != NULL);
	}
}

static int
is_odd(void *context, const struct exact_entry *entry)
{
	return (int)(entry->id % *(uint64_t *)context != 0);
}

static void
remove_some(struct exact *e, uint64_t keep)
{
	uint64_t dropped = 0;
	size_t kept = 0;

	for (unsigned s = e->first; s < e->last; s++)
		dropped += exact_sweep(e, s, is_odd, &keep);
	for (size_t i = 0; i < n_twins; i++)
		if (twin[i].id % keep == 0)
			twin[kept++] = twin[i];
	assert_int_equal(dropped, n_twins - kept);
	n_twins = kept;
}

/* A range of ids, from one of the table or beside it to another. */
static void
remove_range(struct exact *e, uint64_t key)
{
	const size_t i = rng_below(key, 1, n_twins), j = i + rng_below(key, 2, n_twins - i);
	const uint64_t begin = twin[i].id + rng_below(key, 3, 2);
	const uint64_t end = twin[j].id + rng_below(key, 4, 2);
	size_t kept = 0;
	uint64_t removed;

	if (end < begin)
		return;
	removed = exact_remove(e, begin, end);
	for (size_t k = 0; k < n_twins; k++)
		if (twin[k].id < begin || twin[k].id >= end)
			twin[kept++] = twin[k];
	assert_int_equal(removed, n_twins - kept);
	n_twins = kept;
}

/* clump: how many upper bits of the ids are zero behind those of the segment. */
static void
live(unsigned clump, size_t floats)
{
	const uint64_t key = rng_key(clump, 1);
	uint64_t drawn = 0;
	struct exact e;

	n_twins = 0;
	assert_int_equal(exact_open(&e, 0, EXACT_ROWS, floats * sizeof(float)), RS_OK);
	compare(&e);
	for (int round = 0; round < 3; round++) {
		while (n_twins < N_IDS - 1) {
			const uint64_t x = rng_u64(key, drawn++);

			put(&e, (x & (UINT64_MAX << 58)) | ((x << 6 >> 6) >> clump),
				(float)n_twins);
			if (n_twins % 500 == 0)
				compare(&e);
		}
		compare(&e);
		compare_many(&e);
		remove_some(&e, round == 0 ? 2 : 7);
		compare(&e);
		for (uint64_t k = 0; k < 30 && n_twins > 0; k++) {
			remove_range(&e, rng_key(key, 100 * (uint64_t)round + k));
			compare(&e);
		}
	}
	exact_close(&e);
}

static void
rows_come_go_and_come_back(void **state)
{
	(void)state;
	live(0, 3);
}

/* Each way in which many are looked up: entries that are not in pairs, wide, too wide. */
static void
so_do_those_of_other_widths(void **state)
{
	(void)state;
	live(0, 1);
	live(0, 21);
	live(0, 40);
}

static void
many_are_looked_for_where_few_are_or_none(void **state)
{
	enum { N = 1200 };
	static uint64_t id[N];
	static struct exact_entry *found[N];
	struct exact_entry *entry;
	struct exact e;
	int is_new;

	(void)state;
	for (size_t i = 0; i < N; i++)
		id[i] = i % 3 == 0 ? EXACT_MISSING : rng_u64(5, i) >> 2;
	for (size_t floats = 1; floats < 60; floats += 7) {
		assert_int_equal(exact_open(&e, 0, EXACT_ROWS, floats * sizeof(float)), RS_OK);
		memset(found, 0xff, sizeof(found));
		exact_find_many(&e, id, N, found);
		for (size_t i = 0; i < N; i++)
			assert_null(found[i]);
		assert_int_equal(exact_insert(&e, EXACT_MISSING, &entry, &is_new), RS_OK);
		assert_int_equal(exact_insert(&e, id[1], &entry, &is_new), RS_OK);
		exact_find_many(&e, id, N, found);
		for (size_t i = 0; i < N; i++)
			assert_ptr_equal(found[i], exact_find(&e, id[i]));
		assert_int_equal(found[0]->id, EXACT_MISSING);
		assert_int_equal(found[1]->id, id[1]);
		exact_close(&e);
	}
}

static void
ids_that_are_not_spread_are_only_slow(void **state)
{
	(void)state;
	live(40, 3);
}

static void
edges_of_segments(void **state)
{
	struct exact e;

	(void)state;
	n_twins = 0;
	assert_int_equal(exact_open(&e, 0, EXACT_ROWS, 3 * sizeof(float)), RS_OK);
	for (unsigned s = 0; s < EXACT_SEGMENTS; s++) {
		put(&e, exact_segment_begin(s), 1);
		put(&e, exact_segment_begin(s + 1) - 1, 2);
		for (uint64_t i = 1; i < 20; i++)
			put(&e, exact_segment_begin(s + 1) - 1 - i, (float)i);
	}
	put(&e, EXACT_MISSING, 3);
	compare(&e);
	exact_close(&e);
}

static void
only_whole_segments(void **state)
{
	struct exact e;

	(void)state;
	assert_int_equal(exact_open(&e, exact_segment_begin(3), exact_segment_begin(9), 4), RS_OK);
	assert_int_equal(e.last - e.first, 6);
	exact_close(&e);
	assert_int_equal(exact_open(&e, 1, EXACT_ROWS, 4), RS_EBUG);
	assert_int_equal(exact_open(&e, 0, 1000, 4), RS_EBUG);
}

static void
memory_is_what_was_said(void **state)
{
	const uint64_t n = 200000;
	struct exact e;
	struct exact_entry *entry;
	int is_new;

	(void)state;
	assert_int_equal(exact_open(&e, 0, EXACT_ROWS, 16), RS_OK);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(exact_insert(&e, rng_u64(5, i) / 2 * 2, &entry, &is_new), RS_OK);
	assert_true(exact_bytes(&e) >= n * 32);
	assert_true(exact_bytes(&e) <= exact_bytes_most(16, n));
	assert_true(exact_bytes(&e) < n * 32 * 17 / 10);
	exact_close(&e);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_go_and_come_back),
		cmocka_unit_test(so_do_those_of_other_widths),
		cmocka_unit_test(many_are_looked_for_where_few_are_or_none),
		cmocka_unit_test(ids_that_are_not_spread_are_only_slow),
		cmocka_unit_test(edges_of_segments),
		cmocka_unit_test(only_whole_segments),
		cmocka_unit_test(memory_is_what_was_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
