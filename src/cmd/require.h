/*
 * Conditions on figures that are there already: --require 'auc>=0.75' of eval and of
 * runs compare.
 *
 * They are read by train/gate.h, without last and best(N), which are of a training run, and
 * compared exactly.  A metric that is not defined (NaN) meets nothing.
 */
#ifndef CMD_REQUIRE_H
#define CMD_REQUIRE_H

#include <stddef.h>

#include "base/status.h"
#include "train/gate.h"

struct require_figure {
	const char *name;
	double      value;
};

/* RS_EUSAGE says what is wrong. */
enum rs_status require_parse(const char *text, struct gate_condition *out);
/* RS_EUSAGE: the text is no condition or names none of the figures; RS_EUNMET: it
 * does not hold, and the failure says by how much. */
enum rs_status require_check(const char *text, const struct require_figure *figure, size_t n);

#endif
