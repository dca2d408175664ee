/* Bodies: keys, tables and packed gradients, there and back, and whatever else may come. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "embed/exact.h"
#include "remote/body.h"

#define N 1000

static float
float_of(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

static uint32_t
bits_of(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

/* The value of a half, from its definition. */
static double
value_of_half(uint16_t half)
{
	const int exponent = half >> 10 & 0x1f;
	const double fraction = half & 0x3ff;
	const double x = exponent == 0 ? ldexp(fraction, -24) :
					 ldexp(1024 + fraction, exponent - 25);

	return half & 0x8000 ? -x : x;
}

static uint16_t
half_of(float x)
{
	const float pair[2] = { x, 0 };
	uint16_t half[2];

	body_pack(FRAME_FP16, pair, 1, 2, half, NULL);
	return half[0];
}

static void
keys_come_back(void **state)
{
	const uint64_t base[] = { 0, 5, (uint64_t)1 << 40 };
	static uint64_t key[N], out[N];

	(void)state;
	for (size_t b = 0; b < 3; b++)
		for (unsigned shift = 0; shift < 50; shift += 7) {
			struct buffer bytes;
			uint64_t at = base[b] + rng_below(7, b, 3);

			buffer_init(&bytes, 1 << 20);
			for (size_t i = 0; i < N; i++) {
				key[i] = at;
				at += 1 + (rng_below(shift, i, 1 << 8) << shift >> i % 8);
			}
			assert_int_equal(body_put_keys(&bytes, key, N, base[b]), RS_OK);
			assert_int_equal(body_get_keys((const uint8_t *)bytes.data, bytes.n, N,
				base[b], at, out), RS_OK);
			for (size_t i = 0; i < N; i++)
				assert_int_equal(out[i] + base[b], key[i]);
			/* One row less, one key less, one byte less or more. */
			assert_int_equal(body_get_keys((const uint8_t *)bytes.data, bytes.n, N,
				base[b], key[N - 1], NULL), RS_EPROTOCOL);
			assert_int_equal(body_get_keys((const uint8_t *)bytes.data, bytes.n, N - 1,
				base[b], at, NULL), RS_EPROTOCOL);
			assert_int_equal(body_get_keys((const uint8_t *)bytes.data, bytes.n - 1, N,
				base[b], at, NULL), RS_EPROTOCOL);
			assert_int_equal(body_get_keys((const uint8_t *)bytes.data, bytes.n, N + 1,
				base[b], at, NULL), RS_EPROTOCOL);
			buffer_free(&bytes);
		}
}

static void
L032_keys_that_no_writer_writes_are_refused(void **state)
{
	static const struct { uint8_t byte[12]; size_t bytes, n; } bad[] = {
		{ { 5, 0 }, 2, 2 },                     /* twice the same               */
		{ { 0x80, 0 }, 2, 1 },                  /* not the shortest form        */
		{ { 0x80 }, 1, 1 },                     /* no end                       */
		{ { 1 }, 1, 2 }, { { 1, 2 }, 2, 1 }, { { 0 }, 0, 1 },
		{ { 255, 255, 255, 255, 255, 255, 255, 255, 255, 1 }, 10, 1 },    /* 2^64 - 1 */
		{ { 255, 255, 255, 255, 255, 255, 255, 255, 255, 3 }, 10, 1 },    /* 65 bits */
		{ { 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 1 }, 11, 1 },
		{ { 100 }, 1, 1 },                      /* row 100 of 100               */
		{ { 99, 1 }, 2, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint64_t out[2];

		assert_int_equal(body_get_keys(bad[i].byte, bad[i].bytes, bad[i].n, 0, 100, out),
			RS_EPROTOCOL);
		assert_int_equal(body_get_keys(bad[i].byte, bad[i].bytes, bad[i].n,
			UINT64_MAX - 100, UINT64_MAX, out), RS_EPROTOCOL);
	}
	assert_int_equal(body_get_keys((const uint8_t *)"", 0, 0, 0, 0, NULL), RS_OK);
	assert_int_equal(body_get_keys((const uint8_t *)"\0", 1, 1, 9, 9, NULL), RS_EPROTOCOL);
	assert_int_equal(body_get_keys((const uint8_t *)"", SIZE_MAX, FRAME_KEYS_MAX + 1, 0, 100,
		NULL), RS_EPROTOCOL);
}

static void
counts_come_back_and_none_is_zero(void **state)
{
	static const struct { uint8_t byte[6]; size_t bytes, n; } bad[] = {
		{ { 0 }, 1, 1 }, { { 1, 1 }, 2, 1 }, { { 1 }, 1, 2 }, { { 0x81 }, 1, 1 },
		{ { 0x80, 0x80, 0x80, 0x80, 0x10 }, 5, 1 }, { { 0x81, 0 }, 2, 1 },
	};
	uint32_t count[700], out[700];
	struct buffer b;

	(void)state;
	buffer_init(&b, 1 << 20);
	for (uint32_t i = 0; i < 700; i++)
		count[i] = i % 3 == 0 ? UINT32_MAX - i : i + 1;
	assert_int_equal(body_put_counts(&b, count, 700), RS_OK);
	assert_int_equal(body_get_counts((const uint8_t *)b.data, b.n, 700, NULL), RS_OK);
	assert_int_equal(body_get_counts((const uint8_t *)b.data, b.n, 700, out), RS_OK);
	assert_memory_equal(count, out, sizeof(count));
	buffer_free(&b);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(body_get_counts(bad[i].byte, bad[i].bytes, bad[i].n, out),
			RS_EPROTOCOL);
}

static void
sections_are_counted_by_what_they_fill(void **state)
{
	uint8_t bytes[256] = { 0 };
	const struct body_section section[3] = {
		{ .table = 1, .n = 9, .key_bytes = 9 }, { .table = 4, .n = 9 },
		{ .table = 2, .n = 1, .key_bytes = 2 },
	};
	const size_t filled = sizeof(section) + 11;
	size_t n;

	(void)state;
	memcpy(bytes, section, sizeof(section));
	assert_int_equal(body_count_sections(bytes, filled, &n), RS_OK);
	assert_int_equal(n, 3);
	assert_int_equal(body_count_sections(bytes, 0, &n), RS_OK);
	assert_int_equal(n, 0);
	for (size_t i = 1; i < filled; i++)
		assert_int_equal(body_count_sections(bytes, i, &n),
			i == sizeof(section[0]) + 9
			|| i == 2 * sizeof(section[0]) + 9 ? RS_OK : RS_EPROTOCOL);
	bytes[offsetof(struct body_section, count_bytes)] = 1;  /* a pull has no counts */
	assert_int_equal(body_count_sections(bytes, filled, &n), RS_EPROTOCOL);
	memset(bytes, 0xff, sizeof(bytes));
	assert_int_equal(body_count_sections(bytes, sizeof(bytes), &n), RS_EPROTOCOL);
}

static void
tables_come_back(void **state)
{
	const struct lookup_table t = {
		.name = "C1.linear", .rows = 77, .dim = 5, .init_stddev = 0.25, .storage = ROW_FP16,
		.seed = 1234567890123,
		.optimizer = { .kind = ROW_FTRL, .learning_rate = 1, .initial_accumulator = 2,
			.epsilon = 3, .beta1 = 4, .beta2 = 5, .l1 = 6, .l2 = 7, .ftrl_beta = 8,
			.ftrl_l1 = 9, .ftrl_l2 = 10, .ftrl_power = -0.5, .scheduled = 1 },
	};
	struct lookup_table back;
	struct body_table b;

	(void)state;
	body_table_put(&t, &b);
	assert_int_equal(body_table_get(&b, &back), RS_OK);
	assert_memory_equal(&t.optimizer, &back.optimizer, sizeof(t.optimizer));
	assert_string_equal(back.name, t.name);
	assert_int_equal(back.rows, t.rows);
	assert_int_equal(back.dim, t.dim);
	assert_int_equal(back.storage, t.storage);
	assert_int_equal(back.seed, t.seed);
	assert_true(back.init_stddev == t.init_stddev);
}

static void
tables_that_cannot_be_are_refused(void **state)
{
	const struct lookup_table t = { .name = "C1", .rows = 77, .dim = 5 };
	const struct lookup_table exact = { .name = "C2", .kind = TABLE_EXACT, .rows = EXACT_ROWS,
		.expected = 9, .dim = 5, .tenancy = { .admit = ADMISSION_COUNT, .admit_count = 3,
		.admit_probability = 0.5, .admit_cells = 640, .key = 4, .expire_after = 60,
		.segment_rows = 100, .evict = EVICT_LFU } };
	struct lookup_table back;
	struct body_table good, b;

	(void)state;
	body_table_put(&t, &good);
	assert_int_equal(body_table_get(&good, &back), RS_OK);
#define REFUSED(change) do { \
	b = good; \
	change; \
	assert_int_equal(body_table_get(&b, &back), RS_EPROTOCOL); \
} while (0)
	REFUSED(b.rows = 0);
	REFUSED(b.rows = UINT64_MAX);
	REFUSED(b.dim = 0);
	REFUSED(b.dim = 1 << 20);
	REFUSED(b.optimizer = 5);
	REFUSED(b.scheduled = 2);
	REFUSED(b.storage = ROW_INT8);
	REFUSED(b.storage = ROW_INT8 + 1);
	REFUSED(b.init_stddev = NAN);
	REFUSED(b.init_stddev = -1);
	REFUSED(b.learning_rate = INFINITY);
	REFUSED(b.ftrl_power = NAN);
	REFUSED(b.name[0] = 0);
	REFUSED(memset(b.name, 'x', sizeof(b.name)));
	REFUSED(b.segment_rows = 100);
	body_table_put(&exact, &good);
	assert_int_equal(body_table_get(&good, &back), RS_OK);
	body_table_put(&back, &b);
	assert_memory_equal(&b, &good, sizeof(b));
	REFUSED(b.admit = ADMISSION_PROBABILITY + 1);
	REFUSED(b.evict = EVICT_LFU + 1);
	REFUSED(b.admit_count = 0);
	REFUSED(b.admit_count = UINT32_MAX);
	REFUSED(b.admit_cells = 0);
	REFUSED(b.admit_cells = UINT64_MAX);
	REFUSED(b.admit_probability = NAN);
	REFUSED(b.admit_probability = 1.5);
	REFUSED(b.expire_steps = 1);
	REFUSED(b.segment_rows = 1);
	REFUSED(b.segment_rows = UINT64_MAX);
#undef REFUSED
}

static void
every_half_comes_back(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 1 << 16; h++) {
		const uint16_t half[2] = { (uint16_t)h, 0 };
		float x[2];

		body_unpack(FRAME_FP16, half, 1, 2, x);
		if ((h & 0x7c00) == 0x7c00) {
			assert_true(h & 0x3ff ? isnan(x[0]) : isinf(x[0]));
			assert_true((half_of(x[0]) & 0x7c00) == 0x7c00);
			assert_int_equal((half_of(x[0]) & 0x3ff) != 0, (h & 0x3ff) != 0);
			continue;
		}
		assert_true((double)x[0] == value_of_half(half[0]));
		assert_int_equal(half_of(x[0]), h);
	}
}

/* Between two neighbours the nearer one is taken, in the middle the even one. */
static void
halves_are_rounded_to_the_nearest_even(void **state)
{
	(void)state;
	for (uint32_t h = 0; h < 0x7bff; h++) {
		const double low = value_of_half((uint16_t)h);
		const double high = value_of_half((uint16_t)(h + 1));
		const float middle = (float)((low + high) / 2);

		assert_true((double)middle == (low + high) / 2);
		assert_int_equal(half_of(middle), h + (h & 1));
		assert_int_equal(half_of(nextafterf(middle, 0)), h);
		assert_int_equal(half_of(nextafterf(middle, INFINITY)), h + 1);
		assert_int_equal(half_of(-middle), 0x8000 | (h + (h & 1)));
	}
	for (uint32_t i = 0; i < 200000; i++) {
		const float x = float_of((uint32_t)rng_u64(3, i));
		const double y = value_of_half(half_of(x));

		if (fabsf(x) < 65504)
			assert_true(fabs((double)x - y) <= fmax(fabs(x) / 2048, ldexp(1, -25)));
	}
}

static void
D2_5_no_finite_gradient_becomes_infinite(void **state)
{
	const float large[] = { 65504, 65519.996f, 65520, 65536, 1e6f, 3.4e38f };

	(void)state;
	for (size_t i = 0; i < sizeof(large) / sizeof(large[0]); i++) {
		const float pair[2] = { large[i], -large[i] };
		uint16_t half[2];
		uint8_t small[4];
		float back[2], error[2];

		body_pack(FRAME_FP16, pair, 1, 2, half, error);
		assert_int_equal(half[0], 0x7bff);
		assert_int_equal(half[1], 0xfbff);
		assert_true(error[0] == large[i] - 65504);
		body_pack(FRAME_INT8, pair, 1, 2, small, NULL);
		body_unpack(FRAME_INT8, small, 1, 2, back);
		assert_true(isfinite(back[0]) && fabsf(back[0] / large[i] - 1) < 0.01f);
		assert_true(back[1] == -back[0]);
	}
}

static void
what_is_not_finite_stays_so_and_leaves_no_error(void **state)
{
	const uint8_t flags[] = { FRAME_FP16, FRAME_INT8 };
	const float bad[] = { NAN, INFINITY, -INFINITY };

	(void)state;
	for (size_t f = 0; f < 2; f++)
		for (size_t i = 0; i < 3; i++) {
			const float x[4] = { 1, bad[i], 1, 2 };
			uint8_t values[16];
			float y[4], error[4];

			body_pack(flags[f], x, 2, 2, values, error);
			body_unpack(flags[f], values, 2, 2, y);
			assert_false(isfinite(y[1]));
			assert_true(isfinite(y[2]) && isfinite(y[3]));
			for (size_t j = 0; j < 4; j++)
				assert_true(isfinite(error[j]));
		}
}

static void
scales_are_rounded_up_so_no_value_is_cut(void **state)
{
	(void)state;
	for (uint64_t trial = 0; trial < 3000; trial++) {
		const size_t dim = 2 + rng_below(trial, 0, 30);
		const double size = ldexp(1, (int)rng_below(trial, 1, 250) - 140);
		float x[32], y[32], error[32], most = 0;
		uint8_t values[2 + 32];
		uint16_t upper;

		for (size_t d = 0; d < dim; d++) {
			x[d] = (float)(rng_normal(trial, 2 + d) * size);
			most = fmaxf(most, fabsf(x[d]));
		}
		assert_int_equal(body_value_bytes(FRAME_INT8, 1, dim), 2 + dim);
		body_pack(FRAME_INT8, x, 1, dim, values, error);
		body_unpack(FRAME_INT8, values, 1, dim, y);
		memcpy(&upper, values, 2);

		const float scale = float_of((uint32_t)upper << 16);

		assert_true(scale * 127 >= most * 0.9999999f);
		assert_true(scale * 127 <= most * 1.01f + 2e-38f);
		for (size_t d = 0; d < dim; d++) {
			assert_true(fabsf(x[d] - y[d]) <= scale * 0.500001f);
			assert_true(error[d] == x[d] - y[d]);
		}
	}
}

/* Error feedback: what is sent in the long run is what was meant. */
static void
errors_carried_on_lose_nothing(void **state)
{
	const uint8_t flags[] = { FRAME_FP16, FRAME_INT8 };

	(void)state;
	for (size_t f = 0; f < 2; f++) {
		const float g[2] = { 1, 0.0013f };
		float carried[2] = { 0 }, x[2], y[2];
		double sent[2] = { 0 };
		uint8_t values[8];

		for (size_t step = 0; step < 1000; step++) {
			for (size_t d = 0; d < 2; d++)
				x[d] = g[d] + carried[d];
			body_pack(flags[f], x, 1, 2, values, carried);
			body_unpack(flags[f], values, 1, 2, y);
			for (size_t d = 0; d < 2; d++)
				sent[d] += y[d];
		}
		for (size_t d = 0; d < 2; d++)
			assert_true(fabs(sent[d] - 1000 * (double)g[d]) < 0.01);
	}
}

static void
first_order_weights_are_never_packed(void **state)
{
	const float x[3] = { 1.00001f, -3e38f, 1e-30f };
	float y[3], error[3];
	uint8_t values[12];

	(void)state;
	for (uint8_t flags = 0; flags <= FRAME_INT8 + FRAME_FP16; flags++) {
		assert_int_equal(body_value_bytes(flags, 3, 1), 12);
		body_pack(flags, x, 3, 1, values, error);
		body_unpack(flags, values, 3, 1, y);
		assert_memory_equal(x, y, sizeof(x));
		assert_true(error[0] == 0 && error[1] == 0 && error[2] == 0);
	}
	assert_int_equal(body_value_bytes(FRAME_FP16, 3, 5), 30);
	assert_int_equal(body_value_bytes(0, 3, 5), 60);
}

static void
rows_of_zeros_stay_zeros(void **state)
{
	const float x[4] = { 0, -0.0f, 0, 0 };
	uint8_t values[6];
	float y[4];

	(void)state;
	body_pack(FRAME_INT8, x, 1, 4, values, NULL);
	body_unpack(FRAME_INT8, values, 1, 4, y);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(bits_of(y[i]), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keys_come_back),
		cmocka_unit_test(L032_keys_that_no_writer_writes_are_refused),
		cmocka_unit_test(counts_come_back_and_none_is_zero),
		cmocka_unit_test(sections_are_counted_by_what_they_fill),
		cmocka_unit_test(tables_come_back),
		cmocka_unit_test(tables_that_cannot_be_are_refused),
		cmocka_unit_test(every_half_comes_back),
		cmocka_unit_test(halves_are_rounded_to_the_nearest_even),
		cmocka_unit_test(D2_5_no_finite_gradient_becomes_infinite),
		cmocka_unit_test(what_is_not_finite_stays_so_and_leaves_no_error),
		cmocka_unit_test(scales_are_rounded_up_so_no_value_is_cut),
		cmocka_unit_test(errors_carried_on_lose_nothing),
		cmocka_unit_test(first_order_weights_are_never_packed),
		cmocka_unit_test(rows_of_zeros_stay_zeros),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
