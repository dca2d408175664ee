/*
 * Items to draw from: all of the catalogue, or those of one group at a time.
 * Weights are drawn from by the alias method (Walker 1977, Vose 1991): two random
 * numbers a draw, whatever the number of items.
 */
#ifndef DATA_SAMPLER_TABLE_H
#define DATA_SAMPLER_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct sampler_range { uint32_t begin, end; };

struct sampler_table {
	size_t    n;
	uint32_t *item;                /* [n] items, group by group                      */
	uint32_t *place;               /* [n] of item i in `item`                        */
	struct sampler_range *range;   /* [n] of item i's group                          */
	double   *share;               /* [n] NULL: items of a group come up alike       */
	uint32_t *alias;               /* [n] place that gets the rest of the share      */
};

/* group [n] or NULL: one group of all items.  weight [n] or NULL: all alike. */
enum rs_status sampler_table_make(
	struct sampler_table *t, size_t n, const uint64_t *group, const double *weight);
void sampler_table_free(struct sampler_table *t);

/* Number `draw` of the stream `key` from the group of the item. */
uint32_t sampler_table_draw(
	const struct sampler_table *t, uint32_t item, uint64_t key, uint64_t draw);
/* The same without the item itself, whose group has at least two. */
uint32_t sampler_table_draw_other(
	const struct sampler_table *t, uint32_t item, uint64_t key, uint64_t draw);

#endif
