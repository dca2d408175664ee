/* The tree of slots above the nodes that ranks have summed. */
#include "reduce/exchange.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define CHUNK 512          /* floats: a level of the tree fits the first cache       */

/* Some nodes, from left to right, that make up one node of the tree. */
struct span {
	const struct exchange_part *part;
	size_t n;
	struct tree_node node;
};

static struct span
span_left(const struct span *s)
{
	const size_t middle = tree_middle(s->node.begin, s->node.end);
	size_t n = 0;

	while (n < s->n && s->part[n].node.begin < middle)
		n++;
	assert(n > 0 && n < s->n && s->part[n - 1].node.end == middle);
	return (struct span){ s->part, n, { s->node.begin, middle } };
}

static struct span
span_right(const struct span *s, const struct span *left)
{
	return (struct span){ s->part + left->n, s->n - left->n,
		{ left->node.end, s->node.end } };
}

static double
head_sum(const struct span *s, size_t i)
{
	if (s->n == 1)
		return s->part->head[i];

	const struct span left = span_left(s), right = span_right(s, &left);

	return head_sum(&left, i) + head_sum(&right, i);
}

size_t
exchange_join_heads(const struct exchange_sum *s, struct exchange_part *out, double *head)
{
	struct tree_node node[2 * TREE_MAX_DEPTH];
	const size_t n = tree_frontier(s->n_slots, s->part[0].node.begin,
		s->part[s->n_parts - 1].node.end, node);
	const struct exchange_part *part = s->part, *const end = s->part + s->n_parts;

	for (size_t i = 0; i < n; i++) {
		struct span span = { .part = part, .node = node[i] };

		for (; part < end && part->node.begin < node[i].end; part++)
			span.n++;
		for (size_t k = 0; k < s->n_heads; k++)
			head[k] = head_sum(&span, k);
		out[i] = (struct exchange_part){ .node = node[i], .head = head };
		head += s->n_heads;
	}
	return n;
}

/* Floats [from,from+n) of the span, n <= CHUNK: those of the part when there is only one,
 * else the sum, in y. */
static const float *
chunk_sum(const struct kernel_set *kernel, const struct span *s, size_t from, size_t n, float *y,
	int *bad)
{
	float room[CHUNK];

	if (s->n == 1)
		return s->part->x + from;

	const struct span left = span_left(s), right = span_right(s, &left);
	const float *x = chunk_sum(kernel, &left, from, n, y, bad);

	if (x != y)
		memcpy(y, x, n * sizeof(*y));
	kernel->sum_into(n, y, chunk_sum(kernel, &right, from, n, room, bad), bad);
	return y;
}

void
exchange_combine(const struct kernel_set *kernel, size_t n_slots,
	const struct exchange_part *part, size_t n_parts, size_t n_heads, double *head,
	size_t from, size_t to, float *x)
{
	const struct span whole = { part, n_parts, { 0, n_slots } };

	assert(n_parts > 0 && part[0].node.begin == 0 && part[n_parts - 1].node.end == n_slots);
	for (size_t i = 0; head != NULL && i < n_heads; i++)
		head[i] = head_sum(&whole, i);
	for (size_t i = from; i < to; i += CHUNK) {
		const size_t n = to - i < CHUNK ? to - i : CHUNK;
		int bad = 0;
		const float *y = chunk_sum(kernel, &whole, i, n, x + i, &bad);

		if (y != x + i)
			memcpy(x + i, y, n * sizeof(*x));
		if (bad)
			x[i] = NAN;
	}
}
