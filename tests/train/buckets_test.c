/* Buckets are the whole gradient, cut once, in the order in which the pass ends with it. */
#include "../test.h"

#include <string.h>

#include "contrast_case.h"
#include "train/buckets.h"

static size_t
param_offset(const struct model *m, const char *name)
{
	for (size_t i = 0; i < graph_n_params(m->graph); i++)
		if (strcmp(graph_param(m->graph, i)->name, name) == 0)
			return graph_param(m->graph, i)->offset;
	fail_msg("no parameter %s", name);
	return 0;
}

static size_t
bucket_of(const struct buckets *b, size_t offset)
{
	for (size_t i = 0; i < b->n; i++)
		if (offset >= b->bucket[i].begin && offset < b->bucket[i].end)
			return i;
	fail_msg("no bucket has float %zu", offset);
	return 0;
}

/* Floats of the parameter that begins a bucket. */
static size_t
first_size(const struct model *m, const struct reducer_bucket *b)
{
	for (size_t i = 0; i < graph_n_params(m->graph); i++) {
		const struct graph_param *p = graph_param(m->graph, i);

		if (p->offset == b->begin)
			return p->rows * p->columns;
	}
	fail_msg("a bucket begins within a parameter");
	return 0;
}

static void
buckets_tile_the_gradient_whatever_their_size(void **state)
{
	struct model *m = contrast_case_model("softmax", CASE_DEEP_TEMPERATURE, 1);

	(void)state;
	for (uint64_t bytes = 0; bytes < 4 * m->P + 20; bytes += 13) {
		struct buckets b;
		size_t sum = 0;

		assert_int_equal(buckets_make(m, bytes, &b), RS_OK);
		for (size_t i = 0; i < b.n; i++) {
			const size_t n = b.bucket[i].end - b.bucket[i].begin;

			assert_true(n > 0 && b.bucket[i].end <= m->P);
			const size_t rest = n - first_size(m, &b.bucket[i]);

			assert_true(bytes == 0 || n * sizeof(float) <= bytes
				|| rest * sizeof(float) <= bytes / 4);
			assert_true(i == 0 || b.after[i] >= b.after[i - 1]);
			sum += n;
		}
		for (size_t x = 0; x < m->P; x++)
			(void)bucket_of(&b, x);
		assert_int_equal(sum, m->P);
		assert_true(b.n > 1 || bytes == 0 || bytes >= 4 * m->P);
		if (bytes == 0 || bytes >= 4 * m->P)
			assert_int_equal(b.n, 1);
		buckets_free(&b);
	}
	model_free(m);
}

/* The items' tower goes back first, its last layer before the first. */
static void
what_is_last_forward_is_first_in_the_buckets(void **state)
{
	static const char *const order[] = { "tower_item.1.weight", "tower_item.0.weight",
		"tower_user.1.weight", "tower_user.0.weight" };
	struct model *m = contrast_case_model("softmax", CASE_DEEP_TEMPERATURE, 1);
	struct buckets b;

	(void)state;
	assert_int_equal(buckets_make(m, 1, &b), RS_OK);
	for (size_t i = 1; i < N_ROWS(order); i++)
		assert_true(bucket_of(&b, param_offset(m, order[i - 1]))
			< bucket_of(&b, param_offset(m, order[i])));
	buckets_free(&b);
	model_free(m);
}

/* The pass goes on while all but the last is summed. */
static void
the_last_bucket_is_short(void **state)
{
	struct model *m = contrast_case_model("softmax",
		"[tower user]\nhidden = 64,4\n[tower item]\nhidden = 64,4\n", 1);
	const uint64_t all = 4 * m->P;
	struct buckets b;

	(void)state;
	assert_int_equal(buckets_make(m, all - 4, &b), RS_OK);
	assert_int_equal(b.n, 2);
	assert_true(4 * (b.bucket[1].end - b.bucket[1].begin) < all / 4);
	buckets_free(&b);
	assert_int_equal(buckets_make(m, all, &b), RS_OK);
	assert_int_equal(b.n, 1);
	buckets_free(&b);
	model_free(m);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets_tile_the_gradient_whatever_their_size),
		cmocka_unit_test(what_is_last_forward_is_first_in_the_buckets),
		cmocka_unit_test(the_last_bucket_is_short),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
