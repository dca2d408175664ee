/*
 * The input formats, each with the same rows: those of the "criteo" layout (cmd/synth.h), a
 * label, 13 numbers and 26 ids, of which some are missing.
 */
#ifndef CMD_BENCH_FORMAT_H
#define CMD_BENCH_FORMAT_H

#include "cmd/bench_measure.h"

#define BENCH_FORMATS_MAX 16

/* Their names and a NULL; returns how many there are. */
size_t bench_formats(const char *names[BENCH_FORMATS_MAX]);
/* How fast so many rows of this format are read: text, gzip and the cache, as `a` has the spec. */
enum rs_status bench_format_measure(
	const struct arguments *a, const char *format, int64_t rows, struct bench_result *out);

#endif
