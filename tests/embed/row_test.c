/* Weights of two bytes: conversions, and rounding that is right on average. */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "embed/row.h"
#include "tests/test.h"

#define N      301u            /* several pieces, and a rest                         */
#define DRAWS  40000u

static const enum row_storage narrow[] = { ROW_BF16, ROW_FP16 };

static float
value_of(enum row_storage storage, uint16_t stored)
{
	float x;

	row_convert(storage, &stored, ROW_FP32, &x, 1);
	return x;
}

static void
conversions_are_those_of_single_numbers(void **state)
{
	static float x[N], back[N], other[N];
	static uint16_t bf16[N], fp16[N], from_other[N];

	(void)state;
	rng_normal_fill(x, N, 3, 0, 10);
	x[7] = 1e9f;
	x[200] = INFINITY;
	row_convert(ROW_FP32, x, ROW_BF16, bf16, N);
	row_convert(ROW_FP32, x, ROW_FP16, fp16, N);
	for (size_t i = 0; i < N; i++) {
		assert_int_equal(bf16[i], half_brain_of(x[i]));
		assert_int_equal(fp16[i], half_of(x[i]));
	}
	row_convert(ROW_BF16, bf16, ROW_FP32, back, N);
	row_convert(ROW_BF16, bf16, ROW_FP16, from_other, N);
	row_convert(ROW_FP32, back, ROW_FP16, fp16, N);
	assert_memory_equal(from_other, fp16, sizeof(fp16));
	memcpy(other, x, sizeof(x));
	row_round(ROW_BF16, other, N);
	assert_memory_equal(other, back, sizeof(back));
	row_round(ROW_FP32, x, N);
	assert_true(x[7] == 1e9f);
}

/* Of every size, of subnormals too, and of numbers with a single bit to lose. */
static void
the_mean_of_many_roundings_is_the_number(void **state)
{
	static const float number[] = { 0.1f, -0.1f, 1.0f / 3, 1234.567f, -3e-5f, 5e-6f, 1e-7f,
		3e-8f, 2e-9f, 1.00390625f, 65503.0f, 6.1e-5f };

	(void)state;
	for (size_t s = 0; s < N_ROWS(narrow); s++)
		for (size_t k = 0; k < N_ROWS(number); k++) {
			double sum = 0, low = INFINITY, high = -INFINITY;

			for (uint64_t i = 0; i < DRAWS; i++) {
				uint16_t stored;
				double y;

				row_put(narrow[s], &number[k], 1, row_key(1, i, 77), &stored);
				y = (double)value_of(narrow[s], stored);
				sum += y;
				low = fmin(low, y);
				high = fmax(high, y);
			}
			/* Five standard deviations of the mean of two values. */
			assert_true(low <= (double)number[k] && (double)number[k] <= high);
			assert_true(fabs(sum / DRAWS - (double)number[k]) <=
				5 * (high - low) / 2 / sqrt(DRAWS) + 1e-4 * (high - low));
		}
}

static void
only_the_two_neighbours_come_out(void **state)
{
	static float x[N];
	static uint16_t stored[N];

	(void)state;
	rng_normal_fill(x, N, 9, 0, 0.01f);
	for (size_t s = 0; s < N_ROWS(narrow); s++)
		for (uint64_t step = 0; step < 50; step++) {
			row_put(narrow[s], x, N, row_key(4, step, 5), stored);
			for (size_t i = 0; i < N; i++) {
				const float y = value_of(narrow[s], stored[i]);
				const uint16_t out = (uint16_t)(stored[i] + 1);
				const float in = value_of(narrow[s], (uint16_t)(stored[i] - 1));

				if (fabsf(y) > fabsf(x[i]))
					assert_true((stored[i] & 0x7fff) == 1 ||
						fabsf(in) < fabsf(x[i]));
				else
					assert_true(fabsf(value_of(narrow[s], out)) > fabsf(x[i]));
			}
		}
}

static void
what_needs_no_rounding_stays(void **state)
{
	(void)state;
	for (size_t s = 0; s < N_ROWS(narrow); s++)
		for (uint32_t h = 0; h < 1 << 16; h++) {
			const float x = value_of(narrow[s], (uint16_t)h);
			uint16_t stored;

			row_put(narrow[s], &x, 1, row_key(8, h, 3), &stored);
			if (isnan(x))
				assert_true(isnan(value_of(narrow[s], stored)));
			else
				assert_int_equal(stored, h);
		}
}

static void
D2_5_no_finite_weight_becomes_infinite(void **state)
{
	const float large[] = { 65504, 65519, 1e5f, 1e6f, 3.4e38f, 3.4028234e38f };

	(void)state;
	for (size_t s = 0; s < N_ROWS(narrow); s++)
		for (size_t i = 0; i < N_ROWS(large); i++)
			for (uint64_t step = 0; step < 100; step++) {
				const float pair[2] = { large[i], -large[i] };
				uint16_t stored[2];

				row_put(narrow[s], pair, 2, row_key(8, step, 3), stored);
				assert_true(isfinite(value_of(narrow[s], stored[0])));
				assert_true(isfinite(value_of(narrow[s], stored[1])));
			}
}

/* What a column gets depends on its number, not on how many there are. */
static void
columns_have_bits_of_their_own(void **state)
{
	static float x[N];
	static uint16_t all[N], first[N];
	size_t up = 0;

	(void)state;
	for (size_t i = 0; i < N; i++)
		x[i] = 1.0f + 0x1p-9f;         /* a quarter of the way between two bf16s */
	row_put(ROW_BF16, x, N, row_key(1, 2, 3), all);
	for (size_t n = 1; n < N; n += 37) {
		row_put(ROW_BF16, x, n, row_key(1, 2, 3), first);
		assert_memory_equal(first, all, n * sizeof(*all));
	}
	for (size_t i = 0; i < N; i++)
		up += all[i] != 0x3f80;
	assert_in_range(up, N / 4 - 40, N / 4 + 40);
	row_put(ROW_BF16, x, N, row_key(1, 3, 3), first);
	assert_memory_not_equal(first, all, sizeof(all));
	row_put(ROW_BF16, x, N, row_key(1, 2, 4), first);
	assert_memory_not_equal(first, all, sizeof(all));
}

/* Rows of every width, of sizes from subnormal to huge; also from and to two bytes. */
static void
int8_is_off_by_half_a_scale_at_most(void **state)
{
	static const float size[] = { 1, 1e-3f, 1e30f, 1e-30f, 1e-44f, 0 };
	static float x[N], back[N], again[N];
	static uint16_t bf16[N];
	static char row[4 + N + 3], other[4 + N + 3];

	(void)state;
	for (size_t D = 2; D <= N; D += D < 70 ? 1 : 77)
		for (size_t s = 0; s < N_ROWS(size); s++) {
			double most = 0;
			float scale;

			rng_normal_fill(x, D, D, 0, (double)size[s]);
			for (size_t d = 0; d < D; d++)
				most = fmax(most, fabs((double)x[d]));
			row_convert(ROW_FP32, x, ROW_INT8, row, D);
			memcpy(&scale, row, sizeof(scale));
			row_convert(ROW_INT8, row, ROW_FP32, back, D);
			assert_true(fabs((double)scale - most / 127) <= most * 1e-7 + 0x1p-149);
			for (size_t d = 0; d < D; d++)
				assert_true(fabs((double)x[d] - (double)back[d])
					<= most * (0.5 / 127 + 1e-6) + 0x1p-143);
			for (size_t i = 4 + D; i < row_bytes(ROW_INT8, D); i++)
				assert_int_equal(row[i], 0);
			row_convert(ROW_FP32, x, ROW_BF16, bf16, D);
			row_convert(ROW_BF16, bf16, ROW_FP32, again, D);
			row_convert(ROW_BF16, bf16, ROW_INT8, row, D);
			row_convert(ROW_FP32, again, ROW_INT8, other, D);
			assert_memory_equal(row, other, row_bytes(ROW_INT8, D));
		}
}

static void
int8_rows_take_a_byte_a_weight_and_a_float(void **state)
{
	(void)state;
	assert_int_equal(row_bytes(ROW_INT8, 16), 20);
	assert_int_equal(row_bytes(ROW_INT8, 17), 24);
	assert_int_equal(row_slot_at(ROW_INT8, 16), 5);
	assert_int_equal(row_bytes(ROW_FP32, 17), 68);
	assert_int_equal(row_bytes(ROW_FP16, 17), 34);
	assert_string_equal(row_storage_name(ROW_INT8), "int8");
	assert_null(row_storage_name(4));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conversions_are_those_of_single_numbers),
		cmocka_unit_test(the_mean_of_many_roundings_is_the_number),
		cmocka_unit_test(only_the_two_neighbours_come_out),
		cmocka_unit_test(what_needs_no_rounding_stays),
		cmocka_unit_test(D2_5_no_finite_weight_becomes_infinite),
		cmocka_unit_test(columns_have_bits_of_their_own),
		cmocka_unit_test(int8_is_off_by_half_a_scale_at_most),
		cmocka_unit_test(int8_rows_take_a_byte_a_weight_and_a_float),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
