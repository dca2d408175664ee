/* What a shard does with messages late, repeated, missing, early, or of somebody else. */
#include "tests/remote/shard_bed.h"

#include <malloc.h>
#include <math.h>
#include <time.h>

static struct bed b;

static uint64_t
count_of(const char *name)
{
	const struct frame f = bed_frame(&b, FRAME_STATS, 0, 0);
	char text[4096], key[64];
	const size_t n = bed_ask(&b, 0, &f, NULL, FRAME_STATS_R, text, sizeof(text) - 1);
	const char *at;

	text[n] = '\0';
	snprintf(key, sizeof(key), "%s = ", name);
	at = strstr(text, key);
	assert_non_null(at);
	return strtoull(at + strlen(key), NULL, 10);
}

static void
L008_two_workers_push_one_row_and_both_count(void **state)
{
	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	bed_push_count(&b, 0, 1, 1);
	bed_push_count(&b, 1, 1, 1);
	assert_true(bed_read_count(&b, 0, 2) == -2);
	bed_close(&b);
}

static void
a_pull_waits_for_all_pushes_of_the_step_before(void **state)
{
	struct buffer body;
	struct frame f;
	struct wire_message m;
	uint8_t answer[64];

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	bed_push_count(&b, 0, 1, 1);
	f = bed_send_pull(&b, 0, 2, &body);
	assert_false(bed_receive(&b, 0, 0, f.request, 0.05, &m));
	assert_int_equal(count_of("waiting"), 1);

	/* Asked again: told to wait and for whom; not parked twice. */
	for (int i = 0; i < 3; i++) {
		f.flags |= FRAME_RETRY;
		bed_send(&b, 0, &f, body.data, body.n);
		assert_true(bed_receive(&b, 0, 0, f.request, BED_SECONDS, &m));
		assert_int_equal(m.frame.type, FRAME_ACK);
		assert_memory_equal(m.part[0].data, "waits_for = worker 1", 20);
		wire_message_free(&m);
	}
	assert_int_equal(count_of("waiting"), 1);
	bed_push_count(&b, 1, 1, 1);
	assert_true(bed_receive(&b, 0, 0, f.request, BED_SECONDS, &m));
	assert_int_equal(m.frame.type, FRAME_PULL_R);
	assert_int_equal(bed_body(&m, answer, sizeof(answer)), 5);
	assert_int_equal(answer[0], 1);
	wire_message_free(&m);
	assert_false(bed_receive(&b, 0, 0, f.request, 0.05, &m));
	assert_int_equal(count_of("waiting"), 0);
	assert_int_equal(count_of("pulls"), 1);
	buffer_free(&body);
	bed_close(&b);
}

static void
a_pull_of_no_step_sees_what_its_worker_pushed(void **state)
{
	struct buffer body;
	struct frame f;
	struct wire_message m;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	assert_true(bed_read_count(&b, 0, 0) == 0);
	bed_push_count(&b, 0, 1, 1);
	f = bed_send_pull(&b, 0, 0, &body);
	assert_false(bed_receive(&b, 0, 0, f.request, 0.05, &m));
	assert_true(bed_read_count(&b, 1, 0) == 0);
	bed_push_count(&b, 1, 1, 2);
	assert_true(bed_receive(&b, 0, 0, f.request, BED_SECONDS, &m));
	wire_message_free(&m);
	assert_true(bed_read_count(&b, 0, 0) == -3);
	buffer_free(&body);
	bed_close(&b);
}

static void
L012_repeated_pushes_count_once_in_any_order(void **state)
{
	struct buffer body[4][3];
	struct frame f[4][3];
	float expected = 0;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 3);
	for (uint64_t step = 1; step <= 3; step++)
		for (size_t r = 0; r < 3; r++) {
			f[step][r] = bed_count(&b, r, step, (float)(step * 10 + r), &body[step][r]);
			expected -= (float)(step * 10 + r);
		}
	for (uint64_t i = 0; i < 200; i++) {
		const uint64_t step = 1 + rng_below(9, 2 * i, 3);
		const size_t r = rng_below(9, 2 * i + 1, 3);

		f[step][r].flags = i % 2 ? FRAME_RETRY : 0;
		f[step][r].request = ++b.request;
		bed_ask(&b, 0, &f[step][r], &body[step][r], FRAME_PUSH_R, NULL, 0);
	}
	assert_true(bed_read_count(&b, 0, 4) == expected);
	assert_int_equal(count_of("step"), 3);
	assert_int_equal(count_of("pushes"), 9);
	assert_int_equal(count_of("repeated"), 191);
	for (uint64_t step = 1; step <= 3; step++)
		for (size_t r = 0; r < 3; r++)
			buffer_free(&body[step][r]);
	bed_close(&b);
}

/* Numbers of workers are not cut to 8 bits, and a round begins with nothing known. */
static void
D2_10_three_hundred_workers_and_a_second_round(void **state)
{
	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 300);
	for (int round = 0; round < 2; round++) {
		for (size_t r = 300; r-- > 0;)
			bed_push_count(&b, r, 1, 1);
		bed_push_count(&b, 255, 1, 1);
		assert_true(bed_read_count(&b, 299, 2) == -300);
		if (round == 0) {
			bed_stop_round(&b);
			bed_start_round(&b);
			bed_init(&b);
		}
	}
	bed_close(&b);
}

static void
a_push_counts_when_its_last_message_is_there(void **state)
{
	struct buffer body;
	struct frame f;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 1);
	f = bed_count(&b, 0, 1, 1, &body);
	f.chunk = 3;
	bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
	for (uint16_t chunk = 0; chunk < 3; chunk++) {
		assert_int_equal(count_of("step"), 0);
		f.request = ++b.request;
		f.flags = FRAME_MORE;
		f.chunk = chunk;
		bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
	}
	assert_int_equal(count_of("step"), 1);
	/* The same row in four messages: four occurrences. */
	assert_true(bed_read_count(&b, 0, 2) == -4);
	f.request = ++b.request;
	bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
	assert_true(bed_read_count(&b, 0, 2) == -4);

	/* Two ends, and something behind the end. */
	f.step = 2;
	f.flags = 0;
	f.chunk = 1;
	f.request = ++b.request;
	bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
	f.chunk = 0;
	f.request = ++b.request;
	bed_refused(&b, 0, &f, &body, "an end elsewhere");
	f.chunk = 2;
	f.flags = FRAME_MORE;
	f.request = ++b.request;
	bed_refused(&b, 0, &f, &body, "an end elsewhere");
	f.chunk = 0;
	f.request = ++b.request;
	bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
	assert_int_equal(count_of("step"), 2);
	buffer_free(&body);
	bed_close(&b);
}

static void
a_step_that_is_not_finite_changes_nothing_and_counts(void **state)
{
	const struct body_push drop = { .rate_factor = 1 };
	struct buffer body = { .data = (char *)(uintptr_t)&drop, .n = sizeof(drop) };

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	for (size_t r = 0; r < 2; r++) {
		const struct frame f = bed_frame(&b, FRAME_PUSH, r, 1);

		bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
	}
	assert_true(bed_read_count(&b, 1, 2) == 0);
	bed_push_count(&b, 0, 2, 1);
	bed_push_count(&b, 1, 2, 1);
	assert_true(bed_read_count(&b, 1, 3) == -2);
	bed_close(&b);
}

/* The last of three workers says something else than the others. */
static void
disagree(const char *directory, const struct body_push *other, const char *why)
{
	struct body_push head = { .rate_factor = 1, .finite = 1 };
	struct buffer body = { .data = (char *)&head, .n = sizeof(head) }, wanted;
	struct wire_message m;
	struct frame f, pull;

	bed_open_counter(&b, directory, CONSISTENCY_SYNC, 0, 3);
	for (size_t r = 0; r < 2; r++) {
		f = bed_frame(&b, FRAME_PUSH, r, 1);
		bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
	}
	pull = bed_send_pull(&b, 1, 2, &wanted);
	head = *other;
	f = bed_frame(&b, FRAME_PUSH, 2, 1);
	bed_refused(&b, 0, &f, &body, why);
	assert_true(bed_receive(&b, 1, 0, pull.request, BED_SECONDS, &m));
	assert_int_equal(m.frame.type, FRAME_ERROR);
	wire_message_free(&m);
	f = bed_frame(&b, FRAME_PUSH, 0, 2);
	bed_refused(&b, 0, &f, &body, "step 1");
	buffer_free(&wanted);
	bed_close(&b);
}

static void
workers_that_disagree_are_both_named_and_nobody_goes_on(void **state)
{
	disagree(*state, &(struct body_push){ .rate_factor = 0.5, .finite = 1 },
		"worker 2 is 0.5, that of worker 0 1");
	disagree(*state, &(struct body_push){ .rate_factor = 1, .finite = 1, .decay = 0.25 },
		"worker 2 is 0.25, that of worker 0 0");
	disagree(*state, &(struct body_push){ .rate_factor = 1, .finite = 1, .newest = 7 },
		"worker 2 is of minute 7, that of worker 0 of 0");
}

static void
one_worker_without_finite_gradients_is_named(void **state)
{
	struct body_push head = { .rate_factor = 1, .finite = 1 };
	struct buffer body = { .data = (char *)&head, .n = sizeof(head) };
	struct frame f;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	f = bed_frame(&b, FRAME_PUSH, 0, 1);
	bed_ask(&b, 0, &f, &body, FRAME_PUSH_R, NULL, 0);
	head.finite = 0;
	f = bed_frame(&b, FRAME_PUSH, 1, 1);
	bed_refused(&b, 0, &f, &body, "worker 0 has finite gradients, worker 1 has not");
	bed_close(&b);
}

/* Every answer lags at most `staleness` steps; the fastest worker gets that far ahead. */
static void
D2_4_staleness_is_never_above_the_bound(void **state)
{
	uint64_t next[3] = { 1, 1, 1 }, most = 0;

	bed_open_counter(&b, *state, CONSISTENCY_SSP, 2, 3);
	for (uint64_t i = 0; i < 300; i++) {
		const size_t r = rng_below(4, i, 3);
		const uint64_t slowest = next[0] < next[1] ?
			(next[0] < next[2] ? next[0] : next[2]) :
			(next[1] < next[2] ? next[1] : next[2]);
		struct buffer body;
		struct wire_message m;
		struct frame f = bed_send_pull(&b, r, next[r], &body);

		if (next[r] - slowest > 2) {
			assert_false(bed_receive(&b, r, 0, f.request, 0.002, &m));
			/* It is dropped when the others come along. */
		} else {
			float rows;
			uint8_t answer[64];

			assert_true(bed_receive(&b, r, 0, f.request, BED_SECONDS, &m));
			assert_int_equal(bed_body(&m, answer, sizeof(answer)), 5);
			memcpy(&rows, answer + 1, 4);
			wire_message_free(&m);
			assert_true(-rows / 3 + 2 >= (float)(next[r] - 1));
			assert_true(-rows / 3 == (float)(slowest - 1));
			most = next[r] - slowest > most ? next[r] - slowest : most;
			bed_push_count(&b, r, next[r]++, 1);
		}
		buffer_free(&body);
	}
	assert_int_equal(most, 2);
	assert_int_equal(count_of("staleness_max"), 2);
	bed_close(&b);
}

/* Pulls are answered at once; a step is applied when all its pushes are there, with one
 * decay of the weights and one step of the optimizer, as in sync. */
static void
async_never_waits_and_applies_whole_steps(void **state)
{
	bed_open_counter(&b, *state, CONSISTENCY_ASYNC, 0, 2);
	bed_push_count(&b, 0, 1, 1);
	assert_true(bed_read_count(&b, 1, 9) == 0);
	bed_push_count(&b, 0, 1, 1);
	bed_push_count(&b, 0, 3, 1);
	bed_push_count(&b, 0, 2, 1);
	bed_push_count(&b, 0, 3, 1);
	assert_true(bed_read_count(&b, 1, 9) == 0);
	bed_push_count(&b, 1, 1, 1);
	assert_true(bed_read_count(&b, 0, 9) == -2);
	bed_push_count(&b, 1, 3, 1);
	assert_true(bed_read_count(&b, 0, 9) == -2);
	bed_push_count(&b, 1, 2, 1);
	assert_true(bed_read_count(&b, 0, 9) == -6);
	assert_int_equal(count_of("step"), 3);
	assert_int_equal(count_of("repeated"), 2);
	bed_close(&b);
}

static void
async_refuses_what_is_not_finite_and_counts_it(void **state)
{
	bed_open_counter(&b, *state, CONSISTENCY_ASYNC, 0, 1);
	bed_push_count(&b, 0, 1, NAN);
	bed_push_count(&b, 0, 2, INFINITY);
	bed_push_count(&b, 0, 3, 1);
	assert_true(bed_read_count(&b, 0, 4) == -1);
	assert_int_equal(count_of("refused"), 2);
	assert_int_equal(count_of("step"), 3);
	bed_close(&b);
}

static void
L061_a_shard_without_rows_serves_the_rest(void **state)
{
	struct frame f;

	memset(&b, 0, sizeof(b));
	bed_counter(&b);
	b.table[0].rows = 2;
	bed_open(&b, *state, 3, 1, 1);
	bed_init(&b);
	for (size_t i = 0; i < 3; i++) {
		f = bed_frame(&b, FRAME_STATS, 0, 0);
		bed_ask(&b, i, &f, NULL, FRAME_STATS_R, NULL, 0);
		f = bed_frame(&b, FRAME_PULL, 0, 1);
		assert_int_equal(bed_ask(&b, i, &f, NULL, FRAME_PULL_R, NULL, 0), 0);
		f = bed_frame(&b, FRAME_BYE, 0, 1);
		bed_ask(&b, i, &f, NULL, FRAME_ACK, NULL, 0);
	}
	bed_close(&b);
}

/* Paddle: keys pile up in a server that is never saved.  In bytes that are not freed. */
static void
L062_many_steps_take_no_more_memory_than_few(void **state)
{
	enum { FEW = 200, MANY = 1200 };
	size_t before = 0;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 2);
	for (uint64_t step = 1; step <= MANY; step++) {
		bed_push_count(&b, 0, step, 1);
		bed_push_count(&b, 1, step, 1);
		assert_true(bed_read_count(&b, 0, step + 1) == -2.0f * (float)step);
		if (step == FEW)
			before = mallinfo2().uordblks;
	}
	const size_t after = mallinfo2().uordblks;
	if (after > before + 16 * (MANY - FEW))
		fail_msg("%zu bytes after %d steps, %zu after %d", before, FEW, after, MANY);
	bed_close(&b);
}

static double
cpu_seconds(pthread_t thread)
{
	clockid_t clock;
	struct timespec t;

	assert_int_equal(pthread_getcpuclockid(thread, &clock), 0);
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void
L043_an_idle_shard_sleeps_and_answers_at_once(void **state)
{
	struct timespec half = { .tv_nsec = 500000000 };
	double begin, fastest = 1;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 1);
	begin = cpu_seconds(b.shard[0].thread);
	nanosleep(&half, NULL);
	assert_true(cpu_seconds(b.shard[0].thread) - begin < 0.005);
	for (int i = 0; i < 20; i++) {
		const double asked = clock_seconds();

		(void)bed_read_count(&b, 0, 1);
		fastest = clock_seconds() - asked < fastest ? clock_seconds() - asked : fastest;
	}
	assert_true(fastest < 0.02);
	bed_close(&b);
}

static void
a_shard_reports_about_once_a_second(void **state)
{
	struct timespec wait = { .tv_nsec = 20000000 };
	struct shard_counts counts = { 0 };
	const double end = clock_seconds() + BED_SECONDS;
	size_t n = 0;

	bed_open_counter(&b, *state, CONSISTENCY_SYNC, 0, 1);
	bed_push_count(&b, 0, 1, 1);
	(void)bed_read_count(&b, 0, 2);
	while (n == 0 && clock_seconds() < end) {
		nanosleep(&wait, NULL);
		pthread_mutex_lock(&b.shard[0].lock);
		n = b.shard[0].n_reports;
		counts = b.shard[0].counts;
		pthread_mutex_unlock(&b.shard[0].lock);
	}
	assert_true(n > 0);
	assert_int_equal(counts.pulls, 1);
	assert_int_equal(counts.pulled_rows, 9);
	assert_int_equal(counts.misses, 8);
	assert_int_equal(counts.pushes, 1);
	assert_int_equal(counts.pushed_rows, 1);
	assert_int_equal(counts.step, 1);
	assert_true(counts.bytes > 0 && counts.busy > 0 && counts.busy < BED_SECONDS);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(L008_two_workers_push_one_row_and_both_count),
		cmocka_unit_test(a_pull_waits_for_all_pushes_of_the_step_before),
		cmocka_unit_test(a_pull_of_no_step_sees_what_its_worker_pushed),
		cmocka_unit_test(L012_repeated_pushes_count_once_in_any_order),
		cmocka_unit_test(D2_10_three_hundred_workers_and_a_second_round),
		cmocka_unit_test(a_push_counts_when_its_last_message_is_there),
		cmocka_unit_test(a_step_that_is_not_finite_changes_nothing_and_counts),
		cmocka_unit_test(workers_that_disagree_are_both_named_and_nobody_goes_on),
		cmocka_unit_test(one_worker_without_finite_gradients_is_named),
		cmocka_unit_test(D2_4_staleness_is_never_above_the_bound),
		cmocka_unit_test(async_never_waits_and_applies_whole_steps),
		cmocka_unit_test(async_refuses_what_is_not_finite_and_counts_it),
		cmocka_unit_test(L061_a_shard_without_rows_serves_the_rest),
		cmocka_unit_test(L062_many_steps_take_no_more_memory_than_few),
		cmocka_unit_test(L043_an_idle_shard_sleeps_and_answers_at_once),
		cmocka_unit_test(a_shard_reports_about_once_a_second),
	};

	return cmocka_run_group_tests(tests, tmpdir_make, tmpdir_remove);
}
