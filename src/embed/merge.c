/* Merging of duplicate ids: radix sort, sums in a fixed order, one update a row. */
#include "embed/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/tree.h"

#define DIGIT_BITS    10
#define N_DIGITS_MAX  ((64 + DIGIT_BITS - 1) / DIGIT_BITS)
#define SMALL_SORT    48
#define AHEAD_ROW     12       /* occurrences between prefetch and use            */
#define AHEAD_GRAD    24
#define LINE_FLOATS   16

enum rs_status
merge_scratch_init(struct merge_scratch *s, size_t n_slots, size_t D_max)
{
	memset(s, 0, sizeof(*s));
	s->n_slots = n_slots;
	s->D_max = D_max;
	RS_TRY(memory_alloc(n_slots, sizeof(*s->slot_end), &s->slot_end));
	RS_TRY(memory_alloc(n_slots, sizeof(*s->present), &s->present));
	return memory_alloc(n_slots * D_max, sizeof(*s->partial), &s->partial);
}

static void
scratch_free_arrays(struct merge_scratch *s)
{
	free(s->key);
	free(s->key2);
	free(s->grad);
	free(s->scale);
	free(s->run_grad);
	free(s->run_scale);
	s->key = s->key2 = NULL;
	s->grad = s->run_grad = NULL;
	s->scale = s->run_scale = NULL;
	s->capacity = 0;
}

void
merge_scratch_free(struct merge_scratch *s)
{
	scratch_free_arrays(s);
	free(s->slot_end);
	free(s->present);
	free(s->partial);
	memset(s, 0, sizeof(*s));
}

enum rs_status
merge_scratch_reserve(struct merge_scratch *s, size_t n)
{
	const size_t capacity = n + n / 4 + 64;

	if (n <= s->capacity)
		return RS_OK;
	scratch_free_arrays(s);
	RS_TRY(memory_alloc(capacity, sizeof(*s->key), &s->key));
	RS_TRY(memory_alloc(capacity, sizeof(*s->key2), &s->key2));
	RS_TRY(memory_alloc(capacity, sizeof(*s->grad), &s->grad));
	RS_TRY(memory_alloc(capacity, sizeof(*s->scale), &s->scale));
	RS_TRY(memory_alloc(capacity, sizeof(*s->run_grad), &s->run_grad));
	RS_TRY(memory_alloc(capacity, sizeof(*s->run_scale), &s->run_scale));
	s->capacity = capacity;
	return RS_OK;
}

size_t
merge_scratch_bytes(const struct merge_scratch *s)
{
	return s->capacity * (2 * sizeof(*s->key) + 2 * sizeof(*s->grad) + 2 * sizeof(*s->scale))
	    + s->n_slots * (2 * sizeof(size_t) + s->D_max * sizeof(float));
}

static unsigned
bits_of(uint64_t n)               /* bits that hold 0..n-1 */
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

/* Stable, by the id bits only; returns the array that holds the result. */
static uint64_t *
sort_keys(uint64_t *key, uint64_t *key2, size_t n, unsigned shift, unsigned n_bits)
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

/* Keys, gradients and scales of the job's ids, in order; returns how many. */
static size_t
collect(struct merge_scratch *s, const struct merge_job *job, unsigned index_bits, int *has_scale)
{
	size_t n = 0, slot = 0;

	*has_scale = 0;
	for (size_t i = 0; i < job->n_push; i++)
		*has_scale |= job->push[i]->scale != NULL;
	for (size_t i = 0; i < job->n_push; i++) {
		const struct lookup_push *p = job->push[i];

		for (; slot < p->slot; slot++)
			s->slot_end[slot] = n;
		for (size_t j = 0; j < p->n; j++) {
			if (p->ids[j] < job->begin || p->ids[j] >= job->end)
				continue;
			s->key[n] = (p->ids[j] - job->begin) << index_bits | n;
			s->grad[n] = p->grad[j];
			if (*has_scale)
				s->scale[n] = p->scale != NULL ? p->scale[j] : 1.0f;
			n++;
		}
	}
	for (; slot < s->n_slots; slot++)
		s->slot_end[slot] = n;
	return n;
}

/* Sums partial[first..first+m), of the slots present[..], over node [begin,end);
 * the result is in partial[first]. */
static void
combine(struct merge_scratch *s, const struct kernel_set *kernel, size_t D, size_t first, size_t m,
	size_t begin, size_t end)
{
	const size_t middle = tree_middle(begin, end);
	size_t left = 0;

	if (m <= 1)
		return;
	while (left < m && s->present[first + left] < middle)
		left++;
	combine(s, kernel, D, first, left, begin, middle);
	combine(s, kernel, D, first + left, m - left, middle, end);
	if (left > 0 && left < m)
		kernel->add(D, s->partial + first * D, s->partial + (first + left) * D);
}

/* The gradient of a run of n keys with one id. */
static const float *
run_gradient(struct merge_scratch *s, const struct merge_job *job, const uint64_t *key, size_t n,
	uint64_t index_mask, int has_scale)
{
	const size_t D = job->table->D;
	size_t m = 0, slot = 0;

	if (n == 1 && !has_scale)
		return s->grad[key[0] & index_mask];
	for (size_t i = 0; i < n; i++) {
		s->run_grad[i] = s->grad[key[i] & index_mask];
		if (has_scale)
			s->run_scale[i] = s->scale[key[i] & index_mask];
	}
	for (size_t i = 0, j; i < n; i = j) {
		while (s->slot_end[slot] <= (key[i] & index_mask))
			slot++;
		for (j = i + 1; j < n && (key[j] & index_mask) < s->slot_end[slot]; j++)
			;
		job->kernel->row_sum(D, j - i, s->run_grad + i, has_scale ? s->run_scale + i : NULL,
		    s->partial + m * D);
		s->present[m++] = slot;
	}
	combine(s, job->kernel, D, 0, m, 0, s->n_slots);
	return s->partial;
}

static inline void
prefetch_floats(const float *x, size_t n, int write)
{
	for (size_t i = 0; i < n; i += LINE_FLOATS)
		if (write)
			__builtin_prefetch(x + i, 1, 3);
		else
			__builtin_prefetch(x + i, 0, 3);
}

enum rs_status
merge_apply(struct merge_scratch *s, const struct merge_job *job)
{
	struct table *t = job->table;
	const struct row_args args = row_optimizer_args(
		&t->settings.optimizer, t->D, job->rate_factor);
	const unsigned index_bits = bits_of(job->n), id_bits = bits_of(job->end - job->begin);
	const uint64_t mask = ((uint64_t)1 << index_bits) - 1;
	int has_scale;

	if (index_bits + id_bits > 64)
		return rs_fail(RS_ERESOURCE,
			"table '%s': %zu ids in one step are too many for %llu rows",
			t->settings.name, job->n, (unsigned long long)t->settings.rows);
	RS_TRY(merge_scratch_reserve(s, job->n));

	const size_t n = collect(s, job, index_bits, &has_scale);
	const uint64_t *key = sort_keys(s->key, s->key2, n, index_bits, id_bits);

	for (size_t i = 0, j; i < n; i = j) {
		const uint64_t id = key[i] >> index_bits;

		for (j = i + 1; j < n && key[j] >> index_bits == id; j++)
			;
		for (size_t k = i; k < j; k++) {
			if (k + AHEAD_ROW < n)
				prefetch_floats(
					table_row(
						t, job->begin + (key[k + AHEAD_ROW] >> index_bits)),
					t->stride, 1);
			if (k + AHEAD_GRAD < n)
				prefetch_floats(s->grad[key[k + AHEAD_GRAD] & mask], t->D, 0);
		}
		float *w = table_row(t, job->begin + id);

		t->update(
			w, w + t->D, run_gradient(s, job, key + i, j - i, mask, has_scale), &args);
		table_touch(t, job->begin + id);
	}
	return RS_OK;
}
