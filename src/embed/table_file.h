/*
 * The file of a table, or of a range of its rows.  Little-endian:
 *
 *	header   256 bytes, struct table_file_header
 *	weights  [end-begin, dim] as `storage` says (embed/row.h), contiguous, so that a scorer
 *	         can map them
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
	uint32_t storage;          /* enum row_storage                               */
	char     reserved[20];
};

/* Of a hashed table, its weights in some storage; where most rows were never touched, a file of
 * rows by id is smaller (rows_file_suits()). */
enum rs_status table_file_write(const struct table *t, enum row_storage storage,
	struct file_writer *w);
/* Files without slots, or of another optimizer, leave the slots at their initial
 * values and set state_anew.  RS_EDATA: not such a file, another table, rows missing;
 * the table is then as it was. */
enum rs_status table_file_read(struct table *t, const char *const *path, size_t n_paths);

/* A table whose rows are not in a struct table: what it is, */
struct table_file_shape {
	const char *name, *optimizer;
	uint64_t rows;             /* of the whole table                             */
	uint64_t begin, end;       /* rows written                                   */
	size_t   dim, n_slot;
	enum row_storage storage;  /* of the weights; files of another are converted */
};
/* where its rows come from, in order: all weights, then all slots, then touched, */
struct table_file_source {
	/* Floats [n, dim] or [n, n_slot] of rows [id, id + n). */
	enum rs_status (*weights)(void *context, uint64_t id, size_t n, float *out);
	enum rs_status (*slots)(void *context, uint64_t id, size_t n, float *out);
	/* All bits, [(end - begin + 7) / 8] bytes. */
	enum rs_status (*touched)(void *context, const uint8_t **out);
	void *context;
	size_t n_most;             /* rows of one call                               */
};
enum rs_status table_file_stream(const struct table_file_shape *shape,
	const struct table_file_source *from, struct file_writer *w);
/* and where they go, as they lie in a file. */
struct table_file_piece {
	uint64_t begin, end;
	size_t dim;
	enum row_storage storage;
	const char *weights;       /* [end-begin, dim] of that storage               */
	const float *slots;        /* [end-begin, n_slot]; NULL: not of this optimizer */
	const uint8_t *touched;    /* bit i of byte i/8                              */
};
enum rs_status table_file_visit(const struct table_file_shape *shape, const char *const *path,
	size_t n_paths, enum rs_status (*take)(void *context, const struct table_file_piece *p),
	void *context);

/* Weights of n rows from begin + i on, as those of some storage. */
void table_file_weights(const struct table_file_piece *p, uint64_t i, size_t n,
	enum row_storage storage, void *out);

/* Checks a mapped file; the header is valid as long as the map. */
enum rs_status table_file_check(const struct file_map *m, const char *path,
	const struct table_file_header **out);

#endif
