/* Radix sort of ids that carry an index. */
#include "embed/id_sort.h"

#include <string.h>

#define DIGIT_BITS    10
#define N_DIGITS_MAX  ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
#define SMALL_SORT    48
#define SPREAD_BITS   10       /* beyond those of n: two of n ids seldom have the same */

unsigned
id_sort_bits(uint64_t n)
{
	return n <= 1 ? 0 : 64 - (unsigned)__builtin_clzll(n - 1);
}

static void
sort_small(uint64_t *key, size_t n, unsigned shift)
{
	for (size_t i = 1; i < n; i++) {
		const uint64_t x = key[i];
		size_t j = i;

		for (; j > 0 && key[j - 1] >> shift > x >> shift; j--)
			key[j] = key[j - 1];
		key[j] = x;
	}
}

static void
sort_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned shift, size_t *place)
{
	const uint64_t mask = ((uint64_t)1 << DIGIT_BITS) - 1;

	for (size_t i = 0; i < n; i++)
		to[place[from[i] >> shift & mask]++] = from[i];
}

uint64_t *
id_sort(uint64_t *key, uint64_t *key2, size_t n, unsigned shift, unsigned n_bits)
{
	const unsigned n_digits = (n_bits + DIGIT_BITS - 1) / DIGIT_BITS;
	const uint64_t mask = ((uint64_t)1 << DIGIT_BITS) - 1;
	size_t place[N_DIGITS_MAX][1 << DIGIT_BITS];

	if (n <= SMALL_SORT) {
		sort_small(key, n, shift);
		return key;
	}
	memset(place, 0, n_digits * sizeof(place[0]));
	for (size_t i = 0; i < n; i++)
		for (unsigned d = 0; d < n_digits; d++)
			place[d][key[i] >> (shift + d * DIGIT_BITS) & mask]++;
	for (unsigned d = 0; d < n_digits; d++) {
		uint64_t *sorted = key2;
		size_t sum = 0;

		for (size_t i = 0; i <= mask; i++) {
			const size_t count = place[d][i];

			place[d][i] = sum;
			sum += count;
		}
		sort_digit(key, sorted, n, shift + d * DIGIT_BITS, place[d]);
		key2 = key;
		key = sorted;
	}
	return key;
}

unsigned
id_sort_dropped(unsigned n_bits, unsigned shift)
{
	const unsigned kept = shift + SPREAD_BITS, room = 64 - shift;

	return n_bits <= room ? 0 : n_bits - (kept < room ? kept : room);
}

void
id_sort_settle(uint64_t *key, size_t n, unsigned shift, const uint64_t *id)
{
	const uint64_t mask = ((uint64_t)1 << shift) - 1;

	for (size_t i = 1; i < n; i++) {
		const uint64_t x = key[i], id_of_x = id[x & mask];
		size_t j = i;

		for (; j > 0 && key[j - 1] >> shift == x >> shift
		    && id[key[j - 1] & mask] > id_of_x; j--)
			key[j] = key[j - 1];
		key[j] = x;
	}
}
