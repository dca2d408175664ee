/*
 * Who lives in an exact table: ids that come (embed/admission.h), rows that are over
 * (embed/expiry.h), rows that go because there is room for fewer (embed/evict.h).
 *
 * All of it happens in commit, segment by segment, each of one thread:
 *
 *	tenancy_begin(); for every id of the step, in order, tenancy_reach(); tenancy_end()
 *
 * An id without a row asks for one.  If the table has a limit and its segment no room left
 * for new rows in this step, it is refused: in one step they may fill what is free and a
 * twentieth of the limit, so no single step can turn out more than a tenth of the rows.
 * Otherwise the filter is asked; an id that it lets in gets the row it would have begun
 * with, and unless all ids are let in, that step's gradient, which is of zeros, is dropped.
 * Behind the step a segment that had ids in it and has more rows than the limit gives up the
 * first to go until a twentieth is free.  Nothing but the clock is of more than one segment.
 *
 * A row that is over reads as absent.  It is removed where rows are counted and when the
 * table is saved, and what is decided never depends on whether it was: rows that may be over
 * are counted only after those that are were removed.  So all this is a function of what was
 * trained, the same on any number of threads, shards and saves.
 */
#ifndef EMBED_TENANCY_H
#define EMBED_TENANCY_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "embed/admission.h"
#include "embed/evict.h"
#include "embed/exact.h"
#include "embed/expiry.h"
#include "embed/lookup.h"

#define TENANCY_SHARE 20u      /* of the limit: new rows beyond it, and what is then freed */

struct tenancy_segment {
	_Alignas(64) uint64_t start;   /* rows that were there when the step began   */
	uint64_t n_new;                /* rows made in the step                      */
	int      counted;              /* start has no rows that were over           */
	int      reached;              /* ids of it were trained in the step         */
	struct lookup_tenants tally;
};

struct tenancy {
	struct exact *exact;           /* borrowed                                   */
	struct admission *admission;   /* NULL: all ids                              */
	struct expiry expiry;
	uint64_t most;                 /* rows of a segment; 0: no limit             */
	enum evict_kind evict;
	enum expiry_unit last_unit;    /* of rows and counters, until the next step  */
	uint32_t clock;                /* behind the newest step committed           */
	struct tenancy_segment *segment;       /* [EXACT_SEGMENTS]                   */
};

/* Of one step, the same for all segments. */
struct tenancy_step {
	uint64_t step;
	uint32_t before, now;          /* the clock before and behind it             */
};

/* *entry NULL: no row, nothing is trained.  is_new: the row is to be filled; trains: then the
 * gradient is applied. */
struct tenancy_answer {
	struct exact_entry *entry;
	int is_new, trains;
};

/* The exact table is open.  Not for training: no filter, which has memory of its own. */
enum rs_status tenancy_open(struct tenancy *t, const struct lookup_table *table,
	struct exact *exact, int for_training);
void tenancy_close(struct tenancy *t);
uint64_t tenancy_bytes(const struct tenancy *t);

struct tenancy_step tenancy_step_of(const struct tenancy *t, const struct lookup_commit *c);
void tenancy_begin(struct tenancy *t, unsigned segment);
enum rs_status tenancy_reach(struct tenancy *t, const struct tenancy_step *s, uint64_t id,
	uint32_t n, struct tenancy_answer *out);
enum rs_status tenancy_end(struct tenancy *t, const struct tenancy_step *s, unsigned segment,
	struct evict_scratch *scratch);
/* One thread, when all have committed the step. */
void tenancy_commit(struct tenancy *t, const struct lookup_commit *c);

/* The limit of a segment that has room for n rows in a step, behind which it has fewer. */
static inline uint64_t
tenancy_most(uint64_t n)
{
	return n * TENANCY_SHARE / (TENANCY_SHARE + 1);
}

/* Is this a row for those who read now? */
static inline int
tenancy_has(const struct tenancy *t, const struct exact_entry *entry)
{
	return !expiry_is_over(&t->expiry, entry->last, t->clock);
}

/* Rows that are over are removed; before a table is saved.  One thread, no step under way. */
void tenancy_sweep(struct tenancy *t);
void tenancy_tally(const struct tenancy *t, struct lookup_tenants *out);

/* The clock and the filter, to and from the file beside that of the table; files of parts
 * of the table may come in any order.  n_paths 0: everything begins anew.  Call it when the
 * rows are loaded: if their clock counted otherwise, the next step makes all of them its. */
enum rs_status tenancy_save(const struct tenancy *t, struct file_writer *w);
enum rs_status tenancy_load(struct tenancy *t, const char *const *path, size_t n_paths);
/* The same of one segment, in pieces: see struct lookup_waiting.  get of EXACT_SEGMENTS: of all
 * of them, without items. */
size_t tenancy_item_bytes(const struct tenancy *t);
enum rs_status tenancy_get(const struct tenancy *t, struct lookup_waiting *w);
enum rs_status tenancy_put(struct tenancy *t, const struct lookup_waiting *w);

#endif
