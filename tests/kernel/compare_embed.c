/* Comparisons of bags, numeric fields and FM. */
#include <stddef.h>
#include <stdint.h>

#include "compare.h"

/* Bags over B rows: every other trial has one id a row, else lengths 0..5. */
struct bags {
	size_t B, D, N, rows;
	const uint32_t *offset[2];         /* NULL: one a row                              */
	size_t scale;
	const float *const *row[2];
};

enum { N_TABLE_ROWS = 50 };

static void
bags_offsets(struct agree *t, struct bags *bags)
{
	uint32_t *const offset = agree_bytes(t, 0, NULL, (bags->B + 1) * sizeof(*offset));

	bags->N = bags->B;
	if (t->key % 2 == 0)
		return;
	offset[0] = 7;
	for (size_t b = 0; b < bags->B; b++)
		offset[b + 1] = offset[b] + (uint32_t)agree_below(t, 6) - 1;
	bags->N = offset[bags->B] - offset[0];
	bags->offset[0] = offset;
	bags->offset[1] = agree_bytes(t, 1, offset, (bags->B + 1) * sizeof(*offset));
}

static void
bags_make(struct agree *t, struct bags *bags, size_t D)
{
	*bags = (struct bags){ .B = agree_rows(t, MAX_ROWS), .D = D };
	bags_offsets(t, bags);
	bags->rows = agree_pair(t, N_TABLE_ROWS * D, -1, 1);
	bags->scale = agree_pair(t, bags->N + 1, 0.1, 2);
	const float **const row[2] = {
		agree_bytes(t, 0, NULL, bags->N * sizeof(float *)),
		agree_bytes(t, 1, NULL, bags->N * sizeof(float *)),
	};
	for (size_t i = 0; i < bags->N; i++) {
		const size_t at = agree_below(t, N_TABLE_ROWS) - 1;
		for (size_t side = 0; side < 2; side++)
			row[side][i] = t->buffer[bags->rows][side] + at * D;
	}
	bags->row[0] = row[0];
	bags->row[1] = row[1];
}

static struct bag_args
bags_args(struct agree *t, const struct bags *bags, size_t side, float *y, size_t ldy)
{
	return (struct bag_args){
		.B = bags->B, .D = bags->D, .row = bags->row[side], .offset = bags->offset[side],
		.scale = t->key % 3 == 0 ? NULL : t->buffer[bags->scale][side], .y = y, .ldy = ldy,
	};
}

COMPARE(bag_scale)
{
	struct bags bags;

	bags_make(t, &bags, 1);
	for (size_t side = 0; side < 2; side++)
		BUF(bags.scale)[0] = 0;
	for (int combiner = KERNEL_SUM; combiner <= KERNEL_LAST; combiner++) {
		const size_t out = agree_pair(t, bags.N + 1, 0, 1);
		BOTH(k->bag_scale(bags.B, bags.offset[side],
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

COMPARE(bag_add)
{
	struct bags bags;

	bags_make(t, &bags, some_dim(t));
	const size_t ldy = bags.D + 3, dy = agree_pair(t, bags.B * ldy, -1, 1);
	const size_t grad = agree_pair(t, bags.N * bags.D + 1, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, NULL, 0);
		k->bag_add(&a, BUF(dy), ldy, BUF(grad)));
}

/* Numeric columns: x with a wider ld, a third of the cells missing. */
struct numerics {
	struct numeric_args a;
	const uint8_t *missing[2];
	size_t x;
};

static void
numerics_make(struct agree *t, struct numerics *n, size_t D)
{
	*n = (struct numerics){ .a = {
		.B = agree_rows(t, MAX_ROWS), .K = agree_below(t, 9), .D = D
	} };
	n->a.ldx = n->a.K + 2;
	const size_t cells = n->a.B * n->a.ldx;
	n->x = agree_pair(t, cells, -2, 2);
	if (t->key % 3 == 0)
		return;
	uint8_t *const missing = agree_bytes(t, 0, NULL, cells);
	for (size_t i = 0; i < cells; i++)
		missing[i] = agree_below(t, 3) == 1;
	n->missing[0] = missing;
	n->missing[1] = agree_bytes(t, 1, missing, cells);
}

static struct numeric_args
numerics_args(const struct agree *t, const struct numerics *n, size_t side)
{
	struct numeric_args a = n->a;

	a.x = t->buffer[n->x][side];
	a.missing = n->missing[side];
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
	const size_t B = agree_rows(t, MAX_ROWS), F = agree_below(t, 9), D = some_dim(t);
	const size_t ldx = F * D + 2, x = agree_pair(t, B * ldx, -1, 1);
	const size_t s = agree_pair(t, B * D, 0, 1), y = agree_pair(t, B, 0, 1);

	BOTH(k->fm2_forward(B, F, D, BUF(x), ldx, BUF(s), BUF(y)));
}

COMPARE(fm2_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), F = agree_below(t, 9), D = some_dim(t);
	const size_t ldx = F * D + 2, x = agree_pair(t, B * ldx, -1, 1),
		     s = agree_pair(t, B * D, -1, 1);
	const size_t dy = agree_pair(t, B, -1, 1), dx = agree_pair(t, B * ldx, -1, 1);

	BOTH(k->fm2_backward(B, F, D, BUF(x), ldx, BUF(s), BUF(dy), BUF(dx), ldx));
}

COMPARE(row_sum)
{
	struct bags bags;

	bags_make(t, &bags, some_dim(t));
	const size_t g = agree_pair(t, bags.D, 0, 1);
	BOTH(const struct bag_args a = bags_args(t, &bags, side, NULL, 0);
		k->row_sum(bags.D, bags.N, a.row, a.scale, BUF(g)));
}
