/* The report of `check --data`: what is in each field of the training rows. */
#ifndef CMD_CHECK_DATA_H
#define CMD_CHECK_DATA_H

#include <stdint.h>

#include "base/status.h"
#include "spec/spec.h"

/* Reads at most `rows` rows and prints a table, or a JSON line.  Changes the spec:
 * transforms and buckets, so that values are seen as they are. */
enum rs_status check_data_report(struct spec *spec, uint64_t rows, int json);

#endif
