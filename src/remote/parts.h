/*
 * Which shard has which rows: every table is cut into ranges of ids, one a shard.
 *
 * A table has max(1, min(rows, n_shards, ceil(bytes / min_shard_bytes))) parts, row r being
 * in part i when rows*i/n <= r < rows*(i+1)/n; ids are hashes, so ranges are fair.  An exact
 * table is cut the same way at whole segments (embed/exact.h), of which it has 64.  Twins
 * (lookup_table) are counted and cut as one table.  Parts go, the largest first, to the
 * shard that has the fewest bytes and none of the table yet.  A pure function of tables,
 * shards and min_shard_bytes; planner, client and shards share it.
 */
#ifndef REMOTE_PARTS_H
#define REMOTE_PARTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "embed/lookup.h"

struct part { size_t table, shard; uint64_t begin, end; };

struct parts {
	struct part *part;          /* [n] by table, then begin                       */
	size_t n;
	size_t *first;              /* [n_tables + 1] of each table                   */
	size_t n_tables, n_shards;
};

enum rs_status parts_make(const struct lookup_table *table, size_t n_tables, size_t n_shards,
	uint64_t min_shard_bytes, struct parts *out);
void parts_free(struct parts *p);
/* How many rows with ids in [begin,end) there will be. */
uint64_t parts_rows(const struct lookup_table *table, uint64_t begin, uint64_t end);
/* Bytes of rows [begin,end) with optimizer slots and touched bits; the most of an exact table,
 * with the sketch of its filter. */
uint64_t parts_bytes(const struct lookup_table *table, uint64_t begin, uint64_t end);

#endif
