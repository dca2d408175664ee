/*
 * Buffers in pairs: one for the reference kernel, an equal one for the kernel
 * under test.  Buffers have exactly the size asked for, so that a checker of
 * memory sees what lies outside.  agree_end() compares all pairs and frees them.
 */
#ifndef TESTS_KERNEL_AGREE_H
#define TESTS_KERNEL_AGREE_H

#include <stddef.h>
#include <stdint.h>

enum { AGREE_MAX_PAIRS = 12 };

struct agree {
	const char *kernel, *set;
	uint64_t key, counter;
	float  *buffer[AGREE_MAX_PAIRS][2];
	size_t  n[AGREE_MAX_PAIRS];
	size_t  n_pairs;
};

double   agree_uniform(struct agree *t, double low, double high);
size_t   agree_below(struct agree *t, size_t n);      /* 1..n                       */
/* A pair of n floats, uniform in [low,high); returns its number. */
size_t   agree_pair(struct agree *t, size_t n, double low, double high);
void     agree_end(struct agree *t, double tolerance);

#endif
