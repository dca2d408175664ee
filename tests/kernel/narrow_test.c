/*
 * Products with rounded operands against their formula: by rounding over every set of kernels,
 * and by oneDNN, in four bytes wherever it runs, in two where the processor has them; floats where
 * they are by oneDNN, and its own layout of weights.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/rng.h"
#include "config.h"
#include "kernel/kernel.h"
#include "kernel/narrow.h"
#include "tests/test.h"
#ifdef HAVE_ONEDNN
#include "kernel/onednn/onednn.h"
#endif

enum { MAX_B = 70, MAX_N = 100, MAX_H = 72 };

static float x[MAX_B * MAX_N], dz[MAX_B * MAX_H], w[MAX_N * MAX_H], bias[MAX_H];
static float earlier[MAX_N * MAX_H];
static float y[MAX_B * MAX_H], dx[MAX_B * MAX_N], dx_before[MAX_B * MAX_N], dw[MAX_N * MAX_H];
static float kept[MAX_B * MAX_N], rounded[MAX_B * MAX_H];

static void
draw(float *to, size_t n, uint64_t key)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (float)(2 * rng_uniform(key, i) - 1);
}

/* Eight bits of a number, halves to the even one: not the code under test. */
static double
nearest(double value, size_t element)
{
	int exponent;
	const double fraction = frexp(value, &exponent);

	return element != sizeof(uint16_t) ? value
		: ldexp(nearbyint(ldexp(fraction, 8)), exponent - 8);
}

static double
activated(double z, int act)
{
	switch (act) {
	case KERNEL_ACT_RELU: return z > 0 ? z : 0;
	case KERNEL_ACT_TANH: return tanh(z);
	case KERNEL_ACT_SIGMOID: return 1 / (1 + exp(-z));
	default: return z;
	}
}

struct layer_case { struct narrow_shape shape; size_t B; float beta; };

/* Sums of k products below 1, in floats; tanh and sigmoid of a library are polynomials. */
static double
tolerance_of(size_t k)
{
	return 4e-6 + (double)k * 0x1p-24 * 4;
}

static void
check_forward(const struct layer_case *c, size_t element)
{
	const size_t n = c->shape.n, H = c->shape.H;

	for (size_t b = 0; b < c->B; b++)
		for (size_t h = 0; h < H; h++) {
			double z = c->shape.has_bias ? bias[h] : 0;
			for (size_t i = 0; i < n; i++)
				z += nearest(x[b * n + i], element)
					* nearest(w[i * H + h], element);
			assert_float_equal(
				y[b * H + h], activated(z, c->shape.act), tolerance_of(n));
		}
}

static void
check_backward(const struct layer_case *c, size_t element)
{
	const size_t n = c->shape.n, H = c->shape.H;

	for (size_t i = 0; i < n; i++)
		for (size_t h = 0; h < H; h++) {
			double sum = 0;
			for (size_t b = 0; b < c->B; b++)
				sum += nearest(x[b * n + i], element)
					* nearest(dz[b * H + h], element);
			assert_float_equal(dw[i * H + h], sum, tolerance_of(c->B));
		}
	for (size_t b = 0; b < c->B; b++)
		for (size_t i = 0; i < n; i++) {
			double sum = c->beta * dx_before[b * n + i];
			for (size_t h = 0; h < H; h++)
				sum += nearest(dz[b * H + h], element)
					* nearest(w[i * H + h], element);
			assert_float_equal(dx[b * n + i], sum, tolerance_of(H));
		}
}

/* The first lane has exactly the rows, the second leaves some empty, with junk before. */
static void
check_lane(struct narrow *layer, const struct layer_case *c, size_t B_max)
{
	struct narrow_lane *lane;
	void *scratch;

	assert_int_equal(layer->set->lane_open(layer, B_max, &lane), RS_OK);
	assert_int_equal(memory_alloc(lane->scratch_bytes + 1, 1, &scratch), RS_OK);
	memset(kept, 0xff, sizeof(kept));
	memset(rounded, 0xff, sizeof(rounded));
	memset(y, 0xff, sizeof(y));
	memset(dw, 0xff, sizeof(dw));
	memcpy(dx, dx_before, sizeof(dx));
	layer->set->forward(lane, &(struct narrow_forward){ .B = c->B, .x = x,
		.bias = c->shape.has_bias ? bias : NULL, .kept = kept, .y = y,
		.scratch = scratch });
	check_forward(c, layer->element);
	if (layer->element > 0) {           /* from what was kept, without x          */
		memset(y, 0xff, sizeof(y));
		layer->set->forward(lane, &(struct narrow_forward){ .B = c->B,
			.bias = c->shape.has_bias ? bias : NULL, .kept = kept, .y = y,
			.scratch = scratch });
		check_forward(c, layer->element);
	}
	layer->set->backward(lane, &(struct narrow_backward){ .B = c->B,
		.x = layer->element == 0 ? x : NULL, .kept = kept, .dz = dz,
		.rounded = rounded, .dw = dw, .dx = dx, .beta = c->beta, .scratch = scratch });
	check_backward(c, layer->element);
	free(scratch);
	layer->set->lane_close(lane);
}

static void
check_set(const struct narrow_set *set, const struct kernel_set *kernel)
{
	static const struct layer_case cases[] = {
		{ { .B = 1, .n = 16, .H = 16 }, 1, 0 },
		{ { .B = 64, .n = 64, .H = 64, .has_bias = 1, .act = KERNEL_ACT_RELU }, 64, 1 },
		{ { .B = 37, .n = 97, .H = 71, .has_bias = 1, .act = KERNEL_ACT_TANH }, 37, 0 },
		{ { .B = 70, .n = 33, .H = 17, .has_bias = 1, .act = KERNEL_ACT_SIGMOID }, 5, 1 },
		{ { .B = 70, .n = 100, .H = 72, .has_bias = 1 }, 69, 0 },
		{ { .B = 16, .n = 17, .H = 31 }, 1, 1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct layer_case c = cases[i];
		struct narrow *layer;

		c.shape.kernel = kernel;
		draw(x, MAX_B * MAX_N, 4 * i);
		draw(dz, MAX_B * MAX_H, 4 * i + 1);
		draw(w, MAX_N * MAX_H, 4 * i + 2);
		draw(dx_before, MAX_B * MAX_N, 4 * i + 3);
		draw(bias, MAX_H, 99);
		draw(earlier, MAX_N * MAX_H, 98);
		assert_int_equal(set->open(set, &c.shape, &layer), RS_OK);
		set->pack(layer, earlier);  /* packing replaces what was packed           */
		set->pack(layer, w);
		assert_int_equal(narrow_takes(layer, c.B), layer->element > 0 || c.B == c.shape.B);
		if (layer->element == 0)
			c.B = c.shape.B;
		check_lane(layer, &c, c.shape.B);
		if (layer->element > 0)
			check_lane(layer, &c, MAX_B);
		set->close(layer);
	}
}

static void
rounding_follows_the_formula_with_every_set(void **state)
{
	static const char *const name[] = { "ref", "baseline", "avx2", "avx512" };

	(void)state;
	for (size_t i = 0; i < sizeof(name) / sizeof(name[0]); i++) {
		const struct kernel_set *kernel;

		if (kernel_select(name[i], &kernel) == RS_OK)
			check_set(&narrow_rounded, kernel);
	}
}

static void
rounding_is_to_the_nearest_and_even_at_every_length(void **state)
{
	const float value[] = {
		1, 1 + 0x1p-8f, 1 + 0x1.8p-7f, 1 + 0x1.01p-8f, -3.14159f, 0x1p-130f,
	};
	const uint16_t want[] = { 0x3f80, 0x3f80, 0x3f82, 0x3f81, 0xc049, 0x0008 };
	float from[67] = { 0 };
	uint16_t to[68];

	(void)state;
	for (size_t n = 0; n <= 67; n++) {
		for (size_t i = 0; i < n; i++)
			from[i] = value[i % 6];
		to[n] = 0x1234;
		kernel_round(n, from, to);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(to[i], want[i % 6]);
		assert_int_equal(to[n], 0x1234);
	}
}

#ifdef HAVE_ONEDNN
static const struct narrow_set *
set_or_skip(enum rs_status (*find)(const struct narrow_set **))
{
	const struct narrow_set *set;

	if (find(&set) != RS_OK) {
		print_message("SKIP: %s\n", rs_failure()->text);
		skip();
	}
	return set;
}

static void
onednn_follows_the_formula_in_four_bytes(void **state)
{
	(void)state;
	check_set(set_or_skip(onednn_whole), &kernel_ref);
}

static void
onednn_follows_the_formula_in_floats_where_they_are(void **state)
{
	(void)state;
	check_set(set_or_skip(onednn_plain), &kernel_ref);
}

static void
onednn_follows_the_formula_in_two_bytes(void **state)
{
	(void)state;
	check_set(set_or_skip(onednn_narrow), &kernel_ref);
}

/* Not lost in any activation: relu may make 0 of it, but then dW has it. */
static void
a_nan_in_x_reaches_the_gradient(void **state)
{
	const struct narrow_shape shape = { .B = 32, .n = 32, .H = 32, .has_bias = 1,
		.act = KERNEL_ACT_RELU };
	const struct narrow_set *const set = set_or_skip(onednn_whole);
	struct layer_case c = { shape, 32, 0 };
	struct narrow_lane *lane;
	struct narrow *layer;
	void *scratch;

	(void)state;
	draw(x, 32 * 32, 1);
	x[5] = NAN;
	memset(dz, 0, sizeof(dz));
	assert_int_equal(set->open(set, &c.shape, &layer), RS_OK);
	set->pack(layer, w);
	assert_int_equal(set->lane_open(layer, 32, &lane), RS_OK);
	assert_int_equal(memory_alloc(lane->scratch_bytes + 1, 1, &scratch), RS_OK);
	set->forward(lane, &(struct narrow_forward){ .B = 32, .x = x, .bias = bias, .kept = kept,
		.y = y, .scratch = scratch });
	set->backward(lane, &(struct narrow_backward){ .B = 32, .kept = kept, .dz = dz,
		.rounded = rounded, .dw = dw, .dx = dx, .scratch = scratch });
	for (size_t h = 0; h < 32; h++)
		assert_true(isnan(dw[5 * 32 + h]));
	assert_false(isnan(dw[6 * 32]));
	free(scratch);
	set->lane_close(lane);
	set->close(layer);
}
#endif

/* What is forced rounds; nothing forced: the processor has it, or the message says what lacks. */
static void
the_set_is_chosen_or_refused_with_a_reason(void **state)
{
	const struct narrow_set *set = NULL;

	(void)state;
	assert_int_equal(kernel_force("mmx"), RS_EUSAGE);
	assert_null(kernel_forced());
	assert_int_equal(kernel_force("ref"), RS_OK);
	assert_int_equal(narrow_select(&set), RS_OK);
	assert_ptr_equal(set, &narrow_rounded);
	assert_int_equal(kernel_force("auto"), RS_OK);
	if (narrow_select(&set) == RS_OK) {
		assert_ptr_not_equal(set, &narrow_rounded);
		return;
	}
	assert_int_equal(rs_failure()->status, RS_ESPEC);
	assert_non_null(strstr(rs_failure()->text, "train.precision = bf16: "));
	assert_non_null(strstr(rs_failure()->hint, "train.precision = fp32"));
}

static void
products_of_floats_are_chosen_or_refused_with_a_reason(void **state)
{
	const struct narrow_set *set = &narrow_rounded;

	(void)state;
	assert_int_equal(kernel_force("ref"), RS_OK);
	assert_int_equal(narrow_select_plain(&set), RS_OK);
	assert_null(set);
	assert_int_equal(kernel_force("auto"), RS_OK);
	if (narrow_select_plain(&set) == RS_OK) {
		assert_string_equal(set->name, "fp32 by oneDNN");
		return;
	}
	assert_int_equal(rs_failure()->status, RS_ESPEC);
	assert_non_null(strstr(rs_failure()->text, "train.products = onednn: "));
	assert_non_null(strstr(rs_failure()->hint, "train.products = openblas"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rounding_follows_the_formula_with_every_set),
		cmocka_unit_test(rounding_is_to_the_nearest_and_even_at_every_length),
#ifdef HAVE_ONEDNN
		cmocka_unit_test(onednn_follows_the_formula_in_four_bytes),
		cmocka_unit_test(onednn_follows_the_formula_in_floats_where_they_are),
		cmocka_unit_test(onednn_follows_the_formula_in_two_bytes),
		cmocka_unit_test(a_nan_in_x_reaches_the_gradient),
#endif
		cmocka_unit_test(the_set_is_chosen_or_refused_with_a_reason),
		cmocka_unit_test(products_of_floats_are_chosen_or_refused_with_a_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
