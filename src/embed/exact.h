/*
 * A growing table of rows by 64-bit id: the store behind `table = exact`.
 *
 * Ids are fingerprints, so they are spread evenly.  They are cut by their upper 6 bits into
 * segments, each an array of entries in the order of ids with gaps: an entry's home is its id
 * scaled to the capacity, where two entries fill a cache line rounded down to the first of them,
 * and an entry whose home is taken goes to the right, past smaller ids only.  So a search goes
 * right from the home until an id is not smaller, a sweep is in the order of ids, and growth and
 * removal of many are one pass (linear probing sort, Gonnet and Munro 1984).  A segment is at
 * most 80 % full and grows by a quarter: an entry takes 1.25 to 1.57 times its bytes.
 *
 * Any number of threads find while none changes the table; threads that change it own
 * different segments.  Entries move when others come and go: a pointer is good until then.
 */
#ifndef EMBED_EXACT_H
#define EMBED_EXACT_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#define EXACT_EMPTY         UINT64_MAX       /* no id                                  */
#define EXACT_MISSING       (UINT64_MAX - 1) /* the id of a value that is missing      */
#define EXACT_ROWS          UINT64_MAX       /* ids are below                          */
#define EXACT_SEGMENT_BITS  6
#define EXACT_SEGMENTS      (1u << EXACT_SEGMENT_BITS)
#define EXACT_COUNT_MAX     0x7fffffffu
#define EXACT_MANY          512u             /* at once: what is found is still near   */
#define EXACT_PAIR_BYTES    32u              /* of an entry: two fill a cache line     */

/* The row follows: weights, then slots of the optimizer, as the table lays them out. */
struct exact_entry {
	uint64_t id;
	uint32_t last;              /* when training last had it (embed/expiry.h)     */
	uint32_t count : 31;        /* how often, saturating                          */
	uint32_t changed : 1;       /* since what was last saved                      */
};

struct exact_segment {
	char    *entry;             /* [capacity + tail], the last is always empty    */
	uint64_t capacity;          /* that homes are scaled to                       */
	uint64_t n, end;            /* entries; places in use end before, at most     */
};

/* Ids that went since changes were last forgotten, as they went; some may have come back. */
struct exact_gone {
	uint64_t *id;               /* [n]                                            */
	uint64_t n, capacity;
	int lost;                   /* they were more than the entries, and are not kept */
};

struct exact {
	size_t entry_bytes;
	uint64_t home_mask;         /* of places: even ones if entries are in pairs */
	uint64_t segment_rows;      /* memory is for no more than these; 0: any number */
	int keeps_gone;
	unsigned first, last;       /* its segments: [first,last) of EXACT_SEGMENTS   */
	struct exact_segment segment[EXACT_SEGMENTS];
	struct exact_gone gone[EXACT_SEGMENTS];
};

/* For ids in [begin,end), which are whole segments; end EXACT_ROWS: up to the last.  row_bytes
 * is a multiple of 4.  RS_EBUG: not whole segments. */
enum rs_status exact_open(struct exact *e, uint64_t begin, uint64_t end, size_t row_bytes);
void exact_close(struct exact *e);

/* The entry of an id, which is new, with a row of no particular values, if there was none. */
enum rs_status exact_insert(struct exact *e, uint64_t id, struct exact_entry **out, int *is_new);
/* Removes what drop() says, in one pass over a segment; returns how many. */
uint64_t exact_sweep(struct exact *e, unsigned segment,
	int (*drop)(void *context, const struct exact_entry *entry), void *context);
/* Removes the entries with ids in [begin,end), at the cost of those; returns how many. */
uint64_t exact_remove(struct exact *e, uint64_t begin, uint64_t end);
/* Makes room for n entries in a segment, as many as are to come, so that it need not grow. */
enum rs_status exact_reserve(struct exact *e, unsigned segment, uint64_t n);
/* All entries go, unnoticed. */
void exact_clear(struct exact *e);
/* No entry counts as changed, no id as gone. */
void exact_forget_changes(struct exact *e);

uint64_t exact_count(const struct exact *e);
uint64_t exact_bytes(const struct exact *e);
/* Rows of a segment for which tables whose entries take so many bytes together, of one id, need
 * no more than `bytes`; it is the first thing set in exact.segment_rows. */
uint64_t exact_segment_rows(size_t entry_bytes, uint64_t bytes);
size_t exact_entry_bytes(size_t row_bytes);
/* Of n entries that came one by one, all segments having three standard deviations more of
 * them than the mean. */
uint64_t exact_bytes_most(size_t row_bytes, uint64_t n);

static inline unsigned
exact_segment_of(uint64_t id)
{
	return (unsigned)(id >> (64 - EXACT_SEGMENT_BITS));
}

/* First id of a segment; of EXACT_SEGMENTS: EXACT_ROWS. */
static inline uint64_t
exact_segment_begin(unsigned segment)
{
	return segment < EXACT_SEGMENTS ? (uint64_t)segment << (64 - EXACT_SEGMENT_BITS)
	                                : EXACT_ROWS;
}

static inline uint64_t
exact_home(const struct exact *e, const struct exact_segment *s, uint64_t id)
{
	return (uint64_t)((unsigned __int128)(id << EXACT_SEGMENT_BITS) * s->capacity >> 64) &
		e->home_mask;
}

static inline struct exact_entry *
exact_at(const struct exact *e, const struct exact_segment *s, uint64_t place)
{
	return (struct exact_entry *)(void *)(s->entry + place * e->entry_bytes);
}

static inline float *
exact_row(const struct exact_entry *entry)
{
	return (float *)(uintptr_t)(entry + 1);
}

/* Returns the home of an id; NULL: its segment has no entries. */
static inline const char *
exact_prefetch(const struct exact *e, uint64_t id)
{
	const struct exact_segment *s = &e->segment[exact_segment_of(id)];
	const char *home;

	if (s->entry == NULL)
		return NULL;
	/* Most are at home or one or two places behind. */
	home = s->entry + exact_home(e, s, id) * e->entry_bytes;
	__builtin_prefetch(home, 0, 2);
	__builtin_prefetch(home + 2 * e->entry_bytes, 0, 2);
	return home;
}

/* NULL: it has none.  The id is one of those the table is for. */
static inline struct exact_entry *
exact_find(const struct exact *e, uint64_t id)
{
	const struct exact_segment *s = &e->segment[exact_segment_of(id)];
	const char *at;
	uint64_t here;

	if (s->entry == NULL)
		return NULL;
	at = s->entry + exact_home(e, s, id) * e->entry_bytes;
	while ((here = ((const struct exact_entry *)(const void *)at)->id) < id)
		at += e->entry_bytes;
	return here == id ? (struct exact_entry *)(uintptr_t)at : NULL;
}

/* exact_find() of n ids, in any order and number, each looked for while others are on their way
 * from memory. */
void exact_find_many(const struct exact *e, const uint64_t *id, size_t n,
	struct exact_entry **out);
/* The first entry with an id >= *id; *id is then the one to go on from.  NULL: no more. */
struct exact_entry *exact_next(const struct exact *e, uint64_t *id);
/* All entries of a segment in order: from *place 0 until it is NULL. */
struct exact_entry *exact_step(const struct exact *e, unsigned segment, uint64_t *place);

#endif
