/* Comparisons of products, activations and sums of vectors. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/half.h"
#include "compare.h"

struct product_case { struct gemm_args shape; size_t n_a, n_b, n_c; };

static struct product_case
some_product(struct agree *t)
{
	const int is_row = t->key % 3 == 1;
	const size_t m = agree_rows(t, is_row ? 1 : MAX_ROWS);
	const size_t n = agree_columns(t, t->key % 3 == 0 ? 1 : MAX_COLUMNS);
	const size_t k_size = agree_below(t, t->key % 4 == 0 ? 1 : MAX_COLUMNS),
		     pad = agree_below(t, 4) - 1;
	const int ta = (int)agree_below(t, 2) - 1, tb = (int)agree_below(t, is_row ? 1 : 2) - 1;
	const size_t lda = (ta ? m : k_size) + pad, ldb = (tb ? k_size : n) + pad, ldc = n + pad;

	return (struct product_case){
		.shape = { .transpose_a = ta, .transpose_b = tb, .m = m, .n = n, .k = k_size,
			.alpha = 0.5f, .beta = agree_below(t, 2) == 1 ? 0 : 1, .lda = lda,
			.ldb = ldb, .ldc = ldc },
		.n_a = (ta ? k_size : m) * lda, .n_b = (tb ? n : k_size) * ldb, .n_c = m * ldc,
	};
}

COMPARE(gemm)
{
	const struct product_case p = some_product(t);
	const size_t a = agree_pair(t, p.n_a, -1, 1), b = agree_pair(t, p.n_b, -1, 1);
	const size_t c = agree_pair(t, p.n_c, -1, 1);
	static float scratch[KERNEL_GEMM_SCRATCH];
	struct gemm_args shape[2] = { p.shape, p.shape };

	for (size_t side = 0; side < 2; side++) {
		shape[side].scratch = t->key % 8 < 5 ? scratch : NULL;
		shape[side].a = BUF(a);
		shape[side].b = BUF(b);
		shape[side].c = BUF(c);
	}
	BOTH(k->gemm(&shape[side]));
}

/* Ties of both kinds, what rounds up to the next power, the largest, the smallest, no numbers. */
static const float odd_numbers[] = {
	1 + 0x1p-8f, 1 + 0x1.8p-7f, -1 - 0x1.01p-8f, 0x1.ffp3f, FLT_MAX, -FLT_MAX, 0x1p-130f,
	-0x1.8p-149f, INFINITY, -INFINITY, NAN, -0.0f, 0x1.fefffep127f,
};

enum { N_ODD_NUMBERS = sizeof(odd_numbers) / sizeof(odd_numbers[0]) };

/* Two bytes of each side as floats, which tell every bit; some start as what is not to be seen. */
static void
fill_bytes(struct agree *t, uint16_t *to[2], size_t n)
{
	for (size_t side = 0; side < 2; side++) {
		to[side] = agree_bytes(t, side, NULL, n * sizeof(uint16_t));
		for (size_t i = 0; i < n; i++)
			to[side][i] = 0x1234;
	}
}

COMPARE(round_rows)
{
	const size_t B = agree_rows(t, MAX_ROWS), n = agree_columns(t, MAX_COLUMNS);
	const size_t ldx = n + agree_below(t, 4) - 1, ldy = n + agree_below(t, 9) - 1;
	const size_t x = agree_pair(t, B * ldx, -9, 9), bits = agree_pair(t, B * ldy, 0, 1);
	uint16_t *y[2];

	fill_bytes(t, y, B * ldy);
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < B * ldx && i < N_ODD_NUMBERS; i++)
			BUF(x)[i] = odd_numbers[(i + t->key) % N_ODD_NUMBERS];
	BOTH(k->round_rows(B, n, BUF(x), ldx, y[side], ldy));
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < B * ldy; i++)
			BUF(bits)[i] = y[side][i];
}

/* n numbers of bfloat16 below 1. */
static void
draw_brain(struct agree *t, size_t n, const uint16_t *out[2])
{
	const size_t x = agree_pair(t, n, -1, 1);
	uint16_t *to[2];

	fill_bytes(t, to, n);
	for (size_t side = 0; side < 2; side++) {
		for (size_t i = 0; i < n; i++)
			to[side][i] = half_brain_of(BUF(x)[i]);
		out[side] = to[side];
	}
}

COMPARE(gemm_brain)
{
	const struct product_case p = some_product(t);
	const size_t c = agree_pair(t, p.n_c, -1, 1);
	struct gemm_args shape[2] = { p.shape, p.shape };
	const uint16_t *a[2], *b[2];

	draw_brain(t, p.n_a, a);
	draw_brain(t, p.n_b, b);
	for (size_t side = 0; side < 2; side++)
		shape[side].c = BUF(c);
	BOTH(k->gemm_brain(&shape[side], a[side], b[side]));
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

COMPARE(spoil)
{
	const size_t y = agree_pair(t, 2, -1, 1);
	int *bad[2];

	for (size_t side = 0; side < 2; side++) {
		bad[side] = agree_bytes(t, side, NULL, sizeof(*bad[side]));
		*bad[side] = t->key % 2 == 0;
	}
	BOTH(k->spoil(BUF(y), bad[side]));
}
