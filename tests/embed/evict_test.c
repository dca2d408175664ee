/* Which rows go first. */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "embed/evict.h"
#include "tests/test.h"

#define N_MAX 5000

struct row { uint64_t id; uint32_t last, count; };

static int
compare_u64(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int
by_last(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const int order = compare_u64(x->last, y->last);

	return order != 0 ? order : compare_u64(x->id, y->id);
}

static int
by_count(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	const int order = compare_u64(x->count, y->count);

	return order != 0 ? order : by_last(a, b);
}

static struct evict_key
find(struct evict_scratch *s, enum evict_kind kind, const struct row *row, size_t n, size_t k)
{
	assert_int_equal(evict_begin(s, kind, n), RS_OK);
	for (size_t i = 0; i < n; i++)
		evict_add(s, row[i].id, row[i].last, row[i].count);
	return evict_find(s, k);
}

/* Distinct ids; small_range: few values of last and count, so that ties decide. */
static void
draw_rows(struct row *row, size_t n, uint64_t seed, uint64_t small_range)
{
	for (size_t i = 0; i < n; i++)
		row[i] = (struct row){
			.id = hash_mix(seed * N_MAX + i),
			.last = (uint32_t)rng_below(seed, 2 * i, small_range),
			.count = (uint32_t)rng_below(seed, 2 * i + 1, small_range),
		};
}

/* The k first of `sorted` go, no other. */
static void
check_goes(const struct evict_key *until, enum evict_kind kind, const struct row *sorted, size_t n,
	size_t k)
{
	for (size_t i = 0; i < n; i++) {
		const struct row *r = &sorted[i];

		assert_int_equal(evict_goes(until, kind, r->id, r->last, r->count), i < k);
	}
}

static void
rows_that_go_are_the_first_of_the_sorted(void **state)
{
	static const size_t size[] = { 1, 2, 3, 255, 256, 257, N_MAX };
	static const uint64_t range[] = { 1, 3, 300, UINT32_MAX };
	static const struct {
		enum evict_kind kind;
		int (*order)(const void *, const void *);
	} rule[] = { { EVICT_LRU, by_last }, { EVICT_LFU, by_count } };
	static struct row row[N_MAX], sorted[N_MAX];
	struct evict_scratch s = { 0 };

	(void)state;
	for (size_t c = 0; c < N_ROWS(rule) * N_ROWS(size) * N_ROWS(range); c++) {
		const size_t r = c % N_ROWS(rule), n = size[c / N_ROWS(rule) % N_ROWS(size)];
		const size_t ks[] = { 1, (n + 1) / 2, n - n / 20, n };

		draw_rows(row, n, c, range[c / N_ROWS(rule) / N_ROWS(size)]);
		memcpy(sorted, row, n * sizeof(*row));
		qsort(sorted, n, sizeof(*row), rule[r].order);
		for (size_t i = 0; i < N_ROWS(ks); i++) {
			const struct evict_key until = find(&s, rule[r].kind, row, n, ks[i]);

			check_goes(&until, rule[r].kind, sorted, n, ks[i]);
		}
	}
	evict_scratch_free(&s);
}

static void
the_order_in_which_rows_are_given_is_nothing(void **state)
{
	static struct row row[N_MAX], other[N_MAX];
	struct evict_scratch s = { 0 };
	struct evict_key a, b;

	(void)state;
	draw_rows(row, N_MAX, 5, 10);
	for (size_t i = 0; i < N_MAX; i++)
		other[i] = row[rng_permute(9, N_MAX, i)];
	a = find(&s, EVICT_LFU, row, N_MAX, 250);
	b = find(&s, EVICT_LFU, other, N_MAX, 250);
	assert_memory_equal(&a, &b, sizeof(a));
	evict_scratch_free(&s);
}

static void
the_scratch_grows_only_when_there_are_more_rows(void **state)
{
	static struct row row[N_MAX];
	struct evict_scratch s = { 0 };
	uint64_t bytes;
	const void *key;

	(void)state;
	draw_rows(row, N_MAX, 5, 10);
	find(&s, EVICT_LRU, row, N_MAX, 1);
	bytes = evict_scratch_bytes(&s);
	key = s.key;
	assert_true(bytes >= N_MAX * sizeof(struct evict_key));
	find(&s, EVICT_LFU, row, N_MAX / 2, 7);
	find(&s, EVICT_LRU, row, N_MAX, N_MAX);
	assert_ptr_equal(s.key, key);
	assert_int_equal(evict_scratch_bytes(&s), bytes);
	evict_scratch_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_that_go_are_the_first_of_the_sorted),
		cmocka_unit_test(the_order_in_which_rows_are_given_is_nothing),
		cmocka_unit_test(the_scratch_grows_only_when_there_are_more_rows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
