/*
 * The file of rows by id: an exact table, a hashed one of which most rows were never touched,
 * or what changed of a table.  Little-endian:
 *
 *	header   320 bytes, struct rows_file_header
 *	entries  [n] of entry_bytes in the order of ids: struct exact_entry, dim weights as
 *	         `storage` says (embed/row.h), from the next multiple of 4 on n_slot floats of
 *	         the optimizer, zeros up to a multiple of 8
 *	gone     [n_gone] ids, in order, of rows that there were and are no more
 *
 * Files of one table cover ranges of ids that together are all ids once; what is in no entry
 * of a full file has no row; a row of a hashed table that is in none is as rows begin, which
 * the header says (embed/row.h).  There the count of an entry is 1 when training touched it, 0
 * when it differs though training did not, and last is 0.  Equal tables give equal bytes.
 */
#ifndef EMBED_ROWS_FILE_H
#define EMBED_ROWS_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "embed/table.h"
#include "embed/table_walk.h"

#define ROWS_FILE_MAGIC   "RSROWS\0"
#define ROWS_FILE_VERSION 1

enum rows_file_kind { ROWS_FILE_FULL, ROWS_FILE_DELTA };

struct rows_file_header {
	char     magic[8];          /* ROWS_FILE_MAGIC and NULs                      */
	uint32_t version, header_bytes;
	uint32_t kind;              /* enum rows_file_kind                           */
	uint32_t table_kind;        /* enum table_kind                               */
	uint64_t rows;              /* ids of the table are below                    */
	uint64_t begin, end;        /* ids this file is about                        */
	uint64_t n, n_gone;
	uint32_t dim, n_slot, entry_bytes, storage;     /* enum row_storage          */
	uint64_t entries, gone, file_bytes;     /* offsets, and the size             */
	uint64_t model_version, parent;         /* delta: it makes this of that      */
	char     optimizer[24];
	char     name[128];
	uint64_t start_key;         /* hashed, full: struct row_start                */
	double   start_stddev, start_accumulator;
	struct row_decays decays;   /* delta: of all rows that the parent has, before those
	                             * that changed come                             */
};

/* What is the same in every file of a table. */
struct rows_file_shape {
	const char *name, *optimizer;
	enum table_kind table_kind;
	uint64_t rows;
	size_t   dim, n_slot;
	enum rows_file_kind kind;
	enum row_storage storage;   /* of the weights; files of another are converted */
};

/* A file as it lies in memory. */
struct rows_file_piece {
	const struct rows_file_header *header;
	const char *entry;          /* [n] of header->entry_bytes                    */
	const uint64_t *gone;
	int has_state;              /* its slots are those of the optimizer wanted   */
};

struct rows_file_shape rows_file_shape_of(const struct table *t);
/* A header for n entries and n_gone ids, of ids in [begin,end). */
struct rows_file_header rows_file_header_make(const struct rows_file_shape *shape,
	uint64_t begin, uint64_t end, uint64_t n, uint64_t n_gone);
/* Checks the header of a mapped file, which is valid as long as the map. */
enum rs_status rows_file_check_header(const struct file_map *m, const char *path,
	const struct rows_file_header **out);
/* And that ids are in order and range. */
enum rs_status rows_file_check(const struct file_map *m, const char *path,
	const struct rows_file_header **out);
/* Every file of a table once all are known to be sound and to cover all ids once. */
enum rs_status rows_file_visit(const struct rows_file_shape *shape, const char *const *path,
	size_t n_paths, enum rs_status (*take)(void *context, const struct rows_file_piece *p),
	void *context);

static inline const struct exact_entry *
rows_file_entry(const struct rows_file_piece *p, uint64_t i)
{
	return (const struct exact_entry *)(const void *)(p->entry + i * p->header->entry_bytes);
}

/* The slots of an entry. */
static inline const float *
rows_file_slots(const struct rows_file_piece *p, const struct exact_entry *entry)
{
	return exact_row(entry) + row_slot_at(p->header->storage, p->header->dim);
}

/* Of a full file of a hashed table, of which n rows are in it. */
struct rows_file_header rows_file_header_of(const struct table *t,
	const struct rows_file_shape *shape, uint64_t n);
/* One entry, as the header says; head is written with changed 0. */
enum rs_status rows_file_put(const struct rows_file_header *h, const struct exact_entry *head,
	const float *row, struct file_writer *w);
/* The marked rows of a hashed table.  scratch: of a row, where h has its weights in another
 * storage; else NULL will do. */
enum rs_status rows_file_put_walk(const struct rows_file_header *h, struct table_walk *walk,
	float *scratch, struct file_writer *w);
/* Makes room for the entries of a file beside those that are there: rows that come in order
 * would move all the others again and again. */
enum rs_status rows_file_reserve(const struct rows_file_piece *p, struct exact *e);
/* A row of a table from an entry, whatever the storage and the optimizer there. */
void rows_file_take(const struct rows_file_piece *p, const struct exact_entry *entry,
	const struct table *t, float *row);
/* Whether it is such a file, by its first bytes. */
int rows_file_is(const struct file_map *m);
enum rs_status rows_file_is_at(const char *path, int *out);
/* What rows of a hashed table that are in no entry begin as. */
struct row_start rows_file_start(const struct rows_file_header *h);
/* Whether a hashed table of so many rows, of which n have entries, is to be in a file of rows by
 * id: it has half the bytes at most.  Where a row is, is found faster in a file of all rows. */
int rows_file_suits(const struct rows_file_shape *s, uint64_t n, uint64_t rows);
/* Rows of a hashed table that have entries. */
uint64_t rows_file_count(const struct table *t);
/* A table, whole; its weights in another storage if it has no slots. */
enum rs_status rows_file_write(const struct table *t, enum row_storage storage,
	struct file_writer *w);
/* Files without slots, or of another optimizer, leave the slots at their start and set
 * state_anew.  RS_EDATA: not such files; the table is then as it was. */
enum rs_status rows_file_read(struct table *t, const char *const *path, size_t n_paths);

#endif
