/* The report of `check --data`: what is in each field of the training rows. */
#ifndef CMD_CHECK_DATA_H
#define CMD_CHECK_DATA_H

#include <stdint.h>

#include "base/status.h"
#include "spec/spec.h"

/* Reads at most `rows` rows and prints a table, or a JSON line, of the values before
 * transforms and buckets. */
enum rs_status check_data_report(const struct spec *spec, uint64_t rows, int json);

#endif
