/*
 * Rows of an exact table that come and go, through the lookup: what is asked for in
 * FAULTS of tables of other programs (numbers in the comments), and any number of threads.
 */
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "embed/exact.h"
#include "embed/lookup.h"
#include "kernel/kernel.h"
#include "tests/test.h"

#define DIM      3u
#define N_SLOTS  2u
#define N_MAX    4000u         /* ids of a slot                                      */
#define RATE     0.5

/* A lookup of one table, and the step at hand. */
struct bed {
	struct lookup *lookup;
	size_t   n_threads;
	uint64_t step;
	int64_t  newest;
	size_t   n[N_SLOTS];
	uint64_t id[N_SLOTS][N_MAX];
	float    value[N_SLOTS][N_MAX][DIM];
	const float *row[N_SLOTS][N_MAX], *grad[N_SLOTS][N_MAX];
	struct barrier barrier;
};

static void
open_bed(struct bed *b, const struct lookup_tenancy *tenancy, size_t n_threads)
{
	const struct lookup_table table = {
		.name = "C1", .kind = TABLE_EXACT, .rows = EXACT_ROWS, .dim = DIM,
		.init_stddev = 0.1, .seed = 5, .tenancy = *tenancy,
		.optimizer = { .kind = ROW_SGD, .learning_rate = RATE },
	};
	const struct lookup_local_options options = {
		.kernel = &kernel_ref, .table = &table, .n_tables = 1, .n_slots = N_SLOTS,
		.n_inputs = 1, .n_threads = n_threads, .for_training = 1,
	};

	memset(b, 0, sizeof(*b));
	b->n_threads = n_threads;
	assert_int_equal(lookup_local_open(&options, &b->lookup), RS_OK);
}

static void
close_bed(struct bed *b)
{
	b->lookup->ops->close(b->lookup);
}

static void
add(struct bed *b, size_t slot, uint64_t id, float grad)
{
	const size_t i = b->n[slot]++;

	assert_true(i < N_MAX);
	b->id[slot][i] = id;
	for (size_t d = 0; d < DIM; d++)
		b->value[slot][i][d] = grad;
	b->grad[slot][i] = b->value[slot][i];
}

static void
pull_slot(struct bed *b, size_t slot, int training)
{
	const struct lookup_pull p = { .slot = slot, .ids = b->id[slot], .n = b->n[slot],
		.row = b->row[slot], .training = training };

	assert_int_equal(b->lookup->ops->pull(b->lookup, &p), RS_OK);
}

struct worker { struct bed *bed; size_t number; };

/* One thread of a step, as train/step.c does it. */
static void *
work(void *argument)
{
	const struct worker *w = argument;
	struct bed *b = w->bed;
	const struct lookup_commit c = { .step = b->step, .finite = 1, .newest = b->newest,
		.rate_factor = 1, .worker = w->number, .n_workers = b->n_threads };

	for (size_t slot = w->number; slot < N_SLOTS; slot += b->n_threads) {
		const struct lookup_push p = { .slot = slot, .ids = b->id[slot], .n = b->n[slot],
			.grad = b->grad[slot] };

		pull_slot(b, slot, 1);
		assert_int_equal(b->lookup->ops->push(b->lookup, &p), RS_OK);
	}
	barrier_wait(&b->barrier);
	assert_int_equal(b->lookup->ops->commit(b->lookup, &c), RS_OK);
	barrier_wait(&b->barrier);
	return NULL;
}

static void
train(struct bed *b)
{
	struct worker worker[4];
	pthread_t thread[4];

	b->step++;
	barrier_init(&b->barrier, (unsigned)b->n_threads, 1);
	for (size_t i = 0; i < b->n_threads; i++)
		worker[i] = (struct worker){ b, i };
	for (size_t i = 1; i < b->n_threads; i++)
		assert_int_equal(thread_start(&thread[i], "work", work, &worker[i]), RS_OK);
	work(&worker[0]);
	for (size_t i = 1; i < b->n_threads; i++)
		thread_join(thread[i]);
	memset(b->n, 0, sizeof(b->n));
}

/* One step of one id. */
static void
train_one(struct bed *b, uint64_t id)
{
	add(b, 0, id, 1);
	train(b);
}

static int
has(const struct bed *b, uint64_t id)
{
	return b->lookup->ops->touched(b->lookup, 0, id);
}

/* What those who read get, in the first place. */
static float
read_one(struct bed *b, uint64_t id, int training)
{
	float value;

	add(b, 0, id, 0);
	pull_slot(b, 0, training);
	value = b->row[0][0][0];
	memset(b->n, 0, sizeof(b->n));
	return value;
}

static struct lookup_tenants
count(const struct bed *b)
{
	struct lookup_tenants n;

	b->lookup->ops->tenants(b->lookup, 0, &n);
	return n;
}

static uint64_t
bytes_of(const struct bed *b)
{
	return b->lookup->ops->bytes(b->lookup);
}

/* Number i of the ids of one segment, spread over it. */
static uint64_t
id_of(unsigned segment, uint64_t i)
{
	return exact_segment_begin(segment) | hash_mix(i) >> EXACT_SEGMENT_BITS;
}

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

/* L014: whatever goes was there.  L015: rows behind one that went are still found, with
 * their values, and there is room for another. */
static void
what_goes_was_there_and_the_rest_keeps_its_values(void **state)
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

/* L030: hours of data with nothing between, and rows that last for half of one. */
static void
rows_go_by_data_time_and_not_before(void **state)
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

/* --- long runs ----------------------------------------------------------------------- */

static const struct lookup_tenancy everything[] = {
	{ .admit = ADMISSION_COUNT, .admit_count = 2, .admit_cells = 64 * 40, .expire_steps = 25,
	  .segment_rows = 30, .evict = EVICT_LRU },
	{ .admit = ADMISSION_SKETCH, .admit_count = 3, .admit_cells = 64 * 4 * 16,
	  .expire_after = 25 * 60, .segment_rows = 30, .evict = EVICT_LFU },
	{ .admit = ADMISSION_PROBABILITY, .admit_probability = 0.3, .segment_rows = 30 },
	{ .segment_rows = 30, .expire_after = 25 * 60 },
};

/* Hot ids, ids that are for a while, ids that come once. */
static void
long_step(struct bed *b)
{
	const uint64_t step = b->step + 1;

	b->newest = 1700000000 + (int64_t)step * 60;
	for (size_t slot = 0; slot < N_SLOTS; slot++)
		for (uint64_t i = 0; i < 400; i++) {
			const uint64_t r = rng_below(step, slot * 400 + i, 10);
			const uint64_t n = rng_below(step + 7000, slot * 400 + i, 300);
			const uint64_t number = r < 4 ? n : r < 7 ? 1000 + step * 40 + n :
				1000000 + step * 1000 + n;

			add(b, slot, hash_mix(number), (float)(1 + i % 3));
		}
	train(b);
}

/* L062: nothing adds up. */
static void
memory_of_a_long_run_is_flat(void **state)
{
	static struct bed b;

	(void)state;
	for (size_t k = 0; k < N_ROWS(everything); k++) {
		uint64_t bytes = 0;

		open_bed(&b, &everything[k], 1);
		for (int i = 0; i < 300; i++) {
			long_step(&b);
			bytes = i == 150 ? bytes_of(&b) : bytes;
		}
		assert_int_equal(bytes_of(&b), bytes);
		assert_true(count(&b).evicted > 0);
		assert_true(count(&b).rows <= 64 * 30);
		close_bed(&b);
	}
}

static void
save(struct bed *b, const char *directory, const char *name, char path[2][256])
{
	enum rs_status (*const write[])(struct lookup *, size_t, struct file_writer *) = {
		b->lookup->ops->save, b->lookup->ops->save_tenancy,
	};

	for (size_t i = 0; i < 2; i++) {
		struct file_writer w;

		snprintf(path[i], 256, "%s/%s%zu", directory, name, i);
		assert_int_equal(file_writer_open(&w, path[i]), RS_OK);
		assert_int_equal(write[i](b->lookup, 0, &w), RS_OK);
		assert_int_equal(file_writer_commit(&w), RS_OK);
		file_writer_close(&w);
	}
}

static void
load(struct bed *b, char path[2][256])
{
	const char *rows = path[0], *tenancy = path[1];

	assert_int_equal(b->lookup->ops->load(b->lookup, 0, &rows, 1), RS_OK);
	assert_int_equal(b->lookup->ops->load_tenancy(b->lookup, 0, &tenancy, 1), RS_OK);
}

static void
assert_same(char a[2][256], char b[2][256])
{
	for (size_t i = 0; i < 2; i++) {
		struct file_map x, y;

		assert_int_equal(file_map_open(&x, a[i]), RS_OK);
		assert_int_equal(file_map_open(&y, b[i]), RS_OK);
		assert_int_equal(x.size, y.size);
		assert_memory_equal(x.data, y.data, x.size);
		file_map_close(&x);
		file_map_close(&y);
	}
}

static void
threads_and_stops_change_no_bit(void **state)
{
	static struct bed one, other;
	char path[2][256], path2[2][256];

	for (size_t k = 0; k < N_ROWS(everything); k++) {
		open_bed(&one, &everything[k], 1);
		for (int i = 0; i < 120; i++)
			long_step(&one);
		save(&one, *state, "one", path);
		for (size_t n_threads = 2; n_threads <= 4; n_threads++) {
			open_bed(&other, &everything[k], n_threads);
			for (int i = 0; i < 120; i++) {
				long_step(&other);
				if (i % 50 != 40)
					continue;
				save(&other, *state, "stop", path2);       /* and go on  */
				if (i < 50)
					continue;
				close_bed(&other);                         /* or stop    */
				open_bed(&other, &everything[k], n_threads);
				other.step = (uint64_t)i + 1;
				load(&other, path2);
			}
			save(&other, *state, "other", path2);
			assert_same(path, path2);
			close_bed(&other);
		}
		close_bed(&one);
	}
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
		cmocka_unit_test(what_goes_was_there_and_the_rest_keeps_its_values),
		cmocka_unit_test(rows_go_by_data_time_and_not_before),
		cmocka_unit_test(rows_go_by_steps),
		cmocka_unit_test(memory_of_a_long_run_is_flat),
		cmocka_unit_test(threads_and_stops_change_no_bit),
		cmocka_unit_test(another_clock_lets_no_row_go_at_once),
		cmocka_unit_test(rows_take_no_more_than_the_limit),
	};
	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
