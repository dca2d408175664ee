/* Sums over ranks: the bits of one process, its guard, votes, and who has diverged. */
#include "tests/test.h"

#include <math.h>
#include <pthread.h>
#include <string.h>

#include "base/rng.h"
#include "base/thread.h"
#include "kernel/kernel.h"
#include "reduce/reducer.h"
#include "tests/reduce/thread_exchange.h"

#define P         1100             /* more than two chunks                           */
#define SLOTS_MAX 13
#define RANKS_MAX 5

static float
value(size_t slot, size_t i)
{
	return (float)(rng_normal(slot, i) * 1e3);
}

static void
tree_sum(size_t begin, size_t end, float *out)
{
	float right[P];
	const size_t middle = begin + (end - begin + 1) / 2;

	if (end - begin == 1) {
		for (size_t i = 0; i < P; i++)
			out[i] = value(begin, i);
		return;
	}
	tree_sum(begin, middle, out);
	tree_sum(middle, end, right);
	for (size_t i = 0; i < P; i++)
		out[i] += right[i];
}

static double
tree_head(size_t begin, size_t end)
{
	const size_t middle = begin + (end - begin + 1) / 2;

	if (end - begin == 1)
		return rng_normal(99, begin);
	return tree_head(begin, middle) + tree_head(middle, end);
}

/* The parts of all ranks, in out[0..]; their floats are the caller's to free. */
static size_t
make_parts(size_t n_slots, size_t n_ranks, struct exchange_part *out)
{
	size_t n = 0;

	for (size_t r = 0; r < n_ranks; r++) {
		struct tree_node node[2 * TREE_MAX_DEPTH];
		const size_t m = tree_frontier(n_slots, tree_rank_begin(n_slots, n_ranks, r),
			tree_rank_begin(n_slots, n_ranks, r + 1), node);

		for (size_t i = 0; i < m; i++) {
			float *x = malloc(P * sizeof(*x));
			double *head = malloc(2 * sizeof(*head));

			tree_sum(node[i].begin, node[i].end, x);
			head[0] = tree_head(node[i].begin, node[i].end);
			head[1] = (double)(node[i].end - node[i].begin);
			out[n++] = (struct exchange_part){ node[i], head, x, NULL };
		}
	}
	return n;
}

static void
free_parts(struct exchange_part *part, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free((void *)(uintptr_t)part[i].x);
		free((void *)(uintptr_t)part[i].head);
	}
}

static void
nodes_of_any_number_of_ranks_combine_to_the_tree_sum(void **state)
{
	(void)state;
	for (size_t slots = 1; slots <= SLOTS_MAX; slots++)
		for (size_t ranks = 1; ranks <= slots; ranks++) {
			struct exchange_part part[SLOTS_MAX];
			const size_t n = make_parts(slots, ranks, part);
			float want[P], x[P];
			double head[2];

			tree_sum(0, slots, want);
			exchange_combine(&kernel_ref, slots, part, n, 2, head, 0, P, x);
			assert_memory_equal(x, want, sizeof(want));
			assert_true(head[0] == tree_head(0, slots));
			assert_true(head[1] == (double)slots);
			free_parts(part, n);
		}
}

static void
a_range_of_floats_is_combined_alone_and_in_place(void **state)
{
	struct exchange_part part[SLOTS_MAX];
	const size_t n = make_parts(7, 3, part);
	float want[P], *x = (float *)(uintptr_t)part[0].x, before = x[699];

	(void)state;
	tree_sum(0, 7, want);
	exchange_combine(&kernel_ref, 7, part, n, 0, NULL, 700, P, x);
	assert_memory_equal(x + 700, want + 700, (P - 700) * sizeof(*x));
	assert_true(x[699] == before);
	exchange_combine(&kernel_ref, 7, part, n, 0, NULL, 3, 3, x);
	assert_true(x[3] == part[0].x[3]);
	free_parts(part, n);
}

struct rank {
	struct reducer *reducer;
	struct thread_ranks *all;
	size_t rank, n_slots, worker;
	const struct reducer_bucket *bucket;   /* NULL: one                              */
	size_t n_buckets, bad_at;
	size_t bad_slot;
	float  bad_value;
	uint64_t hash;
	float  total[P];
	struct slot_sum sum;
	enum rs_status status;
	char   text[256];
};

/* In buckets; some become known early, one by one or two at a time. */
static void
fill(const struct rank *k, size_t slot, uint64_t step, struct slot_sum *s)
{
	struct reducer *r = k->reducer;

	for (size_t b = 0; b < k->n_buckets; b++) {
		for (size_t i = k->bucket[b].begin; i < k->bucket[b].end; i++)
			s->grad[i] = value(slot, i);
		if (slot == k->bad_slot && k->bad_value != 0 && k->bad_at >= k->bucket[b].begin
		    && k->bad_at < k->bucket[b].end)
			s->grad[k->bad_at] = k->bad_value;
		if ((slot + step + b) % 3 != 0)
			r->ops->advance(r, k->worker, slot, s, b + 1);
	}
}

static void *
rank_work(void *argument)
{
	struct rank *k = argument;
	struct reducer *r = k->reducer;
	const size_t R = k->all->n, begin = tree_rank_begin(k->n_slots, R, k->rank),
		end = tree_rank_begin(k->n_slots, R, k->rank + 1);
	const struct slot_sum *total;

	for (uint64_t step = 1; step <= 3; step++) {
		for (size_t slot = begin + k->worker; slot < end; slot += 2) {
			struct slot_sum *s = r->ops->acquire(r, k->worker);

			s->step = step;
			fill(k, slot, step, s);
			s->bad = slot == k->bad_slot && k->bad_value == 0;
			s->loss = rng_normal(99, slot);
			s->rows = 1;
			s->votes = slot == 2 ? 1 << 15 : slot == 1 ? 1 : 0;
			r->ops->contribute(r, k->worker, slot, s);
		}
		if (k->worker == 0) {
			r->step = step;
			r->dense_hash = step == 3 ? k->hash : 0x1234567890abcdef * step;
		}
		k->status = r->ops->finish(r, k->worker, &total);
		if (k->status != RS_OK) {
			snprintf(k->text, sizeof(k->text), "%.255s", rs_failure()->text);
			return NULL;
		}
		memcpy(k->total, total->grad, sizeof(k->total));
		k->sum = *total;
		r->ops->barrier(r, k->worker);
	}
	return NULL;
}

/* Two threads a rank; k has [2 * n_ranks]. */
static void
run_ranks(size_t n_ranks, struct rank *k)
{
	struct thread_ranks all;
	pthread_t thread[2 * RANKS_MAX];
	struct reducer *reducer[RANKS_MAX];

	thread_ranks_init(&all, n_ranks, &kernel_ref);
	for (size_t r = 0; r < n_ranks; r++)
		assert_int_equal(reducer_shm_open(&(struct reducer_options){
			.kernel = &kernel_ref, .n_workers = 2, .n_cores = 1,
			.n_slots = k->n_slots, .n_params = P, .exchange = &all.rank[r].base,
			.bucket = k->bucket, .n_buckets = k->n_buckets },
			&reducer[r]), RS_OK);
	for (size_t i = 0; i < 2 * n_ranks; i++) {
		k[i].reducer = reducer[i / 2];
		k[i].all = &all;
		k[i].rank = i / 2;
		k[i].worker = i % 2;
		assert_int_equal(thread_start(&thread[i], "rank", rank_work, &k[i]), RS_OK);
	}
	for (size_t i = 0; i < 2 * n_ranks; i++)
		thread_join(thread[i]);
	for (size_t r = 0; r < n_ranks; r++)
		reducer[r]->ops->close(reducer[r]);
	thread_ranks_free(&all);
}

static const struct reducer_bucket whole[] = { { 0, P } };
static const struct reducer_bucket odd[] = { { 1093, P }, { 500, 1093 }, { 499, 500 }, { 0, 499 } };

static struct rank *
make_ranks(size_t n_ranks, size_t n_slots)
{
	struct rank *k = calloc(2 * n_ranks, sizeof(*k));

	for (size_t i = 0; i < 2 * n_ranks; i++) {
		k[i].n_slots = n_slots;
		k[i].bucket = whole;
		k[i].n_buckets = N_ROWS(whole);
		k[i].bad_at = P - 1;
		k[i].bad_slot = n_slots;
		k[i].hash = 0x8000;
	}
	return k;
}

static void
use_odd_buckets(struct rank *k, size_t n_ranks)
{
	for (size_t i = 0; i < 2 * n_ranks; i++) {
		k[i].bucket = odd;
		k[i].n_buckets = N_ROWS(odd);
	}
}

static void
check_tree_sums(int in_buckets)
{
	for (size_t slots = 1; slots <= SLOTS_MAX; slots++)
		for (size_t ranks = 1; ranks <= RANKS_MAX && ranks <= slots; ranks++) {
			struct rank *k = make_ranks(ranks, slots);
			float want[P];

			if (in_buckets)
				use_odd_buckets(k, ranks);
			run_ranks(ranks, k);
			tree_sum(0, slots, want);
			for (size_t i = 0; i < 2 * ranks; i++) {
				assert_int_equal(k[i].status, RS_OK);
				assert_memory_equal(k[i].total, want, sizeof(want));
				assert_true(k[i].sum.loss == tree_head(0, slots));
				assert_true(k[i].sum.rows == (double)slots);
				assert_int_equal(k[i].sum.bad, 0);
				assert_int_equal(k[i].sum.votes, (slots > 1 ? 1 : 0)
					| (slots > 2 ? 1 << 15 : 0));
			}
			free(k);
		}
}

static void
a_reducer_of_many_ranks_gives_the_tree_sum(void **state)
{
	(void)state;
	check_tree_sums(0);
}

static void
buckets_of_odd_sizes_give_the_tree_sum(void **state)
{
	(void)state;
	check_tree_sums(1);
}

static void
one_bad_value_in_any_bucket_is_seen_by_all(void **state)
{
	static const size_t at[] = { P - 1, 600, 499, 0 };

	(void)state;
	for (size_t slot = 0; slot < 5; slot++)
		for (size_t b = 0; b < N_ROWS(at); b++) {
			struct rank *k = make_ranks(3, 5);

			use_odd_buckets(k, 3);
			for (size_t i = 0; i < 6; i++) {
				k[i].bad_slot = slot;
				k[i].bad_at = at[b];
				k[i].bad_value = 0x1p101f;
			}
			run_ranks(3, k);
			for (size_t i = 0; i < 6; i++)
				assert_int_equal(k[i].sum.bad, 1);
			free(k);
		}
}

static void
one_bad_value_in_any_rank_is_seen_by_all(void **state)
{
	static const float bad[] = { NAN, INFINITY, -INFINITY, 0x1p101f, 0 };

	(void)state;
	for (size_t slot = 0; slot < 5; slot++)
		for (size_t v = 0; v < N_ROWS(bad); v++) {
			struct rank *k = make_ranks(3, 5);

			for (size_t i = 0; i < 6; i++) {
				k[i].bad_slot = slot;
				k[i].bad_value = bad[v];
			}
			run_ranks(3, k);
			for (size_t i = 0; i < 6; i++)
				assert_int_equal(k[i].sum.bad, 1);
			free(k);
		}
}

/* 2^101 and then -2^101: no trace of it is in the total, yet one process would have
 * seen it, and so must many. */
static void
a_wild_value_that_cancels_out_is_seen_as_in_one_process(void **state)
{
	const float wild[3] = { 0x1p101f, -0x1p101f, 1 };
	struct exchange_part part[3];
	float x;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		part[i] = (struct exchange_part){ { i, i + 1 }, NULL, &wild[i], NULL };
	exchange_combine(&kernel_ref, 3, part, 3, 0, NULL, 0, 1, &x);
	assert_true(isnan(x));
}

/* Hashes 3, 1, 2: their mean is that of rank 2, which must fail like the others. */
static void
a_rank_whose_parameters_differ_is_named(void **state)
{
	struct rank *k = make_ranks(3, 4);

	(void)state;
	k[0].hash = 3;
	k[2].hash = 1;
	k[4].hash = 2;
	run_ranks(3, k);
	for (size_t i = 0; i < 6; i++) {
		assert_int_equal(k[i].status, RS_EDIVERGED);
		assert_string_equal(k[i].text,
			"dense parameters of worker 1 differ from worker 0's at step 3");
	}
	free(k);
	for (unsigned bit = 0; bit < 64; bit += 7) {
		k = make_ranks(5, 8);
		k[8].hash ^= (uint64_t)1 << bit;
		run_ranks(5, k);
		for (size_t i = 0; i < 10; i++) {
			assert_int_equal(k[i].status, RS_EDIVERGED);
			assert_non_null(strstr(k[i].text, "worker 4 "));
		}
		free(k);
	}
}

/* 512 ranks of 200: beyond what a half holds. */
static void
L054_a_sum_of_many_ranks_does_not_overflow(void **state)
{
	static struct exchange_part part[512];
	const float value = 200;
	const double head = 200;
	float x;
	double sum;

	(void)state;
	for (size_t i = 0; i < N_ROWS(part); i++)
		part[i] = (struct exchange_part){ { i, i + 1 }, &head, &value, NULL };
	exchange_combine(&kernel_ref, N_ROWS(part), part, N_ROWS(part), 1, &sum, 0, 1, &x);
	assert_true(x == 102400 && sum == 102400);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_of_any_number_of_ranks_combine_to_the_tree_sum),
		cmocka_unit_test(a_range_of_floats_is_combined_alone_and_in_place),
		cmocka_unit_test(a_reducer_of_many_ranks_gives_the_tree_sum),
		cmocka_unit_test(buckets_of_odd_sizes_give_the_tree_sum),
		cmocka_unit_test(one_bad_value_in_any_bucket_is_seen_by_all),
		cmocka_unit_test(one_bad_value_in_any_rank_is_seen_by_all),
		cmocka_unit_test(a_wild_value_that_cancels_out_is_seen_as_in_one_process),
		cmocka_unit_test(a_rank_whose_parameters_differ_is_named),
		cmocka_unit_test(L054_a_sum_of_many_ranks_does_not_overflow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
