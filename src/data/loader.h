/*
 * The loader: files in, batches out, parsed ahead by its own threads.
 *
 * With shuffle, files are indexed once into row groups; groups are permuted by
 * (seed, epoch), then the rows of each window of groups.  The order of rows is a
 * pure function of (files, spec, seed, epoch): threads, timing and resuming do
 * not change it.  A batch is borrowed until the next loader_next() call of the
 * same consumer; loader_position() is the place after the batch last returned.
 * Every epoch ends with a batch whose `last` is set; no row is left over.  A
 * sampler adds candidates or drawn rows, which batch_size does not count.
 */
#ifndef DATA_LOADER_H
#define DATA_LOADER_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/batch.h"
#include "data/parser.h"

struct sampler;

/* What is done with the directory data.cache, which changes nothing but the time it takes. */
enum loader_cache {
	LOADER_CACHE_NONE,                 /* nothing                                 */
	LOADER_CACHE_USE,                  /* rows come from there if they are there  */
	LOADER_CACHE_MAKE,                 /* and files that have none get one        */
	LOADER_CACHE_MAKE_ANEW             /* every file gets one, whatever is there  */
};

struct loader_options {
	const struct schema *schema;
	const struct text_list *files;     /* patterns; ignored when command is given */
	const char *command;
	enum parser_purpose purpose;
	size_t   batch_size;
	int      shuffle;                  /* needs seekable files                    */
	uint64_t seed;
	uint64_t epochs;
	size_t   n_threads;                /* parsers; 0 = auto                       */
	struct sampler *sampler;           /* borrowed, used by one thread; NULL none */
	int      may_be_empty;             /* no rows: an epoch is a batch of none */
	enum loader_cache cache;
	const volatile int *stop_signal;   /* set by a handler: nothing is waited for; or NULL */
};

struct loader_position {
	uint64_t epoch, window, row;       /* row: good rows of the window consumed   */
	uint64_t rows;                     /* good rows of the epoch consumed         */
	uint64_t identity;                 /* hash of names, sizes and contents       */
};

/* One input file with its counts, for the ledger. */
struct loader_file {
	const char *path;
	uint64_t size;                     /* decompressed bytes                      */
	uint64_t content_hash;
	struct parser_tally tally;         /* of the first epoch                      */
};

struct loader;

/* How many parsers loader_options.n_threads stands for, and how many batches are ready at
 * most. */
size_t loader_parsers(size_t n_threads);
size_t loader_ring(size_t batch_size);
/* Bytes of a row that waits to be shuffled, but for its lists. */
size_t loader_row_bytes(const struct schema *schema);

/* RS_EDATA: the first of the files and those behind it have no rows, or bad ones only. */
enum rs_status loader_no_rows(const char *first, size_t n_files, int has_bad);
/* Expands the files and, where needed, indexes them.  No rows: RS_EDATA. */
enum rs_status loader_open(const struct loader_options *options, struct loader **out);
void loader_close(struct loader *loader);

/* NULL in *batch: all epochs are done.  Blocks for the readers; *wait_s, if not
 * NULL, gets the seconds spent waiting.  RS_ESIGNAL: *stop_signal is set and no batch has come;
 * the position stays. */
enum rs_status loader_next(struct loader *loader, const struct batch **batch, double *wait_s);
void loader_position(const struct loader *loader, struct loader_position *out);
/* Before the first loader_next(): go on from there; RS_EDATA if the input is not
 * the one the position was taken on. */
enum rs_status loader_resume(struct loader *loader, const struct loader_position *position);

/* After loader_resume(): the counts of the n files as they were at the position; without
 * them those of the rest of its epoch are given.  Ignored when there are not n files. */
void loader_resume_counts(struct loader *loader, const struct parser_tally *file, size_t n);

/* From the first batch to the last, take() by take(), until one sets *done.  tally, NULL or what
 * was counted. */
enum rs_status loader_each(const struct loader_options *options,
	enum rs_status (*take)(void *context, const struct batch *batch, int *done), void *context,
	struct parser_tally *tally);

/* Rows in one epoch when the index knows, else 0. */
uint64_t loader_rows(const struct loader *loader);
/* Totals over the batches returned so far. */
void loader_tally(const struct loader *loader, struct parser_tally *out);
size_t loader_n_files(const struct loader *loader);
const struct loader_file *loader_file(const struct loader *loader, size_t i);

#endif
