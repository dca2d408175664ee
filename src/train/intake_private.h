/*
 * Inside intake: the files there are, the files of the ledger, and which is which.
 *
 *     look at all files (stat) -> those that look as they did are known at once
 *     the others: by inode, by name, by their first bytes; then by what was trained of them
 *     what no entry covers -> parts by period -> periods that are due
 */
#ifndef TRAIN_INTAKE_PRIVATE_H
#define TRAIN_INTAKE_PRIVATE_H

#include "data/schema.h"
#include "train/intake.h"

#define INTAKE_NONE      ((size_t)-1)
#define INTAKE_RANGES    ((size_t)65536)       /* of a file in a period               */
#define INTAKE_EMPTY     ((size_t)65536)       /* periods told to be empty            */

/* From numbers to the values that were added with them, the last added first. */
struct intake_map {
	size_t   *first, *next;    /* [mask + 1], [capacity]                          */
	uint64_t *key;             /* [capacity] of a value                           */
	size_t    mask;
};

enum rs_status intake_map_init(struct intake_map *m, size_t capacity);
void intake_map_free(struct intake_map *m);
/* value < capacity, each once. */
void intake_map_add(struct intake_map *m, uint64_t key, size_t value);
size_t intake_map_find(const struct intake_map *m, uint64_t key);      /* INTAKE_NONE     */
size_t intake_map_next(const struct intake_map *m, size_t value);      /* of the same key */

struct intake_file;

/* A file of the ledger: entries first, next[first], ... last. */
struct intake_known {
	size_t first, last;
	struct intake_file *home;  /* the file that it is now; NULL: gone             */
};

struct intake_past {
	const struct ledger *ledger;
	size_t *next;              /* [ledger->n]                                     */
	struct intake_known *known;        /* [n]                                     */
	size_t  n;
	struct intake_map by_inode, by_path, by_head;
	uint32_t *head_bytes;      /* [n_heads] lengths of heads there are, ascending */
	size_t   n_heads;
	uint64_t last_file;
};

enum rs_status intake_past_make(const struct ledger *ledger, struct intake_past *out);
void intake_past_free(struct intake_past *past);
const struct ledger_entry *intake_past_latest(const struct intake_past *past,
	const struct intake_known *known);
uint64_t intake_past_key_path(const char *path);
uint64_t intake_past_key_head(uint32_t bytes, uint32_t head);
/* Bytes that some entry has, ascending; RANGE_END: all that may come. */
enum rs_status intake_past_cover(const struct intake_past *past,
	const struct intake_known *known, struct range_list *out);
/* The newest period of an entry. */
int64_t intake_past_period(const struct intake_past *past, const struct intake_known *known);

/* Rows of a file that are new and of one period. */
struct intake_part {
	int64_t  period;
	struct range_list ranges;  /* without the header; none: the whole file        */
	uint64_t rows;             /* known when taken by rows                        */
};

struct intake_odd {                /* rows without a time                             */
	uint64_t n, offset;        /* of the first                                    */
	char shown[72];
};

/* A file of the ledger that begins alike, and how far its trained bytes are here; 0: they
 * are not. */
struct intake_candidate { size_t known; uint64_t end; };

struct intake_file {
	char    *path;             /* as data.train names it                          */
	char    *real;             /* absolute, for the ledger                        */
	uint64_t size, inode, device;
	int64_t  modified_ns;
	int      quiet;            /* looks as an entry says                          */
	int      young;            /* changed less than incremental.wait ago          */
	int      waits;            /* not looked at this time                         */
	int64_t  period;           /* by its name                                     */

	int      looked, gzip;
	uint64_t text;             /* decompressed bytes; 0: not known                */
	uint32_t head, head_bytes;
	struct intake_candidate *candidate;        /* [n_candidates]                  */
	size_t   n_candidates, candidate_capacity;
	int      has_hash;
	uint64_t hash;             /* of all of it                                    */

	struct intake_known *known;        /* that it goes on                         */
	struct intake_file *original;      /* that has all its bytes                  */
	struct intake_file *shared;        /* that has those that are covered,        */
	uint64_t shared_end;       /* up to here                                      */
	const char *was;           /* the name that its bytes have or had, borrowed   */
	int      copied;           /* covered are bytes of another file               */
	int      replaced;
	const struct intake_known *former; /* what it has replaced                    */
	struct range_list covered;
	uint64_t number;           /* of its entries                                  */

	size_t   skip, lines;      /* before the first row; of rows                   */
	int      has_skip;
	struct intake_part *part;  /* [n_parts] by period                             */
	size_t   n_parts, part_capacity, last_part;
	int64_t  first_period, newest;     /* of the first and the last row           */
	struct intake_odd odd;
	int      unfinished;       /* the last line has no end                        */
	uint64_t unfinished_at;    /* where it begins                                 */
};

struct intake_work {
	const struct intake_options *options;
	const struct settings *settings;
	int      by_rows;
	int64_t  period, wait, now, mark;
	struct intake_past past;
	struct intake_file *file;  /* [n] by path                                     */
	size_t   n;
	struct schema schema;
	int      has_schema;
	int64_t *due;              /* [n_due] begins                                  */
	size_t   n_due;
	int64_t  waiting;
	struct intake *out;
	size_t   notice_capacity;
};

/* --- time -------------------------------------------------------------------- */

int64_t intake_floor(int64_t t, int64_t period);
enum rs_status intake_pattern_check(const char *pattern);
enum rs_status intake_ready_check(const char *pattern);
int intake_pattern_match(const char *pattern, const char *path, int64_t *out);

/* --- files ------------------------------------------------------------------- */

enum rs_status intake_find_files(struct intake_work *w);
void intake_file_free(struct intake_file *f);
/* First bytes, gzip, candidates. */
enum rs_status intake_look(struct intake_work *w, struct intake_file *f);
/* CRC32C of the first n bytes, n <= LEDGER_HEAD. */
enum rs_status intake_head(struct intake_file *f, size_t n, uint32_t *head);
enum rs_status intake_schema(struct intake_work *w);
/* The header: f->skip.  *has_rows: there is something behind it. */
enum rs_status intake_header(struct intake_work *w, struct intake_file *f, int *has_rows);
/* What no entry covers, from f->skip to f->text or, when that is 0, to the end. */
enum rs_status intake_gaps(const struct intake_file *f, struct range_list *out);
int intake_is_covered(const struct intake_file *f);
/* Are all bytes of the file, that it shares with another, that one's and done with? */
int intake_may_go_on(const struct intake_file *f);

/* Hash of ranges, or with n 0 of the bytes up to `limit`. */
struct intake_digest {
	const struct range_list *ranges;
	uint64_t limit;
	uint64_t hash;
	int      whole;            /* all these bytes are there                       */
};
/* In one pass; text, when not NULL, gets the size of the file. */
enum rs_status intake_digest(const char *path, struct intake_digest *digest, size_t n,
	uint64_t *text);

/* New files that are a beginning of another, in w->file. */
enum rs_status intake_match_beginnings(struct intake_work *w);
/* Are the first bytes of a file, all of `f`, the same in g? */
enum rs_status intake_begins_with(struct intake_file *g, struct intake_file *f, int *same);
/* Which file is which: those for which `wanted` is true. */
enum rs_status intake_match(struct intake_work *w, int (*wanted)(const struct intake_file *));
/* Parts of a file by the times of its rows. */
enum rs_status intake_read_rows(struct intake_work *w, struct intake_file *f);
enum rs_status intake_part_add(struct intake_file *f, int64_t period, uint64_t begin,
	uint64_t end, uint64_t rows);

/* Parts of files whose names tell the time. */
enum rs_status intake_take_named(struct intake_work *w);
/* Parts of files by their rows. */
enum rs_status intake_take_rows(struct intake_work *w);
/* f->text and f->hash. */
enum rs_status intake_hash_all(struct intake_file *f);
/* f->text. */
enum rs_status intake_size(struct intake_file *f);

/* --- periods ----------------------------------------------------------------- */

/* What becomes of a part. */
enum intake_fate { INTAKE_LEFT, INTAKE_DUE, INTAKE_LATE, INTAKE_SKIPPED, INTAKE_REPLACED };
enum intake_fate intake_fate_of(const struct intake_work *w, const struct intake_file *f,
	const struct intake_part *part);
int intake_is_late(const struct intake_work *w, int64_t period);
int intake_is_wanted(const struct intake_work *w, int64_t period);
enum rs_status intake_find_due(struct intake_work *w);
enum rs_status intake_find_due_rows(struct intake_work *w);
/* Periods with their parts and entries, and what there is to tell. */
enum rs_status intake_make_periods(struct intake_work *w);
/* Index of the due period with which nothing of the first bytes of the file, up to `end`, is
 * left to be trained; INTAKE_NONE: something stays. */
size_t intake_done_with(const struct intake_work *w, const struct intake_file *f, uint64_t end);
/* An entry for ranges of rows, NULL: the whole file. */
enum rs_status intake_entry(const struct intake_file *f, enum ledger_use use, int64_t period,
	const struct range_list *rows, struct ledger_entry *out);
/* Entries of what is never trained; extra [n_due]. */
enum rs_status intake_extra_entries(struct intake_work *w, struct ledger *extra);
enum rs_status intake_tell(struct intake_work *w);
/* Where the rows that are held out begin: RANGE_END, none are. */
enum rs_status intake_cut(struct intake_work *w, const struct intake_file *f,
	const struct range_list *rows, uint64_t *cut);
enum rs_status intake_count(struct intake_work *w, const struct intake_file *f,
	const struct range_list *rows, uint64_t *n);
enum rs_status intake_notice(struct intake_work *w, enum ledger_use use, const char *path,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

#endif
