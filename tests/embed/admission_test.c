/* Which ids get a row: thresholds, memory, order, files. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/rng.h"
#include "embed/admission.h"
#include "tests/test.h"

#define N_IDS   20000
#define N_STEPS 40

static struct admission *
open_filter(const struct admission_settings *settings)
{
	struct admission *a = NULL;

	assert_int_equal(admission_open(settings, &a), RS_OK);
	return a;
}

static int
ask_at(struct admission *a, uint64_t id, uint32_t n, uint64_t step, uint32_t before)
{
	const struct admission_question q = {
		.id = id, .n = n, .step = step, .before = before, .now = before + 1,
	};
	int admitted = -1;

	assert_int_equal(admission_ask(a, &q, &admitted), RS_OK);
	return admitted;
}

static int
ask(struct admission *a, uint64_t id, uint32_t n, uint64_t step)
{
	return ask_at(a, id, n, step, (uint32_t)step - 1);
}

static void
end_step(struct admission *a, size_t part, uint64_t step, struct evict_scratch *scratch)
{
	assert_int_equal(admission_end_step(a, part, (uint32_t)step, scratch), RS_OK);
}

static const uint32_t threshold[] = { 1, 2, 15, 16, 255, 256, ADMISSION_COUNT_MAX };
static const enum admission_kind counting[] = { ADMISSION_COUNT, ADMISSION_SKETCH };

/* D2-9: a counter of 4 bits never let an id in at 16. */
static void
an_id_gets_in_at_the_threshold_and_not_before(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_ROWS(counting); k++)
		for (size_t t = 0; t < N_ROWS(threshold); t++) {
			struct admission *a = open_filter(&(struct admission_settings){
				.kind = counting[k], .count = threshold[t], .cells = 1 << 16,
				.name = "C1" });

			for (uint32_t i = 1; i <= threshold[t]; i++)
				assert_int_equal(
					ask(a, 12345, 1, i), i == threshold[t]);
			admission_close(a);
		}
}

static void
occurrences_of_one_step_count_each(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_ROWS(counting); k++) {
		struct admission *a = open_filter(&(struct admission_settings){
			.kind = counting[k], .count = 300, .cells = 1 << 16, .name = "C1" });

		assert_false(ask(a, 7, 299, 1));
		assert_true(ask(a, 7, 1, 2));
		assert_true(ask(a, 8, UINT32_MAX, 3));     /* no overflow             */
		assert_false(ask(a, 9, 200, 4));
		assert_true(ask(a, 9, UINT32_MAX, 5));
		admission_close(a);
	}
}

static void
an_id_let_in_leaves_the_counters(void **state)
{
	struct admission *a = open_filter(&(struct admission_settings){
		.kind = ADMISSION_COUNT, .count = 3, .cells = 1 << 16, .name = "C1" });

	(void)state;
	assert_false(ask(a, 1, 2, 1));
	assert_false(ask(a, 2, 2, 1));
	assert_int_equal(admission_waiting(a), 2);
	assert_true(ask(a, 1, 1, 2));
	assert_int_equal(admission_waiting(a), 1);
	assert_false(ask(a, 1, 2, 3));             /* lost its row: it starts at 0       */
	admission_close(a);
}

static void
a_counter_that_is_over_starts_at_0(void **state)
{
	struct admission *a = open_filter(&(struct admission_settings){
		.kind = ADMISSION_COUNT, .count = 3, .cells = 1 << 16, .name = "C1",
		.expiry = { .unit = EXPIRY_STEPS, .limit = 10 } });

	(void)state;
	assert_false(ask(a, 1, 2, 1));             /* last is 1                          */
	assert_false(ask(a, 2, 2, 1));
	assert_true(ask_at(a, 1, 1, 12, 11));
	assert_false(ask_at(a, 2, 1, 13, 12));
	assert_false(ask_at(a, 2, 1, 14, 13));
	assert_true(ask_at(a, 2, 1, 15, 14));
	admission_close(a);
}

/* An id counts no more than it occurred plus what shares its cells, so none comes late; and
 * ids never seen are let in with a chance below exp(-4), however long it runs. */
static void
a_sketch_lets_few_in_early_and_none_late(void **state)
{
	static const uint32_t counts[] = { 2, 10, 300 };
	struct evict_scratch scratch = { 0 };

	(void)state;
	for (size_t t = 0; t < N_ROWS(counts); t++) {
		const uint32_t count = counts[t];
		const uint64_t cells = 64 * 1024;
		struct admission *a = open_filter(&(struct admission_settings){
			.kind = ADMISSION_SKETCH, .count = count, .cells = cells, .name = "C1" });
		const uint64_t n = cells * 4;
		uint64_t early = 0;

		for (uint64_t i = 0; i < n; i++) {
			const uint64_t id = hash_mix(i + 1);
			const uint32_t times = 1 + count / 4;

			early += (uint64_t)ask(a, id, times < count ? times : 1, i + 1);
			admission_end_step(a, admission_part(id), 0, &scratch);
		}
		assert_true((double)early < exp(-4) * (double)n);
		assert_true(early > 0 || count > 2);       /* it is under load       */
		admission_close(a);
	}
	evict_scratch_free(&scratch);
}

static void
a_sketch_has_cells_as_asked_for(void **state)
{
	static const struct { uint32_t count; uint64_t bytes; } row[] = {
		{ 15, 1 << 20 }, { 255, 1 << 20 }, { 256, 2 << 20 },
	};
	struct admission *empty = open_filter(&(struct admission_settings){
		.kind = ADMISSION_ALL, .name = "C1" });

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		struct admission *a = open_filter(&(struct admission_settings){
			.kind = ADMISSION_SKETCH, .count = row[i].count, .cells = 1 << 20,
			.name = "C1" });

		assert_int_equal(admission_bytes(a) - admission_bytes(empty), row[i].bytes);
		admission_close(a);
	}
	admission_close(empty);
}

/* L062: ids that never come again do not add up. */
static void
counters_stay_in_their_limit_and_old_ones_go(void **state)
{
	const uint64_t most = 64 * 100;
	struct admission *a = open_filter(&(struct admission_settings){
		.kind = ADMISSION_COUNT, .count = 3, .cells = most, .name = "C1" });
	struct evict_scratch scratch = { 0 };
	uint64_t bytes = 0;

	(void)state;
	for (uint64_t step = 1; step <= 400; step++) {
		for (uint64_t i = 0; i < 500; i++)
			assert_false(ask(a, hash_mix(step * 500 + i), 1, step));
		for (size_t part = 0; part < ADMISSION_PARTS; part++)
			end_step(a, part, step, &scratch);
		assert_true(admission_waiting(a) <= most);
		if (step == 100)
			bytes = admission_bytes(a);
	}
	assert_true(admission_waiting(a) > most * 9 / 10);
	assert_int_equal(admission_bytes(a), bytes);
	assert_false(ask(a, hash_mix(500), 2, 401));       /* of step 1: forgotten   */
	assert_true(ask(a, hash_mix(400 * 500), 2, 401));  /* of step 400: known     */
	evict_scratch_free(&scratch);
	admission_close(a);
}

static void
chance_is_that_of_each_occurrence(void **state)
{
	static const uint32_t times[] = { 1, 3, 20 };
	struct admission *a = open_filter(&(struct admission_settings){
		.kind = ADMISSION_PROBABILITY, .probability = 0.1, .seed = 3, .key = 1,
		.name = "C1" });
	struct admission *other = open_filter(&(struct admission_settings){
		.kind = ADMISSION_PROBABILITY, .probability = 0.1, .seed = 3, .key = 2,
		.name = "C1" });
	size_t differ = 0;

	(void)state;
	for (size_t t = 0; t < N_ROWS(times); t++) {
		const double p = 1 - pow(1 - 0.1, times[t]);
		double n_in = 0;

		for (uint64_t id = 0; id < N_IDS; id++) {
			const int in = ask(a, hash_mix(id), times[t], 5);

			assert_int_equal(in, ask(a, hash_mix(id), times[t], 5));
			differ += in != ask(other, hash_mix(id), times[t], 5);
			n_in += in;
		}
		assert_true(fabs(n_in - p * N_IDS) < 5 * sqrt(N_IDS * p * (1 - p)));
	}
	assert_true(differ > N_IDS / 20);
	admission_close(a);
	admission_close(other);
}

/* A stream of steps for the parts of one shard, or every second part of it first. */
static void
train(struct admission *a, size_t begin, size_t end, size_t stride)
{
	struct evict_scratch scratch = { 0 };

	for (uint64_t step = 1; step <= N_STEPS; step++)
		for (size_t first = 0; first < stride; first++)
			for (size_t part = begin + first; part < end; part += stride) {
				for (uint64_t i = 0; i < 30; i++) {
					const uint64_t rank = rng_below(step, i * 64 + part, 100)
						* rng_below(step + 1000, i * 64 + part, 100);
					const uint64_t id = (uint64_t)part << ADMISSION_PART_SHIFT
						| hash_mix(rank) >> (64 - ADMISSION_PART_SHIFT);

					ask(a, id, 1 + (uint32_t)(i % 3), step);
				}
				end_step(a, part, step, &scratch);
			}
	evict_scratch_free(&scratch);
}

static void
save_to(const struct admission *a, const char *directory, const char *name, char path[256])
{
	struct file_writer w;

	snprintf(path, 256, "%s/%s", directory, name);
	assert_int_equal(file_writer_open(&w, path), RS_OK);
	assert_int_equal(admission_save(a, N_STEPS, &w), RS_OK);
	assert_int_equal(file_writer_commit(&w), RS_OK);
	file_writer_close(&w);
}

static enum rs_status
load_from(struct admission *a, const char *path, int *anew)
{
	struct file_map m;
	enum rs_status status;

	assert_int_equal(file_map_open(&m, path), RS_OK);
	status = admission_load(a, &m, path, anew);
	file_map_close(&m);
	return status;
}

static void
assert_same_file(const char *a, const char *b)
{
	struct file_map x, y;

	assert_int_equal(file_map_open(&x, a), RS_OK);
	assert_int_equal(file_map_open(&y, b), RS_OK);
	assert_int_equal(x.size, y.size);
	assert_memory_equal(x.data, y.data, x.size);
	file_map_close(&x);
	file_map_close(&y);
}

/* Counters that expire and whose number is limited, and a sketch that is halved. */
static struct admission_settings
busy(enum admission_kind kind)
{
	return (struct admission_settings){
		.kind = kind, .count = kind == ADMISSION_COUNT ? 9 : 6,
		.cells = kind == ADMISSION_COUNT ? 64 * 200 : 64 * 4 * 32, .name = "C1",
		.expiry = { .unit = EXPIRY_STEPS, .limit = 15 },
	};
}

static void
the_order_of_parts_is_nothing(void **state)
{
	char one[256], other[256];

	for (size_t k = 0; k < N_ROWS(counting); k++) {
		const struct admission_settings s = busy(counting[k]);
		struct admission *a = open_filter(&s), *b = open_filter(&s);

		train(a, 0, ADMISSION_PARTS, 1);
		train(b, 0, ADMISSION_PARTS, 7);
		save_to(a, *state, "one", one);
		save_to(b, *state, "other", other);
		assert_same_file(one, other);
		admission_close(a);
		admission_close(b);
	}
}

static size_t
shard_begin(size_t i, size_t n)
{
	return ADMISSION_PARTS * i / n;
}

/* One shard's state split over n, and back to one. */
static void
states_of_any_number_of_shards_are_one(void **state)
{
	static const size_t shards[] = { 1, 2, 3, 5 };
	char one[256], other[256], path[5][256];

	for (size_t c = 0; c < N_ROWS(counting) * N_ROWS(shards); c++) {
		const size_t n = shards[c % N_ROWS(shards)];
		struct admission_settings s = busy(counting[c / N_ROWS(shards)]);
		struct admission *whole = open_filter(&s), *again = open_filter(&s);
		int anew = 0;

		train(whole, 0, ADMISSION_PARTS, 1);
		save_to(whole, *state, "one", one);
		for (size_t i = 0; i < n; i++) {
			struct admission *part, *restored;
			char name[32];

			s.part_begin = shard_begin(i, n);
			s.part_end = shard_begin(i + 1, n);
			part = open_filter(&s);
			train(part, s.part_begin, s.part_end, 1);
			snprintf(name, sizeof(name), "shard%zu", i);
			save_to(part, *state, name, path[i]);
			restored = open_filter(&s);        /* from the whole             */
			admission_load_begin(restored);
			assert_int_equal(load_from(restored, one, &anew), RS_OK);
			assert_int_equal(admission_load_end(restored), RS_OK);
			save_to(restored, *state, "other", other);
			assert_same_file(path[i], other);
			admission_close(restored);
			admission_close(part);
		}
		admission_load_begin(again);
		for (size_t i = n; i-- > 0;)
			assert_int_equal(load_from(again, path[i], &anew), RS_OK);
		assert_int_equal(admission_load_end(again), RS_OK);
		assert_int_equal(anew, 0);
		save_to(again, *state, "other", other);
		assert_same_file(one, other);
		admission_close(again);
		admission_close(whole);
	}
}

static void
a_restored_filter_answers_as_the_saved_one(void **state)
{
	char path[256], one[256], other[256];

	for (size_t k = 0; k < N_ROWS(counting); k++) {
		const struct admission_settings s = busy(counting[k]);
		struct admission *a = open_filter(&s), *b = open_filter(&s);
		int anew = 0;

		train(a, 0, ADMISSION_PARTS, 1);
		save_to(a, *state, "file", path);
		train(b, 0, ADMISSION_PARTS, 1);           /* is forgotten               */
		admission_load_begin(b);
		assert_int_equal(load_from(b, path, &anew), RS_OK);
		for (uint64_t i = 0; i < N_IDS; i++)
			assert_int_equal(ask(a, hash_mix(i % 9000), 1, N_STEPS + 1),
				ask(b, hash_mix(i % 9000), 1, N_STEPS + 1));
		save_to(a, *state, "one", one);
		save_to(b, *state, "other", other);
		assert_same_file(one, other);
		admission_close(a);
		admission_close(b);
	}
}

static void
a_file_of_another_kind_or_size_is_passed_over(void **state)
{
	struct admission_settings s = busy(ADMISSION_SKETCH), larger = s, count = s;
	struct admission *a = open_filter(&s), *b, *c;
	char path[256];
	int anew = 0;

	larger.cells *= 2;
	count.kind = ADMISSION_COUNT;
	train(a, 0, ADMISSION_PARTS, 1);
	save_to(a, *state, "file", path);
	b = open_filter(&larger);
	assert_int_equal(load_from(b, path, &anew), RS_OK);
	assert_int_equal(anew, 1);
	assert_int_equal(admission_load_end(b), RS_OK);
	anew = 0;
	c = open_filter(&count);
	assert_int_equal(load_from(c, path, &anew), RS_OK);
	assert_int_equal(anew, 1);
	assert_int_equal(admission_waiting(c), 0);
	admission_close(a);
	admission_close(b);
	admission_close(c);
}

/* A wider threshold keeps the cells; one file of 8 bits goes into cells of 16. */
static void
another_threshold_keeps_the_counts(void **state)
{
	(void)state;
	for (size_t k = 0; k < N_ROWS(counting); k++) {
		struct admission_settings s = { .kind = counting[k], .count = 200,
			.cells = 1 << 16, .name = "C1" };
		struct admission *a = open_filter(&s), *more, *less;
		char path[256];
		int anew = 0;

		assert_false(ask(a, 77, 150, 1));
		save_to(a, *state, "file", path);
		s.count = 400;
		more = open_filter(&s);
		assert_int_equal(load_from(more, path, &anew), RS_OK);
		assert_false(ask(more, 77, 249, 2));
		assert_true(ask(more, 77, 1, 3));
		s.count = 100;
		less = open_filter(&s);
		assert_int_equal(load_from(less, path, &anew), RS_OK);
		assert_true(ask(less, 77, 1, 2));
		assert_int_equal(anew, 0);
		admission_close(a);
		admission_close(more);
		admission_close(less);
	}
}

static void
counters_of_another_clock_are_as_if_seen_now(void **state)
{
	struct admission_settings s = busy(ADMISSION_COUNT);
	struct admission *a = open_filter(&s), *b;
	char path[256];
	int anew = 0;

	assert_false(ask(a, 1, 8, N_STEPS));
	save_to(a, *state, "file", path);
	s.expiry = (struct expiry){ .unit = EXPIRY_MINUTES, .limit = 10 };
	b = open_filter(&s);
	assert_int_equal(load_from(b, path, &anew), RS_OK);
	admission_restamp(b, 28000000);
	assert_true(ask_at(b, 1, 1, N_STEPS + 1, 28000005));
	admission_close(a);
	admission_close(b);
}

/* Counters that are over are in no file; so they must not take room from others. */
static void
counters_that_are_over_take_no_room(void **state)
{
	const struct admission_settings s = { .kind = ADMISSION_COUNT, .count = 3,
		.cells = 64 * 100, .name = "C1",
		.expiry = { .unit = EXPIRY_STEPS, .limit = 10 } };
	struct admission *a = open_filter(&s);
	struct evict_scratch scratch = { 0 };

	(void)state;
	for (uint64_t i = 0; i < 60; i++)          /* one part, half of it over in step 12 */
		assert_false(ask(a, i, 1, 1));
	for (uint64_t i = 60; i < 120; i++)
		assert_false(ask(a, i, 1, 12));
	assert_int_equal(admission_end_step(a, 0, 12, &scratch), RS_OK);
	assert_int_equal(admission_waiting(a), 60);
	evict_scratch_free(&scratch);
	admission_close(a);
}

static void
damaged_files_are_refused(void **state)
{
	const struct admission_settings s = busy(ADMISSION_COUNT);
	struct admission *a = open_filter(&s);
	char path[256];
	struct file_map m;
	char *bytes;
	int anew = 0;

	train(a, 0, ADMISSION_PARTS, 1);
	save_to(a, *state, "file", path);
	assert_int_equal(file_map_open(&m, path), RS_OK);
	bytes = malloc(m.size);
	assert_non_null(bytes);
	memcpy(bytes, m.data, m.size);
	for (size_t cut = 0; cut < m.size; cut += cut < 200 ? 1 : 911) {
		const struct file_map shorter = { bytes, cut };

		admission_load_begin(a);
		assert_int_equal(admission_load(a, &shorter, path, &anew), RS_EDATA);
	}
	for (size_t at = 0; at < 400; at++) {      /* never reads outside, any answer    */
		const struct file_map damaged = { bytes, m.size };

		bytes[at] ^= 0x55;
		admission_load_begin(a);
		(void)admission_load(a, &damaged, path, &anew);
		bytes[at] ^= 0x55;
	}
	admission_load_begin(a);
	assert_int_equal(admission_load_end(a), RS_EDATA);         /* parts are missing */
	assert_int_equal(load_from(a, path, &anew), RS_OK);
	assert_int_equal(admission_load_end(a), RS_OK);
	assert_int_equal(load_from(a, path, &anew), RS_EDATA);  /* parts come twice  */
	free(bytes);
	file_map_close(&m);
	admission_close(a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_gets_in_at_the_threshold_and_not_before),
		cmocka_unit_test(occurrences_of_one_step_count_each),
		cmocka_unit_test(an_id_let_in_leaves_the_counters),
		cmocka_unit_test(a_counter_that_is_over_starts_at_0),
		cmocka_unit_test(a_sketch_lets_few_in_early_and_none_late),
		cmocka_unit_test(a_sketch_has_cells_as_asked_for),
		cmocka_unit_test(counters_stay_in_their_limit_and_old_ones_go),
		cmocka_unit_test(chance_is_that_of_each_occurrence),
		cmocka_unit_test(the_order_of_parts_is_nothing),
		cmocka_unit_test(states_of_any_number_of_shards_are_one),
		cmocka_unit_test(a_restored_filter_answers_as_the_saved_one),
		cmocka_unit_test(a_file_of_another_kind_or_size_is_passed_over),
		cmocka_unit_test(another_threshold_keeps_the_counts),
		cmocka_unit_test(counters_of_another_clock_are_as_if_seen_now),
		cmocka_unit_test(counters_that_are_over_take_no_room),
		cmocka_unit_test(damaged_files_are_refused),
	};
	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
