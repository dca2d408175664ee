/* Comparisons of the cross layers, the gate and the pairwise dots. */
#include "compare.h"

/* The input of the first layer is also the layer's own: one buffer for both gradients. */
COMPARE(cross_v1_forward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t x0 = agree_pair(t, B * H, -1, 1), x = agree_pair(t, B * H, -1, 1);
	const size_t w = agree_pair(t, H, -1, 1), bias = agree_pair(t, H, -1, 1);
	const size_t s = agree_pair(t, B, 0, 1), y = agree_pair(t, B * H, 0, 1);

	BOTH(k->cross_v1_forward(B, H, BUF(x0), t->key % 2 ? BUF(x0) : BUF(x), BUF(w), BUF(bias),
		BUF(s), BUF(y)));
}

COMPARE(cross_v1_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t x0 = agree_pair(t, B * H, -1, 1), x = agree_pair(t, B * H, -1, 1);
	const size_t w = agree_pair(t, H, -1, 1), s = agree_pair(t, B, -1, 1);
	const size_t dy = agree_pair(t, B * H, -1, 1), dx0 = agree_pair(t, B * H, -1, 1);
	const size_t dx = agree_pair(t, B * H, -1, 1), dw = agree_pair(t, H, -1, 1);
	const size_t dbias = agree_pair(t, H, -1, 1);

	BOTH(k->cross_v1_backward(B, H, BUF(x0), BUF(x), BUF(w), BUF(s), BUF(dy), BUF(dx0),
		t->key % 2 ? BUF(dx0) : BUF(dx), BUF(dw), BUF(dbias)));
}

COMPARE(cross_v2_forward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t x0 = agree_pair(t, B * H, -1, 1), x = agree_pair(t, B * H, -1, 1);
	const size_t z = agree_pair(t, B * H, -1, 1), bias = agree_pair(t, H, -1, 1);
	const size_t y = agree_pair(t, B * H, 0, 1);

	BOTH(k->cross_v2_forward(B, H, BUF(x0), t->key % 2 ? BUF(x0) : BUF(x), BUF(z), BUF(bias),
		BUF(y)));
}

COMPARE(cross_v2_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t x0 = agree_pair(t, B * H, -1, 1), z = agree_pair(t, B * H, -1, 1);
	const size_t bias = agree_pair(t, H, -1, 1), dy = agree_pair(t, B * H, -1, 1);
	const size_t dz = agree_pair(t, B * H, 0, 1), dx0 = agree_pair(t, B * H, -1, 1);
	const size_t dx = agree_pair(t, B * H, -1, 1), dbias = agree_pair(t, H, -1, 1);

	BOTH(k->cross_v2_backward(B, H, BUF(x0), BUF(z), BUF(bias), BUF(dy),
		t->key % 3 ? BUF(dz) : BUF(dy), BUF(dx0), t->key % 2 ? BUF(dx0) : BUF(dx),
		BUF(dbias)));
}

COMPARE(gate_forward)
{
	const size_t B = agree_rows(t, MAX_ROWS), E = agree_below(t, 5), R = agree_columns(t, 9);
	const size_t x = agree_pair(t, B * E * R, -1, 1), logit = agree_pair(t, B * E, -9, 9);
	const size_t p = agree_pair(t, B * E, 0, 1), y = agree_pair(t, B * E * R, 0, 1);

	BOTH(k->gate_forward(B, E, R, BUF(x), BUF(logit), BUF(p), BUF(y)));
}

COMPARE(gate_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), E = agree_below(t, 5), R = agree_columns(t, 9);
	const size_t x = agree_pair(t, B * E * R, -1, 1), p = agree_pair(t, B * E, 0, 1);
	const size_t dy = agree_pair(t, B * E * R, -1, 1), dx = agree_pair(t, B * E * R, -1, 1);
	const size_t dlogit = agree_pair(t, B * E, -1, 1);

	BOTH(k->gate_backward(B, E, R, BUF(x), BUF(p), BUF(dy), BUF(dx), BUF(dlogit)));
}

/* Among them rows that are more than the shared memory of a GPU. */
static size_t
dots_fields(struct agree *t, size_t D)
{
	return D > 1000 ? 13 : agree_below(t, 9);
}

COMPARE(dots_forward)
{
	const size_t B = agree_rows(t, MAX_ROWS), D = some_dim(t), F = dots_fields(t, D);
	const size_t x = agree_pair(t, B * F * D, -1, 1);
	const size_t y = agree_pair(t, B * F * (F - 1) / 2 + 1, 0, 1);

	BOTH(k->dots_forward(B, F, D, BUF(x), BUF(y)));
}

COMPARE(dots_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), D = some_dim(t), F = dots_fields(t, D);
	const size_t x = agree_pair(t, B * F * D, -1, 1), dx = agree_pair(t, B * F * D, -1, 1);
	const size_t dy = agree_pair(t, B * F * (F - 1) / 2 + 1, -1, 1);

	BOTH(k->dots_backward(B, F, D, BUF(x), BUF(dy), BUF(dx)));
}
