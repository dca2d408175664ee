/*
 * figures.txt of a version: a line a period that was accepted, oldest first.
 *
 *     period=1764424800<TAB>progressive.rows=596112<TAB>progressive.auc=0.7981<TAB>
 *     progressive.auc.variance=1.2e-06<TAB>valid.rows=45840<TAB>valid.auc=...
 *
 * A period is its begin in seconds since 1970, "-" for a run that had none.  Figures that are
 * not defined, and variances that are not to be had, are left out; unknown keys are passed
 * over.
 */
#ifndef TRAIN_TRIAL_HISTORY_H
#define TRAIN_TRIAL_HISTORY_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"
#include "train/gate.h"

#define TRIAL_HISTORY_LINES GATE_BEST_MAX  /* that are kept                           */
#define TRIAL_HISTORY_BYTES ((size_t)64 << 20)

/* RS_EDATA with the line that is none. */
enum rs_status trial_history_check(const char *text);

struct trial_past { int64_t period; uint64_t rows; struct gate_figure figure; };

/* The newest lines in which the figure of these rows ("progressive", "valid", "holdout") is
 * defined, newest first, at most `most`; returns how many. */
size_t trial_history_past(const char *text, const char *rows, const char *metric,
	struct trial_past *out, size_t most);
/* The text (NULL: none) without its oldest lines and without one of this period, so that a
 * line can be added. */
enum rs_status trial_history_keep(const char *text, int64_t period, struct buffer *out);
/* Parts of a line. */
enum rs_status trial_history_begin(int64_t period, struct buffer *out);
enum rs_status trial_history_rows(const char *rows, uint64_t n, struct buffer *out);
enum rs_status trial_history_figure(const char *rows, const char *metric,
	const struct gate_figure *figure, struct buffer *out);

#endif
