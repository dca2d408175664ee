/*
 * Whether options and spec make sense for train --incremental.
 */
#ifndef CMD_INCREMENTAL_CHECK_H
#define CMD_INCREMENTAL_CHECK_H

#include "base/status.h"
#include "cmd/command.h"
#include "spec/settings.h"

/* RS_EUSAGE or RS_ESPEC with what does not. */
enum rs_status incremental_check(const struct arguments *a, const struct settings *s);
/* The same of the spec alone, with its conditions; RS_OK when it is not for --incremental. */
enum rs_status incremental_check_spec(const struct settings *s);

#endif
