/* Long runs of exact tables whose rows come and go: memory, readers, threads and stops. */
#include "tests/embed/tenancy_bed.h"

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

static void
L062_memory_of_a_long_run_is_flat(void **state)
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
L004_rows_go_while_others_are_read_and_trained(void **state)
{
	static struct bed b, untrained;
	uint64_t gone = 0;

	(void)state;
	for (size_t k = 0; k < N_ROWS(everything); k++) {
		open_bed(&b, &everything[k], 4);
		open_bed(&untrained, &(struct lookup_tenancy){ .segment_rows = 0 }, 1);
		b.untrained = &untrained;
		for (int i = 0; i < 60; i++)
			long_step(&b);
		gone += count(&b).evicted;
		assert_true(b.n_read > 1000);
		close_bed(&b);
		close_bed(&untrained);
	}
	assert_true(gone > 5000);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L062_memory_of_a_long_run_is_flat),
		cmocka_unit_test(L004_rows_go_while_others_are_read_and_trained),
		cmocka_unit_test(threads_and_stops_change_no_bit),
	};
	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
