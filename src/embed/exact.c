/* Segments of an exact table: searching, coming and going, growing. */
#include "embed/exact.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define FULL_NUMERATOR    4u       /* entries <= 4/5 of the capacity                  */
#define FULL_DENOMINATOR  5u
#define GROWTH            4u       /* a quarter                                       */
#define CAPACITY_MIN      16u
#define TAIL              32u      /* places behind the capacity, and some more       */
#define TAIL_SHARE        64u
#define LARGE_BYTES       ((size_t)8 << 20)     /* from here on in huge pages         */
#define ENTRY_ALIGN       8u
#define GONE_FIRST        16u      /* ids that first find room                        */
#define AHEAD             16u      /* ids between prefetch and use                    */
#define AHEAD_MANY        32u      /* the same, of many                               */
#define MANY              64u      /* ids of one call that are worth a list           */
#define FEW               8u       /* on the list: each is looked for by itself       */
#define LINE_BYTES        64u
#define WIDE_BYTES        (2 * LINE_BYTES)      /* a list is not worth more lines     */

static uint64_t
places(uint64_t capacity)
{
	return capacity + capacity / TAIL_SHARE + TAIL;
}

static uint64_t
capacity_for(uint64_t n)
{
	const uint64_t capacity = n / FULL_NUMERATOR * FULL_DENOMINATOR + FULL_DENOMINATOR;

	return capacity < CAPACITY_MIN ? CAPACITY_MIN : capacity;
}

size_t
exact_entry_bytes(size_t row_bytes)
{
	const size_t bytes = sizeof(struct exact_entry) + row_bytes;

	return (bytes + ENTRY_ALIGN - 1) / ENTRY_ALIGN * ENTRY_ALIGN;
}

enum rs_status
exact_open(struct exact *e, uint64_t begin, uint64_t end, size_t row_bytes)
{
	memset(e, 0, sizeof(*e));
	e->entry_bytes = exact_entry_bytes(row_bytes);
	e->home_mask = e->entry_bytes == EXACT_PAIR_BYTES ? ~(uint64_t)1 : ~(uint64_t)0;
	e->first = exact_segment_of(begin);
	e->last = end == EXACT_ROWS ? EXACT_SEGMENTS : exact_segment_of(end);
	if (exact_segment_begin(e->first) != begin || exact_segment_begin(e->last) != end)
		return rs_fail(RS_EBUG, "ids %llx to %llx of an exact table are not whole segments",
			(unsigned long long)begin, (unsigned long long)end);
	return RS_OK;
}

static void
free_entries(char *entry, size_t bytes)
{
	if (bytes >= LARGE_BYTES)
		large_free(entry, bytes);
	else
		free(entry);
}

static enum rs_status
alloc_entries(size_t n, size_t entry_bytes, char **out)
{
	size_t bytes;

	RS_TRY(size_mul(n, entry_bytes, &bytes));
	if (bytes >= LARGE_BYTES)
		RS_TRY(large_alloc(bytes, out));
	else
		RS_TRY(memory_alloc(bytes, 1, out));
	for (size_t i = 0; i < n; i++)
		((struct exact_entry *)(void *)(*out + i * entry_bytes))->id = EXACT_EMPTY;
	return RS_OK;
}

static void
segment_free(const struct exact *e, struct exact_segment *s)
{
	if (s->entry != NULL)
		free_entries(s->entry, (size_t)places(s->capacity) * e->entry_bytes);
	memset(s, 0, sizeof(*s));
}

void
exact_clear(struct exact *e)
{
	for (unsigned i = 0; i < EXACT_SEGMENTS; i++)
		segment_free(e, &e->segment[i]);
}

static void
forget_gone(struct exact_gone *g)
{
	free(g->id);
	*g = (struct exact_gone){ .n = 0 };
}

void
exact_forget_changes(struct exact *e)
{
	struct exact_entry *entry;

	for (unsigned i = 0; i < EXACT_SEGMENTS; i++) {
		forget_gone(&e->gone[i]);
		for (uint64_t place = 0; (entry = exact_step(e, i, &place)) != NULL; )
			entry->changed = 0;
	}
}

void
exact_close(struct exact *e)
{
	exact_clear(e);
	for (unsigned i = 0; i < EXACT_SEGMENTS; i++)
		forget_gone(&e->gone[i]);
	memset(e, 0, sizeof(*e));
}

/* Moves all entries to arrays of this capacity or, if they find no place there, a larger one:
 * in the order of ids, each to its home or behind the one before. */
static enum rs_status
segment_resize(const struct exact *e, struct exact_segment *s, uint64_t capacity)
{
	struct exact_segment to;
	uint64_t last;

	do {
		to = (struct exact_segment){ .capacity = capacity, .n = s->n };
		last = places(capacity) - 1;
		RS_TRY(alloc_entries((size_t)last + 1, e->entry_bytes, &to.entry));
		for (uint64_t i = 0; i < s->end && to.end <= last; i++) {
			const struct exact_entry *const from = exact_at(e, s, i);
			uint64_t home;

			if (from->id == EXACT_EMPTY)
				continue;
			home = exact_home(e, &to, from->id);
			if (home < to.end)
				home = to.end;
			to.end = home + 1;
			if (home < last)
				memcpy(exact_at(e, &to, home), from, e->entry_bytes);
		}
		if (to.end <= last)
			break;
		segment_free(e, &to);
		capacity += capacity / GROWTH + 1;
	} while (1);
	if (s->entry != NULL)
		free_entries(s->entry, (size_t)places(s->capacity) * e->entry_bytes);
	*s = to;
	return RS_OK;
}

enum rs_status
exact_reserve(struct exact *e, unsigned segment, uint64_t n)
{
	struct exact_segment *s = &e->segment[segment];

	return capacity_for(n) > s->capacity ? segment_resize(e, s, capacity_for(n)) : RS_OK;
}

/* By a quarter, but not beyond what a limit needs. */
static uint64_t
grown(const struct exact *e, const struct exact_segment *s)
{
	const uint64_t more = s->capacity + s->capacity / GROWTH + 1;
	const uint64_t most = e->segment_rows > 0 ? capacity_for(e->segment_rows) : more;
	const uint64_t capacity = s->capacity < most && more > most ? most : more;

	return capacity < CAPACITY_MIN ? CAPACITY_MIN : capacity;
}

static inline uint64_t
id_at(const char *at)
{
	return ((const struct exact_entry *)(const void *)at)->id;
}

/* As exact_find(), from the home on; the first places of narrow entries without a branch, which
 * would be predicted wrong as often as not. */
static inline struct exact_entry *
search(const char *at, size_t bytes, uint64_t id, int is_narrow)
{
	if (at == NULL)
		return NULL;
	if (is_narrow)
		at += bytes * ((size_t)(id_at(at) < id) + (size_t)(id_at(at + bytes) < id) +
				(size_t)(id_at(at + 2 * bytes) < id));
	while (id_at(at) < id)
		at += bytes;
	return id_at(at) == id ? (struct exact_entry *)(uintptr_t)at : NULL;
}

/* Two lines of each are fetched, one id is done after the other. */
static inline void
find_few(const struct exact *e, const uint64_t *id, size_t n, int is_narrow,
	struct exact_entry **out)
{
	const char *home[AHEAD];

	for (size_t i = 0; i < n + AHEAD; i++) {
		if (i >= AHEAD)
			out[i - AHEAD] = search(home[i % AHEAD], e->entry_bytes, id[i - AHEAD],
				is_narrow);
		if (i < n)
			home[i % AHEAD] = exact_prefetch(e, id[i]);
	}
}

/* Puts in `out` where each search begins. */
static inline void
begin_at_homes(const struct exact *e, const uint64_t *id, size_t n, struct exact_entry **out)
{
	static const struct exact_entry none = { .id = EXACT_EMPTY };

	for (size_t i = 0; i < n; i++) {
		const struct exact_segment *s = &e->segment[exact_segment_of(id[i])];
		const char *at = (const char *)&none;

		if (s->entry != NULL)
			at = s->entry + exact_home(e, s, id[i]) * e->entry_bytes;
		__builtin_prefetch(at, 0, 3);
		out[i] = (struct exact_entry *)(uintptr_t)at;
	}
}

/* Looks for an id at one place, of a pair at both, without a branch.  Returns 1 and fetches what
 * is next when the id can only be further on, or 0 and fetches the rest of a wide row. */
static inline size_t
look(size_t bytes, int is_pair, uint64_t id, struct exact_entry **out)
{
	const char *at = (const char *)*out;
	uint64_t here;
	size_t behind;

	if (is_pair)
		at += bytes & -(size_t)(id_at(at) < id);
	here = id_at(at);
	behind = here < id;
	at += bytes & -behind;
	__builtin_prefetch(is_pair ? at : at + (LINE_BYTES & (behind - 1)), 0, 3);
	*out = here > id ? NULL : (struct exact_entry *)(uintptr_t)at;
	return behind;
}

/* An id is looked at when the line of its home should be here, and when it is not there goes on a
 * list, to be looked at again one line further when that should be here: so no line is waited
 * for, and few are fetched in vain.  n: at most EXACT_MANY. */
static inline __attribute__((always_inline)) void
find_listed(const struct exact *e, const uint64_t *id, size_t n, int is_pair,
	struct exact_entry **out)
{
	const size_t bytes = e->entry_bytes;
	uint32_t late[EXACT_MANY];
	size_t n_late = 0;

	begin_at_homes(e, id, n < AHEAD_MANY ? n : AHEAD_MANY, out);
	for (size_t i = 0; i < n || n_late > FEW; i += AHEAD_MANY) {
		const size_t end = n < i + AHEAD_MANY ? n : i + AHEAD_MANY;
		const size_t next = n < end + AHEAD_MANY ? n : end + AHEAD_MANY;
		size_t still = 0;

		if (i < n)
			begin_at_homes(e, id + end, next - end, out + end);
		for (size_t k = 0; k < n_late; k++) {
			const uint32_t j = late[k];

			late[still] = j;
			still += look(bytes, is_pair, id[j], &out[j]);
		}
		for (size_t j = i; j < end; j++) {
			late[still] = (uint32_t)j;
			still += look(bytes, is_pair, id[j], &out[j]);
		}
		n_late = still;
	}
	for (size_t k = 0; k < n_late; k++)
		while (look(bytes, is_pair, id[late[k]], &out[late[k]]))
			;
}

static void
find_in_pairs(const struct exact *e, const uint64_t *id, size_t n, struct exact_entry **out)
{
	find_listed(e, id, n, 1, out);
}

static void
find_wide(const struct exact *e, const uint64_t *id, size_t n, struct exact_entry **out)
{
	find_listed(e, id, n, 0, out);
}

/* Of a large table a lookup costs the lines it misses: that of its home, and of two ids in five the
 * next.  An index of where the entries of each home begin, of 2.3 bits a place as in quotient
 * filters (Bender et al. 2012), would save lines but is larger than the caches near the core, so
 * it misses too; looked up it was the slower by a third.  To look for ids in their order, which
 * is that of memory, saves less than it costs to sort them. */
void
exact_find_many(const struct exact *e, const uint64_t *id, size_t n, struct exact_entry **out)
{
	const size_t bytes = e->entry_bytes;

	if (n < MANY || bytes < EXACT_PAIR_BYTES || bytes > WIDE_BYTES) {
		if (bytes <= EXACT_PAIR_BYTES)
			find_few(e, id, n, 1, out);
		else
			find_few(e, id, n, 0, out);
		return;
	}
	for (size_t i = 0; i < n; i += EXACT_MANY)
		(bytes == EXACT_PAIR_BYTES ? find_in_pairs : find_wide)(e, id + i,
			n - i < EXACT_MANY ? n - i : EXACT_MANY, out + i);
}

/* The place of an id: that of the first entry that is not smaller, or empty. */
static uint64_t
place_of(const struct exact *e, const struct exact_segment *s, uint64_t id)
{
	uint64_t place = exact_home(e, s, id);

	while (exact_at(e, s, place)->id < id)
		place++;
	return place;
}

/* Moves the entries from `place` on to the right by one, up to a gap; 0: there is none. */
static int
open_gap(const struct exact *e, struct exact_segment *s, uint64_t place)
{
	const uint64_t last = places(s->capacity) - 1;
	uint64_t gap = place;

	while (gap < last && exact_at(e, s, gap)->id != EXACT_EMPTY)
		gap++;
	if (gap == last)
		return 0;
	memmove(exact_at(e, s, place + 1), exact_at(e, s, place),
		(size_t)(gap - place) * e->entry_bytes);
	if (s->end < gap + 1)
		s->end = gap + 1;
	return 1;
}

enum rs_status
exact_insert(struct exact *e, uint64_t id, struct exact_entry **out, int *is_new)
{
	struct exact_segment *s = &e->segment[exact_segment_of(id)];
	struct exact_entry *entry;
	uint64_t place = 0;

	if (s->entry != NULL) {
		place = place_of(e, s, id);
		*out = exact_at(e, s, place);
		*is_new = (*out)->id != id;
		if (!*is_new)
			return RS_OK;
	}
	*is_new = 1;
	if ((s->n + 1) * FULL_DENOMINATOR > s->capacity * FULL_NUMERATOR) {
		RS_TRY(segment_resize(e, s, grown(e, s)));
		place = place_of(e, s, id);
	}
	while (!open_gap(e, s, place)) {
		RS_TRY(segment_resize(e, s, s->capacity + s->capacity / GROWTH + 1));
		place = place_of(e, s, id);
	}
	s->n++;
	entry = exact_at(e, s, place);
	*entry = (struct exact_entry){ .id = id };
	*out = entry;
	return RS_OK;
}

/* A list that would take more than the entries, or has no memory, is given up. */
static void
note_gone(struct exact *e, unsigned segment, uint64_t id)
{
	const struct exact_segment *s = &e->segment[segment];
	struct exact_gone *g = &e->gone[segment];

	if (g->lost)
		return;
	if (g->n == g->capacity) {
		const uint64_t grown = g->capacity > 0 ? 2 * g->capacity : GONE_FIRST;
		uint64_t *const ids = grown * sizeof(*ids) <= places(s->capacity) * e->entry_bytes
			? realloc(g->id, (size_t)grown * sizeof(*ids)) : NULL;

		if (ids == NULL) {
			forget_gone(g);
			g->lost = 1;
			return;
		}
		g->id = ids;
		g->capacity = grown;
	}
	g->id[g->n++] = id;
}

uint64_t
exact_sweep(struct exact *e, unsigned segment,
	int (*drop)(void *context, const struct exact_entry *entry), void *context)
{
	struct exact_segment *s = &e->segment[segment];
	uint64_t to = 0, dropped = 0;

	for (uint64_t i = 0; i < s->end; i++) {
		struct exact_entry *const from = exact_at(e, s, i);
		uint64_t home;

		if (from->id == EXACT_EMPTY)
			continue;
		if (drop(context, from)) {
			if (e->keeps_gone)
				note_gone(e, segment, from->id);
			from->id = EXACT_EMPTY;
			dropped++;
			continue;
		}
		home = exact_home(e, s, from->id);
		to = home > to ? home : to;
		if (to != i) {
			memcpy(exact_at(e, s, to), from, e->entry_bytes);
			from->id = EXACT_EMPTY;
		}
		to++;
	}
	s->n -= dropped;
	s->end = to;
	return dropped;
}

/* Entries behind those that go come nearer to their homes, until one is at its own. */
static uint64_t
remove_here(struct exact *e, struct exact_segment *s, uint64_t place, uint64_t end)
{
	uint64_t to = place, removed = 0;
	int past = 0;

	for (uint64_t i = place; i < s->end; i++) {
		struct exact_entry *const from = exact_at(e, s, i);
		uint64_t home;

		if (from->id == EXACT_EMPTY && past)
			break;
		if (from->id == EXACT_EMPTY)
			continue;
		past = from->id >= end;
		if (!past) {
			from->id = EXACT_EMPTY;
			removed++;
			continue;
		}
		home = exact_home(e, s, from->id);
		to = home > to ? home : to;
		if (to == i)
			break;
		memcpy(exact_at(e, s, to++), from, e->entry_bytes);
		from->id = EXACT_EMPTY;
	}
	s->n -= removed;
	return removed;
}

uint64_t
exact_remove(struct exact *e, uint64_t begin, uint64_t end)
{
	uint64_t removed = 0;

	for (unsigned i = e->first; i < e->last && exact_segment_begin(i) < end; i++) {
		struct exact_segment *const s = &e->segment[i];
		const int inside = begin > exact_segment_begin(i);

		if (s->entry != NULL && begin < exact_segment_begin(i + 1))
			removed += remove_here(e, s, inside ? place_of(e, s, begin) : 0, end);
	}
	return removed;
}

uint64_t
exact_count(const struct exact *e)
{
	uint64_t n = 0;

	for (unsigned i = e->first; i < e->last; i++)
		n += e->segment[i].n;
	return n;
}

uint64_t
exact_bytes(const struct exact *e)
{
	uint64_t bytes = sizeof(*e);

	for (unsigned i = e->first; i < e->last; i++)
		if (e->segment[i].entry != NULL)
			bytes += places(e->segment[i].capacity) * e->entry_bytes;
	return bytes;
}

uint64_t
exact_segment_rows(size_t entry_bytes, uint64_t bytes)
{
	const uint64_t n = bytes / EXACT_SEGMENTS / entry_bytes;
	const uint64_t capacity = n > TAIL ? (n - TAIL) * TAIL_SHARE / (TAIL_SHARE + 1) : 0;

	/* The largest that capacity_for() needs no more for. */
	return capacity > FULL_DENOMINATOR
		? (capacity - FULL_DENOMINATOR) / FULL_DENOMINATOR * FULL_NUMERATOR : 0;
}

uint64_t
exact_bytes_most(size_t row_bytes, uint64_t n)
{
	const double mean = (double)n / EXACT_SEGMENTS;
	const uint64_t most = (uint64_t)(mean + 3 * sqrt(mean)) + 1;
	uint64_t capacity = CAPACITY_MIN;

	while (most * FULL_DENOMINATOR > capacity * FULL_NUMERATOR)
		capacity += capacity / GROWTH + 1;
	return sizeof(struct exact) + EXACT_SEGMENTS * exact_entry_bytes(row_bytes) *
		places(capacity);
}

struct exact_entry *
exact_step(const struct exact *e, unsigned segment, uint64_t *place)
{
	const struct exact_segment *s = &e->segment[segment];

	while (*place < s->end) {
		struct exact_entry *const entry = exact_at(e, s, (*place)++);

		if (entry->id != EXACT_EMPTY)
			return entry;
	}
	return NULL;
}

struct exact_entry *
exact_next(const struct exact *e, uint64_t *id)
{
	unsigned i = exact_segment_of(*id);

	i = i < e->first ? e->first : i;
	for (; *id < EXACT_ROWS && i < e->last; i++) {
		const struct exact_segment *s = &e->segment[i];
		uint64_t place = 0;
		struct exact_entry *entry;

		if (s->entry != NULL && *id > exact_segment_begin(i))
			place = place_of(e, s, *id);
		entry = exact_step(e, i, &place);
		if (entry == NULL)
			continue;
		*id = entry->id + 1;
		return entry;
	}
	return NULL;
}
