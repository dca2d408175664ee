/*
 * The results of bench: for people, for programs, in the run database, and beside an
 * earlier run.
 */
#ifndef CMD_BENCH_REPORT_H
#define CMD_BENCH_REPORT_H

#include "cmd/bench_measure.h"
#include "store/store.h"

enum rs_status bench_print_table(const struct bench_result *r);
/* An array with an object for each line of every result. */
enum rs_status bench_print_json(const struct bench_result *r, size_t n);

/* A run with status ok, tagged "bench", with the figures
 * "bench.MODEL.PRECISION.MEASURE.THREADS.{samples_per_s,limit_ratio}". */
enum rs_status bench_record(const struct arguments *a, struct store *store,
	const struct bench_result *r, size_t n, char name[32]);

/* Prints how each figure stands to that of the run --against: the limit ratio where both have
 * one, as it depends less on the machine and its other load, else the rate.
 * RS_EUSAGE: no such run; RS_EDATA: it has none of these figures; RS_EUNMET: one is more than
 * the share max_loss smaller (NaN: none is too much). */
enum rs_status bench_compare(const struct arguments *a, struct store *store,
	const struct bench_result *r, size_t n, double max_loss);

#endif
