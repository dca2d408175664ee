/*
 * A model from rank 0 to the others: what the files of a version have (train/checkpoint.h),
 * sent instead of saved, so that only rank 0 needs the model directory.
 *
 * Dense parameters with their state, counters and item frequencies always go; the
 * catalogue and the tables as rank 0 asks, these only when every rank has its own, so
 * that its lookup needs no fetch.
 * A file is in memory twice for a while, one at a time.
 */
#ifndef TRAIN_SPREAD_H
#define TRAIN_SPREAD_H

#include "base/memory.h"
#include "base/status.h"
#include "train/model.h"

enum spread_part { SPREAD_ITEMS = 1, SPREAD_TABLES = 2 };

/* Called by all ranks of m's place with models of one spec; parts: those of rank 0 count.
 * Alone: nothing. */
enum rs_status spread_model(struct model *m, unsigned parts);
/* Rank 0's text to all; the others append it to an empty buffer. */
enum rs_status spread_text(const struct train_place *place, struct buffer *text);

#endif
