/* The emulated GPU of a test, and that nothing is left or was done wrong on it. */
#ifndef TESTS_TRAIN_GPU_BED_H
#define TESTS_TRAIN_GPU_BED_H

#include "tests/kernel/emulated_gpu.h"
#include "tests/test.h"

static struct gpu_memory gpu = { .gpu = &gpu_emulated };

/* So many blocks of memory are held by what the test keeps, on other GPUs than gpu. */
static inline void
assert_left(const char *name, unsigned held)
{
	const char *where;

	if (emulate_violations(&where) > 0)
		fail_msg("%s: %s", name, where);
	assert_int_equal(emulated_gpu_in_use(), held);
	assert_int_equal(atomic_load(&gpu.used), 0);
}

static inline void
assert_clean(const char *name)
{
	assert_left(name, 0);
}

#endif
