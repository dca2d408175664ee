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
		if (side == 1) \
			agree_wait(t); \
	}

static inline size_t
odd_or_drawn(struct agree *t)
{
	return t->is_odd ? t->shape.rows * t->shape.columns : agree_below(t, 200);
}

static inline size_t
some_dim(struct agree *t)
{
	if (t->is_odd)
		return t->shape.columns;
	return agree_below(t, 2) == 1 ? 16 : agree_below(t, MAX_DIM);
}

/*
 * Compares each kernel of the set with the reference: with drawn shapes, or is_odd with those
 * that are no multiple of anything, none of rows among them.  crc [COMPARE_TRIALS of each
 * kernel] may be NULL: of what the set gave.
 */
enum { COMPARE_TRIALS = 12 };
extern const size_t compare_n;
void compare_set(const struct kernel_set *set, const struct agree_memory *memory, int is_odd,
	double tolerance, uint32_t *crc);

#endif
