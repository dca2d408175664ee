/* What differs between two models, parameter by parameter and table by table. */
#ifndef CMD_MODEL_DIFF_H
#define CMD_MODEL_DIFF_H

#include "base/status.h"
#include "cmd/model_files.h"

/* other: MODEL of the former state.  field NULL: everything. */
enum rs_status model_diff_print(const struct model_files *f, const char *other, const char *field,
	int json);

#endif
