/*
 * Histories: sequences of one row that belong together item by item, as the items
 * and their categories.
 *
 * Sequences with the same `history` have the same number of items in a row, else
 * the row is bad.  A place that is missing in all of them is no item; one that is
 * missing in some has the missing row there.  The newest max_length are kept.
 */
#ifndef DATA_HISTORY_H
#define DATA_HISTORY_H

#include "base/status.h"
#include "data/batch.h"
#include "data/feature.h"

struct history;

struct histories {
	struct history *history;       /* [n] those of several sequences             */
	size_t n;
};

/* Features of a history of several keep the places of missing items from now on. */
enum rs_status histories_init(
	struct histories *h, const struct schema *schema, struct feature *feature);
void histories_free(struct histories *h);
/* After the last cell of a row.  RS_EDATA: a bad row, with *error filled. */
enum rs_status histories_end_row(const struct histories *h, const char *row,
	struct batch *batch, struct cell_error *error);

#endif
