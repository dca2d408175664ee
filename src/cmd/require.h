/*
 * Conditions on metrics: --require 'auc>=0.75'.
 *
 * Operators are >= <= > <.  A metric that is not defined (NaN) meets nothing.
 */
#ifndef CMD_REQUIRE_H
#define CMD_REQUIRE_H

#include <stddef.h>

#include "base/status.h"

struct require_figure {
	const char *name;
	double      value;
};

/* RS_EUSAGE: the text is no condition or names none of the figures; RS_EUNMET: it
 * does not hold, and the failure says by how much. */
enum rs_status require_check(const char *text, const struct require_figure *figure, size_t n);

#endif
