/* Vectors of length 1, products of rows. */
#include "compare.h"

#include <string.h>

COMPARE(l2_normalize_forward)
{
	const size_t B = agree_below(t, MAX_ROWS), D = some_dim(t);
	const size_t x = agree_pair(t, B * D, -1, 1), y = agree_pair(t, B * D, 0, 1);
	const size_t inverse = agree_pair(t, B, 0, 1);

	for (size_t side = 0; side < 2; side++)
		memset(BUF(x), 0, D * sizeof(float));
	BOTH(k->l2_normalize_forward(B, D, BUF(x), BUF(y), BUF(inverse)));
}

COMPARE(l2_normalize_backward)
{
	const size_t B = agree_below(t, MAX_ROWS), D = some_dim(t);
	const size_t y = agree_pair(t, B * D, -1, 1), dy = agree_pair(t, B * D, -1, 1);
	const size_t dx = agree_pair(t, B * D, -1, 1), inverse = agree_pair(t, B, 0, 1);

	BOTH(k->l2_normalize_backward(B, D, BUF(y), BUF(inverse), BUF(dy), BUF(dx)));
}

COMPARE(dot_rows_forward)
{
	const size_t B = agree_below(t, MAX_ROWS), D = some_dim(t), y = agree_pair(t, B, 0, 1);
	const size_t u = agree_pair(t, B * D, -1, 1), v = agree_pair(t, B * D, -1, 1);

	BOTH(k->dot_rows_forward(B, D, BUF(u), BUF(v), 0.7f, BUF(y)));
}

COMPARE(dot_rows_backward)
{
	const size_t B = agree_below(t, MAX_ROWS), D = some_dim(t), dy = agree_pair(t, B, -1, 1);
	const size_t u = agree_pair(t, B * D, -1, 1), v = agree_pair(t, B * D, -1, 1);
	const size_t du = agree_pair(t, B * D, -1, 1), dv = agree_pair(t, B * D, -1, 1);

	BOTH(k->dot_rows_backward(B, D, BUF(u), BUF(v), 0.7f, BUF(dy), BUF(du), BUF(dv)));
}
