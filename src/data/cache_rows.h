/*
 * Rows of a batch as the bytes of a cache: little-endian, columns one after the other, ids of
 * tables with less than 2^32 rows in four bytes, weights only where one is not 1.
 *
 * The schema of who reads must be that of who wrote; the cache sees to it.  Bytes of another
 * length than its rows need are RS_EDATA; what they say is not examined, they have a CRC.
 */
#ifndef DATA_CACHE_ROWS_H
#define DATA_CACHE_ROWS_H

#include <stddef.h>

#include "base/memory.h"
#include "base/status.h"
#include "data/batch.h"
#include "data/batch_rows.h"
#include "data/schema.h"

/* Appends all rows of the batch to out. */
enum rs_status cache_rows_pack(
	const struct schema *schema, const struct batch *batch, struct buffer *out);
/* Into an empty batch. */
enum rs_status cache_rows_unpack(
	const struct schema *schema, const char *bytes, size_t n, struct batch *batch);
/* Into an empty batch B and the columns that have an offset; where in bytes all else is, into the
 * view. */
enum rs_status cache_rows_view(const struct schema *schema, const char *bytes, size_t n,
	struct batch *batch, struct batch_view *view);

#endif
