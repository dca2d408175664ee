/*
 * The fixed binary tree over n slots, along which everything of a step is summed.
 *
 * The root is [0,n).  A node [begin,end) of two or more slots has the children
 * [begin,middle) and [middle,end), value = left + right; a node of one slot is a
 * leaf.  Each middle in 1..n-1 belongs to exactly one inner node, so it serves as
 * the node's number.  A child that is absent is skipped: the node then has the
 * value of the other child.
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

#endif
