/*
 * Learning rates over the steps of a run: factor of the base rate, pure functions
 * of the step, so a resumed run goes on exactly.
 */
#ifndef TRAIN_SCHEDULE_H
#define TRAIN_SCHEDULE_H

#include <stdint.h>

#include "spec/settings.h"

/* Factor of train.schedule at step t (from 0).  total_steps: of the run, for a
 * decay without decay_steps; 0 = unknown.  plateau: product of the reductions. */
double schedule_factor(const struct train_settings *s, uint64_t t, uint64_t total_steps,
	double plateau);
/* lr_scaling: batch_size / lr_base_batch, or 1. */
double schedule_batch_factor(const struct train_settings *s);

#endif
