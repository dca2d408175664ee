/*
 * Sums over GPUs with a double of NCCL: ranks are threads, a GPU is the memory of this process,
 * and what is wrong there is what the test asked for.
 */
#include "reduce/nccl.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "tests/test.h"

enum { RANKS = 3, MAX_SUMS = 16, FLOATS = 40, FAILED = 2 };

/* The ranks of one id.  Sum i of a rank is made when all have put theirs. */
static struct world {
	pthread_mutex_t lock;
	size_t n_started, n_put[RANKS], n_made;
	struct { float *x[RANKS]; size_t n; } sum[MAX_SUMS];
	int  lag;                      /* answers "in progress" so often                  */
	int  wrong;                    /* rank, or -1, in which everything fails          */
	int  n_aborted, n_ended, n_destroyed;
} world = { .lock = PTHREAD_MUTEX_INITIALIZER };

struct comm { size_t rank; int lag; };

static void
world_reset(int lag, int wrong)
{
	world = (struct world){ .lock = PTHREAD_MUTEX_INITIALIZER, .lag = lag, .wrong = wrong };
}

static int
fake_make_id(struct nccl_id *out)
{
	memset(out, 7, sizeof(*out));
	return 0;
}

static int
fake_start(void **comm, size_t n_ranks, const struct nccl_id *id, size_t rank)
{
	struct comm *const c = calloc(1, sizeof(*c));

	assert_int_equal(n_ranks, RANKS);
	assert_int_equal(id->bytes[NCCL_ID_BYTES - 1], 7);
	c->rank = rank;
	*comm = c;
	pthread_mutex_lock(&world.lock);
	c->lag = world.lag;
	world.n_started++;
	pthread_mutex_unlock(&world.lock);
	return NCCL_IN_PROGRESS;
}

static int
fake_sum(float *x, size_t n, void *comm, void *stream)
{
	struct comm *const c = comm;

	assert_ptr_equal(stream, &world);
	pthread_mutex_lock(&world.lock);
	const size_t i = world.n_put[c->rank]++;
	const int is_same = world.sum[i].n == 0 || world.sum[i].n == n;
	world.sum[i].n = n;
	world.sum[i].x[c->rank] = x;
	c->lag = world.lag;
	pthread_mutex_unlock(&world.lock);
	return !is_same ? FAILED : c->lag > 0 ? NCCL_IN_PROGRESS : 0;
}

static int
fake_watch(void *comm, int *state)
{
	struct comm *const c = comm;

	pthread_mutex_lock(&world.lock);
	*state = world.n_started < RANKS || c->lag-- > 0 ? NCCL_IN_PROGRESS : 0;
	if (world.n_started == RANKS && world.wrong == (int)c->rank)
		*state = FAILED;
	pthread_mutex_unlock(&world.lock);
	return 0;
}

static int
count(int *n, void *comm)
{
	pthread_mutex_lock(&world.lock);
	++*n;
	pthread_mutex_unlock(&world.lock);
	if (n != &world.n_ended)
		free(comm);
	return 0;
}

static int
fake_end(void *comm)
{
	return count(&world.n_ended, comm);
}

static int
fake_destroy(void *comm)
{
	return count(&world.n_destroyed, comm);
}

static int
fake_abort(void *comm)
{
	return count(&world.n_aborted, comm);
}

static const char *
fake_text(int failure)
{
	return failure == FAILED ? "the cable is out" : "no failure";
}

static const struct nccl_calls fake = {
	.make_id = fake_make_id, .start = fake_start, .sum = fake_sum, .watch = fake_watch,
	.end = fake_end, .destroy = fake_destroy, .abort = fake_abort, .text = fake_text,
};

static void
make_sum(size_t i)
{
	for (size_t j = 0; j < world.sum[i].n; j++) {
		float total = 0;
		for (size_t r = 0; r < RANKS; r++)
			total += world.sum[i].x[r][j];
		for (size_t r = 0; r < RANKS; r++)
			world.sum[i].x[r][j] = total;
	}
}

/* Makes what can be made; over when all of this rank's is. */
static int
fake_is_over(void *context)
{
	const size_t rank = *(const size_t *)context;

	pthread_mutex_lock(&world.lock);
	for (;;) {
		size_t least = MAX_SUMS;
		for (size_t r = 0; r < RANKS; r++)
			least = world.n_put[r] < least ? world.n_put[r] : least;
		if (world.n_made == least)
			break;
		make_sum(world.n_made++);
	}
	const int over = world.n_made >= world.n_put[rank];
	pthread_mutex_unlock(&world.lock);
	return over;
}

/* --- ranks ----------------------------------------------------------------------------- */

struct rank {
	size_t rank, n_steps, longer;  /* longer: floats more than others in the last bucket */
	double timeout;
	const atomic_int *stop;
	float  x[FLOATS];
	enum rs_status status, again;
	char   text[1024];
};

static struct nccl_queue
queue_of(struct rank *r)
{
	return (struct nccl_queue){ .stream = &world, .is_over = fake_is_over,
		.context = &r->rank };
}

static enum rs_status
steps(struct rank *r, struct nccl *n)
{
	const struct nccl_queue q = queue_of(r);
	/* An empty one is nobody's. */
	const struct reducer_bucket bucket[] = {
		{ 20, 35 }, { 8, 8 }, { 3, 20 }, { 0, 2 + r->longer },
	};

	for (size_t step = 1; step <= r->n_steps; step++) {
		for (size_t i = 0; i < FLOATS; i++)
			r->x[i] = (float)(100 * r->rank + i + step);
		RS_TRY(nccl_sum(n, &q, r->x, bucket, 2));
		RS_TRY(nccl_sum(n, &q, r->x, bucket + 2, 2));
		RS_TRY(nccl_wait(n, &q, step));
	}
	return RS_OK;
}

static void *
rank_main(void *context)
{
	struct rank *const r = context;
	struct nccl_options o = {
		.calls = &fake, .rank = r->rank, .n_ranks = RANKS, .timeout = r->timeout,
		.stop = r->stop,
	};
	const struct nccl_queue q = queue_of(r);
	struct nccl *n = NULL;

	r->status = nccl_make_id(&fake, &o.id);
	if (r->status == RS_OK)
		r->status = nccl_open(&o, &n);
	if (r->status == RS_OK)
		r->status = steps(r, n);
	snprintf(r->text, sizeof(r->text), "%s", r->status == RS_OK ? "" : rs_failure()->text);
	r->again = n == NULL || r->status == RS_OK ? RS_OK : nccl_wait(n, &q, 9);
	nccl_close(n);
	return NULL;
}

static void
run_ranks(struct rank rank[RANKS], size_t n)
{
	pthread_t thread[RANKS];

	for (size_t r = 0; r < n; r++) {
		rank[r].rank = r;
		assert_int_equal(pthread_create(&thread[r], NULL, rank_main, &rank[r]), 0);
	}
	for (size_t r = 0; r < n; r++)
		pthread_join(thread[r], NULL);
}

/* --- tests -------------------------------------------------------------------------------- */

static void
check_sums(int lag)
{
	struct rank rank[RANKS] = { 0 };

	world_reset(lag, -1);
	for (size_t r = 0; r < RANKS; r++)
		rank[r] = (struct rank){ .n_steps = 2, .timeout = 20 };
	run_ranks(rank, RANKS);
	for (size_t r = 0; r < RANKS; r++) {
		if (rank[r].status != RS_OK)
			fail_msg("%s", rank[r].text);
		for (size_t i = 0; i < FLOATS; i++) {
			const int is_summed = i < 2 || (i >= 3 && i < 35);
			assert_float_equal(rank[r].x[i], is_summed ? 300 + 3 * (float)(i + 2)
				: (float)(100 * r + i + 2), 0);
		}
	}
	assert_int_equal(world.n_aborted, 0);
	assert_int_equal(world.n_ended, RANKS);
	assert_int_equal(world.n_destroyed, RANKS);
}

static void
buckets_are_summed_and_nothing_else(void **state)
{
	(void)state;
	check_sums(0);
}

static void
what_is_in_progress_is_waited_for(void **state)
{
	(void)state;
	check_sums(3);
}

static void
all_fail(size_t n, struct rank *rank, const char *text)
{
	run_ranks(rank, n);
	for (size_t r = 0; r < n; r++) {
		assert_int_equal(rank[r].status, RS_EPEER);
		if (strstr(rank[r].text, text) == NULL)
			fail_msg("'%s' does not say '%s'", rank[r].text, text);
	}
	assert_int_equal(world.n_aborted, n);
	assert_int_equal(world.n_destroyed, 0);
}

static void
rank_that_does_not_come_is_told_in_time(void **state)
{
	struct rank rank[RANKS] = { { .timeout = 0.2 }, { .timeout = 0.2 } };

	(void)state;
	world_reset(0, -1);
	const double begin = clock_seconds();
	all_fail(RANKS - 1, rank, "start: not over after 0.2 s; another worker is missing");
	assert_true(clock_seconds() - begin < 10);
}

/* Rank 2 ends after the first step, the others go on. */
static void
rank_that_leaves_is_told_in_time(void **state)
{
	struct rank rank[RANKS];

	(void)state;
	world_reset(0, -1);
	for (size_t r = 0; r < RANKS; r++)
		rank[r] = (struct rank){ .n_steps = r == 2 ? 1 : 2, .timeout = 0.3 };
	run_ranks(rank, RANKS);
	assert_int_equal(rank[2].status, RS_OK);
	for (size_t r = 0; r < 2; r++) {
		assert_int_equal(rank[r].status, RS_EPEER);
		assert_non_null(strstr(rank[r].text, "of 3: sum of step 2: not over after 0.3 s"));
		assert_int_equal(rank[r].again, RS_EPEER);
	}
	assert_int_equal(world.n_aborted, 2);
}

static void
failure_in_the_background_is_told_and_aborts(void **state)
{
	struct rank rank[RANKS];

	(void)state;
	world_reset(0, 1);
	for (size_t r = 0; r < RANKS; r++)
		rank[r] = (struct rank){ .n_steps = 1, .timeout = 0.5 };
	run_ranks(rank, RANKS);
	assert_int_equal(rank[1].status, RS_EPEER);
	assert_non_null(strstr(rank[1].text, "NCCL: worker 1 of 3: start: the cable is out"));
	assert_int_equal(rank[0].status, RS_EPEER);
	assert_non_null(strstr(rank[0].text, "not over after 0.5 s"));
	assert_int_equal(world.n_aborted, RANKS);
}

static void
other_sums_than_the_others_are_a_failure(void **state)
{
	struct rank rank[RANKS];
	size_t n_told = 0;

	(void)state;
	world_reset(0, -1);
	for (size_t r = 0; r < RANKS; r++)
		rank[r] = (struct rank){ .n_steps = 1, .timeout = 0.5, .longer = r == 1 };
	run_ranks(rank, RANKS);
	for (size_t r = 0; r < RANKS; r++)
		n_told += strstr(rank[r].text, "sum: the cable is out") != NULL;
	assert_true(n_told > 0);
}

static void
run_that_goes_back_does_not_wait(void **state)
{
	const atomic_int stop = 1;
	struct rank rank[RANKS] = { { .timeout = 500, .stop = &stop } };

	(void)state;
	world_reset(0, -1);
	const double begin = clock_seconds();
	all_fail(1, rank, "start: the run goes back");
	assert_true(clock_seconds() - begin < 10);
}

static void
library_is_found_or_its_absence_told(void **state)
{
	const struct nccl_calls *calls;

	(void)state;
	if (nccl_load(&calls) == RS_OK) {
		assert_non_null(strstr(calls->text(1), "cuda"));
		return;
	}
	assert_int_equal(rs_failure()->status, RS_EPEER);
	assert_non_null(strstr(rs_failure()->text, "NCCL is missing: "));
	assert_true(strlen(rs_failure()->hint) > 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_are_summed_and_nothing_else),
		cmocka_unit_test(what_is_in_progress_is_waited_for),
		cmocka_unit_test(rank_that_does_not_come_is_told_in_time),
		cmocka_unit_test(rank_that_leaves_is_told_in_time),
		cmocka_unit_test(failure_in_the_background_is_told_and_aborts),
		cmocka_unit_test(other_sums_than_the_others_are_a_failure),
		cmocka_unit_test(run_that_goes_back_does_not_wait),
		cmocka_unit_test(library_is_found_or_its_absence_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
