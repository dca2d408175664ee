/* Counters in the order of ids. */
#include "base/rng.h"
#include "embed/waiting.h"
#include "tests/test.h"

#define PART   ((uint64_t)5 << WAITING_ID_BITS)
#define N_IDS  4000

/* kind 0: spread; 1: crowded at the beginning; 2: at the end. */
static uint64_t
id_of(size_t kind, size_t i)
{
	const uint64_t mask = ((uint64_t)1 << WAITING_ID_BITS) - 1;

	if (kind == 0)
		return PART | (hash_mix(i + 1) & mask);
	return kind == 1 ? PART | i : PART | (mask - i);
}

static void
check_order(const struct waiting *w)
{
	uint64_t above = 0;
	size_t n = 0;

	for (size_t i = 0; i < w->places; i++) {
		if (w->entry[i].count == 0)
			continue;
		assert_true(n == 0 || w->entry[i].id > above);
		above = w->entry[i].id;
		n++;
	}
	assert_int_equal(n, w->n);
}

static void
what_is_put_is_found_until_it_is_removed(void **state)
{
	static uint32_t count[N_IDS];

	(void)state;
	for (size_t kind = 0; kind < 3; kind++) {
		struct waiting w = { 0 };

		for (size_t i = 0; i < N_IDS; i++)
			count[i] = 0;
		for (size_t k = 0; k < 3 * N_IDS; k++) {
			const size_t i = (size_t)rng_below(kind, k, N_IDS);
			const struct waiting_entry e = {
				.id = id_of(kind, i), .count = (uint32_t)k + 1, .last = (uint32_t)i,
			};

			if (count[i] > 0)
				waiting_remove(&w, waiting_find(&w, e.id));
			else
				assert_int_equal(waiting_put(&w, &e), RS_OK);
			count[i] = count[i] > 0 ? 0 : e.count;
		}
		check_order(&w);
		for (size_t i = 0; i < N_IDS; i++) {
			const struct waiting_entry *e = waiting_find(&w, id_of(kind, i));

			assert_int_equal(e != NULL, count[i] > 0);
			assert_true(e == NULL || (e->count == count[i] && e->last == i));
		}
		waiting_free(&w);
	}
}

static void
a_full_table_takes_one_more_when_one_went(void **state)
{
	struct waiting w = { 0 };
	uint64_t bytes = 0;

	(void)state;
	for (size_t i = 0; i < N_IDS; i++)
		assert_int_equal(waiting_put(&w,
			&(struct waiting_entry){ .id = id_of(0, i), .count = 1 }), RS_OK);
	bytes = waiting_bytes(&w);
	for (size_t i = 0; i < N_IDS; i++) {       /* erase one, insert one           */
		waiting_remove(&w, waiting_find(&w, id_of(0, i)));
		assert_int_equal(waiting_put(&w, &(struct waiting_entry){
			.id = id_of(0, N_IDS + i), .count = 2 }), RS_OK);
		check_order(&w);
	}
	assert_int_equal(waiting_bytes(&w), bytes);
	for (size_t i = 0; i < N_IDS; i++) {
		assert_null(waiting_find(&w, id_of(0, i)));
		assert_int_equal(waiting_find(&w, id_of(0, N_IDS + i))->count, 2);
	}
	waiting_clear(&w);
	assert_int_equal(w.n, 0);
	assert_null(waiting_find(&w, id_of(0, N_IDS)));
	waiting_free(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_put_is_found_until_it_is_removed),
		cmocka_unit_test(a_full_table_takes_one_more_when_one_went),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
