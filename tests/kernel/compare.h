/*
 * Every slot of a kernel set has a compare_NAME(): it makes its buffers, then runs
 * the reference kernel and the one under test each on its own side of them.
 */
#ifndef TESTS_KERNEL_COMPARE_H
#define TESTS_KERNEL_COMPARE_H

#include "agree.h"
#include "kernel/kernel.h"

enum { MAX_ROWS = 37, MAX_COLUMNS = 71, MAX_DIM = 35 };

#define ROW(name, arguments) \
	void compare_##name(const struct kernel_set *set, struct agree *t);
KERNEL_TABLE(ROW)
#undef ROW

#define COMPARE(name) void compare_##name(const struct kernel_set *set, struct agree *t)

/* Buffer p of the side at work. */
#define BUF(p) (t->buffer[p][side])

#define BOTH(statement) \
	for (size_t side = 0; side < 2; side++) { \
		const struct kernel_set *k = side == 0 ? &kernel_ref : set; \
		statement; \
	}

static inline size_t
some_dim(struct agree *t)
{
	return agree_below(t, 2) == 1 ? 16 : agree_below(t, MAX_DIM);
}

#endif
