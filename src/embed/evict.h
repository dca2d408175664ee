/*
 * Which rows go first when there is room for fewer.
 *
 * lru: those trained longest ago (last, id); lfu: those trained least often (count, last,
 * id).  No two rows are equal, so the k that go are the same in whatever order they are
 * given.  evict_begin(), evict_add() for every row, then evict_find() gives the last key
 * that goes; a second walk asks evict_goes().  O(n): of 16 passes at most each has only the
 * rows that are equal so far.  A scratch belongs to one thread and grows when there are more
 * rows than ever before.
 */
#ifndef EMBED_EVICT_H
#define EMBED_EVICT_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "data/schema.h"

/* Keys compare as high, then low. */
struct evict_key { uint64_t high, low; };

struct evict_scratch {
	enum evict_kind kind;
	struct evict_key *key;     /* [capacity], n of them in use                   */
	size_t n, capacity;
};

void evict_scratch_free(struct evict_scratch *s);
uint64_t evict_scratch_bytes(const struct evict_scratch *s);

/* n_most: rows that will be added at most. */
enum rs_status evict_begin(struct evict_scratch *s, enum evict_kind kind, size_t n_most);

static inline struct evict_key
evict_key_of(enum evict_kind kind, uint64_t id, uint32_t last, uint32_t count)
{
	const uint64_t often = kind == EVICT_LFU ? count : 0;

	return (struct evict_key){ .high = often << 32 | last, .low = id };
}

static inline void
evict_add(struct evict_scratch *s, uint64_t id, uint32_t last, uint32_t count)
{
	assert(s->n < s->capacity);
	s->key[s->n++] = evict_key_of(s->kind, id, last, count);
}

/* The key of the k-th row that goes, 1 <= k <= n; the scratch is used up. */
struct evict_key evict_find(struct evict_scratch *s, size_t k);

static inline int
evict_goes(const struct evict_key *until, enum evict_kind kind, uint64_t id, uint32_t last,
	uint32_t count)
{
	const struct evict_key key = evict_key_of(kind, id, last, count);

	return key.high < until->high || (key.high == until->high && key.low <= until->low);
}

#endif
