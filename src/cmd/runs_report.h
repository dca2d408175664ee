/* Parts of the page of `runs report`: escaped text, and curves as inline SVG. */
#ifndef CMD_RUNS_REPORT_H
#define CMD_RUNS_REPORT_H

#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"
#include "cmd/plot.h"

/* Text as HTML shows it, between tags and in attributes. */
enum rs_status runs_report_text(struct buffer *out, const char *text);
/* A curve over epochs with its name; nothing when no point has a finite value. */
enum rs_status runs_report_curve(struct buffer *out, const char *name,
	const struct plot_point *point, size_t n);

#endif
