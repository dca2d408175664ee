/* Comparisons of the kernels over histories. */
#include <stddef.h>
#include <stdint.h>

#include "compare.h"

/* Histories of 0..6 items, and a block of their positions. */
struct segments {
	uint32_t offset[MAX_ROWS + 1];
	struct segment_args args;
	size_t n;                   /* positions in the block                         */
};

static void
segments_make(struct agree *t, struct segments *s, int whole)
{
	const size_t B = agree_below(t, MAX_ROWS);

	s->offset[0] = (uint32_t)agree_below(t, 9);
	for (size_t b = 0; b < B; b++)
		s->offset[b + 1] = s->offset[b] + (uint32_t)agree_below(t, 7) - 1;
	s->args = (struct segment_args){ .B = B, .end = s->offset[B] - s->offset[0],
		.offset = s->offset };
	if (t->key % 5 == 4) {
		s->args.offset = NULL;
		s->args.end = B;
	}
	if (!whole && s->args.end > 1) {
		s->args.begin = agree_below(t, s->args.end) - 1;
		s->args.end = s->args.begin + agree_below(t, s->args.end - s->args.begin);
	}
	s->n = s->args.end - s->args.begin;
}

COMPARE(attention_expand)
{
	struct segments s;

	segments_make(t, &s, 0);
	const size_t B = s.args.B, D = some_dim(t);
	const size_t q = agree_pair(t, B * D, -1, 1), key = agree_pair(t, s.n * D, -1, 1);
	const size_t x = agree_pair(t, s.n * 2 * D, 0, 1);
	BOTH(k->attention_expand(&s.args, D, BUF(q), BUF(key), BUF(x)));
}

COMPARE(attention_fold)
{
	struct segments s;

	segments_make(t, &s, 0);
	const size_t B = s.args.B, D = some_dim(t);
	const size_t q = agree_pair(t, B * D, -1, 1), key = agree_pair(t, s.n * D, -1, 1);
	const size_t dx = agree_pair(t, s.n * 2 * D, -1, 1), dk = agree_pair(t, s.n * D, -1, 1);
	const size_t dq = agree_pair(t, B * D, -1, 1);
	BOTH(k->attention_fold(&s.args, D, BUF(q), BUF(key), BUF(dx), BUF(dk), BUF(dq)));
}

COMPARE(segment_add)
{
	struct segments s;

	segments_make(t, &s, 0);
	const size_t H = agree_below(t, MAX_COLUMNS), z = agree_pair(t, s.n * H, -1, 1);
	const size_t row = agree_pair(t, s.args.B * H, -1, 1);
	BOTH(k->segment_add(&s.args, H, BUF(row), BUF(z)));
}

COMPARE(segment_sum)
{
	struct segments s;

	segments_make(t, &s, 0);
	const size_t H = agree_below(t, MAX_COLUMNS), z = agree_pair(t, s.n * H, -1, 1);
	const size_t row = agree_pair(t, s.args.B * H, -1, 1);
	BOTH(k->segment_sum(&s.args, H, BUF(z), BUF(row)));
}

COMPARE(segment_softmax_forward)
{
	struct segments s;

	segments_make(t, &s, 1);
	const size_t a = agree_pair(t, s.n, -99, 99), y = agree_pair(t, s.n, 0, 1);
	BOTH(k->segment_softmax_forward(&s.args, BUF(a), BUF(y)));
}

COMPARE(segment_softmax_backward)
{
	struct segments s;

	segments_make(t, &s, 1);
	const size_t y = agree_pair(t, s.n, 0, 1), dy = agree_pair(t, s.n, -1, 1);
	const size_t da = agree_pair(t, s.n, -1, 1);
	BOTH(k->segment_softmax_backward(&s.args, BUF(y), BUF(dy), BUF(da)));
}

COMPARE(segment_pool_forward)
{
	struct segments s;

	segments_make(t, &s, 1);
	const size_t D = some_dim(t), a = agree_pair(t, s.n, -1, 1);
	const size_t key = agree_pair(t, s.n * D, -1, 1), y = agree_pair(t, s.args.B * D, 0, 1);
	BOTH(k->segment_pool_forward(&s.args, D, BUF(a), BUF(key), BUF(y)));
}

COMPARE(segment_pool_backward)
{
	struct segments s;

	segments_make(t, &s, 1);
	const size_t D = some_dim(t), a = agree_pair(t, s.n, -1, 1);
	const size_t key = agree_pair(t, s.n * D, -1, 1), dy = agree_pair(t, s.args.B * D, -1, 1);
	const size_t da = agree_pair(t, s.n, -1, 1), dk = agree_pair(t, s.n * D, -1, 1);
	const float beta = t->key % 2 ? 0.5f : 0;
	BOTH(k->segment_pool_backward(
		&s.args, D, BUF(a), BUF(key), BUF(dy), beta, BUF(da), BUF(dk)));
}
