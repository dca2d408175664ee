/* Area under the ROC curve by radix sort. */
#include "train/auc.h"

#include <math.h>
#include <string.h>

#define RADIX_BITS 11
#define RADIX_BINS (1u << RADIX_BITS)
#define SHORT_SORT 64

uint32_t
auc_key(float score)
{
	const float positive_zero = score + 0.0f;
	uint32_t bits;

	memcpy(&bits, &positive_zero, sizeof bits);
	return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

float
auc_score(uint32_t key)
{
	const uint32_t bits = key & 0x80000000u ? key & 0x7fffffffu : ~key;
	float score;

	memcpy(&score, &bits, sizeof score);
	return score;
}

static void
insertion_sort(struct auc_row *row, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		const struct auc_row moved = row[i];
		size_t j = i;

		for (; j > 0 && row[j - 1].key > moved.key; j--)
			row[j] = row[j - 1];
		row[j] = moved;
	}
}

/* LSD radix sort in three passes; short arrays are not worth its bins. */
struct auc_row *
auc_sort(struct auc_row *row, struct auc_row *scratch, size_t n)
{
	if (n <= SHORT_SORT) {
		insertion_sort(row, n);
		return row;
	}
	for (unsigned shift = 0; shift < 32; shift += RADIX_BITS) {
		size_t begin[RADIX_BINS + 1] = { 0 };

		for (size_t i = 0; i < n; i++)
			begin[((row[i].key >> shift) & (RADIX_BINS - 1)) + 1]++;
		for (size_t b = 0; b < RADIX_BINS; b++)
			begin[b + 1] += begin[b];
		for (size_t i = 0; i < n; i++)
			scratch[begin[(row[i].key >> shift) & (RADIX_BINS - 1)]++] = row[i];
		struct auc_row *const swap = row;
		row = scratch;
		scratch = swap;
	}
	return row;
}

double
auc_of_sorted(const struct auc_row *row, size_t n)
{
	double u = 0, pos_total = 0, neg_total = 0;

	for (size_t i = 0; i < n; ) {
		const uint32_t key = row[i].key;
		double pos = 0, neg = 0;

		for (; i < n && row[i].key == key; i++) {
			pos += (double)row[i].weight * row[i].label;
			neg += (double)row[i].weight * (1 - (double)row[i].label);
		}
		u += pos * (neg_total + neg / 2);
		pos_total += pos;
		neg_total += neg;
	}
	return pos_total > 0 && neg_total > 0 ? u / (pos_total * neg_total) : NAN;
}
