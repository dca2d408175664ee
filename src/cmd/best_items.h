/*
 * The K best items of the catalogue for each row, by a two_tower.
 *
 * The vectors of the catalogue are made once; items of the rows in `seen` are not
 * among the best of a row of the same group.  What best_items_row() gives holds
 * until the next best_items_find().
 */
#ifndef CMD_BEST_ITEMS_H
#define CMD_BEST_ITEMS_H

#include "base/status.h"
#include "data/batch.h"
#include "train/model.h"
#include "train/top.h"
#include "train/workers.h"

struct best_items;

/* m and w are borrowed; seen may be NULL. */
enum rs_status best_items_open(const struct model *m, struct workers *w, size_t K,
	const struct text_list *seen, struct best_items **out);
void best_items_close(struct best_items *b);
/* user [B,D]: the rows' vectors. */
enum rs_status best_items_find(struct best_items *b, const struct batch *rows, const float *user);
const struct top_item *best_items_row(const struct best_items *b, size_t row, size_t *n);

#endif
