/* Comparisons of products, activations and sums of vectors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "compare.h"

COMPARE(gemm)
{
	const int is_row = t->key % 3 == 1;
	const size_t m = agree_rows(t, is_row ? 1 : MAX_ROWS);
	const size_t n = agree_columns(t, t->key % 3 == 0 ? 1 : MAX_COLUMNS);
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
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t y = agree_pair(t, B * H, -9, 9), bias = agree_pair(t, H, -1, 1);

	for (size_t i = 0; i < 4; i++)
		BOTH(k->bias_act_forward(B, H, BUF(y), i % 2 ? NULL : BUF(bias),
			in_place_acts[i]));
}

COMPARE(bias_act_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
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
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t z = agree_pair(t, B * H, -9, 9), slope = agree_pair(t, H, -1, 1);

	for (size_t i = 0; i < 6; i++) {
		const size_t y = agree_pair(t, B * H, 0, 1);
		BOTH(k->act_forward(B, H, BUF(z), z_acts[i],
			z_acts[i] == KERNEL_ACT_PRELU ? BUF(slope) : NULL, BUF(y)));
	}
}

COMPARE(act_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
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
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t z = agree_pair(t, B * H, -9, 9), zhat = agree_pair(t, B * H, -2, 2);
	const size_t alpha = agree_pair(t, H, -1, 1), y = agree_pair(t, B * H, 0, 1);

	BOTH(k->dice_forward(B, H, BUF(z), BUF(zhat), BUF(alpha), BUF(y)));
}

COMPARE(dice_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t z = agree_pair(t, B * H, -9, 9), zhat = agree_pair(t, B * H, -2, 2);
	const size_t alpha = agree_pair(t, H, -1, 1), dy = agree_pair(t, B * H, -1, 1);
	const size_t dz = agree_pair(t, B * H, -1, 1), dzhat = agree_pair(t, B * H, -1, 1);
	const size_t dalpha = agree_pair(t, H, -1, 1);

	BOTH(k->dice_backward(B, H, BUF(z), BUF(zhat), BUF(alpha), BUF(dy), BUF(dz), BUF(dzhat),
		BUF(dalpha)));
}

COMPARE(add)
{
	const size_t n = odd_or_drawn(t);
	const size_t y = agree_pair(t, n, -1, 1), x = agree_pair(t, n, -1, 1);

	BOTH(k->add(n, BUF(y), BUF(x)));
}

COMPARE(fill)
{
	const size_t n = odd_or_drawn(t), y = agree_pair(t, n, -1, 1);

	BOTH(k->fill(n, BUF(y), t->key % 2 ? 0 : 0.37f));
}

COMPARE(copy_rows)
{
	const size_t B = agree_rows(t, MAX_ROWS), n = agree_columns(t, MAX_COLUMNS);
	const size_t ldx = n + t->key % 3, ldy = n + t->key % 4;
	const size_t x = agree_pair(t, B * ldx, -1, 1), y = agree_pair(t, B * ldy, -1, 1);

	BOTH(k->copy_rows(B, n, BUF(x), ldx, BUF(y), ldy));
}

COMPARE(add_rows)
{
	const size_t B = agree_rows(t, MAX_ROWS), n = agree_columns(t, MAX_COLUMNS);
	const size_t ldx = n + t->key % 3, ldy = n + t->key % 4;
	const size_t x = agree_pair(t, B * ldx, -1, 1), y = agree_pair(t, B * ldy, -1, 1);

	BOTH(k->add_rows(B, n, BUF(x), ldx, BUF(y), ldy));
}

COMPARE(dot)
{
	const size_t n = odd_or_drawn(t), y = agree_pair(t, 1, -1, 1);
	const size_t a = agree_pair(t, n, -1, 1), b = agree_pair(t, n, -1, 1);

	BOTH(k->dot(n, BUF(a), t->key % 2 ? NULL : BUF(b), -0.37f, BUF(y)));
}

COMPARE(scale)
{
	const size_t n = odd_or_drawn(t), y = agree_pair(t, n, -1, 1);

	BOTH(k->scale(n, BUF(y), 0.37f));
}

/* A flag for each side; and a value that is not sane in half of the trials. */
static int
make_bad(struct agree *t, size_t x, size_t at, float value, int *bad[2])
{
	const int is_bad = t->key % 2 == 0 && t->n[x] > 0;

	for (size_t side = 0; side < 2; side++) {
		bad[side] = agree_bytes(t, side, NULL, sizeof(*bad[side]));
		if (is_bad)
			BUF(x)[at] = t->key % 4 == 0 ? NAN : value;
	}
	return is_bad;
}

COMPARE(sum_into)
{
	const size_t n = odd_or_drawn(t), y = agree_pair(t, n, -1, 1),
		     x = agree_pair(t, n, -1, 1);
	int *bad[2];

	const int is_bad = make_bad(t, x, n / 2, 0x1p101f, bad);
	BOTH(k->sum_into(n, BUF(y), BUF(x), bad[side]));
	assert_int_equal(*bad[0], is_bad);
	assert_int_equal(*bad[1], is_bad);
}

COMPARE(finite)
{
	const size_t n = odd_or_drawn(t), x = agree_pair(t, n, -1, 1);
	int *bad[2];

	const int is_bad = make_bad(t, x, n - 1, -INFINITY, bad);
	BOTH(k->finite(n, BUF(x), bad[side]));
	assert_int_equal(*bad[0], is_bad);
	assert_int_equal(*bad[1], is_bad);
}
