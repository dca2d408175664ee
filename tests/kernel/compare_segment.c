/* Comparisons of the kernels over histories. */
#include <stddef.h>
#include <stdint.h>

#include "compare.h"

/* Histories of 0..6 items, and a block of their positions. */
struct segments {
	struct segment_args args[2];
	size_t B, n;                /* rows, positions in the block                   */
};

static void
segments_make(struct agree *t, struct segments *s, int whole)
{
	const size_t B = agree_rows(t, MAX_ROWS), bytes = (B + 1) * sizeof(uint32_t);
	uint32_t *const offset = agree_bytes(t, 0, NULL, bytes);
	size_t begin = 0, end = B;

	offset[0] = (uint32_t)agree_below(t, 9);
	for (size_t b = 0; b < B; b++)
		offset[b + 1] = offset[b] + (uint32_t)agree_below(t, 7) - 1;
	const int has_offset = t->key % 5 != 4;
	if (has_offset)
		end = offset[B] - offset[0];
	if (!whole && end > 1) {
		begin = agree_below(t, end) - 1;
		end = begin + agree_below(t, end - begin);
	}
	const uint32_t *const other = agree_bytes(t, 1, offset, bytes);
	*s = (struct segments){ .B = B, .n = end - begin };
	for (size_t side = 0; side < 2; side++)
		s->args[side] = (struct segment_args){ .B = B, .begin = begin, .end = end,
			.offset = !has_offset ? NULL : side == 0 ? offset : other };
}

COMPARE(attention_expand)
{
	struct segments s;

	segments_make(t, &s, 0);
	const size_t B = s.B, D = some_dim(t);
	const size_t q = agree_pair(t, B * D, -1, 1), key = agree_pair(t, s.n * D, -1, 1);
	const size_t x = agree_pair(t, s.n * 2 * D, 0, 1);
	BOTH(k->attention_expand(&s.args[side], D, BUF(q), BUF(key), BUF(x)));
}

COMPARE(attention_fold)
{
	struct segments s;

	segments_make(t, &s, 0);
	const size_t B = s.B, D = some_dim(t);
	const size_t q = agree_pair(t, B * D, -1, 1), key = agree_pair(t, s.n * D, -1, 1);
	const size_t dx = agree_pair(t, s.n * 2 * D, -1, 1), dk = agree_pair(t, s.n * D, -1, 1);
	const size_t dq = agree_pair(t, B * D, -1, 1);
	BOTH(k->attention_fold(&s.args[side], D, BUF(q), BUF(key), BUF(dx), BUF(dk), BUF(dq)));
}

COMPARE(attention_split)
{
	const size_t n = odd_or_drawn(t), w = agree_pair(t, 4 * n, -1, 1);
	const size_t u = agree_pair(t, 2 * n, 0, 1), v = agree_pair(t, n, 0, 1);

	BOTH(k->attention_split(n, BUF(w), BUF(u), BUF(v)));
}

COMPARE(attention_join)
{
	const size_t n = odd_or_drawn(t), du = agree_pair(t, 2 * n, -1, 1);
	const size_t dv = agree_pair(t, n, -1, 1), dw = agree_pair(t, 4 * n, 0, 1);

	BOTH(k->attention_join(n, BUF(du), BUF(dv), BUF(dw)));
}

COMPARE(segment_add)
{
	struct segments s;

	segments_make(t, &s, 0);
	const size_t H = agree_columns(t, MAX_COLUMNS), z = agree_pair(t, s.n * H, -1, 1);
	const size_t row = agree_pair(t, s.B * H, -1, 1);
	BOTH(k->segment_add(&s.args[side], H, BUF(row), BUF(z)));
}

COMPARE(segment_sum)
{
	struct segments s;

	segments_make(t, &s, 0);
	const size_t H = agree_columns(t, MAX_COLUMNS), z = agree_pair(t, s.n * H, -1, 1);
	const size_t row = agree_pair(t, s.B * H, -1, 1);
	BOTH(k->segment_sum(&s.args[side], H, BUF(z), BUF(row)));
}

COMPARE(segment_softmax_forward)
{
	struct segments s;

	segments_make(t, &s, 1);
	const size_t a = agree_pair(t, s.n, -99, 99), y = agree_pair(t, s.n, 0, 1);
	BOTH(k->segment_softmax_forward(&s.args[side], BUF(a), BUF(y)));
}

COMPARE(segment_softmax_backward)
{
	struct segments s;

	segments_make(t, &s, 1);
	const size_t y = agree_pair(t, s.n, 0, 1), dy = agree_pair(t, s.n, -1, 1);
	const size_t da = agree_pair(t, s.n, -1, 1);
	BOTH(k->segment_softmax_backward(&s.args[side], BUF(y), BUF(dy), BUF(da)));
}

COMPARE(segment_pool_forward)
{
	struct segments s;

	segments_make(t, &s, 1);
	const size_t D = some_dim(t), a = agree_pair(t, s.n, -1, 1);
	const size_t key = agree_pair(t, s.n * D, -1, 1), y = agree_pair(t, s.B * D, 0, 1);
	BOTH(k->segment_pool_forward(&s.args[side], D, BUF(a), BUF(key), BUF(y)));
}

COMPARE(segment_pool_backward)
{
	struct segments s;

	segments_make(t, &s, 1);
	const size_t D = some_dim(t), a = agree_pair(t, s.n, -1, 1);
	const size_t key = agree_pair(t, s.n * D, -1, 1), dy = agree_pair(t, s.B * D, -1, 1);
	const size_t da = agree_pair(t, s.n, -1, 1), dk = agree_pair(t, s.n * D, -1, 1);
	const float beta = t->key % 2 ? 0.5f : 0;
	BOTH(k->segment_pool_backward(
		&s.args[side], D, BUF(a), BUF(key), BUF(dy), beta, BUF(da), BUF(dk)));
}
