/*
 * What makes one version of a table of its parent: a file of rows by id (embed/rows_file.h) of
 * kind ROWS_FILE_DELTA that has every row that changed, whole, the ids of rows that went, and the
 * decays that the sums of all others had.
 *
 * A row that went and came back is among those that changed; one that came and went may be
 * among those gone.  Hashed tables: entries are touched rows, their last and count are 0.
 * A table read back is the one that was written, bit for bit, its optimizer's state as well.
 */
#ifndef EMBED_ROWS_DELTA_H
#define EMBED_ROWS_DELTA_H

#include "base/file.h"
#include "base/status.h"
#include "embed/lookup.h"
#include "embed/table.h"

/* Since table_forget_changes(); the table knows its changes. */
enum rs_status rows_delta_write(const struct table *t, const struct lookup_step *step,
	struct file_writer *w);
/* RS_EDATA names the version that is missing when the file is not of this step; the table is
 * then as it was.  Nothing counts as changed afterwards but by state_anew. */
enum rs_status rows_delta_read(struct table *t, const struct lookup_step *step, const char *path);
/* What makes `to` of `from`, weights only, whatever lies between them. */
enum rs_status rows_delta_between(const struct table *from, const struct table *to,
	const struct lookup_step *step, struct file_writer *w);

#endif
