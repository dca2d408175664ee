/* From numbers to small indices, several a number. */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "train/intake_private.h"

enum rs_status
intake_map_init(struct intake_map *m, size_t capacity)
{
	size_t slots = 16;

	while (slots < 2 * capacity)
		slots *= 2;
	m->mask = slots - 1;
	RS_TRY(memory_alloc(slots, sizeof *m->first, &m->first));
	RS_TRY(memory_alloc(capacity + 1, sizeof *m->next, &m->next));
	RS_TRY(memory_alloc(capacity + 1, sizeof *m->key, &m->key));
	memset(m->first, 0xff, slots * sizeof *m->first);
	return RS_OK;
}

void
intake_map_free(struct intake_map *m)
{
	free(m->first);
	free(m->next);
	free(m->key);
	memset(m, 0, sizeof *m);
}

void
intake_map_add(struct intake_map *m, uint64_t key, size_t value)
{
	size_t *const slot = &m->first[hash_mix(key) & m->mask];

	m->key[value] = key;
	m->next[value] = *slot;
	*slot = value;
}

static size_t
map_search(const struct intake_map *m, size_t value, uint64_t key)
{
	while (value != INTAKE_NONE && m->key[value] != key)
		value = m->next[value];
	return value;
}

size_t
intake_map_find(const struct intake_map *m, uint64_t key)
{
	return map_search(m, m->first[hash_mix(key) & m->mask], key);
}

size_t
intake_map_next(const struct intake_map *m, size_t value)
{
	return map_search(m, m->next[value], m->key[value]);
}
