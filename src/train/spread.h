/*
 * A model from one rank to the others: what the files of a version have (train/checkpoint.h),
 * sent instead of saved, so that only rank 0 needs the model directory.
 *
 * Dense parameters with their state and counters always go; item frequencies, the catalogue
 * and the tables as that rank asks; tables only when every rank has its own, so that its
 * lookup needs no fetch.
 * A file is in memory twice for a while, one at a time.
 */
#ifndef TRAIN_SPREAD_H
#define TRAIN_SPREAD_H

#include "base/file.h"
#include "base/memory.h"
#include "base/status.h"
#include "train/model.h"

enum spread_part { SPREAD_ITEMS = 1, SPREAD_TABLES = 2, SPREAD_FREQUENCY = 4 };

/* Called by all ranks of m's place with models of one spec; the model of rank `from` becomes
 * that of all, parts are those that it names.  Alone: nothing. */
enum rs_status spread_model(struct model *m, size_t from, unsigned parts);
/* The text of a rank to all; the others append it to an empty buffer. */
enum rs_status spread_text(const struct train_place *place, size_t from, struct buffer *text);

/* One file that a rank writes and the others read. */
struct spread_file {
	enum rs_status (*write)(const void *context, size_t number, struct file_writer *w);
	enum rs_status (*read)(void *context, size_t number, const char *path);
	void  *context;
	size_t number;
};
/* The file of rank `from` to all; also_own: that rank reads it, too. */
enum rs_status spread_file(const struct train_place *place, size_t from,
	const struct spread_file *file, int also_own);

#endif
