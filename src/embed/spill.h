/*
 * Rows of a hashed table that is larger than memory: [embedding] resident, spill.
 *
 * A part of the rows is in memory, the others are in a file that has no name, so that nothing
 * is left of a process that was killed.  A row that was never given back as changed is in
 * neither: it is computed.  A row gets a place in the file when it first leaves memory, one
 * behind the other, so the file is as large as the rows that were trained, not as the table,
 * and rows of one time share pages.
 *
 * Rows are cut into sets of consecutive ids; a set has SPILL_WAYS rows in memory, and when it
 * needs another place gives up one that was not used since the clock came by last.  What is in
 * memory is thus bounded by construction: resident_bytes for rows and heads of sets, and 4 bytes
 * a row of the table for places.  Pages of the file that the kernel keeps are no memory of the
 * process; a control group counts them, and takes them back when it is full.
 *
 * The file is read and written by pread and pwrite, and its room is taken before it is needed
 * where the file system can do so: a full disk and a broken one are RS_EIO, not a signal.
 *
 * Any number of threads.  A row that was taken is the thread's alone, with all its set, until
 * it is given back: a thread has one at most.
 */
#ifndef EMBED_SPILL_H
#define EMBED_SPILL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define SPILL_WAYS     32u         /* rows of a set in memory                         */
#define SPILL_SET_ROWS 65535u      /* of the table, at most                           */
#define SPILL_DEFAULT  "/var/tmp"  /* a directory for what is large, where none is named */

struct spill_settings {
	const char *directory;     /* NULL: SPILL_DEFAULT; borrowed for the call      */
	const char *name;          /* of the table; borrowed                          */
	uint64_t n_rows;
	size_t   row_bytes;
	uint64_t resident_bytes;   /* no less than spill_least()                      */
	/* What a row is that nobody changed. */
	void   (*start)(const void *context, uint64_t i, float *row);
	const void *context;
};

enum spill_how {
	SPILL_KNOWN = 1,           /* only if it was ever changed                     */
	SPILL_SOON = 2,            /* only if it need not wait for the disk, which then reads */
	SPILL_OVER = 4,            /* all of it is going to be written, no matter what it is */
};

struct spill_row {
	float *row;                /* NULL: not taken, nothing to give back           */
	int    is_late;            /* because of SPILL_SOON                           */
};

struct spill;

enum rs_status spill_open(const struct spill_settings *settings, struct spill **out);
void spill_close(struct spill *s);     /* NULL: none */
/* The least that resident_bytes can be. */
uint64_t spill_least(uint64_t n_rows, size_t row_bytes);
/* Rows in memory at most, of those bytes; and what it takes of memory in all. */
uint64_t spill_resident_rows(uint64_t n_rows, size_t row_bytes, uint64_t resident_bytes);
uint64_t spill_memory(uint64_t n_rows, size_t row_bytes, uint64_t resident_bytes);

enum rs_status spill_take(struct spill *s, uint64_t i, unsigned how, struct spill_row *out);
void spill_give(struct spill *s, uint64_t i, int is_changed);
/* A copy; what is in memory stays so. */
enum rs_status spill_copy(struct spill *s, uint64_t i, float *row);
/* It will be copied soon: the disk may begin. */
void spill_expect(struct spill *s, uint64_t i);
void spill_prefetch(const struct spill *s, uint64_t i);
/* No row was ever changed.  One thread. */
void spill_clear(struct spill *s);
/* RS_EIO: something that was written did not reach the disk. */
enum rs_status spill_check(const struct spill *s);
/* Of memory; of the file. */
uint64_t spill_bytes(const struct spill *s);
uint64_t spill_file_bytes(const struct spill *s);

#endif
