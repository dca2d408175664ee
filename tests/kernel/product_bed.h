/* A product of matrices at the edges of pages that nobody may touch. */
#ifndef TESTS_KERNEL_PRODUCT_BED_H
#define TESTS_KERNEL_PRODUCT_BED_H

#include <stddef.h>

#include "kernel/kernel.h"
#include "tests/test.h"

/* Kernels *k of the level that has products of its own; the test is skipped without them. */
#define NEED_OWN_PRODUCTS(k) \
	do { \
		if (kernel_select("avx2", (k)) != RS_OK) \
			SKIP_BECAUSE("this processor has no AVX2"); \
	} while (0)

/* n floats that end where memory that may not be touched begins, and begin behind such, less than
 * a page away. */
struct fenced { float *x; char *map; size_t bytes; };

struct shape { size_t m, n, k; };

/* Between the rows of each matrix lie BED_PAD floats. */
enum { BED_PAD = 3 };

struct bed {
	struct gemm_args args;
	struct fenced a, b, c, scratch;
	size_t n_c;                           /* floats of C, gaps included           */
};

/* Numbers in [-1,1), the same for the same shape; alpha is .75. */
struct bed bed_open(const struct shape *s, int ta, int tb, float beta);
void bed_close(struct bed *bed);

/* Fails unless kernel k makes of the bed the product in double and touches nothing else. */
void bed_check(const struct kernel_set *k, struct bed *bed);

#endif
