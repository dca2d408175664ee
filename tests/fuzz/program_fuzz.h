/*
 * A program that was read from bytes is run on a few rows, if it is small.
 */
#ifndef TESTS_FUZZ_PROGRAM_FUZZ_H
#define TESTS_FUZZ_PROGRAM_FUZZ_H

#include <math.h>

#include "export/program_run.h"
#include "tests/fuzz/fuzz.h"

enum { FUZZ_ROWS = 2, FUZZ_LONGEST = 3, FUZZ_RUN_MAX = 1 << 14 };

/* Great values are not run: that would only take time. */
static inline int
program_fuzz_is_small(const struct program *p)
{
	for (size_t i = 1; i < p->n; i++) {
		uint64_t n = 1;

		for (size_t k = 0; k < p->value[i].rank; k++) {
			const int64_t dim = p->value[i].dim[k];

			if (__builtin_mul_overflow(n, dim < 0 ? FUZZ_LONGEST : (uint64_t)dim, &n)
			    || n > FUZZ_RUN_MAX)
				return 0;
		}
	}
	return p->n < 512;
}

static inline void
program_fuzz_run(const struct program *p, struct program_feed feed, double first)
{
	size_t *const length = calloc(p->n_features + 1, sizeof *length);
	const double **const input = calloc(p->n_features + 1, sizeof *input);
	static double x[FUZZ_ROWS * FUZZ_LONGEST];

	FUZZ_CHECK(length != NULL && input != NULL);
	for (size_t i = 0; i < FUZZ_ROWS * FUZZ_LONGEST; i++)
		x[i] = i == 0 ? first : (double)(i % 3) - 1;
	for (size_t i = 0; i < p->n_features; i++) {
		length[i] = FUZZ_LONGEST;
		input[i] = x;
		FUZZ_CHECK(p->value[p->feature[i].value].rank <= 2);
	}
	feed.length = length;
	feed.input = input;
	for (size_t k = 0; k < p->n_outputs; k++) {
		double *out;
		const enum rs_status status = program_run(p, &feed, k, &out);

		FUZZ_CHECK((status == RS_OK) == (out != NULL));
		FUZZ_CHECK(status == RS_OK || status == RS_EDATA || status == RS_ERESOURCE);
		free(out);
	}
	free(input);
	free(length);
}

static inline void
program_fuzz(const struct program *p, const float *(*row)(void *, size_t, uint64_t), void *context)
{
	const struct program_feed feed = { .N = FUZZ_ROWS, .row = row, .context = context };

	if (!program_fuzz_is_small(p))
		return;
	program_fuzz_run(p, feed, 0);
	program_fuzz_run(p, feed, (double)NAN);
}

#endif
