/* Buffers in pairs for comparing two kernels. */
#include "agree.h"

#include <assert.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/rng.h"

double
agree_uniform(struct agree *t, double low, double high)
{
	return low + (high - low) * rng_uniform(t->key, t->counter++);
}

size_t
agree_below(struct agree *t, size_t n)
{
	return 1 + (size_t)rng_below(t->key, t->counter++, n);
}

size_t
agree_pair(struct agree *t, size_t n, double low, double high)
{
	const size_t p = t->n_pairs++;

	assert(p < AGREE_MAX_PAIRS);
	t->n[p] = n;
	for (size_t side = 0; side < 2; side++)
		t->buffer[p][side] = malloc(n * sizeof(float));
	for (size_t i = 0; i < n; i++)
		t->buffer[p][0][i] = (float)agree_uniform(t, low, high);
	memcpy(t->buffer[p][1], t->buffer[p][0], n * sizeof(float));
	return p;
}

void
agree_end(struct agree *t, double tolerance)
{
	for (size_t p = 0; p < t->n_pairs; p++) {
		for (size_t i = 0; i < t->n[p]; i++) {
			const double a = t->buffer[p][0][i], b = t->buffer[p][1][i];
			if (a != b && !(fabs(a - b) <= tolerance * (1 + fabs(a))) &&
				!(isnan(a) && isnan(b)))
				fail_msg("%s of %s: buffer %zu[%zu] is %.9g, ref says %.9g",
					t->kernel, t->set, p, i, b, a);
		}
		free(t->buffer[p][0]);
		free(t->buffer[p][1]);
	}
	t->n_pairs = 0;
}
