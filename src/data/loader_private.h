/*
 * Inside the loader.  Parser threads take spans of text from the plan, one after
 * the other, and parse them into their slot; the window thread joins the slots in
 * the order of the plan into windows and deals the rows of a window into output
 * batches; the consumer takes these.
 *
 *     plan -> slot (text, rows) -> window (rows, order) -> output (batch) -> consumer
 *
 * Memory: n_slots times (a row group of text and its rows), two windows of rows,
 * n_output batches, 4 MiB of the gzip file that is read in order, 64 MiB of access
 * points when gzip files are indexed.  All of it is kept and used again.
 */
#ifndef DATA_LOADER_PRIVATE_H
#define DATA_LOADER_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "base/memory.h"
#include "base/rng.h"
#include "data/batch_rows.h"
#include "data/content_hash.h"
#include "data/loader.h"
#include "data/source.h"

/* Reads a file as spans of whole rows of about group_bytes (loader_span.c). */
struct loader_reader {
	const struct schema *schema;
	struct source *source;
	struct buffer text;        /* [begin, text.n) not yet given                   */
	size_t   begin;
	size_t   group_bytes, max_line;
	uint64_t offset, line;     /* of text[begin]                                  */
	int      at_end;
	uint64_t drop;             /* bytes of a row that was too long, or UINT64_MAX:
	                              up to the next newline                          */
	struct content_hash content;       /* of the bytes read                       */
};

#define LOADER_OPEN_FILES 8            /* of one thread                               */

struct loader_group {
	uint64_t offset, line;
	uint64_t hash;                     /* of the text, where the file may grow        */
	size_t   size;
	size_t   file;
	size_t   number;                   /* of the groups of the cache, if there is one */
};

struct loader_input {
	struct loader_file file;
	struct parser_layout *layout;      /* NULL until the file was looked at       */
	int      layout_borrowed;          /* of input 0                              */
	size_t   skip, skip_lines;         /* bytes and lines before the first row    */
	struct source_index *index;
	struct timespec modified;
	uint64_t stored_size, inode;
	int      once;                     /* a pipe                                  */
	struct cache *cache;               /* NULL: rows come from the text           */
	int      may_grow;                 /* ranges with an end: what follows may change */
	uint64_t header;                   /* bytes that another range of the file has, too */
};

struct loader_index {
	struct loader_group *group;        /* [n] in file order                       */
	size_t   n, capacity;
	uint64_t rows, identity;
};

/* Where the next span comes from (loader_plan.c). */
struct loader_plan {
	uint64_t epoch, window;
	int      finished;
	size_t   next;             /* index: place in the permuted order              */
	size_t   window_bytes;
	size_t   file;             /* stream                                          */
	int      open;
	size_t   cached;           /* groups of the file that its cache gave          */
	struct loader_reader reader;
	uint64_t identity;         /* hash of the spans of this epoch                 */
	int      pending;          /* the span of `window` is read already (resumed)  */
	struct loader_group pending_group;
	const char *pending_text;
};

enum loader_mark { LOADER_ROWS, LOADER_FILE_END, LOADER_EPOCH_END, LOADER_END };

struct loader_slot {
	enum loader_mark mark;
	uint64_t epoch, window, identity;
	int      last_of_window, last_of_epoch;
	struct loader_group group;
	struct buffer text;
	struct batch batch;
	struct batch_rows packed;          /* of the batch, when rows are shuffled    */
	struct batch_view view;            /* in text, of a cache, instead            */
	int      has_view;
	struct parser_tally tally;
	struct parser_warnings warnings;
	uint64_t file_size, file_hash;     /* LOADER_FILE_END                         */
	enum rs_status status;
	struct rs_failure failure;
	int      done;             /* under loader.lock                               */
};

/* What a batch or a window adds to the counts of one file. */
struct loader_delta {
	size_t   file, first_row;
	struct parser_tally tally;
	int      has_size;
	uint64_t size, hash;
};

struct loader_deltas {
	struct loader_delta *item;         /* [n]                                     */
	size_t n, capacity;
};

struct loader_window {
	struct batch rows;         /* shuffled: columns with an offset alone          */
	struct batch_rows packed;  /* shuffled: all else of them                      */
	uint64_t epoch, number, identity;
	size_t   row;              /* dealt so far                                    */
	int      complete, started, last_of_epoch, end;
	struct loader_deltas part; /* one a slot, first_row ascending                 */
	enum rs_status status;
	struct rs_failure failure;
};

struct loader_output {
	struct batch batch;
	struct loader_position position;
	struct loader_deltas delta;
	int      end;
	enum rs_status status;
	struct rs_failure failure;
};

struct loader_worker {
	struct loader *loader;
	pthread_t thread;
	struct parser *parser;
	struct source *source[LOADER_OPEN_FILES];  /* file i at i mod LOADER_OPEN_FILES */
	size_t source_file[LOADER_OPEN_FILES];
};

struct loader {
	struct loader_options options;
	size_t   group_bytes, window_bytes;
	size_t   gzip_group_bytes, gzip_points;    /* of indexed gzip files, a file   */
	struct loader_input *input;        /* [n_inputs]                              */
	size_t   n_inputs;
	int      indexed;
	struct loader_index index;
	struct loader_file *view;          /* [n_inputs] what the consumer sees       */

	pthread_mutex_t plan_lock;
	struct loader_plan plan;

	pthread_mutex_t lock;
	pthread_cond_t  slot_free, work, published_more;
	atomic_int      stop;
	struct loader_slot *slot;          /* [n_slots] ring                          */
	size_t   n_slots;
	uint64_t fed, joined;              /* under lock                              */
	struct loader_worker *worker;      /* [n_workers]                             */
	size_t   n_workers, n_started;
	pthread_t window_thread;
	int      window_started;

	struct loader_window window[2];    /* of the window thread                    */
	struct loader_window *joining, *dealing;
	struct loader_output *filling;
	struct batch spare;                /* of the sampler                          */
	uint32_t *pick;                    /* [pick_capacity]                         */
	size_t   pick_capacity;
	struct rng_permutation order;      /* of the window that is dealt             */
	uint64_t epoch_rows, epoch_skipped;
	size_t   n_warned;                 /* of the window thread, too               */

	struct loader_output *output;      /* [n_outputs] ring                        */
	size_t   n_outputs;
	atomic_uint_fast64_t published, released;
	uint64_t taken;
	struct parser_tally tally;
	struct loader_position position, start;
	uint64_t counted_epoch;            /* whose rows the counts of files are of   */
	int      ended;
};

enum rs_status loader_reader_open(struct loader_reader *r, struct loader *l,
	struct loader_input *input, size_t span);
void loader_reader_close(struct loader_reader *r);
/* The next span: *text of g->size bytes inside the reader; g->size == 0: the end. */
enum rs_status loader_reader_next(struct loader_reader *r, const char **text,
	struct loader_group *g);

/* What is particular to inputs that are ranges.  They may have their first bytes in common
 * if these are the header; the check is for when the layout of the input is known. */
enum rs_status loader_find_ranges(struct loader *l);
enum rs_status loader_check_header(const struct loader_input *input);

enum rs_status loader_index_build(struct loader *l);
enum rs_status loader_index_add(struct loader_index *index, const struct loader_group *g);
void loader_index_free(struct loader_index *index);
enum rs_status loader_changed(const struct loader_input *input);
/* RS_EDATA when the file is not the one that was indexed. */
enum rs_status loader_index_check(const struct loader_input *input);

/* Finds or makes the caches of the inputs (loader_cache.c). */
enum rs_status loader_cache_open(struct loader *l);
void loader_cache_close(struct loader_input *input);
/* Adds the groups of a file that has a cache. */
enum rs_status loader_cache_index(struct loader *l, size_t file);
/* Group g->number of the cache, and the hash of its text; g->size == 0: the end. */
void loader_cache_next(
	const struct loader_input *input, struct loader_group *g, uint64_t *hash);
/* Rows of the slot's group; *done == 0: its text must be read. */
enum rs_status loader_cache_read(const struct loader *l, struct loader_slot *slot, int *done);

/* Fills the slot with the next span; stream: with its text, too. */
enum rs_status loader_plan_next(struct loader *l, struct loader_slot *slot);
enum rs_status loader_plan_resume(struct loader *l, const struct loader_position *p);
void loader_plan_close(struct loader *l);

void *loader_window_run(void *loader);
void loader_window_free(struct loader *l);

#endif
