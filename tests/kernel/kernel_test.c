/* Every kernel of every set that this processor runs agrees with the reference. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compare.h"

enum { N_TRIALS = 12 };

COMPARE(gemm)
{
	const int is_row = t->key % 3 == 1;
	const size_t m = agree_below(t, is_row ? 1 : MAX_ROWS);
	const size_t n = agree_below(t, t->key % 3 == 0 ? 1 : MAX_COLUMNS);
	const size_t k_size = agree_below(t, t->key % 4 == 0 ? 1 : MAX_COLUMNS),
		     pad = agree_below(t, 4) - 1;
	const int ta = (int)agree_below(t, 2) - 1, tb = (int)agree_below(t, is_row ? 1 : 2) - 1;
	const size_t lda = (ta ? m : k_size) + pad, ldb = (tb ? k_size : n) + pad, ldc = n + pad;
	const size_t a = agree_pair(t, (ta ? k_size : m) * lda, -1, 1);
	const size_t b = agree_pair(t, (tb ? n : k_size) * ldb, -1, 1);
	const size_t c = agree_pair(t, m * ldc, -1, 1);
	const float beta = agree_below(t, 2) == 1 ? 0 : 1;

	BOTH(k->gemm(&(struct gemm_args){ .transpose_a = ta, .transpose_b = tb, .m = m, .n = n,
		.k = k_size, .alpha = 0.5f, .beta = beta, .a = BUF(a), .lda = lda, .b = BUF(b),
		.ldb = ldb, .c = BUF(c), .ldc = ldc }));
}

static const int in_place_acts[] = {
	KERNEL_ACT_NONE, KERNEL_ACT_RELU, KERNEL_ACT_TANH, KERNEL_ACT_SIGMOID,
};

COMPARE(bias_act_forward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t y = agree_pair(t, B * H, -9, 9), bias = agree_pair(t, H, -1, 1);

	for (size_t i = 0; i < 4; i++)
		BOTH(k->bias_act_forward(B, H, BUF(y), i % 2 ? NULL : BUF(bias),
			in_place_acts[i]));
}

COMPARE(bias_act_backward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t y = agree_pair(t, B * H, -1, 1), dy = agree_pair(t, B * H, -1, 1);
	const size_t dbias = agree_pair(t, H, -1, 1);

	for (size_t i = 0; i < 4; i++) {
		BOTH(k->bias_act_backward(
			B, H, BUF(y), BUF(dy), in_place_acts[i], BUF(dy), BUF(dbias)));
		BOTH(k->bias_act_backward(B, H, BUF(y), BUF(dy), in_place_acts[i], BUF(dy), NULL));
	}
}

static const int z_acts[] = {
	KERNEL_ACT_NONE, KERNEL_ACT_RELU, KERNEL_ACT_PRELU, KERNEL_ACT_TANH, KERNEL_ACT_SIGMOID,
	KERNEL_ACT_GELU,
};

COMPARE(act_forward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t z = agree_pair(t, B * H, -9, 9), slope = agree_pair(t, H, -1, 1);

	for (size_t i = 0; i < 6; i++) {
		const size_t y = agree_pair(t, B * H, 0, 1);
		BOTH(k->act_forward(B, H, BUF(z), z_acts[i],
			z_acts[i] == KERNEL_ACT_PRELU ? BUF(slope) : NULL, BUF(y)));
	}
}

COMPARE(act_backward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t z = agree_pair(t, B * H, -9, 9), slope = agree_pair(t, H, -1, 1);
	const size_t dy = agree_pair(t, B * H, -1, 1), dslope = agree_pair(t, H, -1, 1);

	for (size_t i = 0; i < 6; i++) {
		const size_t dz = agree_pair(t, B * H, -1, 1);
		const int prelu = z_acts[i] == KERNEL_ACT_PRELU;
		BOTH(k->act_backward(B, H, BUF(z), BUF(dy), z_acts[i], prelu ? BUF(slope) : NULL,
			BUF(dz), prelu ? BUF(dslope) : NULL));
	}
}

COMPARE(dice_forward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t z = agree_pair(t, B * H, -9, 9), zhat = agree_pair(t, B * H, -2, 2);
	const size_t alpha = agree_pair(t, H, -1, 1), y = agree_pair(t, B * H, 0, 1);

	BOTH(k->dice_forward(B, H, BUF(z), BUF(zhat), BUF(alpha), BUF(y)));
}

COMPARE(dice_backward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t z = agree_pair(t, B * H, -9, 9), zhat = agree_pair(t, B * H, -2, 2);
	const size_t alpha = agree_pair(t, H, -1, 1), dy = agree_pair(t, B * H, -1, 1);
	const size_t dz = agree_pair(t, B * H, -1, 1), dzhat = agree_pair(t, B * H, -1, 1);
	const size_t dalpha = agree_pair(t, H, -1, 1);

	BOTH(k->dice_backward(B, H, BUF(z), BUF(zhat), BUF(alpha), BUF(dy), BUF(dz), BUF(dzhat),
		BUF(dalpha)));
}

COMPARE(add)
{
	const size_t n = agree_below(t, 200);
	const size_t y = agree_pair(t, n, -1, 1), x = agree_pair(t, n, -1, 1);

	BOTH(k->add(n, BUF(y), BUF(x)));
}

COMPARE(scale)
{
	const size_t n = agree_below(t, 200), y = agree_pair(t, n, -1, 1);

	BOTH(k->scale(n, BUF(y), 0.37f));
}

/* Bags over B rows: every other trial has one id a row, else lengths 0..5. */
struct bags {
	size_t B, D, N, rows;
	uint32_t offset[MAX_ROWS + 1];
	int    single;
	size_t scale;
	const float *row[2][MAX_ROWS * 6];
};

static void
bags_make(struct agree *t, struct bags *bags, size_t D)
{
	*bags = (struct bags){ .B = agree_below(t, MAX_ROWS), .D = D, .single = t->key % 2 == 0 };
	bags->offset[0] = bags->single ? 0 : 7;
	for (size_t b = 0; b < bags->B; b++)
		bags->offset[b + 1] = bags->offset[b]
			+ (bags->single ? 1 : (uint32_t)agree_below(t, 6) - 1);
	bags->N = bags->offset[bags->B] - bags->offset[0];
	bags->rows = agree_pair(t, 50 * D, -1, 1);
	bags->scale = agree_pair(t, bags->N + 1, 0.1, 2);
	for (size_t i = 0; i < bags->N; i++) {
		const size_t row = agree_below(t, 50) - 1;
		for (size_t side = 0; side < 2; side++)
			bags->row[side][i] = t->buffer[bags->rows][side] + row * D;
	}
}

static struct bag_args
bags_args(struct agree *t, const struct bags *bags, size_t side, float *y, size_t ldy)
{
	return (struct bag_args){
		.B = bags->B, .D = bags->D, .row = bags->row[side],
		.offset = bags->single ? NULL : bags->offset,
		.scale = t->key % 3 == 0 ? NULL : t->buffer[bags->scale][side], .y = y, .ldy = ldy,
	};
}

COMPARE(bag_scale)
{
	struct bags bags;

	bags_make(t, &bags, 1);
	for (int combiner = KERNEL_SUM; combiner <= KERNEL_LAST; combiner++) {
		const size_t out = agree_pair(t, bags.N + 1, 0, 1);
		BOTH(k->bag_scale(bags.B, bags.single ? NULL : bags.offset,
			combiner % 2 ? BUF(bags.scale) : NULL, combiner, BUF(out)));
	}
}

COMPARE(bag_forward)
{
	struct bags bags;

	bags_make(t, &bags, some_dim(t));
	const size_t ldy = bags.D + 3, y = agree_pair(t, bags.B * ldy, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, BUF(y), ldy); k->bag_forward(&a));
}

COMPARE(bag_max_forward)
{
	struct bags bags;

	bags_make(t, &bags, some_dim(t));
	const size_t ldy = bags.D + 3, y = agree_pair(t, bags.B * ldy, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, BUF(y), ldy);
		k->bag_max_forward(&a));
}

COMPARE(bag_max_backward)
{
	struct bags bags;

	bags_make(t, &bags, some_dim(t));
	const size_t ldy = bags.D + 3, dy = agree_pair(t, bags.B * ldy, 0, 1);
	const size_t grad = agree_pair(t, bags.N * bags.D + 1, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, NULL, 0);
		k->bag_max_backward(&a, BUF(dy), ldy, BUF(grad)));
}

COMPARE(bag_linear_forward)
{
	struct bags bags;

	bags_make(t, &bags, 1);
	const size_t y = agree_pair(t, bags.B, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, BUF(y), 1);
		k->bag_linear_forward(&a));
}

COMPARE(bag_pairs_forward)
{
	struct bags bags;

	bags_make(t, &bags, some_dim(t));
	const size_t ldy = bags.D + 3, x = agree_pair(t, bags.B * ldy, 0, 1);
	const size_t y = agree_pair(t, bags.B, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, BUF(x), ldy);
		k->bag_pairs_forward(&a, BUF(y)));
}

COMPARE(bag_pairs_backward)
{
	struct bags bags;

	bags_make(t, &bags, some_dim(t));
	const size_t ldy = bags.D + 3, x = agree_pair(t, bags.B * ldy, 0, 1);
	const size_t dy = agree_pair(t, bags.B, -1, 1), dx = agree_pair(t, bags.B * ldy, 0, 1);
	const size_t grad = agree_pair(t, bags.N * bags.D + 1, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, BUF(x), ldy);
		k->bag_pairs_backward(&a, BUF(dy), BUF(dx), ldy, BUF(grad)));
}

/* Numeric columns: x with a wider ld, a third of the cells missing. */
struct numerics {
	struct numeric_args a;
	uint8_t missing[MAX_ROWS * 12];
	size_t  x;
};

static void
numerics_make(struct agree *t, struct numerics *n, size_t D)
{
	n->a = (struct numeric_args){
		.B = agree_below(t, MAX_ROWS), .K = agree_below(t, 9), .D = D
	};
	n->a.ldx = n->a.K + 2;
	n->x = agree_pair(t, n->a.B * n->a.ldx, -2, 2);
	for (size_t i = 0; i < n->a.B * n->a.ldx; i++)
		n->missing[i] = agree_below(t, 3) == 1;
	n->a.missing = t->key % 3 == 0 ? NULL : n->missing;
}

static struct numeric_args
numerics_args(const struct agree *t, const struct numerics *n, size_t side)
{
	struct numeric_args a = n->a;

	a.x = t->buffer[n->x][side];
	return a;
}

COMPARE(numeric_forward)
{
	struct numerics n;

	numerics_make(t, &n, some_dim(t));
	const size_t width = n.a.K * n.a.D, ldy = width + 5;
	const size_t v = agree_pair(t, width, -1, 1), u = agree_pair(t, width, -1, 1);
	const size_t y = agree_pair(t, n.a.B * ldy, 0, 1);
	BOTH(const struct numeric_args a = numerics_args(t, &n, side);
		k->numeric_forward(&a, BUF(v), BUF(u), BUF(y), ldy));
}

COMPARE(numeric_backward)
{
	struct numerics n;

	numerics_make(t, &n, some_dim(t));
	const size_t width = n.a.K * n.a.D, ldy = width + 5;
	const size_t dv = agree_pair(t, width, -1, 1), du = agree_pair(t, width, -1, 1);
	const size_t dy = agree_pair(t, n.a.B * ldy, -1, 1);
	BOTH(const struct numeric_args a = numerics_args(t, &n, side);
		k->numeric_backward(&a, BUF(dy), ldy, BUF(dv), BUF(du)));
}

COMPARE(numeric_linear_forward)
{
	struct numerics n;

	numerics_make(t, &n, 1);
	const size_t w = agree_pair(t, n.a.K, -1, 1), u = agree_pair(t, n.a.K, -1, 1);
	const size_t y = agree_pair(t, n.a.B, 0, 1);
	BOTH(const struct numeric_args a = numerics_args(t, &n, side);
		k->numeric_linear_forward(&a, BUF(w), BUF(u), BUF(y)));
}

COMPARE(numeric_linear_backward)
{
	struct numerics n;

	numerics_make(t, &n, 1);
	const size_t dw = agree_pair(t, n.a.K, -1, 1), du = agree_pair(t, n.a.K, -1, 1);
	const size_t dy = agree_pair(t, n.a.B, -1, 1);
	BOTH(const struct numeric_args a = numerics_args(t, &n, side);
		k->numeric_linear_backward(&a, BUF(dy), BUF(dw), BUF(du)));
}

COMPARE(fm2_forward)
{
	const size_t B = agree_below(t, MAX_ROWS), F = agree_below(t, 9), D = some_dim(t);
	const size_t ldx = F * D + 2, x = agree_pair(t, B * ldx, -1, 1);
	const size_t s = agree_pair(t, B * D, 0, 1), y = agree_pair(t, B, 0, 1);

	BOTH(k->fm2_forward(B, F, D, BUF(x), ldx, BUF(s), BUF(y)));
}

COMPARE(fm2_backward)
{
	const size_t B = agree_below(t, MAX_ROWS), F = agree_below(t, 9), D = some_dim(t);
	const size_t ldx = F * D + 2, x = agree_pair(t, B * ldx, -1, 1),
		     s = agree_pair(t, B * D, -1, 1);
	const size_t dy = agree_pair(t, B, -1, 1), dx = agree_pair(t, B * ldx, -1, 1);

	BOTH(k->fm2_backward(B, F, D, BUF(x), ldx, BUF(s), BUF(dy), BUF(dx), ldx));
}

COMPARE(logloss)
{
	const size_t B = agree_below(t, MAX_ROWS), z = agree_pair(t, B, -30, 30);
	const size_t label = agree_pair(t, B, 0, 1), weight = agree_pair(t, B, 0, 2);
	const size_t dz = agree_pair(t, B, 0, 1), p = agree_pair(t, B, 0, 1);
	double loss[2] = { 1, 1 };

	BOTH(k->logloss(B, BUF(z), BUF(label), BUF(weight), 0.25f, BUF(dz), BUF(p), &loss[side]));
	assert_true(fabs(loss[0] - loss[1]) <= 1e-5 * loss[0]);
}

COMPARE(mse)
{
	const size_t B = agree_below(t, MAX_ROWS), z = agree_pair(t, B, -3, 3);
	const size_t label = agree_pair(t, B, 0, 1), weight = agree_pair(t, B, 0, 2);
	const size_t dz = agree_pair(t, B, 0, 1);
	double loss[2] = { 1, 1 };

	BOTH(k->mse(B, BUF(z), BUF(label), BUF(weight), 0.25f, BUF(dz), &loss[side]));
	assert_true(fabs(loss[0] - loss[1]) <= 1e-5 * loss[0]);
}

COMPARE(batch_norm_forward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t x = agree_pair(t, B * H, -2, 4), gamma = agree_pair(t, H, -1, 1);
	const size_t beta = agree_pair(t, H, -1, 1), xhat = agree_pair(t, B * H, 0, 1);
	const size_t y = agree_pair(t, B * H, 0, 1), mean = agree_pair(t, H, 0, 1);
	const size_t var = agree_pair(t, H, 0, 1), rstd = agree_pair(t, H, 0, 1);
	const int plain = t->key % 3 == 0;

	BOTH(k->batch_norm_forward(B, H, BUF(x), plain ? NULL : BUF(gamma),
		plain ? NULL : BUF(beta), 1e-2f, BUF(xhat), plain ? NULL : BUF(y), BUF(mean),
		BUF(var), BUF(rstd)));
}

COMPARE(batch_norm_apply)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t x = agree_pair(t, B * H, -2, 4), gamma = agree_pair(t, H, -1, 1);
	const size_t beta = agree_pair(t, H, -1, 1), y = agree_pair(t, B * H, 0, 1);
	const size_t mean = agree_pair(t, H, -1, 1), var = agree_pair(t, H, 0, 1);

	BOTH(k->batch_norm_apply(B, H, BUF(x), BUF(gamma), BUF(beta), BUF(mean), BUF(var), 1e-2f,
		BUF(y)));
}

COMPARE(batch_norm_backward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t xhat = agree_pair(t, B * H, -2, 2), rstd = agree_pair(t, H, 0.1, 3);
	const size_t gamma = agree_pair(t, H, -1, 1), dy = agree_pair(t, B * H, -1, 1);
	const size_t dx = agree_pair(t, B * H, -1, 1), dgamma = agree_pair(t, H, 0, 1);
	const size_t dbeta = agree_pair(t, H, 0, 1);

	BOTH(k->batch_norm_backward(B, H, BUF(xhat), BUF(rstd), t->key % 3 == 0 ? NULL : BUF(gamma),
		BUF(dy), BUF(dx), BUF(dgamma), BUF(dbeta)));
}

COMPARE(dropout)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t x = agree_pair(t, B * H, 1, 2), y = agree_pair(t, B * H, 0, 1);

	BOTH(k->dropout(B, H, t->key, 1u << 30, 0.3f, BUF(x), BUF(y)));
}

COMPARE(dropout_backward)
{
	const size_t B = agree_below(t, MAX_ROWS), H = agree_below(t, MAX_COLUMNS);
	const size_t dy = agree_pair(t, B * H, 1, 2), dx = agree_pair(t, B * H, 0, 1);

	BOTH(k->dropout_backward(B, H, t->key, 1u << 30, 0.3f, BUF(dy), BUF(dx)));
}

COMPARE(sum_into)
{
	const size_t n = agree_below(t, 200), y = agree_pair(t, n, -1, 1),
		     x = agree_pair(t, n, -1, 1);
	int bad[2] = { 0, 0 };

	if (t->key % 2 == 0)
		t->buffer[x][0][n / 2] = t->buffer[x][1][n / 2] = t->key % 4 == 0 ? NAN : 0x1p101f;
	BOTH(k->sum_into(n, BUF(y), BUF(x), &bad[side]));
	assert_int_equal(bad[0], t->key % 2 == 0);
	assert_int_equal(bad[0], bad[1]);
}

COMPARE(finite)
{
	const size_t n = agree_below(t, 200), x = agree_pair(t, n, -1, 1);
	int bad[2] = { 0, 0 };

	if (t->key % 2 == 0)
		t->buffer[x][0][n - 1] = t->buffer[x][1][n - 1] = t->key % 4 == 0 ? NAN : -INFINITY;
	BOTH(k->finite(n, BUF(x), &bad[side]));
	assert_int_equal(bad[0], t->key % 2 == 0);
	assert_int_equal(bad[0], bad[1]);
}

static void
compare_dense(const struct kernel_set *set, struct agree *t, size_t slot)
{
	const struct optimizer_args a = {
		.rate = 0.1f, .momentum = 0.9f, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-4f,
		.weight_decay = 0.01f, .correction1 = 0.3f, .correction2 = 0.05f,
	};
	const size_t n = agree_below(t, 200), w = agree_pair(t, n, -1, 1),
		     g = agree_pair(t, n, -1, 1);
	const size_t m = agree_pair(t, n, -1, 1), v = agree_pair(t, n, 0, 1);

	BOTH(kernel_dense_sgd *const *kernel = (kernel_dense_sgd *const *)((const char *)k + slot);
		(*kernel)(n, BUF(w), BUF(g), BUF(m), BUF(v), &a));
}

static void
compare_row(const struct kernel_set *set, struct agree *t, size_t slot)
{
	const size_t D = agree_below(t, 3) == 1 ? 1 : some_dim(t);
	const struct row_args a = {
		.D = D, .rate = 0.1f, .epsilon = 1e-4f, .beta1 = 0.9f, .beta2 = 0.999f, .l1 = 1e-3f,
		.l2 = 1e-2f, .ftrl_beta = 1, .ftrl_l1 = 0.1f, .ftrl_l2 = 0.01f, .ftrl_power = -0.5f,
	};
	const size_t w = agree_pair(t, D, -1, 1), g = agree_pair(t, D, -1, 1);
	const size_t s = agree_pair(t, 2 * D + 1, 0.1, 3);

	BOTH(kernel_row_sgd *const *kernel = (kernel_row_sgd *const *)((const char *)k + slot);
		(*kernel)(BUF(w), BUF(s), BUF(g), &a));
}

COMPARE(dense_sgd) { compare_dense(set, t, offsetof(struct kernel_set, dense_sgd)); }
COMPARE(dense_momentum) { compare_dense(set, t, offsetof(struct kernel_set, dense_momentum)); }
COMPARE(dense_adagrad) { compare_dense(set, t, offsetof(struct kernel_set, dense_adagrad)); }
COMPARE(dense_adam) { compare_dense(set, t, offsetof(struct kernel_set, dense_adam)); }
COMPARE(dense_adamw) { compare_dense(set, t, offsetof(struct kernel_set, dense_adamw)); }
COMPARE(row_sgd) { compare_row(set, t, offsetof(struct kernel_set, row_sgd)); }
COMPARE(row_adagrad) { compare_row(set, t, offsetof(struct kernel_set, row_adagrad)); }
COMPARE(row_rowwise_adagrad) { compare_row(set, t, offsetof(struct kernel_set,
	row_rowwise_adagrad)); }
COMPARE(row_adam) { compare_row(set, t, offsetof(struct kernel_set, row_adam)); }
COMPARE(row_ftrl) { compare_row(set, t, offsetof(struct kernel_set, row_ftrl)); }

COMPARE(row_sum)
{
	struct bags bags;

	bags_make(t, &bags, some_dim(t));
	const size_t g = agree_pair(t, bags.D, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, NULL, 0);
		k->row_sum(bags.D, bags.N, a.row, a.scale, BUF(g)));
}

/* A slot without a compare_NAME does not compile. */
static const struct comparison {
	const char *name;
	void (*compare)(const struct kernel_set *set, struct agree *t);
} comparison_table[] = {
#define ROW(name, arguments) { #name, compare_##name },
	KERNEL_TABLE(ROW)
#undef ROW
};

enum { N_COMPARISONS = sizeof(comparison_table) / sizeof(comparison_table[0]) };

static void
compare_all(const char *name)
{
	const struct kernel_set *set;

	if (kernel_select(name, &set) != RS_OK) {
		print_message("skipped: %s\n", rs_failure()->text);
		skip();
	}
	for (size_t i = 0; i < N_COMPARISONS; i++)
		for (uint64_t trial = 0; trial < N_TRIALS; trial++) {
			struct agree t = {
				.kernel = comparison_table[i].name, .set = set->name, .key = trial
			};
			comparison_table[i].compare(set, &t);
			agree_end(&t, 2e-5);
		}
}

static void
avx512_agrees_with_ref(void **state)
{
	(void)state;
	compare_all("avx512");
}

static void
avx2_agrees_with_ref(void **state)
{
	(void)state;
	compare_all("avx2");
}

static void
baseline_agrees_with_ref(void **state)
{
	(void)state;
	compare_all("baseline");
}

static void
every_slot_of_every_set_is_filled(void **state)
{
	static const char *const names[] = { "ref", "auto", "avx512", "avx2", "baseline" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		const struct kernel_set *set;
		if (kernel_select(names[i], &set) != RS_OK)
			continue;
#define ROW(name, arguments) assert_non_null(set->name);
		KERNEL_TABLE(ROW)
#undef ROW
	}
}

static void
unknown_set_is_a_usage_error(void **state)
{
	const struct kernel_set *set;
	(void)state;
	assert_int_equal(kernel_select("mmx", &set), RS_EUSAGE);
}

static void
blas_description_names_the_library(void **state)
{
	(void)state;
	assert_non_null(strstr(kernel_blas_description(), "OpenBLAS"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(avx512_agrees_with_ref),
		cmocka_unit_test(avx2_agrees_with_ref),
		cmocka_unit_test(baseline_agrees_with_ref),
		cmocka_unit_test(every_slot_of_every_set_is_filled),
		cmocka_unit_test(unknown_set_is_a_usage_error),
		cmocka_unit_test(blas_description_names_the_library),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
