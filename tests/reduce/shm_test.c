/* The tree of slots: same bits for any number of workers, and the guard. */
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "base/tree.h"
#include "kernel/kernel.h"
#include "reduce/reducer.h"

#define P     1000
#define STEPS 20

static float
value(size_t step, size_t slot, size_t i)
{
	return (float)(rng_normal(step * 64 + slot, i) * 1e3);
}

/* Recursive definition, apart from the code under test. */
static void
tree_sum(size_t step, size_t begin, size_t end, float *out)
{
	float right[P];
	const size_t middle = begin + (end - begin + 1) / 2;

	if (end - begin == 1) {
		for (size_t i = 0; i < P; i++)
			out[i] = value(step, begin, i);
		return;
	}
	tree_sum(step, begin, middle, out);
	tree_sum(step, middle, end, right);
	for (size_t i = 0; i < P; i++)
		out[i] += right[i];
}

struct worker {
	struct reducer *reducer;
	size_t worker, n_workers, n_slots;
	size_t bad_slot;               /* none: n_slots                              */
	float  bad_value;
	float  total[STEPS][P];
	double loss[STEPS];
	int    bad[STEPS];
};

static void *
worker_run(void *argument)
{
	struct worker *w = argument;
	struct reducer *r = w->reducer;

	for (size_t step = 0; step < STEPS; step++) {
		const struct slot_sum *total;

		for (size_t slot = w->n_slots * w->worker / w->n_workers;
		    slot < w->n_slots * (w->worker + 1) / w->n_workers; slot++) {
			struct slot_sum *s = r->ops->acquire(r, w->worker);

			for (size_t i = 0; i < P; i++)
				s->grad[i] = value(step, slot, i);
			if (slot == w->bad_slot)
				s->grad[P - 1] = w->bad_value;
			s->loss = 1 + (double)slot;
			s->rows = 1;
			r->ops->contribute(r, w->worker, slot, s);
		}
		r->ops->finish(r, w->worker, &total);
		memcpy(w->total[step], total->grad, sizeof(w->total[step]));
		w->loss[step] = total->loss;
		w->bad[step] = total->bad;
		r->ops->barrier(r, w->worker);
	}
	return NULL;
}

static void
run(size_t n_workers, size_t n_slots, size_t bad_slot, float bad_value, struct worker *w)
{
	pthread_t thread[4];
	struct reducer *r;

	assert_int_equal(reducer_shm_open(&(struct reducer_options){ .kernel = &kernel_ref,
		.n_workers = n_workers, .n_cores = 2, .n_slots = n_slots, .n_params = P }, &r),
		RS_OK);
	for (size_t i = 0; i < n_workers; i++) {
		w[i].reducer = r;
		w[i].worker = i;
		w[i].n_workers = n_workers;
		w[i].n_slots = n_slots;
		w[i].bad_slot = bad_slot;
		w[i].bad_value = bad_value;
		assert_int_equal(pthread_create(&thread[i], NULL, worker_run, &w[i]), 0);
	}
	for (size_t i = 0; i < n_workers; i++)
		pthread_join(thread[i], NULL);
	r->ops->close(r);
}

static void
any_number_of_workers_gives_the_tree_sum(void **state)
{
	static const size_t slots[] = { 1, 2, 3, 5, 7, 8, 13 };
	struct worker *w = calloc(4, sizeof(*w));

	(void)state;
	for (size_t k = 0; k < sizeof(slots) / sizeof(slots[0]); k++)
		for (size_t n = 1; n <= 4; n++) {
			float want[P];

			run(n, slots[k], slots[k], 0, w);
			for (size_t step = 0; step < STEPS; step += 7) {
				tree_sum(step, 0, slots[k], want);
				for (size_t i = 0; i < n; i++) {
					assert_memory_equal(w[i].total[step], want, sizeof(want));
					assert_true(w[i].loss[step] ==
						(double)(slots[k] * (slots[k] + 1) / 2));
					assert_int_equal(w[i].bad[step], 0);
				}
			}
		}
	free(w);
}

static void
one_bad_value_in_any_slot_is_seen_by_all(void **state)
{
	const float bad[] = { NAN, INFINITY, -INFINITY, 0x1p101f };
	struct worker *w = calloc(4, sizeof(*w));

	(void)state;
	for (size_t slots = 1; slots <= 4; slots++)
		for (size_t slot = 0; slot < slots; slot++)
			for (size_t v = 0; v < 4; v++) {
				run(2, slots, slot, bad[v], w);
				assert_int_equal(w[0].bad[STEPS - 1], 1);
				assert_int_equal(w[1].bad[STEPS - 1], 1);
			}
	free(w);
}

static void
a_node_has_one_number_and_children_in_order(void **state)
{
	(void)state;
	for (size_t n = 1; n < 40; n++)
		for (size_t slot = 0; slot < n; slot++) {
			size_t path[TREE_MAX_DEPTH], depth = tree_path(n, slot, path);
			size_t begin = 0, end = n;

			for (size_t d = 0; d < depth; d++) {
				assert_true(begin < path[d] && path[d] < end);
				if (slot < path[d])
					end = path[d];
				else
					begin = path[d];
			}
			assert_int_equal(begin, slot);
			assert_int_equal(end, slot + 1);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_number_of_workers_gives_the_tree_sum),
		cmocka_unit_test(one_bad_value_in_any_slot_is_seen_by_all),
		cmocka_unit_test(a_node_has_one_number_and_children_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
