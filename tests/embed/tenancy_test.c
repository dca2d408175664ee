/*
 * Rows of an exact table that come and go, through the lookup: what is asked for in
 * FAULTS of tables of other programs (numbers in the comments).
 */
#include "tests/embed/tenancy_bed.h"

/* D2-2: gradients behind that of an id that is kept out are those of their own ids. */
static void
an_id_kept_out_shifts_no_gradient(void **state)
{
	static struct bed b;
	const struct lookup_tenancy t = { .admit = ADMISSION_COUNT, .admit_count = 2,
		.admit_cells = 1 << 20 };
	const uint64_t missing = id_of(3, 1), x = id_of(3, 2), y = id_of(40, 3);
	float x0, y0;

	(void)state;
	open_bed(&b, &t, 1);
	add(&b, 0, x, 9);
	add(&b, 0, x, 9);
	add(&b, 0, y, 9);
	add(&b, 0, y, 9);
	train(&b);                 /* let in with the row they begin with                */
	x0 = read_one(&b, x, 0);
	y0 = read_one(&b, y, 0);
	assert_true(x0 != 0 && y0 != 0 && x0 != y0);
	add(&b, 0, missing, 1);
	add(&b, 0, x, 2);
	add(&b, 0, y, 4);
	train(&b);
	assert_false(has(&b, missing));
	assert_true(read_one(&b, missing, 1) == 0 && read_one(&b, missing, 0) == 0);
	assert_true(read_one(&b, x, 0) == x0 - (float)RATE * 2);
	assert_true(read_one(&b, y, 0) == y0 - (float)RATE * 4);
	close_bed(&b);
}

/* Without a filter the first step's gradient is of the row it begins with: it counts. */
static void
a_new_row_is_trained_when_all_ids_get_one(void **state)
{
	static struct bed b;
	const struct lookup_tenancy t = { .expire_steps = 100 };
	const uint64_t id = id_of(9, 1);
	float begin;

	(void)state;
	open_bed(&b, &t, 1);
	begin = read_one(&b, id, 1);
	train_one(&b, id);
	assert_true(begin != 0 && read_one(&b, id, 0) == begin - (float)RATE);
	close_bed(&b);
}

#define LIMIT 100u             /* rows of a segment                                  */

static void
fill(struct bed *b, unsigned segment, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		train_one(b, id_of(segment, i));
}

static void
a_batch_of_new_ids_cannot_flush_the_others(void **state)
{
	static struct bed b;
	const struct lookup_tenancy t = { .segment_rows = LIMIT };
	size_t left = 0;

	(void)state;
	open_bed(&b, &t, 1);
	fill(&b, 7, LIMIT);
	assert_int_equal(count(&b).rows, LIMIT);
	for (uint64_t i = 0; i < 3000; i++)        /* thirty times the limit, in one step */
		add(&b, 0, id_of(7, 1000 + i), 1);
	train(&b);
	for (uint64_t i = 0; i < LIMIT; i++)
		left += (size_t)has(&b, id_of(7, i));
	assert_int_equal(left, LIMIT - LIMIT / 10);
	assert_int_equal(count(&b).rows, LIMIT - LIMIT / 20);
	assert_int_equal(count(&b).refused, 3000 - LIMIT / 20);
	assert_int_equal(count(&b).evicted, LIMIT / 10);
	close_bed(&b);
}

static void
those_trained_longest_ago_or_least_often_go(void **state)
{
	static struct bed b;
	static const enum evict_kind kind[] = { EVICT_LRU, EVICT_LFU };

	(void)state;
	for (size_t k = 0; k < N_ROWS(kind); k++) {
		const struct lookup_tenancy t = { .segment_rows = LIMIT, .evict = kind[k] };

		open_bed(&b, &t, 1);
		for (int times = 0; times < 3; times++)    /* the first half, often      */
			fill(&b, 7, LIMIT / 2);
		for (uint64_t i = LIMIT / 2; i <= LIMIT; i++)
			train_one(&b, id_of(7, i));
		for (uint64_t i = 0; i <= LIMIT; i++) {
			const int first_go = i < LIMIT / 20 + 1;
			const int rare_go = i >= LIMIT / 2 && i < LIMIT / 2 + LIMIT / 20 + 1;

			assert_int_equal(has(&b, id_of(7, i)),
				kind[k] == EVICT_LRU ? !first_go : !rare_go);
		}
		close_bed(&b);
	}
}

/* L014: whatever goes was there; L015: rows behind one that went are still found, with
 * their values, and there is room for another. */
static void
L014_L015_what_goes_was_there_and_the_rest_keeps_its_values(void **state)
{
	static struct bed b;
	const struct lookup_tenancy t = { .segment_rows = LIMIT };
	static float value[LIMIT + 200];
	size_t gone = 0;

	(void)state;
	open_bed(&b, &t, 1);
	for (uint64_t i = 0; i < LIMIT + 200; i++) {
		struct lookup_tenants n;

		train_one(&b, id_of(30, i));
		value[i] = read_one(&b, id_of(30, i), 0);
		n = count(&b);
		assert_true(n.evicted <= n.admitted);
		assert_int_equal(n.rows, n.admitted - n.evicted - n.expired);
		assert_true(n.rows <= LIMIT);
	}
	for (uint64_t i = 0; i < LIMIT + 200; i++) {
		const float now = read_one(&b, id_of(30, i), 0);

		if (has(&b, id_of(30, i)))
			assert_true(now == value[i]);
		else
			assert_true(now == 0);
		gone += !has(&b, id_of(30, i));
	}
	assert_int_equal(gone, count(&b).evicted);
	train_one(&b, id_of(30, 0));               /* one that went comes back           */
	assert_true(has(&b, id_of(30, 0)));
	close_bed(&b);
}

/* Hours of data with nothing between, and rows that last for half of one. */
static void
L030_rows_go_by_data_time_and_not_before(void **state)
{
	static struct bed b;
	const struct lookup_tenancy t = { .expire_after = 1800 };
	const uint64_t early = id_of(1, 1), late = id_of(1, 2), kept = id_of(50, 3);

	(void)state;
	open_bed(&b, &t, 1);
	b.newest = 1700000000 / 3600 * 3600;
	train_one(&b, early);
	b.newest += 1799;
	train_one(&b, late);
	train_one(&b, kept);
	assert_true(has(&b, early) && has(&b, late));
	b.newest += 3600 - 1799;                   /* the next hour begins               */
	train_one(&b, id_of(2, 4));
	assert_false(has(&b, early));
	assert_false(has(&b, late));               /* 1801 s: no, 30 minutes and 1 s     */
	assert_true(read_one(&b, late, 0) == 0);
	assert_true(read_one(&b, late, 1) != 0);   /* what it would begin with           */
	b.newest -= 7200;                          /* rows that are late move no clock   */
	train_one(&b, late);
	assert_true(has(&b, late));
	assert_false(has(&b, kept));
	assert_int_equal(count(&b).expired, 1);    /* late, which gave its place         */
	close_bed(&b);
}

static void
rows_go_by_steps(void **state)
{
	static struct bed b;
	const struct lookup_tenancy t = { .expire_steps = 5 };
	const uint64_t id = id_of(1, 1);

	(void)state;
	open_bed(&b, &t, 1);
	train_one(&b, id);                         /* in step 1                          */
	fill(&b, 2, 5);                            /* up to step 6                       */
	assert_true(has(&b, id));
	fill(&b, 2, 1);
	assert_false(has(&b, id));
	close_bed(&b);
}

/* Rows whose age was counted in steps, then in minutes: they are as old as the next step. */
static void
another_clock_lets_no_row_go_at_once(void **state)
{
	static struct bed b, c;
	const struct lookup_tenancy steps = { .admit = ADMISSION_COUNT, .admit_count = 2,
		.admit_cells = 1 << 20, .expire_steps = 10 };
	const struct lookup_tenancy minutes = { .admit = ADMISSION_COUNT, .admit_count = 2,
		.admit_cells = 1 << 20, .expire_after = 600 };
	char path[2][256];

	open_bed(&b, &steps, 1);
	train_one(&b, id_of(1, 1));
	train_one(&b, id_of(1, 1));
	train_one(&b, id_of(1, 2));                /* waits                              */
	save(&b, *state, "steps", path);
	open_bed(&c, &minutes, 1);
	load(&c, path);
	c.newest = 1700000000;
	train_one(&c, id_of(2, 3));
	c.newest += 300;
	train_one(&c, id_of(1, 2));
	assert_true(has(&c, id_of(1, 1)) && has(&c, id_of(1, 2)));
	c.newest += 360;
	train_one(&c, id_of(2, 3));
	assert_false(has(&c, id_of(1, 1)));
	assert_true(has(&c, id_of(1, 2)));
	close_bed(&b);
	close_bed(&c);
}

/* Segments that grow until they have as many rows as there is memory for. */
static void
rows_take_no_more_than_the_limit(void **state)
{
	const size_t row_bytes = DIM * sizeof(float);

	(void)state;
	for (uint64_t limit = 2; limit < 40; limit++) {
		const uint64_t bytes = limit * 200000;
		struct exact e;

		assert_int_equal(exact_open(&e, 0, EXACT_ROWS, row_bytes), RS_OK);
		e.segment_rows = exact_segment_rows(e.entry_bytes, bytes);
		for (uint64_t i = 0; i < e.segment_rows * EXACT_SEGMENTS; i++) {
			struct exact_entry *entry;
			int is_new;

			assert_int_equal(exact_insert(&e, id_of((unsigned)(i % EXACT_SEGMENTS),
				i / EXACT_SEGMENTS), &entry, &is_new), RS_OK);
		}
		assert_true(exact_bytes(&e) <= bytes + sizeof(e));
		assert_true(e.segment_rows * EXACT_SEGMENTS * e.entry_bytes * 2 > bytes);
		exact_close(&e);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_kept_out_shifts_no_gradient),
		cmocka_unit_test(a_new_row_is_trained_when_all_ids_get_one),
		cmocka_unit_test(a_batch_of_new_ids_cannot_flush_the_others),
		cmocka_unit_test(those_trained_longest_ago_or_least_often_go),
		cmocka_unit_test(L014_L015_what_goes_was_there_and_the_rest_keeps_its_values),
		cmocka_unit_test(L030_rows_go_by_data_time_and_not_before),
		cmocka_unit_test(rows_go_by_steps),
		cmocka_unit_test(another_clock_lets_no_row_go_at_once),
		cmocka_unit_test(rows_take_no_more_than_the_limit),
	};
	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
