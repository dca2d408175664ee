/* A set of ids. */
#include "cmd/id_set.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/memory.h"

#define CAPACITY_FIRST 1024

/* Where the id is, or would be. */
static uint64_t *
find(const struct id_set *s, uint64_t id)
{
	size_t at = hash_mix(id) % s->capacity;

	while (s->place[at] != 0 && s->place[at] != id)
		at = (at + 1) % s->capacity;
	return &s->place[at];
}

static enum rs_status
grow(struct id_set *s)
{
	struct id_set larger = { .capacity = s->capacity > 0 ? 2 * s->capacity : CAPACITY_FIRST,
		.n = s->n, .has_zero = s->has_zero };

	RS_TRY(memory_alloc(larger.capacity, sizeof *larger.place, &larger.place));
	for (size_t i = 0; i < s->capacity; i++)
		if (s->place[i] != 0)
			*find(&larger, s->place[i]) = s->place[i];
	free(s->place);
	*s = larger;
	return RS_OK;
}

enum rs_status
id_set_add(struct id_set *s, uint64_t id, int *is_new)
{
	int added = id == 0 && !s->has_zero;

	if (id == 0)
		s->has_zero = 1;
	else {
		if (2 * (s->n + 1) > s->capacity)
			RS_TRY(grow(s));
		uint64_t *const place = find(s, id);
		added = *place == 0;
		*place = id;
		s->n += added != 0;
	}
	if (is_new != NULL)
		*is_new = added;
	return RS_OK;
}

size_t
id_set_count(const struct id_set *s)
{
	return s->n + (s->has_zero != 0);
}

enum rs_status
id_set_list(const struct id_set *s, uint64_t **out)
{
	size_t n = 0;

	RS_TRY(memory_alloc(id_set_count(s) + 1, sizeof **out, out));
	if (s->has_zero)
		(*out)[n++] = 0;
	for (size_t i = 0; i < s->capacity; i++)
		if (s->place[i] != 0)
			(*out)[n++] = s->place[i];
	return RS_OK;
}

void
id_set_free(struct id_set *s)
{
	free(s->place);
	*s = (struct id_set){ 0 };
}
