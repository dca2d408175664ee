/* The K best against sorting all scores in double, whatever the blocks. */
#include "train/top.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

enum { N = 700, U = 37, D = 19 };

struct found { struct top_item best[N]; size_t n; };

static float item[N * D], user[U * D];

static void
keep(void *context, size_t u, const struct top_item *best, size_t n)
{
	struct found *const f = (struct found *)context + u;

	memcpy(f->best, best, n * sizeof *best);
	f->n = n;
}

static struct top_input
input(size_t K, struct found *found)
{
	const struct kernel_set *kernel;

	assert_int_equal(kernel_select("auto", &kernel), RS_OK);
	return (struct top_input){ .kernel = kernel, .n = N, .U = U, .D = D, .K = K, .item = item,
		.user = user, .take = keep, .context = found };
}

static void
fill_normal(void)
{
	rng_normal_fill(item, N * D, 7, 0, 1);
	rng_normal_fill(user, U * D, 8, 0, 1);
}

static int
compare(const void *a, const void *b)
{
	const struct top_item *x = a, *y = b;

	if (x->score != y->score)
		return x->score < y->score ? 1 : -1;
	return (x->number > y->number) - (x->number < y->number);
}

/* All items in order, those of mask (NULL: none) left out. */
static struct found *
sorted_all(const struct top_input *in)
{
	struct found *const all = calloc(U, sizeof *all);

	assert_non_null(all);
	for (size_t u = 0; u < U; u++) {
		const uint32_t *at = in->masked, *end = NULL;

		if (at != NULL) {
			end = at + in->masked_begin[u + 1];
			at += in->masked_begin[u];
		}
		for (uint32_t i = 0; i < N; i++) {
			double score = 0;

			if (at != NULL && at < end && *at == i) {
				at++;
				continue;
			}
			for (size_t d = 0; d < D; d++)
				score += (double)user[u * D + d] * item[i * D + d];
			all[u].best[all[u].n++] = (struct top_item){ score, i };
		}
		qsort(all[u].best, all[u].n, sizeof *all[u].best, compare);
	}
	return all;
}

static void
assert_found(const struct found *found, const struct found *want, size_t K)
{
	for (size_t u = 0; u < U; u++) {
		const size_t n = want[u].n < K ? want[u].n : K;

		assert_int_equal(found[u].n, n);
		for (size_t i = 0; i < n; i++) {
			assert_int_equal(found[u].best[i].number, want[u].best[i].number);
			assert_true(found[u].best[i].score == want[u].best[i].score);
		}
	}
}

/* Runs with blocks of several sizes and compares each with sorting. */
static void
check_blocks(struct top_input *in)
{
	static const size_t block[][2] = { { 0, 0 }, { 1, 1 }, { 5, 64 }, { U, N }, { 16, 333 },
		{ 64, 4096 } };
	struct found *const found = in->context, *const want = sorted_all(in);

	for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
		memset(found, 0, U * sizeof *found);
		in->user_block = block[i][0];
		in->item_block = block[i][1];
		assert_int_equal(top_run(in, NULL), RS_OK);
		assert_found(found, want, in->K);
	}
	free(want);
}

static void
the_best_are_those_of_sorting_whatever_the_blocks(void **state)
{
	static const size_t K[] = { 1, 20, 100, N, 2 * N };
	struct found *const found = calloc(U, sizeof *found);

	(void)state;
	assert_non_null(found);
	fill_normal();
	for (size_t k = 0; k < sizeof K / sizeof *K; k++) {
		struct top_input in = input(K[k], found);
		check_blocks(&in);
	}
	free(found);
}

/* Scores of a few values only: whole crowds are equal. */
static void
equal_scores_are_in_the_order_of_their_numbers(void **state)
{
	struct found *const found = calloc(U, sizeof *found);

	(void)state;
	assert_non_null(found);
	for (size_t i = 0; i < N * D; i++)
		item[i] = (float)rng_below(1, i, 2);
	for (size_t i = 0; i < U * D; i++)
		user[i] = i % D == 0;
	struct top_input in = input(20, found);
	check_blocks(&in);
	memset(item, 0, sizeof item);
	check_blocks(&in);
	for (uint32_t i = 0; i < 20; i++)
		assert_int_equal(found[3].best[i].number, i);
	free(found);
}

/* Items that differ by less than float arithmetic can see. */
static void
nearly_equal_scores_are_told_apart(void **state)
{
	struct found *const found = calloc(U, sizeof *found);

	(void)state;
	assert_non_null(found);
	fill_normal();
	for (size_t i = 1; i < N; i++)
		for (size_t d = 0; d < D; d++)
			item[i * D + d] = item[d];
	for (size_t i = 0; i < N; i++)
		item[i * D + i % D] *= 1 + (float)rng_below(9, i, 9) * 0x1p-23f;
	struct top_input in = input(20, found);
	check_blocks(&in);
	free(found);
}

static void
masked_items_are_not_ranked(void **state)
{
	struct found *const found = calloc(U, sizeof *found);
	uint32_t *const masked = calloc(U * N, sizeof *masked);
	size_t begin[U + 1] = { 0 }, n = 0;

	(void)state;
	assert_true(found != NULL && masked != NULL);
	fill_normal();
	for (size_t u = 0; u < U; u++) {
		for (uint32_t i = 0; i < N; i++)
			if (u == 3 || (u != 4 && rng_below(5, u * N + i, 3) == 0))
				masked[n++] = i;
		begin[u + 1] = n;
	}
	struct top_input in = input(30, found);
	in.masked = masked;
	in.masked_begin = begin;
	check_blocks(&in);
	assert_int_equal(found[3].n, 0);
	free(masked);
	free(found);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_best_are_those_of_sorting_whatever_the_blocks),
		cmocka_unit_test(equal_scores_are_in_the_order_of_their_numbers),
		cmocka_unit_test(nearly_equal_scores_are_told_apart),
		cmocka_unit_test(masked_items_are_not_ranked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
