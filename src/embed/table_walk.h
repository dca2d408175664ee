/*
 * The rows of a hashed table that are marked in one bitmap or another, in order, wherever they
 * are: those of a spilled table are asked of the disk some hundred rows ahead.
 */
#ifndef EMBED_TABLE_WALK_H
#define EMBED_TABLE_WALK_H

#include "base/status.h"
#include "embed/table.h"

struct table_walk {
	const struct table *t;
	const uint64_t *a, *b;     /* bitmaps; b NULL: only a; borrowed               */
	uint64_t next, ahead;      /* of the table's rows                             */
	uint64_t left;             /* rows that are still given, at most              */
	float   *scratch;          /* [stride]                                        */
};

/* How many there are. */
uint64_t table_walk_count(const struct table *t, const uint64_t *a, const uint64_t *b);
enum rs_status table_walk_init(struct table_walk *w, const struct table *t, const uint64_t *a,
	const uint64_t *b);
/* Only n rows, from the first-th marked on. */
enum rs_status table_walk_init_part(struct table_walk *w, const struct table *t, const uint64_t *a,
	uint64_t first, uint64_t n);
void table_walk_free(struct table_walk *w);
/* Row *i of those here, valid until the next call; *row NULL: there is no other. */
enum rs_status table_walk_next(struct table_walk *w, uint64_t *i, const float **row);

#endif
