/*
 * What bench measures of one model, and the limits measured in the same minutes.
 */
#ifndef CMD_BENCH_MEASURE_H
#define CMD_BENCH_MEASURE_H

#include "cmd/command.h"

#define BENCH_LINES 8

/* One rate and what it could be at most; NaN: not measured, or no limit. */
struct bench_line {
	const char *measure;           /* "step", "file", "parse", "gzip", "cache"    */
	size_t threads;
	double samples_per_s, limit;
	double mb_per_s;               /* of text, where it is read; else NaN         */
};

struct bench_result {
	char    model[32], precision[8], kernels[64];
	int64_t batch_size;
	size_t  slots, dense_parameters, n_lines;
	struct bench_line line[BENCH_LINES];
	double  gflops;                /* of one core in the model's products; NaN: none */
	double  random_rows_per_s, row_bytes, memory_bytes_per_s;
	double  peak_bytes;            /* resident, while it trained                  */
	double  table_bytes;           /* rows and their optimizer state              */
};

struct bench_request {
	const struct arguments *a;
	const char *model;             /* NULL: that of the spec in the arguments     */
	int64_t rows;                  /* kept in memory, and written without a spec  */
	double  seconds;
};

enum rs_status bench_measure(const struct bench_request *request, struct bench_result *out);

/* limit_ratio of a line; NaN when it has no limit. */
static inline double
bench_ratio(const struct bench_line *line)
{
	return line->samples_per_s / line->limit;
}

#endif
