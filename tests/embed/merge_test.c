/* Rows summed over nodes of the slot tree: order, ranges, and the bits of the whole. */
#include <string.h>

#include "base/rng.h"
#include "embed/merge.h"
#include "embed/pushes.h"
#include "kernel/kernel.h"
#include "tests/test.h"

#define ROWS   200
#define SLOTS  7
#define INPUTS 2
#define N      50
#define WIDTH  5

/* A step's pushes: input 1 has scales, slot 3 is empty. */
struct step {
	uint64_t id[SLOTS][INPUTS][N];
	float value[SLOTS][INPUTS][N][WIDTH], scale[SLOTS][INPUTS][N];
	const float *grad[SLOTS][INPUTS][N];
	struct pushes pushes;
	struct pushes_order order;
};

static void
step_init(struct step *s, uint64_t key)
{
	uint64_t c = 0;

	assert_int_equal(pushes_init(&s->pushes, 1, SLOTS, INPUTS), RS_OK);
	assert_int_equal(pushes_order_init(&s->order, &s->pushes), RS_OK);
	for (size_t slot = 0; slot < SLOTS; slot++)
		for (size_t i = 0; i < INPUTS; i++) {
			for (size_t j = 0; j < N; j++) {
				s->id[slot][i][j] = rng_below(key, c++, j % 2 ? 9 : ROWS);
				s->scale[slot][i][j] = (float)rng_uniform(key, c++);
				s->grad[slot][i][j] = s->value[slot][i][j];
				for (size_t d = 0; d < WIDTH; d++)
					s->value[slot][i][j][d] = (float)rng_normal(key, c++);
			}
			pushes_put(&s->pushes, &(struct lookup_push){
				.slot = slot, .input = i, .ids = s->id[slot][i],
				.n = slot == 3 ? 0 : N, .grad = s->grad[slot][i],
				.scale = i == 1 ? s->scale[slot][i] : NULL,
			});
		}
	pushes_order_make(&s->order, &s->pushes);
}

static void
step_free(struct step *s)
{
	pushes_order_free(&s->order);
	pushes_free(&s->pushes);
}

struct sums { float x[ROWS][WIDTH]; int present[ROWS]; };

/* Adds what a job comes to, to what is there; ids must grow. */
static void
sum_job(struct merge_scratch *scratch, const struct merge_job *job, struct sums *out)
{
	const float *sum;
	uint64_t id, next = job->begin;

	assert_int_equal(merge_begin(scratch, job), RS_OK);
	while (merge_next(scratch, &id, &sum)) {
		assert_true(id >= next && id < job->end);
		assert_false(out->present[id]);
		next = id + 1;
		out->present[id] = 1;
		memcpy(out->x[id], sum, sizeof(out->x[id]));
	}
}

static struct merge_job
job_of(const struct pushes_order *o, size_t table, struct tree_node node, uint64_t begin,
	uint64_t end)
{
	struct merge_job job = { .kernel = &kernel_ref, .name = "C1", .D = WIDTH, .begin = begin,
		.end = end };

	pushes_of_node(o, table, node, &job);
	return job;
}

/* Ids in [begin,end) of a node's sums. */
static void
sum_node(const struct pushes_order *o, struct tree_node node, uint64_t begin, uint64_t end,
	struct sums *out)
{
	const struct merge_job job = job_of(o, 0, node, begin, end);
	struct merge_scratch scratch;

	assert_int_equal(merge_scratch_init(&scratch, SLOTS, WIDTH), RS_OK);
	sum_job(&scratch, &job, out);
	merge_scratch_free(&scratch);
}

static void
assert_equal(const struct sums *a, const struct sums *b)
{
	assert_memory_equal(a->present, b->present, sizeof(a->present));
	assert_memory_equal(a->x, b->x, sizeof(a->x));
}

static const struct tree_node root = { 0, SLOTS };

static void
ranges_of_ids_together_are_the_whole(void **state)
{
	static struct step s;
	static struct sums whole, ranges;

	(void)state;
	step_init(&s, 1);
	memset(&whole, 0, sizeof(whole));
	memset(&ranges, 0, sizeof(ranges));
	sum_node(&s.order, root, 0, ROWS, &whole);
	sum_node(&s.order, root, 0, 67, &ranges);
	sum_node(&s.order, root, 67, 68, &ranges);
	sum_node(&s.order, root, 68, ROWS, &ranges);
	assert_equal(&whole, &ranges);
	step_free(&s);
}

/* What a shard does with what ranks push: the sum of a node enters as its first slot. */
static void
push_sums(struct pushes *p, struct tree_node node, size_t input, const struct sums *sums,
	uint64_t *id, const float **grad)
{
	size_t n = 0;

	for (uint64_t i = 0; i < ROWS; i++)
		if (sums->present[i]) {
			id[n] = i;
			grad[n++] = sums->x[i];
		}
	pushes_put(p, &(struct lookup_push){ .slot = node.begin, .input = input, .ids = id,
		.n = n, .grad = grad });
}

static void
sums_of_frontiers_give_the_bits_of_one_process(void **state)
{
	static struct step s;
	static struct sums whole, again, node_sums[SLOTS];
	static uint64_t id[SLOTS][ROWS];
	static const float *grad[SLOTS][ROWS];

	(void)state;
	step_init(&s, 2);
	memset(&whole, 0, sizeof(whole));
	sum_node(&s.order, root, 0, ROWS, &whole);
	for (size_t R = 1; R <= SLOTS; R++) {
		struct pushes p;
		struct pushes_order o;
		size_t n = 0;

		assert_int_equal(pushes_init(&p, 1, SLOTS, 1), RS_OK);
		assert_int_equal(pushes_order_init(&o, &p), RS_OK);
		for (size_t r = 0; r < R; r++) {
			struct tree_node node[2 * TREE_MAX_DEPTH];
			const size_t n_nodes = tree_frontier(SLOTS, tree_rank_begin(SLOTS, R, r),
				tree_rank_begin(SLOTS, R, r + 1), node);

			for (size_t k = 0; k < n_nodes; k++, n++) {
				memset(&node_sums[n], 0, sizeof(node_sums[n]));
				sum_node(&s.order, node[k], 0, ROWS, &node_sums[n]);
				push_sums(&p, node[k], 0, &node_sums[n], id[n], grad[n]);
			}
		}
		memset(&again, 0, sizeof(again));
		pushes_order_make(&o, &p);
		sum_node(&o, root, 0, ROWS, &again);
		assert_equal(&whole, &again);
		pushes_order_free(&o);
		pushes_free(&p);
	}
	step_free(&s);
}

static void
a_node_without_pushes_has_no_rows(void **state)
{
	static struct step s;
	static struct sums sums;

	(void)state;
	step_init(&s, 3);
	memset(&sums, 0, sizeof(sums));
	sum_node(&s.order, (struct tree_node){ 3, 4 }, 0, ROWS, &sums);
	for (size_t i = 0; i < ROWS; i++)
		assert_false(sums.present[i]);
	pushes_clear(&s.pushes);
	pushes_order_make(&s.order, &s.pushes);
	assert_int_equal(s.order.total, 0);
	step_free(&s);
}

/* Tables 0 and 2 have the same occurrences, but not the same gradients; n: of one push. */
static void
push_pair(struct pushes *p, const struct step *s, const float *grad[SLOTS][INPUTS][N], size_t n)
{
	for (size_t slot = 0; slot < SLOTS; slot++)
		for (size_t i = 0; i < INPUTS; i++)
			for (size_t table = 0; table < 3; table++) {
				struct lookup_push push = s->pushes.push[slot * INPUTS + i];

				push.table = table;
				push.input = table * INPUTS + i;
				if (table == 1)
					push.ids = s->id[slot][1 - i];
				if (table == 2 && push.n > 0)
					push.n = slot == 5 ? n : N;
				for (size_t j = 0; j < N; j++)
					grad[slot][i][j] = s->value[slot][i][N - 1 - j];
				if (table == 2)
					push.grad = grad[slot][i];
				pushes_put(p, &push);
			}
}

static void
a_twin_takes_the_order_that_there_is(void **state)
{
	static struct step s;
	static const float *grad[SLOTS][INPUTS][N];
	static struct sums first, again, want;
	struct merge_scratch scratch;
	struct pushes p;
	struct pushes_order o;

	(void)state;
	step_init(&s, 4);
	assert_int_equal(pushes_init(&p, 3, SLOTS, 3 * INPUTS), RS_OK);
	assert_int_equal(pushes_order_init(&o, &p), RS_OK);
	push_pair(&p, &s, grad, N - 1);
	pushes_order_make(&o, &p);
	pushes_order_pair(&o);
	for (size_t t = 0; t < 3; t++)
		assert_int_equal(o.twin[t], 3);
	push_pair(&p, &s, grad, N);
	pushes_order_make(&o, &p);
	pushes_order_pair(&o);
	assert_int_equal(o.twin[0], 2);
	assert_int_equal(o.twin[1], 3);
	assert_int_equal(o.twin[2], 0);

	assert_int_equal(merge_scratch_init(&scratch, SLOTS, WIDTH), RS_OK);
	const struct merge_job one = job_of(&o, 0, root, 5, 150);
	struct merge_job two = job_of(&o, 2, root, 5, 150);
	sum_job(&scratch, &two, &want);
	sum_job(&scratch, &one, &first);
	two.again = 1;
	sum_job(&scratch, &two, &again);
	assert_equal(&want, &again);
	assert_memory_equal(first.present, again.present, sizeof(first.present));
	assert_memory_not_equal(first.x, again.x, sizeof(first.x));
	merge_scratch_free(&scratch);
	pushes_order_free(&o);
	pushes_free(&p);
	step_free(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_of_ids_together_are_the_whole),
		cmocka_unit_test(sums_of_frontiers_give_the_bits_of_one_process),
		cmocka_unit_test(a_node_without_pushes_has_no_rows),
		cmocka_unit_test(a_twin_takes_the_order_that_there_is),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
