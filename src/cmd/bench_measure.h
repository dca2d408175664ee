/*
 * What bench measures of one model, and the limits measured in the same minutes.
 */
#ifndef CMD_BENCH_MEASURE_H
#define CMD_BENCH_MEASURE_H

#include <math.h>

#include "cmd/bench_input.h"
#include "cmd/command.h"

#define BENCH_LINES 8

/* Where the tables are and what computes; names[] of these and NULL. */
enum bench_placement { BENCH_LOCAL, BENCH_SHARDS, BENCH_CUDA, BENCH_PLACEMENTS };
extern const char *const bench_placement_names[BENCH_PLACEMENTS + 1];

/* One rate and what it could be at most; NaN: not measured, or no limit. */
struct bench_line {
	const char *measure;           /* "step", "file", "parse", "gzip", "cache"    */
	size_t threads;
	double samples_per_s, limit;
	double mb_per_s;               /* of text, where it is read; else NaN         */
};

/* Does it depend on where tables are and what computes? */
static inline int
bench_line_is_placed(const struct bench_line *line)
{
	return isnan(line->mb_per_s);
}

struct bench_result {
	char    model[32], precision[8], kernels[64];
	const char *products;          /* of train.products; NULL: neither of them    */
	const char *placement;         /* of bench_placement_names                    */
	const char *format;            /* of these rows; NULL: of the model's own     */
	char    why[256];              /* not "": why none of it was measured         */
	int64_t batch_size;
	size_t  slots, dense_parameters, n_lines;
	struct bench_line line[BENCH_LINES];
	double  gflops;                /* of one core, or of the GPU, in the model's products;
	                                * NaN: none */
	double  kernel_limit;          /* samples a second that the kernel's products allow one
	                                * thread where training has others; else NaN   */
	double  scaling;               /* what all threads make of them at once, in times one;
	                                * NaN: one thread, or none */
	double  copy_bytes_per_s;      /* to the GPU and back; NaN: there is none     */
	double  random_rows_per_s, row_bytes, memory_bytes_per_s;
	double  peak_bytes;            /* resident, while it trained                  */
	double  table_bytes;           /* rows and their optimizer state              */
};

struct bench_request {
	const struct arguments *a;
	const char *model;             /* NULL: that of the spec in the arguments     */
	const char *precision;         /* NULL: that of the spec                      */
	const char *placement;         /* of bench_placement_names; NULL: local, or cuda where
	                                * the spec says so */
	int     with_inputs;           /* reading alone, too                          */
	int     may_lack;              /* what this machine lacks is told in `why`    */
	int64_t rows;                  /* kept in memory, and written without a spec  */
	double  seconds;
};

/* input: [BENCH_INPUTS] */
void bench_add_inputs(struct bench_result *r, const struct bench_input *input);
enum rs_status bench_measure(const struct bench_request *request, struct bench_result *out);

/* limit_ratio of a line; NaN when it has no limit. */
static inline double
bench_ratio(const struct bench_line *line)
{
	return line->samples_per_s / line->limit;
}

#endif
