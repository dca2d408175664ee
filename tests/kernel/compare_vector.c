/* Vectors of length 1, products of rows. */
#include "compare.h"

#include <math.h>
#include <string.h>

COMPARE(l2_normalize_forward)
{
	const size_t B = agree_rows(t, MAX_ROWS), D = some_dim(t);
	const size_t x = agree_pair(t, B * D, -1, 1), y = agree_pair(t, B * D, 0, 1);
	const size_t inverse = agree_pair(t, B, 0, 1);

	for (size_t side = 0; side < 2; side++)
		memset(BUF(x), 0, (B > 0 ? D : 0) * sizeof(float));
	BOTH(k->l2_normalize_forward(B, D, BUF(x), BUF(y), BUF(inverse)));
}

COMPARE(l2_normalize_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), D = some_dim(t);
	const size_t y = agree_pair(t, B * D, -1, 1), dy = agree_pair(t, B * D, -1, 1);
	const size_t dx = agree_pair(t, B * D, -1, 1), inverse = agree_pair(t, B, 0, 1);

	BOTH(k->l2_normalize_backward(B, D, BUF(y), BUF(inverse), BUF(dy), BUF(dx)));
}

COMPARE(dot_rows_forward)
{
	const size_t B = agree_rows(t, MAX_ROWS), D = some_dim(t), y = agree_pair(t, B, 0, 1);
	const size_t u = agree_pair(t, B * D, -1, 1), v = agree_pair(t, B * D, -1, 1);

	BOTH(k->dot_rows_forward(B, D, BUF(u), BUF(v), 0.7f, BUF(y)));
}

COMPARE(dot_rows_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), D = some_dim(t), dy = agree_pair(t, B, -1, 1);
	const size_t u = agree_pair(t, B * D, -1, 1), v = agree_pair(t, B * D, -1, 1);
	const size_t du = agree_pair(t, B * D, -1, 1), dv = agree_pair(t, B * D, -1, 1);

	BOTH(k->dot_rows_backward(B, D, BUF(u), BUF(v), 0.7f, BUF(dy), BUF(du), BUF(dv)));
}

COMPARE(softmax_row)
{
	const size_t n = agree_columns(t, 3 * MAX_COLUMNS), bias = agree_pair(t, n, -2, 2);
	const size_t s = agree_pair(t, n, -20, t->key % 2 ? 20 : -10), out = agree_pair(t, 2, 0, 1);

	for (size_t side = 0; side < 2; side++) {
		BUF(out)[0] = t->key % 3 == 0 ? -INFINITY : -5;
		BUF(s)[n / 2] = -INFINITY;
	}
	if (n == 1)
		return;
	BOTH(k->softmax_row(n, BUF(s), t->key % 4 == 0 ? NULL : BUF(bias), BUF(out),
		BUF(out) + 1));
}

enum { N_PICKS = 9, PICK_FROM = 5 };

/* With repetitions. */
static void
make_picks(struct agree *t, const uint32_t *index[2])
{
	uint32_t picks[N_PICKS];

	for (size_t i = 0; i < N_PICKS; i++)
		picks[i] = (uint32_t)agree_below(t, PICK_FROM) - 1;
	for (size_t side = 0; side < 2; side++)
		index[side] = agree_bytes(t, side, picks, sizeof(picks));
}

COMPARE(pick_forward)
{
	const size_t D = some_dim(t), u = agree_pair(t, D, -1, 1), z = agree_pair(t, N_PICKS, 0, 1);
	const size_t v = agree_pair(t, PICK_FROM * D, -1, 1);
	const uint32_t *index[2];

	make_picks(t, index);
	BOTH(k->pick_forward(N_PICKS, D, BUF(u), BUF(v), index[side], 0.7f, BUF(z)));
}

COMPARE(pick_backward)
{
	const size_t D = some_dim(t), u = agree_pair(t, D, -1, 1), du = agree_pair(t, D, -1, 1);
	const size_t v = agree_pair(t, PICK_FROM * D, -1, 1), dz = agree_pair(t, N_PICKS, -1, 1);
	const size_t dv = agree_pair(t, PICK_FROM * D, -1, 1);
	const uint32_t *index[2];

	make_picks(t, index);
	for (size_t side = 0; side < 2; side++)
		BUF(dz)[3] = 0;
	BOTH(k->pick_backward(
		N_PICKS, D, BUF(u), BUF(v), index[side], 0.7f, BUF(dz), BUF(du), BUF(dv)));
}
