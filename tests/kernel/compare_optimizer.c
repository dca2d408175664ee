/* Comparisons of dense and row optimizers. */
#include <stddef.h>

#include "compare.h"

static void
compare_dense(const struct kernel_set *set, struct agree *t, size_t slot)
{
	const struct optimizer_args a = {
		.rate = 0.1f, .momentum = 0.9f, .beta1 = 0.9f, .beta2 = 0.999f, .epsilon = 1e-4f,
		.weight_decay = 0.01f, .correction1 = 0.3f, .correction2 = 0.05f,
	};
	const size_t n = odd_or_drawn(t), w = agree_pair(t, n, -1, 1),
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
