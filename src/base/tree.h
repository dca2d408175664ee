/*
 * The fixed binary tree over n slots, along which everything of a step is summed.
 *
 * The root is [0,n).  A node [begin,end) of two or more slots has the children
 * [begin,middle) and [middle,end), value = left + right; a node of one slot is a
 * leaf.  Each middle in 1..n-1 belongs to exactly one inner node, so it serves as
 * the node's number.  A child that is absent is skipped: the node then has the
 * value of the other child; so the sum of a whole node may stand in for its first leaf
 * when the others are left out.
 */
#ifndef BASE_TREE_H
#define BASE_TREE_H

#include <stddef.h>

#define TREE_MAX_DEPTH 64

static inline size_t
tree_middle(size_t begin, size_t end)
{
	return begin + (end - begin + 1) / 2;
}

/* Numbers of the inner nodes above leaf `slot`, the root first; returns how many. */
static inline size_t
tree_path(size_t n, size_t slot, size_t node[TREE_MAX_DEPTH])
{
	size_t begin = 0, end = n, depth = 0;

	while (end - begin > 1) {
		const size_t middle = tree_middle(begin, end);

		node[depth++] = middle;
		if (slot < middle)
			end = middle;
		else
			begin = middle;
	}
	return depth;
}

struct tree_node { size_t begin, end; };

/* The largest nodes within [begin,end) of the tree over n slots, from left to right:
 * what somebody who has just these slots may sum before anyone else's join.  Returns
 * how many, at most 2 * TREE_MAX_DEPTH. */
static inline size_t
tree_frontier(size_t n, size_t begin, size_t end, struct tree_node out[2 * TREE_MAX_DEPTH])
{
	struct tree_node stack[TREE_MAX_DEPTH + 1] = { { 0, n } };
	size_t depth = n > 0 && begin < end ? 1 : 0, found = 0;

	while (depth > 0) {
		const struct tree_node node = stack[--depth];
		const size_t middle = tree_middle(node.begin, node.end);

		if (node.begin >= begin && node.end <= end) {
			out[found++] = node;
			continue;
		}
		if (node.end - node.begin < 2)
			continue;
		if (end > middle && begin < node.end)
			stack[depth++] = (struct tree_node){ middle, node.end };
		if (begin < middle && end > node.begin)
			stack[depth++] = (struct tree_node){ node.begin, middle };
	}
	return found;
}

/* First slot of rank r when n slots are dealt to n_ranks ranks, which all get some when
 * n_ranks <= n. */
static inline size_t
tree_rank_begin(size_t n, size_t n_ranks, size_t rank)
{
	return n * rank / n_ranks;
}

#endif
