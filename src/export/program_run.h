/*
 * Runs a program in plain double arithmetic: what an exported file computes, read back and
 * worked out without the model's own kernels.
 */
#ifndef EXPORT_PROGRAM_RUN_H
#define EXPORT_PROGRAM_RUN_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "export/program.h"

struct program_feed {
	size_t N;
	const size_t *length;              /* [schema fields] L of each                  */
	const double *const *input;        /* [n_features] [N] or [N,L]; ids are whole numbers */
	/* Row `id` of a table; NULL: it has no such row.  Borrowed until the next call. */
	const float *(*row)(void *context, size_t table, uint64_t id);
	void *context;
};

/* Value of output k: [N] or [N,D], owned by the caller. */
enum rs_status program_run(const struct program *p, const struct program_feed *feed, size_t k,
	double **out);
/* The same of any value, for which only what it depends on is worked out; *n numbers. */
enum rs_status program_run_value(const struct program *p, const struct program_feed *feed,
	size_t value, double **out, size_t *n);

#endif
