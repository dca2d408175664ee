/* Where the entry of an id is: right for every id, and in few looks. */
#include "lib/mapped_index.h"

#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "tests/test.h"

#define N_ENTRIES 4000u

struct file {
	uint64_t id[N_ENTRIES], n;
	uint64_t bad;                  /* this entry cannot be read; n: all can       */
	size_t   looks;
};

static enum rs_status
id_of(const void *context, uint64_t i, uint64_t *id)
{
	struct file *const f = (struct file *)(uintptr_t)context;

	assert_true(i < f->n);
	f->looks++;
	if (i == f->bad)
		return rs_fail(RS_EDATA, "entry %u is damaged", (unsigned)i);
	*id = f->id[i];
	return RS_OK;
}

static struct mapped_index
opened(struct file *f, uint64_t most)
{
	const struct mapped_index_ids ids = { .id = id_of, .context = f, .n = f->n, .most = most };
	struct mapped_index x;

	f->bad = f->n;
	f->looks = 0;
	assert_int_equal(mapped_index_open(&ids, &x), RS_OK);
	assert_int_equal(f->looks, 0);
	return x;
}

/* n ids from `begin` up to `most`, in order, about equally far from each other. */
static void
spread(struct file *f, uint64_t n, uint64_t most, uint64_t begin)
{
	const uint64_t step = (most - begin) / n;

	f->n = n;
	for (uint64_t i = 0; i < n; i++)
		f->id[i] = begin + i * step + rng_below(7, i, step);
}

static uint64_t
find(const struct mapped_index *x, uint64_t id)
{
	uint64_t at;

	assert_int_equal(mapped_index_find(x, id, &at), RS_OK);
	return at;
}

/* Every id there is, and its neighbours. */
static void
check_all(struct file *f, uint64_t most)
{
	struct mapped_index x = opened(f, most);

	for (int again = 0; again < 2; again++)
		for (uint64_t i = 0; i < f->n; i++) {
			const uint64_t id = f->id[i];

			assert_int_equal(find(&x, id), i);
			if (id > 0 && (i == 0 || f->id[i - 1] != id - 1))
				assert_int_equal(find(&x, id - 1), f->n);
			if (id < most && (i + 1 == f->n || f->id[i + 1] != id + 1))
				assert_int_equal(find(&x, id + 1), f->n);
		}
	for (uint64_t k = 0; k < 1000; k++) {
		const uint64_t id = k < 2 ? k * most : rng_below(9, k, most);
		uint64_t i = 0;

		while (i < f->n && f->id[i] < id)
			i++;
		assert_int_equal(find(&x, id), i < f->n && f->id[i] == id ? i : f->n);
	}
	mapped_index_close(&x);
}

static void
every_id_is_where_it_is(void **state)
{
	static const uint64_t most[] = { 2 * N_ENTRIES, 10 * N_ENTRIES + 3, 1000000007,
		(uint64_t)1 << 40, UINT64_MAX };
	static const uint64_t n[] = { 1, 2, 100, N_ENTRIES };
	static struct file f;

	(void)state;
	for (size_t i = 0; i < N_ROWS(most); i++)
		for (size_t k = 0; k < N_ROWS(n); k++) {
			spread(&f, n[k], most[i], 0);
			check_all(&f, most[i]);
		}
}

static void
a_file_of_no_entries_has_no_id(void **state)
{
	static struct file f;

	(void)state;
	f.n = 0;
	check_all(&f, 0);
	check_all(&f, UINT64_MAX);
}

/* As no table is: all at the end, or behind each other. */
static void
ids_that_crowd_are_found(void **state)
{
	static struct file f;

	(void)state;
	spread(&f, N_ENTRIES, UINT64_MAX, UINT64_MAX - 100000);
	check_all(&f, UINT64_MAX);
	f.n = N_ENTRIES;
	for (uint64_t i = 0; i < f.n; i++)
		f.id[i] = i;
	check_all(&f, N_ENTRIES - 1);
	check_all(&f, UINT64_MAX);
	for (uint64_t i = f.n / 2; i < f.n; i++)
		f.id[i] = UINT64_MAX - f.n + i;
	check_all(&f, UINT64_MAX);
}

/* The second time an id that is not there costs nothing of the file, and one that is there the
 * look at its own entry. */
static void
what_was_learned_is_not_looked_for(void **state)
{
	static struct file f;

	(void)state;
	spread(&f, N_ENTRIES, 8 * N_ENTRIES, 0);
	struct mapped_index x = opened(&f, 8 * N_ENTRIES);
	for (uint64_t id = 0; id <= x.ids.most; id++)
		find(&x, id);
	f.looks = 0;
	for (uint64_t id = 0; id <= x.ids.most; id++)
		find(&x, id);
	assert_int_equal(f.looks, f.n);
	mapped_index_close(&x);
	spread(&f, N_ENTRIES, UINT64_MAX, 0);
	x = opened(&f, UINT64_MAX);
	for (int again = 0; again < 2; again++) {
		f.looks = 0;
		for (uint64_t k = 0; k < 10000; k++)
			find(&x, rng_u64(11, k));
	}
	/* Of ids that share a place, one of eight. */
	assert_true(f.looks > 0 && f.looks < 10000 / 4);
	mapped_index_close(&x);
}

static void
to_learn_a_group_reads_a_part_of_the_file(void **state)
{
	static struct file f;

	(void)state;
	spread(&f, N_ENTRIES, 8 * N_ENTRIES, 0);
	struct mapped_index x = opened(&f, 8 * N_ENTRIES);
	find(&x, f.id[N_ENTRIES / 2]);
	assert_true(f.looks > 1 && f.looks < N_ENTRIES / 20);
	mapped_index_close(&x);
}

static void
an_entry_that_cannot_be_read_is_looked_at_again(void **state)
{
	static struct file f;
	uint64_t at;

	(void)state;
	spread(&f, N_ENTRIES, 8 * N_ENTRIES, 0);
	struct mapped_index x = opened(&f, 8 * N_ENTRIES);
	f.bad = N_ENTRIES / 2;
	for (int again = 0; again < 2; again++)
		assert_int_equal(mapped_index_find(&x, f.id[f.bad], &at), RS_EDATA);
	f.bad = f.n;
	assert_int_equal(find(&x, f.id[N_ENTRIES / 2]), N_ENTRIES / 2);
	mapped_index_close(&x);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_id_is_where_it_is),
		cmocka_unit_test(a_file_of_no_entries_has_no_id),
		cmocka_unit_test(ids_that_crowd_are_found),
		cmocka_unit_test(what_was_learned_is_not_looked_for),
		cmocka_unit_test(to_learn_a_group_reads_a_part_of_the_file),
		cmocka_unit_test(an_entry_that_cannot_be_read_is_looked_at_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
