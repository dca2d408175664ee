/* Comparisons of steps of many rows. */
#include <stddef.h>
#include <string.h>

#include "compare.h"

/* What is the same in both: which row each occurrence is of, and its gradient, which some have
 * in common. */
struct rows {
	struct rows_args a[2];
};

static size_t
some_rows(struct agree *t)
{
	static const size_t n_rows[] = { 1, 2, 31, 300, 70000, (1 << 21) + 5 };

	return n_rows[t->key % (sizeof(n_rows) / sizeof(n_rows[0]))];
}

/* A third is of one row. */
static void
rows_make(struct agree *t, struct rows *r, size_t n_rows)
{
	const size_t n = odd_or_drawn(t);
	uint32_t *const row = agree_bytes(t, 0, NULL, n * sizeof(*row));

	for (size_t i = 0; i < n; i++)
		row[i] = (uint32_t)(agree_below(t, 3) == 1 ? n_rows - 1
			: agree_below(t, n_rows) - 1);
	for (size_t side = 0; side < 2; side++)
		r->a[side] = (struct rows_args){
			.n = n, .n_rows = n_rows,
			.row = side == 0 ? row : agree_bytes(t, 1, row, n * sizeof(*row)),
			.place = agree_bytes(t, side, NULL, n * sizeof(*row)),
			.scratch = agree_bytes(t, side, NULL,
				kernel_rows_scratch(n) * sizeof(*row)),
		};
}

COMPARE(rows_sort)
{
	struct rows r;

	rows_make(t, &r, some_rows(t));
	const size_t n = r.a[0].n, row = agree_pair(t, n, 0, 1), place = agree_pair(t, n, 0, 1);
	BOTH(k->rows_sort(&r.a[side]));
	for (size_t side = 0; side < 2; side++)
		for (size_t i = 0; i < n; i++) {
			BUF(row)[i] = (float)r.a[side].row[i];
			BUF(place)[i] = (float)r.a[side].place[i];
		}
}

static void
rows_gradients(struct agree *t, struct rows *r, size_t D)
{
	const size_t n = r->a[0].n, n_grads = n / 2 + 1;
	const size_t grad = agree_pair(t, n_grads * D, -0.02, 0.02);
	const size_t scale = agree_pair(t, n, 0.1, 1);
	const size_t partial = agree_pair(t, (n / KERNEL_ROWS_CHUNK + 1) * D, 0, 1);
	const float **const at[2] = {
		agree_bytes(t, 0, NULL, n * sizeof(float *)),
		agree_bytes(t, 1, NULL, n * sizeof(float *)),
	};

	t->n[partial] = 0;             /* what is in between need not be the same         */
	for (size_t i = 0; i < n; i++) {
		const size_t which = agree_below(t, n_grads) - 1;
		for (size_t side = 0; side < 2; side++)
			at[side][i] = BUF(grad) + which * D;
	}
	for (size_t side = 0; side < 2; side++) {
		r->a[side].grad = at[side];
		r->a[side].scale = t->key % 2 == 0 ? NULL : BUF(scale);
		r->a[side].partial = BUF(partial);
	}
}

static void
compare_rows(const struct kernel_set *set, struct agree *t, size_t slot)
{
	const size_t D = agree_below(t, 3) == 1 ? 1 : some_dim(t), stride = 3 * D + 1;
	struct rows r;

	rows_make(t, &r, t->key % 3 == 0 ? 1 : 40);
	rows_gradients(t, &r, D);
	const size_t table = agree_pair(t, 40 * stride, 0.1, 2);
	for (size_t side = 0; side < 2; side++) {
		r.a[side].table = BUF(table);
		r.a[side].stride = stride;
		r.a[side].args = (struct row_args){
			.D = D, .rate = 0.1f, .epsilon = 1e-4f, .beta1 = 0.9f, .beta2 = 0.999f,
			.l1 = 1e-3f, .l2 = 1e-2f, .ftrl_beta = 1, .ftrl_l1 = 0.1f,
			.ftrl_l2 = 0.01f, .ftrl_power = -0.5f,
		};
	}
	BOTH(kernel_rows_sgd *const *kernel = (kernel_rows_sgd *const *)((const char *)k + slot);
		k->rows_sort(&r.a[side]);
		(*kernel)(&r.a[side]));
}

COMPARE(rows_sgd) { compare_rows(set, t, offsetof(struct kernel_set, rows_sgd)); }
COMPARE(rows_adagrad) { compare_rows(set, t, offsetof(struct kernel_set, rows_adagrad)); }
COMPARE(rows_rowwise_adagrad) { compare_rows(set, t, offsetof(struct kernel_set,
	rows_rowwise_adagrad)); }
COMPARE(rows_adam) { compare_rows(set, t, offsetof(struct kernel_set, rows_adam)); }
COMPARE(rows_ftrl) { compare_rows(set, t, offsetof(struct kernel_set, rows_ftrl)); }
