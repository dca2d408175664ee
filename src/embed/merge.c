/* Merging of duplicate ids: radix sort, sums in a fixed order, one update a row. */
#include "embed/merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "embed/id_sort.h"

#define AHEAD_ROW     12       /* occurrences between prefetch and use            */
#define AHEAD_GRAD    24

enum rs_status
merge_scratch_init(struct merge_scratch *s, size_t n_slots, size_t D_max)
{
	memset(s, 0, sizeof(*s));
	s->n_slots = n_slots;
	s->D_max = D_max;
	RS_TRY(memory_alloc(n_slots, sizeof(*s->slot_end), &s->slot_end));
	RS_TRY(memory_alloc(n_slots, sizeof(*s->present), &s->present));
	RS_TRY(memory_alloc(D_max, sizeof(*s->row), &s->row));
	return memory_alloc(n_slots * D_max, sizeof(*s->partial), &s->partial);
}

static void
scratch_free_arrays(struct merge_scratch *s)
{
	free(s->key);
	free(s->key2);
	free(s->id);
	free(s->grad);
	free(s->scale);
	free(s->count);
	free(s->run_grad);
	free(s->run_scale);
	s->key = s->key2 = s->id = NULL;
	s->grad = s->run_grad = NULL;
	s->scale = s->run_scale = NULL;
	s->count = NULL;
	s->capacity = 0;
}

void
merge_scratch_free(struct merge_scratch *s)
{
	scratch_free_arrays(s);
	free(s->slot_end);
	free(s->present);
	free(s->partial);
	free(s->row);
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
	RS_TRY(memory_alloc(capacity, sizeof(*s->id), &s->id));
	RS_TRY(memory_alloc(capacity, sizeof(*s->grad), &s->grad));
	RS_TRY(memory_alloc(capacity, sizeof(*s->scale), &s->scale));
	RS_TRY(memory_alloc(capacity, sizeof(*s->count), &s->count));
	RS_TRY(memory_alloc(capacity, sizeof(*s->run_grad), &s->run_grad));
	RS_TRY(memory_alloc(capacity, sizeof(*s->run_scale), &s->run_scale));
	s->capacity = capacity;
	return RS_OK;
}

size_t
merge_scratch_bytes(const struct merge_scratch *s)
{
	return s->capacity * (3 * sizeof(*s->key) + 2 * sizeof(*s->grad) + 2 * sizeof(*s->scale)
	    + sizeof(*s->count))
	    + s->n_slots * (2 * sizeof(size_t) + s->D_max * sizeof(float));
}

static inline void
put_key(struct merge_scratch *s, uint64_t id, size_t index)
{
	s->key[index] = (id - s->job->begin) >> s->dropped_bits << s->index_bits | index;
	if (s->dropped_bits > 0)
		s->id[index] = id;
}

/* Keys, gradients and scales of the job's ids, in order; returns how many. */
static size_t
collect(struct merge_scratch *s, const struct merge_job *job)
{
	size_t n = 0, slot = 0;

	s->has_scale = s->has_count = 0;
	for (size_t i = 0; i < job->n_push; i++) {
		s->has_scale |= job->push[i]->scale != NULL;
		s->has_count |= job->push[i]->count != NULL;
	}
	for (size_t i = 0; i < job->n_push; i++) {
		const struct lookup_push *p = job->push[i];

		for (; slot < p->slot; slot++)
			s->slot_end[slot] = n;
		/* whether an id is the job's is anybody's guess: no branch */
		for (size_t j = 0; j < p->n; j++) {
			if (!job->again)
				put_key(s, p->ids[j], n);
			s->grad[n] = p->grad[j];
			if (s->has_scale)
				s->scale[n] = p->scale != NULL ? p->scale[j] : 1.0f;
			if (s->has_count)
				s->count[n] = p->count != NULL ? p->count[j] : 1;
			n += p->ids[j] - job->begin < job->end - job->begin;
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
run_gradient(struct merge_scratch *s, const uint64_t *key, size_t n)
{
	const struct merge_job *job = s->job;
	const uint64_t mask = ((uint64_t)1 << s->index_bits) - 1;
	const size_t D = job->D;
	size_t m = 0, slot = job->node.begin;

	if (n == 1 && !s->has_scale)
		return s->grad[key[0] & mask];
	for (size_t i = 0; i < n; i++) {
		s->run_grad[i] = s->grad[key[i] & mask];
		if (s->has_scale)
			s->run_scale[i] = s->scale[key[i] & mask];
	}
	for (size_t i = 0, j; i < n; i = j) {
		while (s->slot_end[slot] <= (key[i] & mask))
			slot++;
		for (j = i + 1; j < n && (key[j] & mask) < s->slot_end[slot]; j++)
			;
		job->kernel->row_sum(D, j - i, s->run_grad + i,
		    s->has_scale ? s->run_scale + i : NULL, s->partial + m * D);
		s->present[m++] = slot;
	}
	combine(s, job->kernel, D, 0, m, job->node.begin, job->node.end);
	return s->partial;
}

static void
sort(struct merge_scratch *s, unsigned id_bits)
{
	uint64_t *const sorted = id_sort(s->key, s->key2, s->n, s->index_bits,
		id_bits - s->dropped_bits);

	if (s->dropped_bits > 0)
		id_sort_settle(sorted, s->n, s->index_bits, s->id);
	s->sorted = sorted;
}

enum rs_status
merge_begin(struct merge_scratch *s, const struct merge_job *job)
{
	const unsigned id_bits = id_sort_bits(job->end - job->begin);

	s->index_bits = id_sort_bits(job->n);
	s->dropped_bits = id_sort_dropped(id_bits, s->index_bits);
	RS_TRY(merge_scratch_reserve(s, job->n));
	s->job = job;
	s->next = 0;
	s->n = collect(s, job);
	if (!job->again)
		sort(s, id_bits);
	return RS_OK;
}

static inline void
prefetch_gradient(const float *x, size_t n)
{
	for (size_t i = 0; i < n; i += TABLE_LINE_FLOATS)
		__builtin_prefetch(x + i, 0, 3);
}

static inline uint64_t
id_of(const struct merge_scratch *s, uint64_t key)
{
	return s->dropped_bits == 0 ? s->job->begin + (key >> s->index_bits) :
	       s->id[key & (((uint64_t)1 << s->index_bits) - 1)];
}

/* Occurrences in a run of n keys. */
static uint32_t
run_count(const struct merge_scratch *s, const uint64_t *key, size_t n)
{
	const uint64_t mask = ((uint64_t)1 << s->index_bits) - 1;
	uint64_t sum = s->has_count ? 0 : n;

	for (size_t i = 0; s->has_count && i < n; i++)
		sum += s->count[key[i] & mask];
	return sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
}

/* The next row; those of a table `t` in memory, where it is given, are fetched ahead. */
static inline int
next_row(struct merge_scratch *s, const struct table *t, uint64_t *id, const float **sum)
{
	const struct merge_job *job = s->job;
	const uint64_t *key = s->sorted, mask = ((uint64_t)1 << s->index_bits) - 1;
	const size_t i = s->next, n = s->n;
	size_t j = i + 1;

	if (i == n)
		return 0;
	*id = id_of(s, key[i]);
	while (j < n && id_of(s, key[j]) == *id)
		j++;
	for (size_t k = i; k < j; k++) {
		if (t != NULL && k + AHEAD_ROW < n)
			table_prefetch(t, id_of(s, key[k + AHEAD_ROW]));
		if (k + AHEAD_GRAD < n)
			prefetch_gradient(s->grad[key[k + AHEAD_GRAD] & mask], job->D);
	}
	*sum = run_gradient(s, key + i, j - i);
	s->run = run_count(s, key + i, j - i);
	s->next = j;
	return 1;
}

int
merge_next(struct merge_scratch *s, uint64_t *id, const float **sum)
{
	return next_row(s, NULL, id, sum);
}

enum rs_status
merge_apply(struct merge_scratch *s, const struct merge_job *job, struct table *t,
	const struct tenancy_step *step, double rate_factor)
{
	const struct table_step args = {
		.number = step->step,
		.args = row_optimizer_args(&t->settings.optimizer, t->D, rate_factor),
	};
	const float *sum;
	uint64_t id;

	RS_TRY(merge_begin(s, job));
	while (next_row(s, t, &id, &sum)) {
		float *row;

		RS_TRY(table_reach(t, step, id, s->run, &row));
		if (row == NULL)
			continue;
		table_update(t, id, row, sum, &args, s->row);
		table_leave(t, id);
	}
	return RS_OK;
}
