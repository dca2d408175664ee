/*
 * Running sums of a training run and the rows of the progress table.
 */
#ifndef TRAIN_REPORT_H
#define TRAIN_REPORT_H

#include <stdint.h>

#include "train/step.h"
#include "train/train.h"

struct report_sums { double loss, weight, label, prediction; };

struct report {
	double   step;             /* train_options.progress_step                     */
	int      multiplies;
	double   next;             /* rows at which the next table row is due         */
	uint64_t rows, total_rows; /* of this run                                     */
	uint64_t last_rows;
	double   started, last_time, wait, last_wait;
	struct report_sums run, epoch, last;
	void   (*callback)(void *context, const struct train_progress *p);
	void    *context;
};

void report_begin(struct report *r, const struct train_options *options, uint64_t total_rows);
/* For report_go_on(): what was counted, with times since `started` and no callback. */
void report_pause(const struct report *r, struct report *out);
/* Goes on counting; after report_begin(), in whatever process. */
void report_go_on(struct report *r, const struct report *paused);
void report_begin_epoch(struct report *r);
void report_wait(struct report *r, double seconds);
/* Adds one step's sums and calls back when a table row is due. */
void report_step(struct report *r, const struct step_result *result, uint64_t epoch,
	uint64_t step, double rate);
double report_epoch_label(const struct report *r);
double report_epoch_loss(const struct report *r);
double report_run_loss(const struct report *r);

#endif
