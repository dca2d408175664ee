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

#include "base/hash.h"
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
agree_rows(struct agree *t, size_t most)
{
	return t->is_odd ? t->shape.rows : agree_below(t, most);
}

size_t
agree_columns(struct agree *t, size_t most)
{
	return t->is_odd ? t->shape.columns : agree_below(t, most);
}

static void *
take(const struct agree *t, size_t side, size_t bytes)
{
	void *const p = side == 1 && t->memory != NULL ? t->memory->take(bytes) : malloc(bytes);

	assert_true(p != NULL || bytes == 0);
	return p;
}

void *
agree_bytes(struct agree *t, size_t side, const void *from, size_t bytes)
{
	void *const p = take(t, side, bytes);

	assert_true(t->n_bytes < AGREE_MAX_BYTES);
	if (side == 0 || t->memory == NULL)
		t->bytes[t->n_bytes++] = p;
	if (bytes > 0 && from != NULL)
		memcpy(p, from, bytes);
	else if (bytes > 0)
		memset(p, 0, bytes);
	return p;
}

void
agree_wait(const struct agree *t)
{
	if (t->memory != NULL)
		t->memory->wait();
}

size_t
agree_pair(struct agree *t, size_t n, double low, double high)
{
	const size_t p = t->n_pairs++;

	assert(p < AGREE_MAX_PAIRS);
	t->n[p] = n;
	for (size_t side = 0; side < 2; side++)
		t->buffer[p][side] = take(t, side, n * sizeof(float));
	for (size_t i = 0; i < n; i++)
		t->buffer[p][0][i] = (float)agree_uniform(t, low, high);
	if (n > 0)
		memcpy(t->buffer[p][1], t->buffer[p][0], n * sizeof(float));
	return p;
}

static void
compare(const struct agree *t, size_t p, double tolerance)
{
	for (size_t i = 0; i < t->n[p]; i++) {
		const double a = t->buffer[p][0][i], b = t->buffer[p][1][i];
		if (a != b && !(fabs(a - b) <= tolerance * (1 + fabs(a))) &&
			!(isnan(a) && isnan(b)))
			fail_msg("%s of %s, trial %d: buffer %zu[%zu] is %.9g, ref says %.9g",
				t->kernel, t->set, (int)t->key, p, i, b, a);
	}
}

void
agree_end(struct agree *t, double tolerance)
{
	for (size_t p = 0; p < t->n_pairs; p++) {
		compare(t, p, tolerance);
		t->crc = hash_crc32c(t->crc, t->buffer[p][1], t->n[p] * sizeof(float));
		free(t->buffer[p][0]);
		if (t->memory == NULL)
			free(t->buffer[p][1]);
	}
	for (size_t i = 0; i < t->n_bytes; i++)
		free(t->bytes[i]);
	if (t->memory != NULL)
		t->memory->reset();
	t->n_pairs = t->n_bytes = 0;
}
