/*
 * What tests of the dense planes share: the values of every slot, their sum by the
 * recursive definition of the tree, and the parts that a rank brings.
 */
#ifndef TESTS_REDUCE_PLANE_BED_H
#define TESTS_REDUCE_PLANE_BED_H

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/tree.h"
#include "reduce/exchange.h"

struct plane_size { size_t n_slots, n_ranks, n_heads, n_floats; };

/* Of many magnitudes, so that another order of adding shows. */
static inline float
plane_value(uint64_t step, size_t slot, size_t i)
{
	uint64_t u = (step * 1000003 + slot) * 0x9e3779b97f4a7c15 + i * 0xbf58476d1ce4e5b9;

	u ^= u >> 29;
	u *= 0x94d049bb133111eb;
	return (float)(int32_t)(u >> 32) * (float)(1 << (u & 15)) * 1e-6f;
}

static inline void
plane_floats(uint64_t step, size_t begin, size_t end, size_t n, float *out)
{
	const size_t middle = begin + (end - begin + 1) / 2;

	if (end - begin == 1) {
		for (size_t i = 0; i < n; i++)
			out[i] = plane_value(step, begin, i);
		return;
	}
	float *right = malloc((n + 1) * sizeof(*right));
	plane_floats(step, begin, middle, n, out);
	plane_floats(step, middle, end, n, right);
	for (size_t i = 0; i < n; i++)
		out[i] += right[i];
	free(right);
}

static inline double
plane_head(uint64_t step, size_t begin, size_t end, size_t i)
{
	const size_t middle = begin + (end - begin + 1) / 2;

	if (end - begin == 1)
		return (double)plane_value(step, begin, 1000000 + i) / 3;
	return plane_head(step, begin, middle, i) + plane_head(step, middle, end, i);
}

/* part [2 * TREE_MAX_DEPTH]; plane_parts_free() frees them. */
static inline size_t
plane_parts(const struct plane_size *z, uint64_t step, size_t rank, struct exchange_part *part)
{
	struct tree_node node[2 * TREE_MAX_DEPTH];
	const size_t n = tree_frontier(z->n_slots, tree_rank_begin(z->n_slots, z->n_ranks, rank),
		tree_rank_begin(z->n_slots, z->n_ranks, rank + 1), node);

	for (size_t k = 0; k < n; k++) {
		double *head = malloc((z->n_heads + 1) * sizeof(*head));
		float *x = malloc((z->n_floats + 1) * sizeof(*x));

		for (size_t i = 0; i < z->n_heads; i++)
			head[i] = plane_head(step, node[k].begin, node[k].end, i);
		plane_floats(step, node[k].begin, node[k].end, z->n_floats, x);
		part[k] = (struct exchange_part){ node[k], head, x, NULL };
	}
	return n;
}

static inline void
plane_parts_free(struct exchange_part *part, size_t n)
{
	for (size_t k = 0; k < n; k++) {
		free((void *)(uintptr_t)part[k].head);
		free((void *)(uintptr_t)part[k].x);
	}
}

/* Not 0: these are not the bits of the tree. */
static inline int
plane_differs(const struct plane_size *z, uint64_t step, const double *head, const float *x)
{
	float *want = malloc((z->n_floats + 1) * sizeof(*want));
	int differs = 0;

	plane_floats(step, 0, z->n_slots, z->n_floats, want);
	differs = memcmp(want, x, z->n_floats * sizeof(*x)) != 0;
	for (size_t i = 0; i < z->n_heads; i++)
		differs |= head[i] != plane_head(step, 0, z->n_slots, i);
	free(want);
	return differs;
}

/* A step in n_buckets of odd sizes, from the end; heads come with the last. */
static inline enum rs_status
plane_sum(struct exchange *e, const struct plane_size *z, uint64_t step, size_t n_buckets,
	const struct exchange_part *part, size_t n, double *head, float *x)
{
	struct exchange_part cut[2 * TREE_MAX_DEPTH];
	enum rs_status status = RS_OK;
	size_t end = z->n_floats;

	for (size_t b = n_buckets; status == RS_OK && b-- > 0;) {
		const size_t share = z->n_floats * b * b / (n_buckets * n_buckets);
		const size_t begin = b == 0 ? 0 : share | 1;

		for (size_t k = 0; k < n; k++)
			cut[k] = (struct exchange_part){ part[k].node, part[k].head,
				part[k].x + begin, part[k].made };
		status = e->ops->sum(e, &(struct exchange_sum){ .n_slots = z->n_slots,
			.n_heads = b == 0 ? z->n_heads : 0, .n_floats = end - begin,
			.part = cut, .n_parts = n, .head = b == 0 ? head : NULL, .x = x + begin,
			.step = step, .in_background = b > 0 });
		end = begin;
	}
	return status;
}

/* For a thread: *stop, an atomic_int, becomes 1 after .2 s. */
static inline void *
plane_stop_soon(void *stop)
{
	const struct timespec wait = { .tv_nsec = 200000000 };

	nanosleep(&wait, NULL);
	atomic_store((atomic_int *)stop, 1);
	return NULL;
}

#endif
