/* Counters in the order of ids. */
#include "embed/waiting.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

#define CAPACITY_MIN 64

static size_t
home_of(const struct waiting *w, uint64_t id)
{
	const uint64_t bits = id << (64 - WAITING_ID_BITS);

	return (size_t)(((unsigned __int128)bits * w->capacity) >> 64);
}

void
waiting_free(struct waiting *w)
{
	free(w->entry);
	*w = (struct waiting){ 0 };
}

void
waiting_clear(struct waiting *w)
{
	if (w->n > 0)
		memset(w->entry, 0, w->places * sizeof(*w->entry));
	w->n = 0;
}

uint64_t
waiting_bytes(const struct waiting *w)
{
	return w->places * sizeof(*w->entry);
}

/* The place of the id, or of the first larger one, or a free one; places: there is none. */
static size_t
place_of(const struct waiting *w, uint64_t id)
{
	size_t i = home_of(w, id);

	while (i < w->places && w->entry[i].count > 0 && w->entry[i].id < id)
		i++;
	return i;
}

struct waiting_entry *
waiting_find(const struct waiting *w, uint64_t id)
{
	const size_t i = w->n > 0 ? place_of(w, id) : w->places;

	return i < w->places && w->entry[i].count > 0 && w->entry[i].id == id ? &w->entry[i] : NULL;
}

/* 0: larger ids fill all places to the end. */
static int
put_in_place(struct waiting *w, const struct waiting_entry *e)
{
	const size_t i = place_of(w, e->id);
	size_t end = i;

	while (end < w->places && w->entry[end].count > 0)
		end++;
	if (end >= w->places)
		return 0;
	assert(end == i || w->entry[i].id != e->id);
	memmove(&w->entry[i + 1], &w->entry[i], (end - i) * sizeof(*e));
	w->entry[i] = *e;
	w->n++;
	return 1;
}

/* out->n is less than w->n when the ids crowd at the end. */
static enum rs_status
copy_to(const struct waiting *w, size_t capacity, struct waiting *out)
{
	*out = (struct waiting){
		.capacity = capacity, .places = capacity + capacity / 8 + CAPACITY_MIN,
	};
	RS_TRY(memory_alloc(out->places, sizeof(*out->entry), &out->entry));
	for (size_t i = 0; i < w->places; i++)
		if (w->entry[i].count > 0 && !put_in_place(out, &w->entry[i]))
			break;
	return RS_OK;
}

static enum rs_status
grow(struct waiting *w)
{
	struct waiting larger = { 0 };
	size_t capacity = w->capacity;

	do {
		waiting_free(&larger);
		capacity += capacity / 4;
		capacity = capacity < CAPACITY_MIN ? CAPACITY_MIN : capacity;
		RS_TRY(copy_to(w, capacity, &larger));
	} while (larger.n < w->n);
	waiting_free(w);
	*w = larger;
	return RS_OK;
}

enum rs_status
waiting_put(struct waiting *w, const struct waiting_entry *e)
{
	assert(e->count > 0);
	if ((w->n + 1) * 5 > w->capacity * 4)
		RS_TRY(grow(w));
	while (!put_in_place(w, e))
		RS_TRY(grow(w));
	return RS_OK;
}

void
waiting_remove(struct waiting *w, struct waiting_entry *e)
{
	size_t i = (size_t)(e - w->entry);

	for (; i + 1 < w->places && w->entry[i + 1].count > 0
	    && home_of(w, w->entry[i + 1].id) <= i; i++)
		w->entry[i] = w->entry[i + 1];
	w->entry[i] = (struct waiting_entry){ 0 };
	w->n--;
}
