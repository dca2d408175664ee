/* Barrier, queue, thread counts, clocks. */
#include "tests/test.h"

#include <sched.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/thread.h"

enum { MAX_THREADS = 8 };

struct meeting {
	struct barrier barrier;
	unsigned       n, rounds;
	int            lag;                     /* thread 0 is late by so many ms    */
	uint64_t       cell[MAX_THREADS];       /* plain memory: the barrier orders it */
	atomic_int     errors;
};

struct member {
	struct meeting *meeting;
	unsigned        index;
};

/* Each round everyone writes its cell, then checks everyone else's. */
static void *
attend(void *argument)
{
	const struct member *self = argument;
	struct meeting      *m = self->meeting;

	for (uint64_t round = 1; round <= m->rounds; round++) {
		if (m->lag > 0 && self->index == 0)
			usleep((useconds_t)m->lag * 1000);
		m->cell[self->index] = round;
		barrier_wait(&m->barrier);
		for (unsigned i = 0; i < m->n; i++)
			if (m->cell[i] != round)
				atomic_fetch_add(&m->errors, 1);
		barrier_wait(&m->barrier);
	}
	return NULL;
}

static void
hold_meeting(unsigned n, size_t n_cores, unsigned rounds, int lag)
{
	struct meeting m = { .n = n, .rounds = rounds, .lag = lag };
	struct member  member[MAX_THREADS];
	pthread_t      thread[MAX_THREADS];

	barrier_init(&m.barrier, n, n_cores);
	for (unsigned i = 0; i < n; i++) {
		member[i] = (struct member){ &m, i };
		assert_int_equal(thread_start(&thread[i], "meeting", attend, &member[i]), RS_OK);
	}
	for (unsigned i = 0; i < n; i++)
		thread_join(thread[i]);
	assert_int_equal(atomic_load(&m.errors), 0);
}

static void
barrier_orders_writes_of_threads_that_spin(void **state)
{
	(void)state;
	hold_meeting(1, 2, 1000, 0);
	hold_meeting(2, 2, 5000, 0);
}

static void
barrier_orders_writes_of_more_threads_than_cores(void **state)
{
	(void)state;
	hold_meeting(3, 1, 2000, 0);
	hold_meeting(MAX_THREADS, 1, 500, 0);
}

/* Told that there are cores enough, they spin, fail to meet in time and sleep. */
static void
barrier_survives_spinning_with_too_few_cores(void **state)
{
	(void)state;
	hold_meeting(MAX_THREADS, MAX_THREADS, 10, 0);
	hold_meeting(2, 2, 20, 4);
}

static void *
put_numbers(void *argument)
{
	static char   number[1000];
	struct queue *q = argument;

	for (size_t i = 0; i < sizeof(number); i++)
		if (!queue_put(q, &number[i]))
			return NULL;
	return number;
}

static void
queue_keeps_order_across_threads(void **state)
{
	struct queue q;
	pthread_t    thread;
	char        *former = NULL;

	(void)state;
	assert_int_equal(queue_init(&q, 3), RS_OK);
	assert_int_equal(thread_start(&thread, "producer", put_numbers, &q), RS_OK);
	for (size_t i = 0; i < 1000; i++) {
		char *item = queue_take(&q);

		assert_non_null(item);
		if (former != NULL)
			assert_ptr_equal(item, former + 1);
		former = item;
	}
	thread_join(thread);
	queue_free(&q);
}

static void
closed_queue_refuses_and_drains(void **state)
{
	struct queue q;
	int          a, b;

	(void)state;
	assert_int_equal(queue_init(&q, 2), RS_OK);
	assert_true(queue_put(&q, &a));
	assert_true(queue_put(&q, &b));
	queue_close(&q);
	assert_false(queue_put(&q, &a));
	assert_ptr_equal(queue_take(&q), &a);
	assert_ptr_equal(queue_take(&q), &b);
	assert_null(queue_take(&q));
	queue_free(&q);
	queue_free(&q);
}

static void
closing_wakes_a_blocked_producer(void **state)
{
	struct queue q;
	pthread_t    thread;

	(void)state;
	assert_int_equal(queue_init(&q, 1), RS_OK);
	assert_int_equal(thread_start(&thread, "producer", put_numbers, &q), RS_OK);
	usleep(2000);
	queue_close(&q);
	thread_join(thread);
	queue_free(&q);
}

static void *
take_one(void *argument)
{
	return queue_take(argument);
}

static void
closing_wakes_a_blocked_consumer(void **state)
{
	struct queue q;
	pthread_t    thread;
	void        *item = &q;

	(void)state;
	assert_int_equal(queue_init(&q, 1), RS_OK);
	assert_int_equal(pthread_create(&thread, NULL, take_one, &q), 0);
	usleep(2000);
	queue_close(&q);
	assert_int_equal(pthread_join(thread, &item), 0);
	assert_null(item);
	queue_free(&q);
}

static void
thread_count_follows_the_affinity_mask(void **state)
{
	cpu_set_t   former, one;
	const char *why = NULL;
	int         cpu = 0;

	(void)state;
	assert_true(thread_auto_count(&why) >= 1);
	assert_true(strcmp(why, "affinity") == 0 || strcmp(why, "cgroup") == 0);
	assert_int_equal(sched_getaffinity(0, sizeof(former), &former), 0);
	while (!CPU_ISSET(cpu, &former))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		SKIP_BECAUSE("the affinity mask cannot be set here");
	assert_int_equal(thread_auto_count(&why), 1);
	assert_string_equal(why, "affinity");
	sched_setaffinity(0, sizeof(former), &former);
}

static void
clocks_go_forward_and_print(void **state)
{
	const double start = clock_seconds();
	char         now[24];

	(void)state;
	usleep(1000);
	assert_true(clock_seconds() - start >= 1e-3);
	clock_utc(now);
	assert_int_equal(strlen(now), 20);
	assert_true(now[0] == '2' && now[4] == '-' && now[10] == 'T' && now[19] == 'Z');
}

static void
the_wall_clock_can_be_set_for_a_replay(void **state)
{
	char now[24];

	(void)state;
	clock_set_wall(1000000000);
	assert_true(clock_wall_ms() >= 1000000000000 && clock_wall_ms() < 1000000060000);
	clock_utc(now);
	assert_memory_equal(now, "2001-09-09T01:4", 15);
	clock_set_wall(time(NULL));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(barrier_orders_writes_of_threads_that_spin),
		cmocka_unit_test(barrier_orders_writes_of_more_threads_than_cores),
		cmocka_unit_test(barrier_survives_spinning_with_too_few_cores),
		cmocka_unit_test(queue_keeps_order_across_threads),
		cmocka_unit_test(closed_queue_refuses_and_drains),
		cmocka_unit_test(closing_wakes_a_blocked_producer),
		cmocka_unit_test(closing_wakes_a_blocked_consumer),
		cmocka_unit_test(thread_count_follows_the_affinity_mask),
		cmocka_unit_test(clocks_go_forward_and_print),
		cmocka_unit_test(the_wall_clock_can_be_set_for_a_replay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
