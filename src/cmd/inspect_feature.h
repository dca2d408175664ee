/*
 * One value of a field: its bucket, and the rows of the model that it reads.
 */
#ifndef CMD_INSPECT_FEATURE_H
#define CMD_INSPECT_FEATURE_H

#include "base/status.h"
#include "cmd/model_files.h"

/* text: FIELD=VALUE; a value of several items is one of each. */
enum rs_status inspect_feature(const struct model_files *f, const char *text, int json);

#endif
