/* Processes of one host over shared memory: the bits of one process, and no wait without
 * an end. */
#include "tests/test.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/thread.h"
#include "reduce/reducer.h"
#include "tests/reduce/shm_bed.h"

#define P_MAX 70001                /* more than a piece                               */

static int
sum_and_compare(struct exchange *e, uint64_t step, size_t n_slots, size_t n)
{
	float *x = malloc((n + 1) * sizeof(*x)), *want = malloc((n + 1) * sizeof(*x));
	double head[2];
	int wrong;

	tree_sum(step, 0, n_slots, n, want);
	wrong = sum_step(e, step, n_slots, n, x, head) != RS_OK
		|| memcmp(x, want, n * sizeof(*x)) != 0 || head[1] != (double)n_slots;
	free(x);
	free(want);
	return wrong;
}

static int
sum_many(const struct bed *b, struct exchange *e)
{
	static const size_t size[] = { 0, 1, 15, 16, 17, 600 };
	uint64_t step = 1;

	for (size_t slots = b->n_ranks; slots <= SLOTS_MAX; slots++)
		for (size_t i = 0; i < N_ROWS(size); i++)
			if (sum_and_compare(e, step++, slots, size[i]))
				return 1;
	return 0;
}

static void
any_number_of_processes_gives_the_tree_sum(void **state)
{
	(void)state;
	for (size_t ranks = 1; ranks <= RANKS_MAX; ranks++) {
		struct bed b;

		bed_open(&b, ranks, exchange_shm_bytes(ranks, SLOTS_MAX, 600));
		run_ranks(&b, sum_many);
		bed_close(&b);
	}
}

static int
sum_large(const struct bed *b, struct exchange *e)
{
	(void)b;
	return sum_and_compare(e, 1, 5, P_MAX) || sum_and_compare(e, 0, 3, 1 << 16);
}

static void
a_sum_larger_than_the_memory_goes_in_pieces(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, 3, exchange_shm_bytes(3, 5, P_MAX));
	run_ranks(&b, sum_large);
	bed_close(&b);
	bed_open(&b, 3, 20000);
	run_ranks(&b, sum_large);
	bed_close(&b);
}

static int
sum_without_room(const struct bed *b, struct exchange *e)
{
	float x[100];
	double head[2];

	(void)b;
	return sum_step(e, 1, 5, 100, x, head) != RS_ERESOURCE;
}

static void
memory_that_is_too_small_is_refused(void **state)
{
	struct exchange base = { .n_ranks = 3, .kernel = &kernel_ref, .timeout = 1 }, *e;
	struct bed b;

	(void)state;
	bed_open(&b, 3, 1300);
	run_ranks(&b, sum_without_room);
	assert_int_equal(exchange_shm_open(&base, b.fd, 1301, 2, &e), RS_ERESOURCE);
	assert_int_equal(exchange_shm_open(&base, b.fd, 100, 2, &e), RS_ERESOURCE);
	assert_int_equal(exchange_shm_open(&base, -1, 1300, 2, &e), RS_ERESOURCE);
	bed_close(&b);
}

static char
byte(size_t i)
{
	return (char)(hash_mix(i) & 127);
}

static int
gather_and_compare(struct exchange *e, const size_t *begin)
{
	const size_t n = begin[e->n_ranks];
	char *block = malloc(n + 1);
	int wrong;

	memset(block, -1, n + 1);
	for (size_t i = begin[e->rank]; i < begin[e->rank + 1]; i++)
		block[i] = byte(i);
	wrong = e->ops->gather(e, block, begin) != RS_OK;
	for (size_t i = 0; i < n; i++)
		wrong |= block[i] != byte(i);
	wrong |= block[n] != -1;
	free(block);
	return wrong;
}

static int
broadcast_and_compare(struct exchange *e, size_t n)
{
	char *bytes = malloc(n + 1);
	int wrong;

	for (size_t i = 0; i <= n; i++)
		bytes[i] = e->rank == 0 ? byte(i) : -1;
	wrong = e->ops->broadcast(e, bytes, n) != RS_OK;
	for (size_t i = 0; i < n; i++)
		wrong |= bytes[i] != byte(i);
	wrong |= e->rank != 0 && bytes[n] != -1;
	free(bytes);
	return wrong;
}

static int
gather_many(const struct bed *b, struct exchange *e)
{
	static const size_t end[][3] = { { 0, 0, 0 }, { 1, 1, 1 }, { 0, 0, 1 }, { 3, 3, 70 },
		{ 100000, 300000, 600001 }, { 0, 600000, 600000 }, { 5, 9, 14 } };

	(void)b;
	for (size_t i = 0; i < N_ROWS(end); i++) {
		const size_t begin[] = { 0, end[i][0], end[i][1], end[i][2] };

		if (gather_and_compare(e, begin) || broadcast_and_compare(e, end[i][2]))
			return 1;
	}
	return 0;
}

static void
bytes_of_all_ranks_are_gathered_and_of_the_first_broadcast(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, 3, exchange_shm_bytes(3, 3, 0));
	run_ranks(&b, gather_many);
	bed_close(&b);
	bed_open(&b, 3, 3000);
	run_ranks(&b, gather_many);
	bed_close(&b);
}

/* All know the same sequence of calls; sizes change at every call. */
static int
stress(const struct bed *b, struct exchange *e)
{
	for (uint64_t i = 0; i < 10000; i++) {
		const uint64_t r = hash_mix(i + 1);
		const size_t n = r >> 8 & 63;
		const size_t begin[] = { 0, n / 3, n / 2, n };
		const int wrong = r % 4 == 0 ? gather_and_compare(e, begin)
			: r % 4 == 1 ? broadcast_and_compare(e, n)
			: sum_and_compare(e, i, b->n_ranks + (r >> 16) % 3, n);

		if (wrong)
			return 1;
	}
	return 0;
}

static void
ten_thousand_calls_of_all_kinds_do_not_mix(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, 3, exchange_shm_bytes(3, 5, 64));
	run_ranks(&b, stress);
	bed_close(&b);
}

static int
sum_other_sizes(const struct bed *b, struct exchange *e)
{
	float x[101];
	double head[2], since = clock_seconds();

	return note(b, e, sum_step(e, 7, 4, e->rank == 1 ? 101 : 100, x, head), since);
}

static int
gather_other_sizes(const struct bed *b, struct exchange *e)
{
	const size_t begin[] = { 0, e->rank == 2 ? 4 : 5, 10, 15 };
	char block[15] = { 0 };

	return note(b, e, e->ops->gather(e, block, begin), clock_seconds());
}

static int
call_other_things(const struct bed *b, struct exchange *e)
{
	const size_t begin[] = { 0, 5, 10, 15 };
	char block[15] = { 0 };
	float x[10];
	double head[2];

	return note(b, e, e->rank == 0 ? sum_step(e, 7, 4, 10, x, head)
		: e->ops->gather(e, block, begin), clock_seconds());
}

static void
ranks_that_want_different_things_all_fail(void **state)
{
	static const struct { work_function *work; const char *text; } row[] = {
		{ sum_other_sizes, "worker 0 came to the sum of step 7 (100 floats, 4 slots), "
			"worker 1 to the sum of step 7 (101 floats, 4 slots)" },
		{ gather_other_sizes, "worker 0 came to a gather of 15 bytes, "
			"worker 2 to a gather of 15 bytes, cut in another way" },
		{ call_other_things, "worker 0 came to the sum of step 7 (10 floats, 4 slots), "
			"worker 1 to a gather of 15 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < N_ROWS(row); i++) {
		struct bed b;

		bed_open(&b, 3, exchange_shm_bytes(3, 4, 100));
		run_ranks(&b, row[i].work);
		for (size_t r = 0; r < 3; r++) {
			assert_int_equal(b.board->status[r], RS_EPROTOCOL);
			assert_string_equal(b.board->text[r], row[i].text);
		}
		bed_close(&b);
	}
}

#define PATIENT_SUMS 12         /* of all ranks; for the next ones they wait less        */
#define STEADY_SUMS  24         /* then no rank is in one that it began as a patient one */

/* Sums until one fails; patient at first: a rank may be slow to begin. */
static int
sum_on(const struct bed *b, struct exchange *e)
{
	float *x = malloc(3000 * sizeof(*x));
	double head[2], since;
	enum rs_status status = RS_OK;

	for (uint64_t step = 1; status == RS_OK; step++) {
		since = clock_seconds();
		e->timeout = atomic_load(&b->board->n_done) < PATIENT_SUMS ? 20 : b->timeout;
		status = sum_step(e, step, 4, 3000, x, head);
		atomic_fetch_add(&b->board->n_done, 1);
	}
	free(x);
	return note(b, e, status, since);
}

static void
sleep_ms(long ms)
{
	nanosleep(&(struct timespec){ .tv_nsec = ms * 1000000 }, NULL);
}

/* "worker 2 did not come", or a list with it. */
static int
names(const char *text, size_t rank)
{
	const char *end = strstr(text, " did not come");

	return end != NULL && memchr(text, '0' + (int)rank, (size_t)(end - text)) != NULL;
}

static void
assert_victim_is_named(struct bed *b, size_t victim)
{
	int named = 0;

	for (size_t r = 0; r < 3; r++) {
		if (r == victim)
			continue;
		assert_int_equal(b->board->status[r], RS_EPEER);
		assert_true(b->board->seconds[r] < 10);
		named |= names(b->board->text[r], victim);
	}
	/* Who gives up first tells the others that it left. */
	assert_true(named);
}

static void
L044_a_worker_killed_in_a_sum_is_named_and_the_next_round_works(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, 3, exchange_shm_bytes(3, SLOTS_MAX, 3000));
	for (size_t i = 0; i < 3; i++) {
		const size_t victim = 2 - i;
		pid_t pid[3];

		b.epoch++;
		b.timeout = 0.4;
		for (size_t r = 0; r < 3; r++)
			pid[r] = rank_start(&b, r, sum_on);
		WAIT_UNTIL(atomic_load(&b.board->n_done) >= STEADY_SUMS, 60);
		kill(pid[victim], i < 2 ? SIGKILL : SIGSTOP);
		for (size_t r = 0; r < 3; r++)
			assert_true(r == victim || rank_end(pid[r]) == 0);
		assert_victim_is_named(&b, victim);
		kill(pid[victim], SIGKILL);
		assert_int_equal(rank_end(pid[victim]), 128 + SIGKILL);
		atomic_store(&b.board->n_done, 0);
		b.timeout = 20;
		b.epoch++;
		run_ranks(&b, sum_many);
	}
	bed_close(&b);
}

static int
sum_unless_first(const struct bed *b, struct exchange *e)
{
	float x[10];
	double head[2], since = clock_seconds();

	if (e->rank != 0)
		return note(b, e, sum_step(e, 812, 4, 10, x, head), since);
	while (!atomic_load(&b->board->stop))
		sleep_ms(5);
	return 0;
}

static void
who_waits_gives_up_when_the_round_is_over(void **state)
{
	struct bed b;
	pid_t pid[3];

	(void)state;
	bed_open(&b, 3, exchange_shm_bytes(3, 4, 10));
	for (size_t r = 0; r < 3; r++)
		pid[r] = rank_start(&b, r, sum_unless_first);
	sleep_ms(50);
	atomic_store(&b.board->stop, 1);
	for (size_t r = 0; r < 3; r++)
		assert_int_equal(rank_end(pid[r]), 0);
	for (size_t r = 1; r < 3; r++) {
		assert_int_equal(b.board->status[r], RS_EPEER);
		assert_true(b.board->seconds[r] < 10);
		assert_string_equal(b.board->text[r], "the sum of step 812 "
			"was broken off: the round is over");
	}
	bed_close(&b);
}

static int
sum_but_last(const struct bed *b, struct exchange *e)
{
	float x[10];
	double head[2], since = clock_seconds();

	return e->rank == 2 ? 0 : note(b, e, sum_step(e, 0, 4, 10, x, head), since);
}

static void
who_left_is_not_waited_for(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, 3, exchange_shm_bytes(3, 4, 10));
	run_ranks(&b, sum_but_last);
	for (size_t r = 0; r < 2; r++) {
		assert_int_equal(b.board->status[r], RS_EPEER);
		assert_true(b.board->seconds[r] < 10);
		assert_true(strcmp(b.board->text[r], "worker 2 left before a sum of 10 floats") == 0
			|| strstr(b.board->text[1 - r], "worker 2") != NULL);
	}
	bed_close(&b);
}

static void
a_round_is_not_begun_twice_and_an_old_one_is_over(void **state)
{
	float x[10];
	double head[2];
	struct bed b;
	struct exchange *old, *e;

	(void)state;
	bed_open(&b, 1, exchange_shm_bytes(1, 4, 10));
	b.epoch = 5;
	old = rank_open(&b, 0);
	assert_non_null(old);
	assert_int_equal(sum_step(old, 1, 4, 10, x, head), RS_OK);
	assert_null(rank_open(&b, 0));
	b.epoch = 6;
	e = rank_open(&b, 0);
	assert_non_null(e);
	assert_int_equal(sum_step(e, 1, 4, 10, x, head), RS_OK);
	assert_int_equal(sum_step(old, 2, 4, 10, x, head), RS_EPEER);
	b.epoch = 5;
	assert_null(rank_open(&b, 0));
	e->ops->close(e);
	old->ops->close(old);
	bed_close(&b);
}

struct thread_argument { const struct bed *b; size_t rank; int result; };

static void *
thread_rank(void *argument)
{
	struct thread_argument *a = argument;
	struct exchange *e = rank_open(a->b, a->rank);

	a->result = sum_many(a->b, e) || gather_many(a->b, e);
	e->ops->close(e);
	return NULL;
}

static void
ranks_may_be_threads(void **state)
{
	struct thread_argument a[3];
	pthread_t thread[3];
	struct bed b;

	(void)state;
	bed_open(&b, 3, exchange_shm_bytes(3, SLOTS_MAX, 600));
	for (size_t r = 0; r < 3; r++) {
		a[r] = (struct thread_argument){ &b, r, 0 };
		assert_int_equal(thread_start(&thread[r], "rank", thread_rank, &a[r]), RS_OK);
	}
	for (size_t r = 0; r < 3; r++) {
		thread_join(thread[r]);
		assert_int_equal(a[r].result, 0);
	}
	bed_close(&b);
}

static int
reduce(const struct bed *b, struct exchange *e)
{
	struct reducer *r;
	const struct slot_sum *total;
	float want[600];
	int wrong = 0;

	static const struct reducer_bucket bucket[] = { { 577, 600 }, { 3, 577 }, { 0, 3 } };

	if (reducer_shm_open(&(struct reducer_options){ .kernel = &kernel_ref, .n_workers = 1,
	    .n_cores = 1, .n_slots = SLOTS_MAX, .n_params = 600, .exchange = e,
	    .bucket = bucket, .n_buckets = b->epoch == 1 ? 0 : N_ROWS(bucket) }, &r) != RS_OK)
		return 1;
	for (uint64_t step = 1; step <= 50 && !wrong; step++) {
		for (size_t slot = tree_rank_begin(SLOTS_MAX, b->n_ranks, e->rank);
		    slot < tree_rank_begin(SLOTS_MAX, b->n_ranks, e->rank + 1); slot++) {
			struct slot_sum *s = r->ops->acquire(r, 0);

			s->step = step;
			for (size_t i = 600; i-- > 0;) {
				s->grad[i] = value(step, slot, i);
				if (i == 400)
					r->ops->advance(r, 0, slot, s, 1);
			}
			s->votes = e->rank == 1 && step == 9;
			r->ops->contribute(r, 0, slot, s);
		}
		r->step = step;
		r->dense_hash = hash_mix(step);
		tree_sum(step, 0, SLOTS_MAX, 600, want);
		wrong = r->ops->finish(r, 0, &total) != RS_OK || total->votes != (step == 9)
			|| memcmp(total->grad, want, sizeof(want)) != 0;
	}
	r->ops->close(r);
	return wrong;
}

static void
reducers_of_processes_give_the_tree_sum(void **state)
{
	struct bed b;

	(void)state;
	bed_open(&b, 4, exchange_shm_bytes(4, SLOTS_MAX, 600));
	run_ranks(&b, reduce);
	b.epoch = 2;                               /* in buckets                      */
	run_ranks(&b, reduce);
	bed_close(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_processes_gives_the_tree_sum),
		cmocka_unit_test(a_sum_larger_than_the_memory_goes_in_pieces),
		cmocka_unit_test(memory_that_is_too_small_is_refused),
		cmocka_unit_test(bytes_of_all_ranks_are_gathered_and_of_the_first_broadcast),
		cmocka_unit_test(ten_thousand_calls_of_all_kinds_do_not_mix),
		cmocka_unit_test(ranks_that_want_different_things_all_fail),
		cmocka_unit_test(L044_a_worker_killed_in_a_sum_is_named_and_the_next_round_works),
		cmocka_unit_test(who_waits_gives_up_when_the_round_is_over),
		cmocka_unit_test(who_left_is_not_waited_for),
		cmocka_unit_test(a_round_is_not_begun_twice_and_an_old_one_is_over),
		cmocka_unit_test(ranks_may_be_threads),
		cmocka_unit_test(reducers_of_processes_give_the_tree_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
