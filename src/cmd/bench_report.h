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
 * "bench.MODEL.PRECISION.MEASURE.THREADS.{samples_per_s,limit_ratio}"; behind MEASURE stands
 * "-FORMAT" where rows of a format were read, and "-PLACEMENT" unless it is local. */
enum rs_status bench_record(const struct arguments *a, struct store *store,
	const struct bench_result *r, size_t n, char name[32]);

/* An earlier run, empty until it is found. */
struct bench_past {
	struct store *store;
	struct store_run run;
};

/* RS_EUSAGE: no such run; RS_EDATA: bench kept no figures in it.  The store is borrowed,
 * the run is the caller's to free. */
enum rs_status bench_past_find(struct store *store, const char *name, struct bench_past *out);

/* Prints how each figure stands to that of the earlier run: the limit ratio where both have
 * one, as it depends less on the machine and its other load, else the rate.
 * RS_EDATA: it has none of these figures; RS_EUNMET: one is more than the share max_loss smaller
 * (NaN: none is too much). */
enum rs_status bench_compare(const struct arguments *a, const struct bench_past *past,
	const struct bench_result *r, size_t n, double max_loss);

#endif
