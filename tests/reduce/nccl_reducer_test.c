/*
 * Gradients of slots that stay on the GPU of their rank until a double of NCCL has summed them:
 * ranks are threads, workers of a rank, too, and what goes not over NCCL goes over shared memory.
 */
#include "reduce/reducer.h"

#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/test.h"

#include "base/rng.h"
#include "base/thread.h"
#include "kernel/kernel.h"
#include "nccl_double.h"
#include "reduce/nccl_exchange.h"
#include "tests/kernel/emulated_gpu.h"

enum { RANKS_MAX = 3, SLOTS_MAX = 8, WORKERS_MAX = 3, STEPS = 3, P = 1100 };

static const struct kernel_set *kernel;
static const struct reducer_bucket bucket[] = { { 700, P }, { 300, 700 }, { 0, 300 } };
enum { N_BUCKETS = sizeof(bucket) / sizeof(bucket[0]) };

/* In step 2, float `at` of a slot; and the opposite in the next one. */
struct wild { float value; size_t slot, at; int has_opposite; };

struct bed {
	size_t n_ranks, n_slots, n_workers;
	int    is_on_host, is_integer, waits_for_sums;
	struct wild wild;              /* value 0: none                                   */
	size_t leaver;                 /* ends in the middle of step 2                    */
	double timeout;
	int    fd;
	size_t bytes;
};

struct rank {
	struct bed *bed;
	size_t rank;
	struct gpu_memory gpu;
	struct gpu_queue *queue[WORKERS_MAX];
	struct reducer *reducer;
	float  total[STEPS][P];        /* out                                             */
	struct slot_sum sum[STEPS];    /* out, but the gradient                           */
	size_t n_done;                 /* steps                                           */
	enum rs_status status[WORKERS_MAX];
	char   text[256];
};

struct worker { struct rank *rank; size_t number; };

/* --- a worker ------------------------------------------------------------------------------ */

static float
value(const struct bed *b, uint64_t step, size_t slot, size_t i)
{
	const struct wild *const w = &b->wild;
	const uint64_t key = (step * SLOTS_MAX + slot) * P + i;

	if (w->value != 0 && step == 2 && i == w->at && slot - w->slot <= (size_t)w->has_opposite)
		return slot == w->slot ? w->value : -w->value;
	return b->is_integer ? (float)rng_below(7, key, 2001) - 1000
		: (float)(rng_normal(7, key) * 1e3);
}

/* Others, which all ranks must have begun, may be waited for as long as it takes. */
static void
wait_for_sums(size_t n)
{
	const double until = clock_seconds() + 120;

	while (nccl_double_count().sums < n) {
		assert_true(clock_seconds() < until);
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

/* Floats of the bucket to where the gradient is. */
static void
make_bucket(const struct rank *r, const float *x, size_t k, float *grad)
{
	const struct reducer_bucket *const at = &bucket[k];
	const size_t bytes = (at->end - at->begin) * sizeof(*x);

	if (r->bed->is_on_host)
		memcpy(grad + at->begin, x + at->begin, bytes);
	else
		r->gpu.gpu->upload(grad + at->begin, x + at->begin, bytes);
}

/* 0: the rank ends here. */
static int
run_slot(struct rank *r, size_t worker, size_t slot, uint64_t step, int is_last)
{
	const struct reducer_ops *const ops = r->reducer->ops;
	struct slot_sum *const sum = ops->acquire(r->reducer, worker);
	float x[P];

	for (size_t i = 0; i < P; i++)
		x[i] = value(r->bed, step, slot, i);
	r->gpu.gpu->use(r->queue[worker]);
	sum->step = step;
	sum->loss = (double)step / (double)(slot + 1);
	sum->rows = 1;
	sum->votes = 1U << slot;
	for (size_t k = 0; k < N_BUCKETS; k++) {
		make_bucket(r, x, k, sum->grad);
		ops->advance(r->reducer, worker, slot, sum, k + 1);
		if (k == 0 && r->rank == r->bed->leaver && step == 2 && is_last)
			return 0;
		if (k == 0 && is_last && r->bed->waits_for_sums)
			wait_for_sums((step - 1) * N_BUCKETS + 1);
	}
	if (!r->bed->is_on_host)
		sum->bad = r->gpu.gpu->wait() != RS_OK;
	assert_int_equal(ops->contribute(r->reducer, worker, slot, sum), RS_OK);
	return 1;
}

static enum rs_status
run_steps(struct rank *r, size_t worker)
{
	const struct bed *const b = r->bed;
	const size_t begin = tree_rank_begin(b->n_slots, b->n_ranks, r->rank);
	const size_t end = tree_rank_begin(b->n_slots, b->n_ranks, r->rank + 1);
	const struct slot_sum *total;

	for (uint64_t step = 1; step <= STEPS; step++) {
		if (worker == 0)
			r->reducer->step = step;
		for (size_t slot = begin + worker; slot < end; slot += b->n_workers)
			if (!run_slot(r, worker, slot, step, slot + 1 == end))
				return RS_OK;
		RS_TRY(r->reducer->ops->finish(r->reducer, worker, &total));
		if (worker == 0) {
			memcpy(r->total[step - 1], total->grad, sizeof(r->total[0]));
			r->sum[step - 1] = *total;
			r->n_done = step;
		}
		RS_TRY(r->reducer->ops->barrier(r->reducer, worker));
	}
	return RS_OK;
}

static void *
worker_main(void *context)
{
	const struct worker *const w = context;
	struct rank *const r = w->rank;
	struct gpu_plan plan = { .bytes = GPU_ALIGNMENT };
	struct gpu_queue **const queue = &r->queue[w->number];
	char *block;

	assert_int_equal(gpu_memory_open(&r->gpu, 0, &plan, queue, &block), RS_OK);
	r->status[w->number] = run_steps(r, w->number);
	if (r->status[w->number] != RS_OK && w->number == 0)
		snprintf(r->text, sizeof(r->text), "%.250s", rs_failure()->text);
	gpu_memory_close(&r->gpu, &plan, *queue);
	return NULL;
}

/* --- a rank -------------------------------------------------------------------------------- */

static void
open_exchange(struct rank *r, struct exchange **out)
{
	struct bed *const b = r->bed;
	const struct exchange base = { .rank = r->rank, .n_ranks = b->n_ranks, .kernel = kernel,
		.timeout = b->timeout };
	struct nccl_exchange_options o = { .calls = &nccl_double, .gpu = &r->gpu };
	char why[NCCL_WHY];

	assert_int_equal(exchange_shm_open(&base, b->fd, b->bytes, 1, &o.inner), RS_OK);
	assert_int_equal(nccl_exchange_open(&base, &o, out, why), RS_OK);
	assert_string_equal(why, "");
	assert_ptr_equal((*out)->gpu, &r->gpu);
}

static void *
rank_main(void *context)
{
	struct rank *const r = context;
	struct worker worker[WORKERS_MAX];
	pthread_t thread[WORKERS_MAX];
	struct exchange *e;

	open_exchange(r, &e);
	assert_int_equal(reducer_shm_open(&(struct reducer_options){ .kernel = kernel,
	    .n_workers = r->bed->n_workers, .n_cores = 1, .n_slots = r->bed->n_slots,
	    .n_params = P, .exchange = e, .gpu = r->bed->is_on_host ? NULL : &r->gpu,
	    .bucket = bucket, .n_buckets = N_BUCKETS }, &r->reducer), RS_OK);
	for (size_t w = 0; w < r->bed->n_workers; w++) {
		worker[w] = (struct worker){ r, w };
		assert_int_equal(pthread_create(&thread[w], NULL, worker_main, &worker[w]), 0);
	}
	for (size_t w = 0; w < r->bed->n_workers; w++)
		pthread_join(thread[w], NULL);
	r->reducer->ops->close(r->reducer);
	e->ops->close(e);
	return NULL;
}

/* --- all of them --------------------------------------------------------------------------- */

static struct bed
bed_of(size_t n_ranks, size_t n_slots, size_t n_workers)
{
	return (struct bed){ .n_ranks = n_ranks, .n_slots = n_slots, .n_workers = n_workers,
		.leaver = SIZE_MAX, .timeout = 60 };
}

static void
run_ranks(struct bed *b, struct rank rank[RANKS_MAX])
{
	pthread_t thread[RANKS_MAX];
	const char *where;

	b->bytes = exchange_shm_bytes(b->n_ranks, b->n_slots, P);
	b->fd = memfd_create("exchange", MFD_CLOEXEC);
	assert_int_equal(ftruncate(b->fd, (off_t)b->bytes), 0);
	nccl_double_reset(&(struct nccl_double_plan){ 0 });
	(void)emulated_gpu_marks();
	(void)emulated_gpu_copies();
	for (size_t r = 0; r < b->n_ranks; r++) {
		rank[r] = (struct rank){ .bed = b, .rank = r,
			.gpu = { .gpu = &gpu_emulated, .n_devices = 1, .device = { (int)r } } };
		assert_int_equal(pthread_create(&thread[r], NULL, rank_main, &rank[r]), 0);
	}
	for (size_t r = 0; r < b->n_ranks; r++)
		pthread_join(thread[r], NULL);
	close(b->fd);
	for (size_t r = 0; r < b->n_ranks; r++)
		assert_int_equal(atomic_load(&rank[r].gpu.used), 0);
	if (emulate_violations(&where) > 0)
		fail_msg("%s", where);
	assert_int_equal(emulated_gpu_in_use(), 0);
}

static void
assert_fine(const struct rank rank[RANKS_MAX])
{
	const struct bed *const b = rank[0].bed;

	for (size_t r = 0; r < b->n_ranks; r++) {
		if (rank[r].status[0] != RS_OK)
			fail_msg("rank %zu: %s", r, rank[r].text);
		assert_memory_equal(rank[r].total, rank[0].total, sizeof(rank[0].total));
		for (size_t k = 0; k < STEPS; k++) {
			assert_int_equal(rank[r].sum[k].votes, (1U << b->n_slots) - 1);
			assert_true(rank[r].sum[k].rows == (double)b->n_slots);
			assert_true(rank[r].sum[k].loss == rank[0].sum[k].loss);
			assert_int_equal(rank[r].sum[k].bad, 0);
		}
	}
}

/* Ranks of one slot, two and several, and fewer and more workers. */
static const struct { size_t n_ranks, n_slots, n_workers; } shape[] = {
	{ 2, 2, 1 }, { 3, 3, 1 }, { 2, 4, 1 }, { 2, 4, 2 }, { 3, 8, 1 }, { 3, 8, 3 }, { 2, 7, 2 },
};

/* Of whole numbers in a step, from 0. */
static void
assert_exact(const struct rank *r, size_t step)
{
	for (size_t i = 0; i < P; i++) {
		float want = 0;

		for (size_t slot = 0; slot < r->bed->n_slots; slot++)
			want += value(r->bed, 1 + step, slot, i);
		if (r->total[step][i] != want)
			fail_msg("%zu slots, rank %zu, step %zu: float %zu is %g, wanted %g",
				r->bed->n_slots, r->rank, step, i, r->total[step][i], want);
	}
}

static void
whole_numbers_are_summed_exactly(void **state)
{
	static struct rank rank[RANKS_MAX];

	(void)state;
	for (size_t k = 0; k < N_ROWS(shape); k++) {
		struct bed b = bed_of(shape[k].n_ranks, shape[k].n_slots, shape[k].n_workers);

		b.is_integer = 1;
		run_ranks(&b, rank);
		assert_fine(rank);
		for (size_t i = 0; i < STEPS; i++)
			assert_exact(&rank[0], i);
	}
}

/* Those of a rank are added from left to right, whoever had which slot and when; heads follow
 * the tree. */
static void
bits_do_not_depend_on_the_run(void **state)
{
	static struct rank there[RANKS_MAX], again[RANKS_MAX], host[RANKS_MAX];

	(void)state;
	for (size_t k = 0; k < N_ROWS(shape); k++) {
		struct bed b = bed_of(shape[k].n_ranks, shape[k].n_slots, 1);

		run_ranks(&b, there);
		assert_fine(there);
		for (b.n_workers = 1; b.n_workers <= WORKERS_MAX; b.n_workers++) {
			run_ranks(&b, again);
			assert_fine(again);
			assert_memory_equal(again[0].total, there[0].total, sizeof(there[0].total));
		}
		b.n_workers = 1;
		b.is_on_host = 1;
		run_ranks(&b, host);
		assert_fine(host);
		for (size_t i = 0; i < STEPS; i++)
			assert_true(host[0].sum[i].loss == there[0].sum[i].loss);
		for (size_t i = 0; i < STEPS * P; i++)
			if (!(fabs((double)host[0].total[i / P][i % P]
				- there[0].total[i / P][i % P]) <= 1e-6 * 1e3 * (double)b.n_slots))
				fail_msg("%zu: float %zu is %g, by the host %g", k, i,
					there[0].total[i / P][i % P], host[0].total[i / P][i % P]);
	}
}

/* What a rank makes goes up here, as a test has no pass backward. */
static void
only_the_total_comes_to_the_host(void **state)
{
	static struct rank rank[RANKS_MAX];

	(void)state;
	for (size_t k = 0; k < N_ROWS(shape); k++) {
		struct bed b = bed_of(shape[k].n_ranks, shape[k].n_slots, shape[k].n_workers);

		run_ranks(&b, rank);
		assert_fine(rank);
		const struct emulated_gpu_copies bytes = emulated_gpu_copies();
		const struct emulated_gpu_marks marks = emulated_gpu_marks();
		assert_int_equal(bytes.down, b.n_ranks * STEPS * P * sizeof(float));
		assert_int_equal(bytes.up, b.n_slots * STEPS * P * sizeof(float));
		assert_int_equal(marks.n_set, b.n_slots * STEPS * (N_BUCKETS - 1));
		assert_int_equal(marks.n_followed, marks.n_set);
		assert_int_equal(nccl_double_count().sums, STEPS * N_BUCKETS);
	}
}

/* No rank makes the rest of its last slot before the first bucket of all was summed. */
static void
what_is_final_is_summed_before_the_rest(void **state)
{
	static struct rank rank[RANKS_MAX];

	(void)state;
	for (size_t n_slots = 2; n_slots <= 6; n_slots += 2) {
		struct bed b = bed_of(2, n_slots, 1);

		b.waits_for_sums = 1;
		run_ranks(&b, rank);
		assert_fine(rank);
	}
}

static void
what_one_rank_must_not_sum_all_see(void **state)
{
	static const struct { size_t n_slots; struct wild wild; } row[] = {
		{ 3, { NAN, 0, P - 1, 0 } }, { 3, { INFINITY, 1, 0, 0 } },
		{ 8, { -INFINITY, 7, 500, 0 } }, { 8, { 0x1p101f, 2, 5, 0 } },
		{ 8, { 0x1p101f, 0, 5, 1 } }, { 8, { -0x1p120f, 6, P - 1, 1 } },
	};
	static struct rank rank[RANKS_MAX];

	(void)state;
	for (size_t k = 0; k < N_ROWS(row); k++) {
		struct bed b = bed_of(3, row[k].n_slots, 1);

		b.wild = row[k].wild;
		run_ranks(&b, rank);
		for (size_t r = 0; r < b.n_ranks; r++)
			for (size_t i = 0; i < STEPS; i++)
				if (rank[r].status[0] != RS_OK || rank[r].sum[i].bad != (i == 1))
					fail_msg("%zu: rank %zu, step %zu: %d %s", k, r, i + 1,
						rank[r].sum[i].bad, rank[r].text);
	}
}

/* A step takes 72 things that are started, the last quarter of which sums the last bucket. */
static void
what_a_gpu_failed_to_do_is_in_no_total(void **state)
{
	static const unsigned nth[] = { 3, 30, 58, 62, 66, 70 };
	static struct rank rank[RANKS_MAX];

	(void)state;
	for (size_t k = 0; k < N_ROWS(nth); k++) {
		struct bed b = bed_of(3, 6, 1);
		size_t n_failed = 0, n_bad = 0;

		b.is_integer = 1;
		b.timeout = 2;
		emulate_fail(nth[k]);
		run_ranks(&b, rank);
		emulate_fail(0);
		for (size_t r = 0; r < b.n_ranks; r++) {
			n_failed += rank[r].status[0] != RS_OK;
			for (size_t i = 0; i < rank[r].n_done; i++) {
				n_bad += rank[r].sum[i].bad;
				if (!rank[r].sum[i].bad)
					assert_exact(&rank[r], i);
			}
		}
		assert_true(n_failed + n_bad > 0);
	}
}

/* After its first bucket. */
static void
a_peer_lost_in_the_middle_ends_the_step_of_the_others(void **state)
{
	static struct rank rank[RANKS_MAX];

	(void)state;
	for (size_t leaver = 0; leaver < 3; leaver++) {
		struct bed b = bed_of(3, 6, 1);

		b.leaver = leaver;
		b.timeout = 2;
		run_ranks(&b, rank);
		for (size_t r = 0; r < b.n_ranks; r++)
			if ((rank[r].status[0] != RS_EPEER) != (r == leaver))
				fail_msg("rank %zu, %zu left: %d %s", r, leaver,
					(int)rank[r].status[0], rank[r].text);
		assert_true(nccl_double_count().aborted >= 2);
		nccl_double_reset(&(struct nccl_double_plan){ 0 });
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole_numbers_are_summed_exactly),
		cmocka_unit_test(bits_do_not_depend_on_the_run),
		cmocka_unit_test(only_the_total_comes_to_the_host),
		cmocka_unit_test(what_is_final_is_summed_before_the_rest),
		cmocka_unit_test(what_one_rank_must_not_sum_all_see),
		cmocka_unit_test(what_a_gpu_failed_to_do_is_in_no_total),
		cmocka_unit_test(a_peer_lost_in_the_middle_ends_the_step_of_the_others),
	};

	if (kernel_select("auto", &kernel) != RS_OK)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
