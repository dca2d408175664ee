/*
 * Whether an id that has no row gets one.
 *
 *	count        when it occurred `count` times: exact counters of the ids that wait
 *	sketch       the same from a count-min sketch (Cormode, Muthukrishnan 2005) with
 *	             conservative update (Estan, Varghese 2002): 4 rows of cells that stop at
 *	             `count`, of 8 bits, or 16 when `count` is above 255
 *	probability  with chance 1 - (1 - p)^n in a step in which it occurs n times
 *
 * Memory has a limit, and what is old must not let in or keep out what is new.  Behind a
 * step a part that holds more than its share of `cells` counters forgets those seen longest
 * ago, down to 95 %.  A part of a sketch halves its cells when it counted more than
 * row cells * count / 2e occurrences: an id never seen before is then let in with a chance
 * below exp(-4), that all its 4 cells are above count / 2 by others (Markov, each row).  A
 * counter that is over (embed/expiry.h) begins at 0.
 *
 * The state is in 64 parts by the top 6 bits of the id, which share nothing: a thread may
 * ask about ids of one part while others ask about other parts.  Inside a part the order of
 * questions is the order of ids; so the state does not depend on threads or shards.
 */
#ifndef EMBED_ADMISSION_H
#define EMBED_ADMISSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/file.h"
#include "base/status.h"
#include "data/schema.h"
#include "embed/evict.h"
#include "embed/expiry.h"

#define ADMISSION_PARTS      64
#define ADMISSION_PART_SHIFT 58
#define ADMISSION_COUNT_MAX  65535

struct admission_settings {
	enum admission_kind kind;
	uint32_t count;            /* 1 .. ADMISSION_COUNT_MAX                       */
	double   probability;      /* p, above 0, up to 1                            */
	uint64_t cells;            /* of a sketch, or counters, of all 64 parts      */
	uint64_t seed;
	uint64_t key;              /* of what draws alike: tables of one field       */
	const char *name;          /* of the table, for its file; up to 127 bytes    */
	struct expiry expiry;      /* of counters                                    */
	size_t   part_begin, part_end;     /* parts that are here; part_end 0: all   */
};

/* An id without a row, once a step and id. */
struct admission_question {
	uint64_t id;
	uint32_t n;                /* times it occurred in this step, at least 1     */
	uint64_t step;
	uint32_t before, now;      /* the clock before and behind this step          */
};

struct admission;

/* The name is copied. */
enum rs_status admission_open(const struct admission_settings *settings, struct admission **out);
void admission_close(struct admission *a);
const char *admission_name(const struct admission *a);
uint64_t admission_bytes(const struct admission *a);
/* Of the cells of a sketch of so many parts; 0: it is none.  They are there from the start. */
uint64_t admission_sketch_bytes(const struct admission_settings *settings, size_t n_parts);
/* Counters there are; 0 for the other kinds. */
uint64_t admission_waiting(const struct admission *a);

static inline size_t
admission_part(uint64_t id)
{
	return (size_t)(id >> ADMISSION_PART_SHIFT);
}

/* An id that is let in leaves the counters. */
enum rs_status admission_ask(struct admission *a, const struct admission_question *q,
	int *admitted);
/* Behind the last question of a step in that part, by the clock behind the step. */
enum rs_status admission_end_step(struct admission *a, size_t part, uint32_t now,
	struct evict_scratch *scratch);

/* all and probability have no state. */
int admission_has_state(const struct admission *a);
/* The parts here, in order, counters that are over at `clock` left out: equal states give
 * equal bytes. */
enum rs_status admission_save(const struct admission *a, uint32_t clock, struct file_writer *w);
/* One after the other, files that together hold every part once; those of parts elsewhere
 * are passed over.  load_begin forgets everything.  A file of another kind, or of a sketch
 * of another size, is passed over: *anew is set and its parts begin empty.  RS_EDATA:
 * damaged, or a part twice; load_end: or missing. */
void admission_load_begin(struct admission *a);
enum rs_status admission_load(struct admission *a, const struct file_map *m, const char *path,
	int *anew);
enum rs_status admission_load_end(struct admission *a);
/* A piece of the state of a part, to be taken elsewhere and back: counters (struct
 * waiting_entry) by id, or cells of a sketch, row after row. */
struct admission_piece {
	size_t   part;
	size_t   first, n;         /* items; get: n at most, then how many           */
	size_t   total;            /* get: that there are                            */
	uint64_t counted;          /* of a sketch                                    */
	void    *item;             /* [n] of admission_item_bytes(); no alignment    */
};
/* 0: it has no state. */
size_t admission_item_bytes(const struct admission *a);
/* Counters that are over at `clock` are left out. */
void admission_get(const struct admission *a, uint32_t clock, struct admission_piece *p);
/* A piece that begins with item 0 empties the part first; another may come twice.  RS_EDATA: no
 * such items can be. */
enum rs_status admission_put(struct admission *a, const struct admission_piece *p);
/* All counters are as if last seen now: they came from a clock that counts otherwise. */
void admission_restamp(struct admission *a, uint32_t now);

#endif
