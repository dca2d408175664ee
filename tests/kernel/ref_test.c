/* The reference kernels by hand: values worked out on paper or by another formula. */
#include <math.h>
#include <string.h>

#include "kernel/kernel.h"
#include "tests/test.h"

static const struct kernel_set *const k = &kernel_ref;

static void
product_of_two_by_three(void **state)
{
	const float a[] = { 1, 2, 3, 4, 5, 6 }, b[] = { 1, 0, -1, 2, 3, 1 };
	float c[4] = { 10, 10, 10, 10 };

	(void)state;
	k->gemm(&(struct gemm_args){ .m = 2,
		.n = 2,
		.k = 3,
		.alpha = 1,
		.beta = 1,
		.a = a,
		.lda = 3,
		.b = b,
		.ldb = 2,
		.c = c,
		.ldc = 2 });
	assert_float_equal(c[0], 10 + 1 - 2 + 9, 0);
	assert_float_equal(c[1], 10 + 0 + 4 + 3, 0);
	assert_float_equal(c[2], 10 + 4 - 5 + 18, 0);
	assert_float_equal(c[3], 10 + 0 + 10 + 6, 0);
}

static void
activations_at_known_points(void **state)
{
	const float z[] = { -1, 0, 2 }, slope[] = { 0.5f, 0.5f, 0.5f };
	float y[3];

	(void)state;
	k->act_forward(1, 3, z, KERNEL_ACT_RELU, NULL, y);
	assert_true(y[0] == 0 && y[1] == 0 && y[2] == 2);
	k->act_forward(1, 3, z, KERNEL_ACT_PRELU, slope, y);
	assert_true(y[0] == -0.5f && y[1] == 0 && y[2] == 2);
	k->act_forward(1, 3, z, KERNEL_ACT_SIGMOID, NULL, y);
	assert_float_equal(y[0], 0.2689414, 1e-6);
	assert_float_equal(y[2], 0.8807971, 1e-6);
	k->act_forward(1, 3, z, KERNEL_ACT_TANH, NULL, y);
	assert_float_equal(y[2], 0.9640276, 1e-6);
	k->act_forward(1, 3, z, KERNEL_ACT_GELU, NULL, y);
	assert_float_equal(y[0], -0.1586553, 1e-6);
	assert_float_equal(y[2], 1.9544997, 1e-6);
}

/* A NaN must not turn into a harmless 0 on its way to the guard. */
static void
relu_of_nan_is_nan(void **state)
{
	static const char *const names[] = { "ref", "baseline", "avx2", "avx512" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		float y[40] = { 0 }, bias[40] = { 0 };
		const struct kernel_set *set;
		if (kernel_select(names[i], &set) != RS_OK)
			continue;
		y[3] = y[35] = NAN;
		set->bias_act_forward(1, 40, y, bias, KERNEL_ACT_RELU);
		assert_true(isnan(y[3]) && isnan(y[35]) && y[4] == 0);
	}
}

static void
fm2_is_the_sum_of_dot_products(void **state)
{
	const float x[] = { 1, 2, 3, 4, 5, 6 };      /* three vectors of dim 2 */
	float s[2], y[1], dx[6] = { 0 }, dy[] = { 2 };

	(void)state;
	k->fm2_forward(1, 3, 2, x, 6, s, y);
	assert_float_equal(y[0], (1 * 3 + 2 * 4) + (1 * 5 + 2 * 6) + (3 * 5 + 4 * 6), 0);
	k->fm2_backward(1, 3, 2, x, 6, s, dy, dx, 6);
	assert_float_equal(dx[0], 2 * (3 + 5), 0);
	assert_float_equal(dx[5], 2 * (2 + 4), 0);
}

static void
rows_are_filled_copied_and_added(void **state)
{
	const float x[] = { 1, 2, 9, 3, 4, 9 };
	float y[] = { 7, 7, 7, 7, 7, 7, 7, 7 }, sum = 7;

	(void)state;
	k->fill(5, y, 0.5f);
	assert_true(y[4] == 0.5f && y[5] == 7);
	k->copy_rows(2, 2, x, 3, y + 1, 4);
	assert_true(y[0] == 0.5f && y[1] == 1 && y[2] == 2 && y[3] == 0.5f);
	assert_true(y[5] == 3 && y[6] == 4 && y[7] == 7);
	k->add_rows(2, 2, x, 3, y + 1, 4);
	assert_true(y[0] == 0.5f && y[2] == 4 && y[5] == 6 && y[7] == 7);
	k->dot(3, x, NULL, 2, &sum);
	assert_float_equal(sum, 2 * (1 + 2 + 9), 0);
	k->dot(3, x, x + 3, -1, &sum);
	assert_float_equal(sum, -(1 * 3 + 2 * 4 + 9 * 9), 0);
}

/* [k, q, k-q, k*q] W = [k, k*q] U + q V, for one column of W. */
static void
attention_weights_split_and_their_gradients_join(void **state)
{
	const float w[] = { 1, 2, 3, 4 }, du[] = { 10, 20 }, dv[] = { 3 };
	float u[2], v[1], dw[4];

	(void)state;
	k->attention_split(1, w, u, v);
	assert_true(u[0] == 1 + 3 && u[1] == 4 && v[0] == 2 - 3);
	k->attention_join(1, du, dv, dw);
	assert_true(dw[0] == 10 && dw[1] == 3 && dw[2] == 10 - 3 && dw[3] == 20);
}

static void
gradients_of_bags_are_added_to_their_ids(void **state)
{
	const uint32_t offset[] = { 4, 6, 6, 7 };    /* two ids, none, one */
	const float dy[] = { 1, 2, 0, 3, 4, 0, 5, 6, 0 };
	float grad[] = { 1, 1, 1, 1, 1, 1 };
	const struct bag_args a = { .B = 3, .D = 2, .offset = offset };

	(void)state;
	k->bag_add(&a, dy, 3, grad);
	assert_true(grad[0] == 2 && grad[1] == 3 && grad[2] == 2 && grad[3] == 3);
	assert_true(grad[4] == 6 && grad[5] == 7);
}

static void
bags_pool_by_every_combiner(void **state)
{
	const float rows[3][2] = { { 1, 8 }, { 3, 4 }, { 5, 6 } }, weight[] = { 1, 3, 2 };
	const float *const row[] = { rows[0], rows[1], rows[2] };
	const uint32_t offset[] = { 4, 6, 6, 7 };    /* two ids, none, one */
	float scale[3], y[6];
	const struct bag_args a = {
		.B = 3, .D = 2, .row = row, .offset = offset, .scale = scale, .y = y, .ldy = 2,
	};

	(void)state;
	k->bag_scale(3, offset, weight, KERNEL_MEAN, scale);
	k->bag_forward(&a);
	assert_float_equal(y[0], (1 * 1 + 3 * 3) / 4.0, 1e-6);
	assert_true(y[2] == 0 && y[3] == 0);
	assert_float_equal(y[4], 5, 1e-6);
	k->bag_scale(3, offset, NULL, KERNEL_SQRTN, scale);
	k->bag_forward(&a);
	assert_float_equal(y[1], 12 / sqrt(2), 1e-5);
	k->bag_scale(3, offset, NULL, KERNEL_SUM, scale);
	k->bag_forward(&a);
	assert_float_equal(y[0], 4, 0);
	k->bag_max_forward(&a);
	assert_true(y[0] == 3 && y[1] == 8 && y[2] == 0 && y[5] == 6);
}

/* Pairs inside {1,3} of dim 1 with weights 1 and 2: 1 * 6. */
static void
pairs_inside_a_bag(void **state)
{
	const float rows[2] = { 1, 3 }, scale[] = { 1, 2 };
	const float *const row[] = { &rows[0], &rows[1] };
	const uint32_t offset[] = { 0, 2 };
	float sum[1], y[1] = { 1 };
	const struct bag_args a = {
		.B = 1, .D = 1, .row = row, .offset = offset, .scale = scale, .y = sum, .ldy = 1,
	};

	(void)state;
	k->bag_forward(&a);
	k->bag_pairs_forward(&a, y);
	assert_float_equal(y[0], 1 + 6, 1e-6);
}

static void
missing_number_has_a_vector_of_its_own(void **state)
{
	const float x[] = { 2, 0 }, v[] = { 1, 10, 100, 1000 }, u[] = { 7, 8, 9, 6 };
	const uint8_t missing[] = { 0, 1 };
	const struct numeric_args a = {
		.B = 1, .K = 2, .D = 2, .x = x, .missing = missing, .ldx = 2
	};
	float y[4];

	(void)state;
	k->numeric_forward(&a, v, u, y, 4);
	assert_true(y[0] == 2 && y[1] == 20 && y[2] == 9 && y[3] == 6);
}

/* log(1 + e^-x) for x = 100 is e^-100; the product form gives log(0). */
static void
b013_logloss_of_large_logits_is_finite(void **state)
{
	static const char *const names[] = { "ref", "baseline", "avx2", "avx512" };
	const float z[] = { 100, -100, 100, -100 }, label[] = { 1, 1, 0, 0 };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		const struct kernel_set *set;
		float dz[4], p[4];
		double loss = 0;
		if (kernel_select(names[i], &set) != RS_OK)
			continue;
		set->logloss(4, z, label, NULL, 1, dz, p, &loss);
		assert_float_equal(loss, 200, 1e-3);
		assert_float_equal(dz[0], 0, 1e-6);
		assert_float_equal(dz[1], -1, 1e-6);
		assert_float_equal(dz[2], 1, 1e-6);
		assert_float_equal(dz[3], 0, 1e-6);
		for (size_t b = 0; b < 4; b++)
			assert_true(p[b] >= 0 && p[b] <= 1);
	}
}

static void
logloss_of_a_half_is_log_two(void **state)
{
	const float z[] = { 0, 0 }, label[] = { 1, 0.25f }, weight[] = { 2, 1 };
	float dz[2];
	double loss = 1;

	(void)state;
	k->logloss(2, z, label, weight, 0.5f, dz, NULL, &loss);
	assert_float_equal(loss, 1 + 3 * log(2), 1e-6);
	assert_float_equal(dz[0], 0.5 * 2 * (0.5 - 1), 1e-6);
	assert_float_equal(dz[1], 0.5 * (0.5 - 0.25), 1e-6);
}

static void
guard_sees_nan_inf_and_the_very_large(void **state)
{
	const float good[] = { 0, -0x1p100f, 1 };
	const float bad_values[] = { NAN, INFINITY, -INFINITY, 0x1.1p100f };

	(void)state;
	int bad = 0;
	k->finite(3, good, &bad);
	assert_int_equal(bad, 0);
	for (size_t i = 0; i < 4; i++) {
		bad = 0;
		k->finite(1, &bad_values[i], &bad);
		assert_int_equal(bad, 1);
	}
}

static void
what_is_bad_spoils_a_sum(void **state)
{
	float y[] = { 1, 2 };
	int bad = 0;

	(void)state;
	k->spoil(y, &bad);
	assert_float_equal(y[0], 1, 0);
	bad = 1;
	k->spoil(y, &bad);
	assert_true(isnan(y[0]));
	assert_float_equal(y[1], 2, 0);
}

static void
batch_norm_of_two_rows(void **state)
{
	const float x[] = { 1, 3 }, gamma[] = { 2 }, beta[] = { 5 };
	float xhat[2], y[2], mean[1], var[1], rstd[1];

	(void)state;
	k->batch_norm_forward(2, 1, x, gamma, beta, 0, xhat, y, mean, var, rstd);
	assert_true(mean[0] == 2 && var[0] == 1 && y[0] == 3 && y[1] == 7);
	k->batch_norm_apply(2, 1, x, gamma, beta, mean, var, 3, y);
	assert_true(y[0] == 4 && y[1] == 6);
}

static void
dropout_keeps_its_share(void **state)
{
	float x[2000], y[2000];
	size_t kept = 0;

	(void)state;
	for (size_t i = 0; i < 2000; i++)
		x[i] = 3;
	k->dropout(100, 20, 11, 0, 0.25f, x, y);
	for (size_t i = 0; i < 2000; i++) {
		assert_true(y[i] == 0 || y[i] == 4);
		kept += y[i] != 0;
	}
	assert_in_range(kept, 1400, 1600);
}

static void
adagrad_row_by_hand(void **state)
{
	const struct row_args a = { .D = 2, .rate = 0.5f, .epsilon = 0, .l2 = 0.5f };
	float w[] = { 2, 0 }, s[] = { 0, 9 };
	const float g[] = { 2, 4 };

	(void)state;
	k->row_adagrad(w, s, g, &a);
	assert_true(s[0] == 9 && s[1] == 25);
	assert_float_equal(w[0], 2 - 0.5 * 3 / 3, 1e-6);
	assert_float_equal(w[1], 0 - 0.5 * 4 / 5, 1e-6);
}

static void
rowwise_adagrad_keeps_one_number(void **state)
{
	const struct row_args a = { .D = 2, .rate = 1 };
	float w[] = { 0, 0 }, s[] = { 0, -7 };
	const float g[] = { 1, 7 };

	(void)state;
	k->row_rowwise_adagrad(w, s, g, &a);
	assert_true(s[0] == 25 && s[1] == -7);
	assert_float_equal(w[1], -7.0 / 5, 1e-6);
}

/* The first step of Adam is rate times the sign, whatever the gradient. */
static void
adam_row_counts_its_own_steps(void **state)
{
	const struct row_args a = { .D = 2, .rate = 0.1f, .beta1 = 0.9f, .beta2 = 0.999f };
	float w[] = { 0, 0 }, slot[5] = { 0 };
	const float g[] = { 100, -0.01f };

	(void)state;
	k->row_adam(w, slot, g, &a);
	assert_float_equal(w[0], -0.1, 1e-5);
	assert_float_equal(w[1], 0.1, 1e-5);
	assert_true(slot[4] == 1);
	k->row_adam(w, slot, g, &a);
	assert_float_equal(w[0], -0.2, 1e-4);
	assert_true(slot[4] == 2);
}

/* n = 16, z = 4: w = -(4 - 1) / ((1 + 4) / 0.5 + 2). */
static void
ftrl_row_by_hand(void **state)
{
	const struct row_args a = {
		.D = 1,
		.rate = 0.5f,
		.ftrl_beta = 1,
		.ftrl_l1 = 1,
		.ftrl_l2 = 2,
		.ftrl_power = 0.5f,
	};
	float w[] = { 0 }, slot[] = { 0, 0 };
	const float g[] = { 4 }, small[] = { -3.5f };

	(void)state;
	k->row_ftrl(w, slot, g, &a);
	assert_true(slot[0] == 16 && slot[1] == 4);
	assert_float_equal(w[0], -3.0 / 12, 1e-6);
	w[0] = 0;
	k->row_ftrl(w, slot, small, &a);
	assert_true(w[0] == 0);             /* |z| = 0.5 is below l1 */
}

static void
dense_optimizers_by_hand(void **state)
{
	const struct optimizer_args a = {
		.rate = 0.1f, .momentum = 0.5f, .beta1 = 0.9f, .beta2 = 0.99f, .weight_decay = 0.5f,
		.correction1 = 0.1f, .correction2 = 0.01f,
	};
	const float g[] = { 2 };
	float w[] = { 1 }, m[] = { 2 }, v[] = { 12 };

	(void)state;
	k->dense_sgd(1, w, g, NULL, NULL, &a);
	assert_float_equal(w[0], 0.8, 1e-6);
	k->dense_momentum(1, w, g, m, NULL, &a);
	assert_float_equal(w[0], 0.8 - 0.1 * 3, 1e-6);
	k->dense_adagrad(1, w, g, NULL, v, &a);
	assert_float_equal(w[0], 0.5 - 0.1 * 2 / 4, 1e-6);
	m[0] = v[0] = 0;
	k->dense_adam(1, w, g, m, v, &a);
	assert_float_equal(w[0], 0.45 - 0.1, 1e-5);
	w[0] = 1;
	m[0] = v[0] = 0;
	k->dense_adamw(1, w, g, m, v, &a);
	assert_float_equal(w[0], 1 - 0.1 - 0.1 * 0.5, 1e-5);
}

static void
gradients_of_a_row_are_summed_with_their_factors(void **state)
{
	const float a[] = { 1, 2 }, b[] = { 10, 20 }, scale[] = { 2, 0.5f };
	const float *const grad[] = { a, b };
	float g[2];

	(void)state;
	k->row_sum(2, 2, grad, NULL, g);
	assert_true(g[0] == 11 && g[1] == 22);
	k->row_sum(2, 2, grad, scale, g);
	assert_true(g[0] == 7 && g[1] == 14);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(product_of_two_by_three),
		cmocka_unit_test(activations_at_known_points),
		cmocka_unit_test(relu_of_nan_is_nan),
		cmocka_unit_test(fm2_is_the_sum_of_dot_products),
		cmocka_unit_test(rows_are_filled_copied_and_added),
		cmocka_unit_test(attention_weights_split_and_their_gradients_join),
		cmocka_unit_test(gradients_of_bags_are_added_to_their_ids),
		cmocka_unit_test(bags_pool_by_every_combiner),
		cmocka_unit_test(pairs_inside_a_bag),
		cmocka_unit_test(missing_number_has_a_vector_of_its_own),
		cmocka_unit_test(b013_logloss_of_large_logits_is_finite),
		cmocka_unit_test(logloss_of_a_half_is_log_two),
		cmocka_unit_test(guard_sees_nan_inf_and_the_very_large),
		cmocka_unit_test(what_is_bad_spoils_a_sum),
		cmocka_unit_test(batch_norm_of_two_rows),
		cmocka_unit_test(dropout_keeps_its_share),
		cmocka_unit_test(adagrad_row_by_hand),
		cmocka_unit_test(rowwise_adagrad_keeps_one_number),
		cmocka_unit_test(adam_row_counts_its_own_steps),
		cmocka_unit_test(ftrl_row_by_hand),
		cmocka_unit_test(dense_optimizers_by_hand),
		cmocka_unit_test(gradients_of_a_row_are_summed_with_their_factors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
