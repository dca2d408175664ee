/*
 * The file of a table, or of a range of its rows.  Little-endian:
 *
 *	header   256 bytes, struct table_file_header
 *	weights  [end-begin, dim] float, contiguous, so that a scorer can map them
 *	slots    [end-begin, n_slot] float, absent when n_slot is 0
 *	touched  bit i of byte i/8: training updated row begin + i
 *
 * Sections start at multiples of 64, gaps are zero.  Files of one table may cover
 * any ranges that together are every row once; equal tables give equal bytes.
 */
#ifndef EMBED_TABLE_FILE_H
#define EMBED_TABLE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "embed/table.h"

#define TABLE_FILE_MAGIC   "RSTABLE"
#define TABLE_FILE_VERSION 1

struct table_file_header {
	char     magic[8];         /* TABLE_FILE_MAGIC and a NUL                     */
	uint32_t version, header_bytes;
	uint64_t rows;             /* of the whole table                             */
	uint64_t begin, end;       /* rows in this file                              */
	uint32_t dim, n_slot;
	uint64_t weights, slots, touched, file_bytes;   /* offsets, and the size     */
	char     optimizer[24];    /* "adagrad"; NUL-padded                          */
	char     name[128];
	char     reserved[24];
};

enum rs_status table_file_write(const struct table *t, struct file_writer *w);
/* Files without slots, or of another optimizer, leave the slots at their initial
 * values and set state_anew.  RS_EDATA: not such a file, another table, rows missing. */
enum rs_status table_file_read(struct table *t, const char *const *path, size_t n_paths);
/* Checks a mapped file; the header is valid as long as the map. */
enum rs_status table_file_check(const struct file_map *m, const char *path,
	const struct table_file_header **out);

#endif
