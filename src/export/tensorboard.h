/*
 * Event files of TensorBoard: scalars by step, in the form that all versions read.
 *
 * A file is only added to, by whole records: what was flushed can be read while the run goes
 * on.  Who opens a directory with event files writes a new one, which says that points from
 * `step` on that are there already are of a run that did not get further.  One thread at a
 * time.
 */
#ifndef EXPORT_TENSORBOARD_H
#define EXPORT_TENSORBOARD_H

#include <stdint.h>

#include "base/memory.h"
#include "base/status.h"

struct tensorboard;

/* Makes the directory where there is none. */
enum rs_status tensorboard_open(const char *directory, int64_t step, struct tensorboard **out);
void tensorboard_close(struct tensorboard *t);      /* NULL is fine; flushes        */

/* In the file by the next flush. */
enum rs_status tensorboard_scalar(struct tensorboard *t, const char *tag, int64_t step,
	double value);
enum rs_status tensorboard_flush(struct tensorboard *t);

/* A record; tag NULL: the first of a file, or with step > 0 that of a start there. */
enum rs_status tensorboard_record(struct buffer *out, double wall_time, const char *tag,
	int64_t step, double value);

#endif
