/* Comparisons of losses, batch norm and dropout. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/hash.h"
#include "compare.h"

/* Losses are added to what is there. */
static void
make_losses(struct agree *t, double *loss[2])
{
	const double before = 1;

	for (size_t side = 0; side < 2; side++)
		loss[side] = agree_bytes(t, side, &before, sizeof(before));
}

static void
compare_losses(struct agree *t, double *const loss[2])
{
	assert_true(fabs(*loss[0] - *loss[1]) <= 1e-5 * *loss[0]);
	t->crc = hash_crc32c(t->crc, loss[1], sizeof(*loss[1]));
}

COMPARE(logloss)
{
	const size_t B = agree_rows(t, MAX_ROWS), z = agree_pair(t, B, -30, 30);
	const size_t label = agree_pair(t, B, 0, 1), weight = agree_pair(t, B, 0, 2);
	const size_t dz = agree_pair(t, B, 0, 1), p = agree_pair(t, B, 0, 1);
	double *loss[2];

	make_losses(t, loss);
	BOTH(k->logloss(B, BUF(z), BUF(label), t->key % 3 == 0 ? NULL : BUF(weight), 0.25f,
		t->key % 4 == 0 ? NULL : BUF(dz), t->key % 2 ? BUF(p) : NULL, loss[side]));
	compare_losses(t, loss);
}

COMPARE(mse)
{
	const size_t B = agree_rows(t, MAX_ROWS), z = agree_pair(t, B, -3, 3);
	const size_t label = agree_pair(t, B, 0, 1), weight = agree_pair(t, B, 0, 2);
	const size_t dz = agree_pair(t, B, 0, 1);
	double *loss[2];

	make_losses(t, loss);
	BOTH(k->mse(B, BUF(z), BUF(label), t->key % 3 == 0 ? NULL : BUF(weight), 0.25f,
		t->key % 4 == 0 ? NULL : BUF(dz), loss[side]));
	compare_losses(t, loss);
}

COMPARE(batch_norm_forward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	/* Far from zero for their spread, every other time. */
	const size_t x = agree_pair(t, B * H, t->key % 2 ? 4 : -2, t->key % 2 ? 5 : 4);
	const size_t gamma = agree_pair(t, H, -1, 1);
	const size_t beta = agree_pair(t, H, -1, 1), xhat = agree_pair(t, B * H, 0, 1);
	const size_t y = agree_pair(t, B * H, 0, 1), mean = agree_pair(t, H, 0, 1);
	const size_t var = agree_pair(t, H, 0, 1), rstd = agree_pair(t, H, 0, 1);
	const int plain = t->key % 3 == 0;

	BOTH(k->batch_norm_forward(B, H, BUF(x), plain ? NULL : BUF(gamma),
		plain ? NULL : BUF(beta), 1e-2f, BUF(xhat), plain ? NULL : BUF(y), BUF(mean),
		BUF(var), BUF(rstd)));
}

COMPARE(batch_norm_apply)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t x = agree_pair(t, B * H, -2, 4), gamma = agree_pair(t, H, -1, 1);
	const size_t beta = agree_pair(t, H, -1, 1), y = agree_pair(t, B * H, 0, 1);
	const size_t mean = agree_pair(t, H, -1, 1), var = agree_pair(t, H, 0, 1);
	const int plain = t->key % 3 == 0;

	BOTH(k->batch_norm_apply(B, H, BUF(x), plain ? NULL : BUF(gamma), plain ? NULL : BUF(beta),
		BUF(mean), BUF(var), 1e-2f, BUF(y)));
}

COMPARE(batch_norm_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t xhat = agree_pair(t, B * H, -2, 2), rstd = agree_pair(t, H, 0.1, 3);
	const size_t gamma = agree_pair(t, H, -1, 1), dy = agree_pair(t, B * H, -1, 1);
	const size_t dx = agree_pair(t, B * H, -1, 1), dgamma = agree_pair(t, H, 0, 1);
	const size_t dbeta = agree_pair(t, H, 0, 1);

	BOTH(k->batch_norm_backward(B, H, BUF(xhat), BUF(rstd), t->key % 3 == 0 ? NULL : BUF(gamma),
		BUF(dy), BUF(dx), BUF(dgamma), BUF(dbeta)));
}

COMPARE(dropout)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t x = agree_pair(t, B * H, 1, 2), y = agree_pair(t, B * H, 0, 1);

	BOTH(k->dropout(B, H, t->key, 1u << 30, 0.3f, BUF(x), BUF(y)));
}

COMPARE(dropout_backward)
{
	const size_t B = agree_rows(t, MAX_ROWS), H = agree_columns(t, MAX_COLUMNS);
	const size_t dy = agree_pair(t, B * H, 1, 2), dx = agree_pair(t, B * H, 0, 1);

	BOTH(k->dropout_backward(B, H, t->key, 1u << 30, 0.3f, BUF(dy), BUF(dx)));
}
