/* The emulated GPU of a test, and that nothing is left or was done wrong on it. */
#ifndef TESTS_TRAIN_GPU_BED_H
#define TESTS_TRAIN_GPU_BED_H

#include "tests/kernel/emulated_gpu.h"
#include "tests/test.h"

static struct gpu_memory gpu = { .gpu = &gpu_emulated };

static inline void
assert_clean(const char *name)
{
	const char *where;

	if (emulate_violations(&where) > 0)
		fail_msg("%s: %s", name, where);
	assert_int_equal(emulated_gpu_in_use(), 0);
	assert_int_equal(atomic_load(&gpu.used), 0);
}

#endif
