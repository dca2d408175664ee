/* Selection of the smallest keys, digit by digit. */
#include "embed/evict.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define DIGIT_BITS 8
#define N_DIGITS   (2 * 64 / DIGIT_BITS)
#define RADIX      (1 << DIGIT_BITS)
#define GROWTH     4           /* a quarter more than was asked for                  */

void
evict_scratch_free(struct evict_scratch *s)
{
	free(s->key);
	*s = (struct evict_scratch){ 0 };
}

uint64_t
evict_scratch_bytes(const struct evict_scratch *s)
{
	return s->capacity * sizeof(*s->key);
}

enum rs_status
evict_begin(struct evict_scratch *s, enum evict_kind kind, size_t n_most)
{
	if (n_most > s->capacity) {
		evict_scratch_free(s);
		RS_TRY(memory_alloc(n_most + n_most / GROWTH, sizeof(*s->key), &s->key));
		s->capacity = n_most + n_most / GROWTH;
	}
	s->kind = kind;
	s->n = 0;
	return RS_OK;
}

/* Digit d of a key, the highest first. */
static unsigned
digit_of(const struct evict_key *key, unsigned d)
{
	const uint64_t word = d < N_DIGITS / 2 ? key->high : key->low;

	return word >> (64 - DIGIT_BITS - d % (N_DIGITS / 2) * DIGIT_BITS) & (RADIX - 1);
}

/* Keeps the keys that have the digit of the k-th key; returns the k among those. */
static size_t
narrow(struct evict_scratch *s, unsigned d, size_t k)
{
	size_t count[RADIX] = { 0 }, n = 0;
	unsigned digit = 0;

	for (size_t i = 0; i < s->n; i++)
		count[digit_of(&s->key[i], d)]++;
	for (; count[digit] < k; digit++)
		k -= count[digit];
	for (size_t i = 0; count[digit] < s->n && i < s->n; i++)
		if (digit_of(&s->key[i], d) == digit)
			s->key[n++] = s->key[i];
	s->n = count[digit];
	return k;
}

struct evict_key
evict_find(struct evict_scratch *s, size_t k)
{
	assert(k >= 1 && k <= s->n);
	for (unsigned d = 0; d < N_DIGITS && s->n > 1; d++)
		k = narrow(s, d, k);
	return s->key[0];
}
