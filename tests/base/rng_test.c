/* Counter-based random numbers: values, moments, permutations. */
#include "tests/test.h"

#include <math.h>
#include <string.h>

#include "base/rng.h"

static void
uniform_values_fill_the_unit_interval(void **state)
{
	enum { N = 100000 };
	double sum = 0, low = 1, high = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		const double u = rng_uniform(3, i);

		assert_true(u >= 0 && u < 1);
		sum += u;
		low = fmin(low, u);
		high = fmax(high, u);
	}
	assert_true(fabs(sum / N - .5) < 4 * sqrt(1. / 12 / N));
	assert_true(low < 1e-3 && high > 1 - 1e-3);
}

static void
below_reaches_every_value_about_equally(void **state)
{
	enum { N = 70000, SIDES = 7 };
	unsigned count[SIDES] = { 0 };

	(void)state;
	for (uint64_t i = 0; i < N; i++)
		count[rng_below(5, i, SIDES)]++;
	for (size_t i = 0; i < SIDES; i++)
		assert_true(fabs(count[i] - N / (double)SIDES) < 5 * sqrt(N / (double)SIDES));
}

static void
normal_values_have_the_moments_of_a_normal(void **state)
{
	enum { N = 200000 };
	double sum = 0, square = 0, cube = 0, fourth = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		const double x = rng_normal(11, i);

		sum += x;
		square += x * x;
		cube += x * x * x;
		fourth += x * x * x * x;
	}
	assert_true(fabs(sum / N) < 5 / sqrt(N));
	assert_true(fabs(square / N - 1) < 5 * sqrt(2. / N));
	assert_true(fabs(cube / N) < 5 * sqrt(15. / N));
	assert_true(fabs(fourth / N - 3) < 5 * sqrt(96. / N));
}

/* The distribution function of the value gives back the uniform number. */
static void
normal_is_the_inverse_of_its_distribution(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 20000; i++) {
		const double p = ((double)(rng_u64(2, i) >> 12) + .5) * 0x1p-52;
		const double x = rng_normal(2, i);

		assert_true(fabs(.5 * erfc(-x * M_SQRT1_2) - p) < 1e-14);
	}
}

static void
filling_equals_drawing_one_by_one(void **state)
{
	float x[37];

	(void)state;
	rng_normal_fill(x, N_ROWS(x), 9, 1000, 1e-4f);
	for (size_t i = 0; i < N_ROWS(x); i++)
		assert_true(x[i] == (float)(1e-4f * rng_normal(9, 1000 + i)));
}

/* As many as meet values of the far tails, at widths beside and beyond a piece. */
static void
rows_equal_filling_one_by_one(void **state)
{
	static const struct { size_t n, D, stride; } shape[] = {
		{ 70000, 16, 19 }, { 1000, 1, 2 }, { 7, 255, 255 }, { 5, 257, 300 }, { 3, 0, 1 },
		{ 600, 11, 11 },
	};
	static float x[70000 * 19];
	float want[300];

	(void)state;
	for (size_t s = 0; s < N_ROWS(shape); s++) {
		const size_t D = shape[s].D, stride = shape[s].stride;
		const struct rng_rows rows = { 5, 40, shape[s].n, D, stride };

		for (size_t i = 0; i < N_ROWS(x); i++)
			x[i] = -7;
		rng_normal_rows(x, &rows, 0.25f);
		for (size_t r = 0; r < shape[s].n; r++) {
			for (size_t k = 0; k < D; k++)
				want[k] = (float)(0.25f * rng_normal(rng_key(5, 40 + r), k));
			for (size_t k = D; k < stride; k++)
				want[k] = -7;
			assert_memory_equal(x + r * stride, want, stride * sizeof(*x));
		}
		assert_true(shape[s].n * stride == N_ROWS(x) || x[shape[s].n * stride] == -7);
	}
}

static void
streams_and_keys_differ(void **state)
{
	const uint64_t seed = rng_key(0, 1);

	(void)state;
	assert_true(rng_key(seed, RNG_DROPOUT) != rng_key(seed, RNG_SYNTH));
	assert_true(rng_u64(seed, 0) != rng_u64(seed, 1));
	assert_true(rng_u64(seed, 5) == rng_u64(seed, 5));
	assert_true(rng_key(1, 2) != rng_key(2, 1));
}

static void
permutation_is_a_bijection_of_every_small_size(void **state)
{
	unsigned char seen[2100];

	(void)state;
	for (uint64_t n = 1; n <= 2100; n += n < 70 ? 1 : 203) {
		memset(seen, 0, sizeof(seen));
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t at = rng_permute(42 + n, n, i);

			assert_true(at < n);
			assert_false(seen[at]);
			seen[at] = 1;
		}
	}
}

static void
permutation_of_a_huge_range_stays_inside(void **state)
{
	static const uint64_t size[] = {
		(uint64_t)1 << 40, ((uint64_t)1 << 40) + 1, UINT64_MAX, (uint64_t)1 << 63,
	};

	(void)state;
	for (size_t k = 0; k < N_ROWS(size); k++)
		for (uint64_t i = 0; i < 100; i++)
			assert_true(rng_permute(k, size[k], i) < size[k]);
}

static void
permutation_by_many_is_that_of_one(void **state)
{
	static const uint64_t size[] = { 0, 1, 2, 3, 4, 5, 63, 64, 65, 1000, 4096, 4097,
		131072, 1000003, (uint64_t)1 << 32 };
	struct rng_permutation p = { .n = 0 };
	uint32_t at[200];

	(void)state;
	for (size_t k = 0; k < N_ROWS(size); k++) {
		const uint64_t n = size[k], first = n > 300 ? n - 300 : 0;
		const size_t count = n < 200 ? (size_t)n : 200;

		assert_int_equal(rng_permutation_set(&p, 42 + k, n), RS_OK);
		rng_permutation_run(&p, first, count, at);
		for (size_t i = 0; i < count; i++)
			assert_int_equal(at[i], rng_permute(42 + k, n, first + i));
	}
	rng_permutation_free(&p);
}

static void
permutation_depends_on_the_key_and_mixes(void **state)
{
	enum { N = 1000 };
	unsigned same = 0, fixed = 0, neighbours = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		const uint64_t at = rng_permute(1, N, i), next = rng_permute(1, N, (i + 1) % N);

		same += at == rng_permute(2, N, i);
		fixed += at == i;
		neighbours += next == at + 1;
	}
	assert_true(same < 10 && fixed < 10 && neighbours < 10);
}

/* Every one of the 24 orders of 4 elements comes up about equally often. */
static void
permutations_of_four_are_about_equally_likely(void **state)
{
	enum { N = 24000 };
	unsigned count[256] = { 0 }, n_orders = 0;

	(void)state;
	for (uint64_t i = 0; i < N; i++) {
		const uint64_t key = rng_key(77, i);

		count[rng_permute(key, 4, 0) << 6 | rng_permute(key, 4, 1) << 4 |
			rng_permute(key, 4, 2) << 2 | rng_permute(key, 4, 3)]++;
	}
	for (size_t order = 0; order < N_ROWS(count); order++)
		if (count[order] > 0) {
			n_orders++;
			assert_in_range(count[order], 800, 1200);
		}
	assert_int_equal(n_orders, 24);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(uniform_values_fill_the_unit_interval),
		cmocka_unit_test(below_reaches_every_value_about_equally),
		cmocka_unit_test(normal_values_have_the_moments_of_a_normal),
		cmocka_unit_test(normal_is_the_inverse_of_its_distribution),
		cmocka_unit_test(filling_equals_drawing_one_by_one),
		cmocka_unit_test(rows_equal_filling_one_by_one),
		cmocka_unit_test(streams_and_keys_differ),
		cmocka_unit_test(permutation_is_a_bijection_of_every_small_size),
		cmocka_unit_test(permutation_of_a_huge_range_stays_inside),
		cmocka_unit_test(permutation_by_many_is_that_of_one),
		cmocka_unit_test(permutation_depends_on_the_key_and_mixes),
		cmocka_unit_test(permutations_of_four_are_about_equally_likely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
