/*
 * The first pass: statistics that transforms need and the spec does not give.
 *
 * fit_run() reads the training files, or those given, once and writes mean and stddev
 * (standardize) and boundaries (bucketize, quantiles) into the spec, where they
 * stay for good.  It does nothing when no field needs it.
 */
#ifndef DATA_FIT_H
#define DATA_FIT_H

#include "base/status.h"
#include "spec/spec.h"

int fit_needed(const struct settings *settings);
/* files: borrowed; NULL: data.train or data.command. */
enum rs_status fit_run(struct spec *spec, const struct text_list *files);

#endif
