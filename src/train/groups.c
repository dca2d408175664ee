/* Numbers for fingerprints: open addressing. */
#include "train/groups.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"

void
groups_free(struct groups *g)
{
	free(g->key);
	free(g->slot);
	memset(g, 0, sizeof *g);
}

void
groups_clear(struct groups *g)
{
	if (g->n > 0)
		memset(g->slot, 0, g->n_slots * sizeof *g->slot);
	g->n = 0;
}

/* The slot of a key, or the empty one where it belongs. */
static size_t
find_slot(const struct groups *g, uint64_t key)
{
	size_t i = (size_t)hash_mix(key) & (g->n_slots - 1);

	while (g->slot[i] != 0 && g->key[g->slot[i] - 1] != key)
		i = (i + 1) & (g->n_slots - 1);
	return i;
}

static enum rs_status
grow(struct groups *g)
{
	const size_t capacity = g->capacity == 0 ? 1024 : 2 * g->capacity;
	uint32_t *slot;

	if (capacity >= GROUPS_NONE)
		return rs_fail(RS_EDATA, "more than %zu groups", g->capacity);
	RS_TRY(memory_alloc(2 * capacity, sizeof *slot, &slot));
	uint64_t *const key = realloc(g->key, capacity * sizeof *key);
	if (key == NULL) {
		free(slot);
		return rs_fail(RS_ERESOURCE, "out of memory for %zu groups", capacity);
	}
	free(g->slot);
	g->slot = slot;
	g->n_slots = 2 * capacity;
	g->key = key;
	g->capacity = capacity;
	for (size_t i = 0; i < g->n; i++)
		slot[find_slot(g, key[i])] = (uint32_t)i + 1;
	return RS_OK;
}

enum rs_status
groups_add(struct groups *g, uint64_t key, uint32_t *number)
{
	if (g->n == g->capacity)
		RS_TRY(grow(g));
	const size_t i = find_slot(g, key);
	if (g->slot[i] == 0) {
		g->key[g->n++] = key;
		g->slot[i] = (uint32_t)g->n;
	}
	*number = g->slot[i] - 1;
	return RS_OK;
}

uint32_t
groups_find(const struct groups *g, uint64_t key)
{
	if (g->n == 0)
		return GROUPS_NONE;
	const size_t i = find_slot(g, key);
	return g->slot[i] == 0 ? GROUPS_NONE : g->slot[i] - 1;
}
