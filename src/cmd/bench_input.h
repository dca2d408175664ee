/*
 * How fast rows come from each kind of input, next to what the bytes alone take: text that is
 * parsed beside a copy of the text, gzip beside inflate alone, a cache beside a copy of its
 * bytes.  One thread, but gzip: two, as inflate runs ahead of the parser.
 */
#ifndef CMD_BENCH_INPUT_H
#define CMD_BENCH_INPUT_H

#include <stddef.h>

#include "base/status.h"
#include "train/model.h"

enum { BENCH_PARSE, BENCH_GZIP, BENCH_CACHE, BENCH_INPUTS };

struct bench_input {
	size_t threads;
	double rows_per_s, limit;      /* NaN: not measured                           */
	double mb_per_s;               /* of text                                     */
};

/* On the first bytes of the first training file, `limit` at most. */
enum rs_status bench_inputs(
	const struct model *m, size_t limit, struct bench_input out[BENCH_INPUTS]);

#endif
