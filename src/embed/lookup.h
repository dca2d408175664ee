/*
 * Where embedding rows live: one struct of functions, chosen once.
 *
 * In a step every slot pulls its rows, then pushes the gradients of the same
 * occurrences, in any thread; all threads then call commit, which shares the work
 * among them and returns when this thread's part is done (the caller places a
 * barrier before and after).  Pulled rows stay valid and unchanged until commit.
 * Occurrences of a row are summed in order inside a slot, slots over the fixed
 * binary tree of slots, L2 once a row, the row optimizer once a row; so the
 * result does not depend on threads or arrival.  commit with finite == 0 drops
 * the step.
 *
 * A lookup whose rows are elsewhere has fetch: before the first pull of a step all
 * threads call it (a barrier before and after) with every occurrence that this process
 * will pull until commit, cut into pieces; a pull or push then has the ids of a use that
 * are in one piece, and in a step each of those is pushed.
 */
#ifndef EMBED_LOOKUP_H
#define EMBED_LOOKUP_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "kernel/kernel_table.h"
#include "data/schema.h"

struct stage;

/* What comes and goes in an exact table (embed/tenancy.h); zeros: every row stays. */
struct lookup_tenancy {
	enum admission_kind admit;
	uint32_t admit_count;
	double   admit_probability;
	uint64_t admit_cells;
	uint64_t key;               /* tables of one field draw alike                 */
	uint64_t expire_after, expire_steps;    /* seconds of data time; steps        */
	uint64_t segment_rows;      /* the most of a segment of 64; 0: no limit       */
	enum evict_kind evict;
};

/* What came and went since the lookup was opened. */
struct lookup_tenants {
	uint64_t rows;              /* there are now                                  */
	uint64_t admitted;          /* ids that got a row                             */
	uint64_t waiting;           /* times that the filter told an id to wait       */
	uint64_t refused;           /* times that there was no room for a new row     */
	uint64_t evicted, expired;  /* rows                                           */
	uint32_t clock;             /* minutes of data time, 0: no row had one; steps */
};

/* The counts of a part to those of others; neither rows nor the clock. */
static inline void
lookup_tenants_add(struct lookup_tenants *sum, const struct lookup_tenants *n)
{
	sum->admitted += n->admitted;
	sum->waiting += n->waiting;
	sum->refused += n->refused;
	sum->evicted += n->evicted;
	sum->expired += n->expired;
}

/* A table as the lookup knows it; made by train/ from schema and graph. */
struct lookup_table {
	char     name[128];         /* "C1", "C1.linear"                              */
	enum table_kind kind;       /* exact: rows come when they are trained (embed/exact.h) */
	uint64_t rows;              /* ids are below; hashed: buckets + 1             */
	size_t   rounds;            /* rows that an occurrence has (embed/stacked.h); 0, 1: one */
	int      scales_rounds;     /* their sum is divided by the root of their number */
	uint64_t expected;          /* rows that there will be, for plans of memory   */
	size_t   dim;
	enum row_storage storage;   /* of the weights (embed/row.h)                   */
	struct row_optimizer_settings optimizer;
	double   init_stddev;
	uint64_t seed;              /* row init is a pure function of (seed, name, key, column) */
	struct lookup_tenancy tenancy;
	size_t   twins;             /* tables of the same number have the same rows and ids */
	uint64_t resident;          /* hashed: bytes that rows take in memory, the others are in a
	                             * file (embed/spill.h); 0, or room for all: none is */
	const char *spill;          /* the directory of the file; NULL: SPILL_DEFAULT; borrowed */
	uint64_t begin, end;        /* rows that are here; end 0: all.  Ids stay those of the
	                             * whole table everywhere */
};

/* All occurrences that one input of one batch has in this process. */
struct lookup_use {
	size_t table;
	const uint64_t *ids;        /* [n] borrowed until commit, or the next fetch   */
	size_t n;
	size_t *piece;              /* [n_pieces + 1] of n, where each begins; borrowed alike */
};

struct lookup_fetch {
	const struct lookup_use *use;   /* [n_uses]                                   */
	size_t n_uses, n_pieces;    /* the same slots, or chunks, of all uses, in order */
	const size_t *place;        /* [n_pieces] of the GPU that looks at it (kernel/gpu.h) */
	uint64_t step;              /* that will be committed next, from 1; 0: no step */
	int    training;            /* 0: never marks rows as touched, counts none     */
	size_t worker, n_workers;
};

/* n occurrences of one table in one slot. */
struct lookup_pull {
	size_t slot, table, input;  /* input: number of the use, < n_inputs           */
	const uint64_t *ids;        /* [n] borrowed until commit                      */
	size_t n;
	const float **row;          /* [n] out                                        */
	int    training;            /* 0: never marks rows as touched                 */
	struct stage *stage;        /* of one slot, where rows are copied that cannot be pointed
	                             * at; NULL: the lookup's, in which a slot has one thread */
};

struct lookup_push {
	size_t slot, table, input;
	const uint64_t *ids;        /* [n] borrowed until commit                      */
	size_t n;
	const float *const *grad;   /* [n] borrowed until commit                      */
	const float *scale;         /* [n] or NULL, borrowed until commit             */
	const uint32_t *count;      /* [n] occurrences that were summed; NULL: 1 each; borrowed */
};

struct lookup_commit {
	uint64_t step;              /* from 1                                         */
	int      finite;
	int64_t  newest;            /* time of the newest row of the global batch, seconds since
	                             * 1970; 0: not known                             */
	double   rate_factor;       /* schedule: rate / base rate of this step        */
	double   decay;             /* behind the step sums of squares of adagrad and
	                             * rowwise_adagrad are multiplied by it, but not below
	                             * where they start; 0: in this step they are not */
	size_t   worker, n_workers;
};

/* From which version of a model to which one a delta leads. */
struct lookup_step { uint64_t version, parent; };

struct lookup;
struct lookup_ops {
	const char *name;           /* "local"                                        */
	/* NULL: rows are at hand.  Like commit, work is shared among the threads. */
	enum rs_status (*fetch)(struct lookup *l, const struct lookup_fetch *f);
	enum rs_status (*pull)(struct lookup *l, const struct lookup_pull *p);
	enum rs_status (*push)(struct lookup *l, const struct lookup_push *p);
	enum rs_status (*commit)(struct lookup *l, const struct lookup_commit *c);
	/* One table's file, complete and in a fixed order (embed/table_file.h).  save, load
	 * and reset_state: one thread, no step under way; of a lookup shared by several
	 * processes one calls, the others wait. */
	enum rs_status (*save)(struct lookup *l, size_t table, struct file_writer *w);
	/* How many threads may be in save at once, of different tables; NULL: one. */
	size_t (*savers)(const struct lookup *l);
	enum rs_status (*load)(
		struct lookup *l, size_t table, const char *const *path, size_t n_paths);
	/* Of an exact table: what its filter knows, and the clock, to a file and back, beside
	 * save and load; n_paths 0: there was no such file.  NULL: every row stays here. */
	enum rs_status (*save_tenancy)(struct lookup *l, size_t table, struct file_writer *w);
	enum rs_status (*load_tenancy)(
		struct lookup *l, size_t table, const char *const *path, size_t n_paths);
	/* One thread, no step under way. */
	enum rs_status (*tenants)(
		struct lookup *l, size_t table, struct lookup_tenants *out);
	/* Deltas (embed/rows_delta.h), as save and load.  knows_changes: 1 when it knows what
	 * changed of a table since forget_changes, so that save_delta can write it, at once;
	 * rows that are over go.  load_delta follows load, or the step before.  After load,
	 * and load_delta, nothing counts as changed.  NULL, all: whole tables are saved. */
	int  (*knows_changes)(struct lookup *l, size_t table);
	enum rs_status (*save_delta)(struct lookup *l, size_t table,
		const struct lookup_step *step, struct file_writer *w);
	enum rs_status (*load_delta)(struct lookup *l, size_t table,
		const struct lookup_step *step, const char *path);
	void (*forget_changes)(struct lookup *l);
	/* What this process holds back of its pushes until the next one of the row, to a file
	 * and back; files of several processes behind each other are one, of which each takes
	 * its own.  NULL: nothing is held back. */
	enum rs_status (*save_rest)(struct lookup *l, struct file_writer *w);
	enum rs_status (*load_rest)(struct lookup *l, const char *path);
	/* The optimizer slots of every row go back to their start; weights stay. */
	void (*reset_state)(struct lookup *l, size_t table);
	/* 1 when the row was touched by training (eval's unseen count). */
	int  (*touched)(const struct lookup *l, size_t table, uint64_t id);
	uint64_t (*bytes)(const struct lookup *l);
	void (*close)(struct lookup *l);
};

struct lookup { const struct lookup_ops *ops; };

/* Whether save_tenancy has something to save. */
static inline int
lookup_has_tenancy(const struct lookup_table *t)
{
	const struct lookup_tenancy *n = &t->tenancy;

	return t->kind == TABLE_EXACT
	    && (n->admit != ADMISSION_ALL || n->expire_after > 0 || n->expire_steps > 0);
}

/* Whether rows come or go by more than the steps that have their ids. */
static inline int
lookup_has_rules(const struct lookup_table *t)
{
	return lookup_has_tenancy(t) || (t->kind == TABLE_EXACT && t->tenancy.segment_rows > 0);
}

/* The rows of every table in this process.  n_slots, n_inputs and n_max (largest
 * number of occurrences of one input in one slot, grown when exceeded) size the
 * staging area. */
struct lookup_local_options {
	const struct kernel_set *kernel;
	const struct lookup_table *table;
	size_t n_tables, n_slots, n_inputs, n_threads;
	int    for_training;        /* 0: weights only, no optimizer slots            */
	int    keeps_changes;       /* for deltas                                     */
};
enum rs_status lookup_local_open(const struct lookup_local_options *options, struct lookup **out);

/* Whole rows of a lookup_local, to be taken elsewhere: ids [begin,begin+n) of a hashed table. */
struct lookup_rows {
	size_t   table;
	uint64_t begin;
	size_t   n;
	float   *weights;           /* [n,dim]                                        */
	float   *slots;             /* [n,n_slot]; put: NULL: they go to their start  */
	uint8_t *touched;           /* [n] 0 or 1                                     */
};
/* The ids that an exact table has rows of, in order, id NULL: only how many; hashed: 0. */
uint64_t lookup_local_ids(const struct lookup *l, size_t table, uint64_t *id);
size_t lookup_local_slots(const struct lookup *l, size_t table);      /* n_slot         */
/* RS_EDATA: the rows are not all here.  put: like load(). */
enum rs_status lookup_local_get(const struct lookup *l, const struct lookup_rows *r);
enum rs_status lookup_local_put(struct lookup *l, const struct lookup_rows *r);
/* Entries of a hashed table in a file of rows by id (embed/rows_file.h), and that file, which
 * borrows the table (embed/rows_pieces.h). */
uint64_t lookup_local_count_rows(const struct lookup *l, size_t table);
struct rows_pieces;
enum rs_status lookup_local_open_pieces(const struct lookup *l, size_t table,
	struct rows_pieces *p);
/* As save(), weights in some storage: of a lookup that is not for training. */
enum rs_status lookup_local_pack(struct lookup *l, size_t table, enum row_storage storage,
	struct file_writer *w);
/* What makes a table of `to` of the same table of `from` (embed/rows_delta.h); both local. */
enum rs_status lookup_local_between(const struct lookup *from, const struct lookup *to,
	size_t table, const struct lookup_step *step, struct file_writer *w);

/* All entries of an exact table of a lookup_local that have ids in [begin,end), as they lie in
 * it and in its files (embed/exact.h, embed/rows_file.h). */
struct lookup_entries {
	size_t   table;
	uint64_t begin, end;        /* get: end comes down when there are more than n */
	size_t   n;                 /* get: at most; then how many                    */
	void    *entry;             /* [n] of lookup_local_entry_bytes(), at multiples of 8 */
	uint64_t n_segment;         /* in the segment of the last one, when all are there;
	                             * put: room is made for them                     */
	uint64_t n_table;           /* get: that are here                             */
};
size_t lookup_local_entry_bytes(const struct lookup *l, size_t table);
/* As ops->forget_changes, of one table; after rows were put all of it counts as changed. */
void lookup_local_forget(struct lookup *l, size_t table);
/* Rows of an exact table that are over go (embed/expiry.h). */
void lookup_local_sweep(struct lookup *l, size_t table);
/* RS_EDATA: the ids are not all here, or not in order.  put: what was in [begin,end) goes. */
enum rs_status lookup_local_get_entries(const struct lookup *l, struct lookup_entries *e);
enum rs_status lookup_local_put_entries(struct lookup *l, const struct lookup_entries *e);

/* What a segment of an exact table of a lookup_local has besides its rows: the clock, what came
 * and went, and a piece of what its filter knows (embed/admission.h).  Rows and all pieces of
 * a segment, taken between the same two steps, are all that what comes later depends on. */
struct lookup_waiting {
	size_t   table;
	unsigned segment;           /* get: EXACT_SEGMENTS: all here, no items        */
	size_t   first, n;          /* items; get: n at most, then how many           */
	size_t   total;             /* get: that there are                            */
	uint64_t counted;           /* of a sketch                                    */
	uint32_t unit, clock;       /* enum expiry_unit                               */
	struct lookup_tenants tally;
	int      has_tally;         /* put: tally replaces what was counted here      */
	void    *item;              /* [n] of lookup_local_item_bytes()               */
};
/* 0: there is no such filter. */
size_t lookup_local_item_bytes(const struct lookup *l, size_t table);
/* RS_EDATA: the segment is not here, or has no such items.  put: the first piece, from item 0
 * on, makes all former items go. */
enum rs_status lookup_local_get_waiting(const struct lookup *l, struct lookup_waiting *w);
enum rs_status lookup_local_put_waiting(struct lookup *l, const struct lookup_waiting *w);

#endif
