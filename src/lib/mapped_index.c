/* Where the entry of an id is. */
#include "lib/mapped_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define WORD       64u                 /* places of a word                            */
#define PLACES     (MAPPED_INDEX_WORDS * WORD)
#define PER_ENTRY  16u                 /* places an entry has at most                 */
#define CROWD      (4 * PLACES)        /* entries of a group that is not learned      */
#define CROWDED    UINT64_MAX          /* its `first`                                 */
#define NEAR       8u                  /* entries looked at from where bits lead      */
#define GUESSES    4u                  /* looks for an entry by what is between ids   */
#define DOUBLINGS  16u                 /* of a step of at most 2^48 entries           */
#define LARGE      ((size_t)2 << 20)   /* bytes that are not written to before use    */

_Static_assert(sizeof(struct mapped_index_group) == 64, "a group is a cache line");

enum rs_status
mapped_index_open(const struct mapped_index_ids *ids, struct mapped_index *x)
{
	*x = (struct mapped_index){ .ids = *ids };
	while (ids->most >> x->shift >= PER_ENTRY * (ids->n + 1))
		x->shift++;
	const uint64_t n = (ids->most >> x->shift) / PLACES + 1;
	RS_TRY(size_mul(n, sizeof *x->group, &x->bytes));
	return x->bytes < LARGE ? memory_alloc(n, sizeof *x->group, &x->group)
		: large_alloc(x->bytes, &x->group);
}

void
mapped_index_close(struct mapped_index *x)
{
	if (x->group != NULL && x->bytes >= LARGE)
		large_free(x->group, x->bytes);
	else
		free(x->group);
	x->group = NULL;
}

/* --- without it ------------------------------------------------------------------------ */

/* Of how many entries there are among so many ids, which are spread evenly. */
static uint64_t
share_of(const struct mapped_index_ids *ids, uint64_t n)
{
	return (uint64_t)((unsigned __int128)n * ids->n / ((unsigned __int128)ids->most + 1));
}

/* Entries in [low,high) come into question, the one at `at` does not: where to look next.  What is
 * between two ids says how far it is, so that a few looks are enough; from the GUESSES-th on
 * steps double, to two places around it, and halves lead to it. */
static uint64_t
look_next(uint64_t n, const uint64_t bounds[2], uint64_t at, uint64_t step, unsigned looks)
{
	const uint64_t low = bounds[0], high = bounds[1];

	if (looks >= GUESSES && low > 0 && high < n)
		return low + (high - low) / 2;
	if (looks >= GUESSES)
		step = looks < GUESSES + DOUBLINGS ? step << (looks - GUESSES + 1) : n;
	if (at < low)
		return step < high - at ? at + step : high - 1;
	return step <= at - low ? at - step : low;
}

/* The first entry whose id is not less; *is: it is this one. */
static enum rs_status
search(const struct mapped_index_ids *ids, uint64_t id, uint64_t *out, int *is)
{
	uint64_t bounds[2] = { 0, ids->n }, at = share_of(ids, id), here;

	*is = 0;
	for (unsigned looks = 1; bounds[0] < bounds[1]; looks++) {
		RS_TRY(ids->id(ids->context, at, &here));
		if (here == id) {
			*is = 1;
			*out = at;
			return RS_OK;
		}
		bounds[here > id] = here > id ? at : at + 1;
		if (bounds[0] < bounds[1])
			at = look_next(ids->n, bounds, at,
				share_of(ids, here > id ? here - id : id - here) + 1, looks);
	}
	*out = bounds[0];
	return RS_OK;
}

static enum rs_status
search_only(const struct mapped_index_ids *ids, uint64_t id, uint64_t *at)
{
	int is;

	RS_TRY(search(ids, id, at, &is));
	if (!is)
		*at = ids->n;
	return RS_OK;
}

/* --- with it --------------------------------------------------------------------------- */

static void
put_group(struct mapped_index_group *g, const uint64_t bits[MAPPED_INDEX_WORDS], uint64_t first)
{
	for (size_t i = 0; i < MAPPED_INDEX_WORDS; i++)
		atomic_store_explicit(&g->bits[i], bits[i], memory_order_relaxed);
	atomic_store_explicit(&g->first, first, memory_order_release);
}

/* Where ids are not spread evenly a group may have very many entries: it is searched. */
static enum rs_status
learn(const struct mapped_index *x, uint64_t number)
{
	uint64_t bits[MAPPED_INDEX_WORDS] = { 0 }, first, i, id;
	int is;

	RS_TRY(search(&x->ids, number * PLACES << x->shift, &first, &is));
	for (i = first; i < x->ids.n && i - first < CROWD; i++) {
		RS_TRY(x->ids.id(x->ids.context, i, &id));
		const uint64_t place = id >> x->shift;

		if (place / PLACES != number)
			break;
		bits[place % PLACES / WORD] |= (uint64_t)1 << place % WORD;
	}
	put_group(&x->group[number], bits, i - first < CROWD ? first + 1 : CROWDED);
	return RS_OK;
}

/* How many bits are 1 before this one. */
static uint64_t
rank_of(const struct mapped_index_group *g, unsigned word, uint64_t bit)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < word; i++)
		n += (uint64_t)__builtin_popcountll(
			atomic_load_explicit(&g->bits[i], memory_order_relaxed));
	return n + (uint64_t)__builtin_popcountll(
		atomic_load_explicit(&g->bits[word], memory_order_relaxed) & (bit - 1));
}

/* Several entries may share a place: an entry is where bits lead, or behind. */
static enum rs_status
find_from(const struct mapped_index_ids *ids, uint64_t id, uint64_t *at)
{
	const uint64_t end = ids->n - *at < NEAR ? ids->n : *at + NEAR;
	uint64_t here;

	for (; *at < end; ++*at) {
		RS_TRY(ids->id(ids->context, *at, &here));
		if (here >= id) {
			*at = here == id ? *at : ids->n;
			return RS_OK;
		}
	}
	return search_only(ids, id, at);
}

enum rs_status
mapped_index_find(const struct mapped_index *x, uint64_t id, uint64_t *at)
{
	const uint64_t place = id >> x->shift, bit = (uint64_t)1 << place % WORD;
	const struct mapped_index_group *const g = &x->group[place / PLACES];
	const unsigned word = (unsigned)(place % PLACES / WORD);
	uint64_t first;

	assert(id <= x->ids.most);
	if (atomic_load_explicit(&g->first, memory_order_acquire) == 0)
		RS_TRY(learn(x, place / PLACES));
	first = atomic_load_explicit(&g->first, memory_order_acquire);
	if (first == CROWDED)
		return search_only(&x->ids, id, at);
	*at = x->ids.n;
	if (!(atomic_load_explicit(&g->bits[word], memory_order_relaxed) & bit))
		return RS_OK;
	*at = first - 1 + rank_of(g, word, bit);
	return find_from(&x->ids, id, at);
}
